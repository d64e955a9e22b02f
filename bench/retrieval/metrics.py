"""What a ranking is worth. Everything is a share from 0 to 1."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from bench.retrieval.sets import Request

NAMES = ("R@1", "R@5", "R@10", "R@50", "nDCG@10", "C@10", "server@5")
DEEPEST = 50

_FAR = 1_000_000
_RESAMPLED = 1_000
_SEED = 20261130


def ranks(request: Request, found: Sequence[str]) -> list[int]:
    """At which place, from 0 on, each needed tool or one as good comes first."""
    place = {tool_id: at for at, tool_id in reversed(list(enumerate(found)))}
    return [min((place[each] for each in group if each in place), default=_FAR) for group in request.needed]


def recall(places: Sequence[int], depth: int) -> float:
    """The share of the needed tools among the first hits."""
    return sum(place < depth for place in places) / len(places)


def measured(request: Request, found: Sequence[str]) -> tuple[float, ...]:
    """One ranking by `NAMES`.

    nDCG counts a needed tool once, where it or one as good comes first; C@10 is 1 when every needed tool is
    among the first ten; server@5 is 1 when a server of a needed tool is among those of the first five hits.
    """
    places = ranks(request, found)
    gain = sum(1 / math.log2(place + 2) for place in places if place < 10)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(places), 10)))
    near = {_server(tool_id) for tool_id in found[:5]}
    right = {_server(tool_id) for group in request.needed for tool_id in group}
    return (
        *(recall(places, depth) for depth in (1, 5, 10, DEEPEST)),
        gain / ideal,
        float(recall(places, 10) == 1),
        float(bool(near & right)),
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean, by resampling the requests a thousand times with a fixed seed."""
    given = np.asarray(values)
    chosen = np.random.default_rng(_SEED).integers(0, len(given), (_RESAMPLED, len(given)))
    low, high = cast("list[float]", np.percentile(given[chosen].mean(axis=1), [2.5, 97.5]).tolist())
    return low, high


def area(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The area under the ROC curve: how often one of the first scores above one of the second, ties half."""
    higher = np.sort(np.asarray(negative))
    below = np.searchsorted(higher, positive, "left")
    upto = np.searchsorted(higher, positive, "right")
    return float((below + upto).sum() / 2 / (len(positive) * len(negative)))


def row(requests: Sequence[Request], found: Sequence[Sequence[str]]) -> Mapping[str, object]:
    """The means of `NAMES` over some rankings in percent, with the 95 % interval of R@5."""
    values = [measured(request, ids) for request, ids in zip(requests, found, strict=True)]
    means = {
        name: percent(sum(column) / len(values)) for name, column in zip(NAMES, zip(*values, strict=True), strict=True)
    }
    low, high = interval([each[NAMES.index("R@5")] for each in values])
    return {"queries": len(values), **means, "R@5 interval": [percent(low), percent(high)]}


def rows(requests: Sequence[Request], found: Sequence[Sequence[str]]) -> list[dict[str, object]]:
    """One row for all requests, and one for each kind where there are several."""
    result = [dict(row(requests, found))]
    kinds = list(dict.fromkeys(request.kind for request in requests))
    for kind in kinds if len(kinds) > 1 else ():
        chosen = [at for at, request in enumerate(requests) if request.kind == kind]
        result.append({"kind": kind, **row([requests[at] for at in chosen], [found[at] for at in chosen])})
    return result


def percent(share: float) -> float:
    return round(100 * share, 2)


def _server(tool_id: str) -> str:
    return tool_id.split(".", 1)[0]
