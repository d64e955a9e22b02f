"""Why a search ranks as it does: how a query was read, and what each part of a score is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from toolcrib.search.base import Hit


@dataclass(frozen=True, slots=True)
class Sought:
    """A term that a query was read as.

    Attributes:
        term: The term, as it stands in the index.
        words: The words of the query that became it, as they are written.
        weight: How often and how rare it is: what its matches count for beside those of other terms.
        tools: How many tools have it; of 0, no tool does, and it lowers every score.
    """

    term: str
    words: tuple[str, ...]
    weight: float
    tools: int


@dataclass(frozen=True, slots=True)
class Share:
    """What one thing adds to a part of a score.

    Attributes:
        part: The part, as in `Hit.why`.
        what: What adds it: a term, two that stand together, a word of the name, a clause of the query; empty where
            the part is of one piece.
        field: The field of the tool where it was found, one of `toolcrib.search.fields.WEIGHTS`; empty where fields
            don't matter.
        score: How much, in the unit of the score.
    """

    part: str
    what: str
    field: str
    score: float


@dataclass(frozen=True, slots=True)
class ExplainedHit:
    """A hit, and what its score is made of.

    Attributes:
        hit: The hit, as the search gives it.
        shares: They add up to the parts of the score, those of a part largest first.
        measures: What the parts were computed from, by name, where that is more than the shares tell.
    """

    hit: Hit
    shares: tuple[Share, ...]
    measures: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a search finds, and why.

    Attributes:
        strategy: The strategy by which it was ranked.
        hits: The hits, best first.
        meant: The query as it was read, where slips were mended; else empty.
        sought: The terms that it was read as, in the order of the query.
        problem: Why it was not ranked as the strategy would; empty where it was.
    """

    strategy: str
    hits: tuple[ExplainedHit, ...]
    meant: str = ""
    sought: tuple[Sought, ...] = ()
    problem: str = ""


def in_one_piece(hits: Sequence[Hit]) -> tuple[ExplainedHit, ...]:
    """Hits of whose parts nothing more is known than how much they are."""
    return tuple(ExplainedHit(hit, whole_parts(hit)) for hit in hits)


def whole_parts(hit: Hit, *, but: Sequence[str] = ()) -> tuple[Share, ...]:
    """The parts of a score, each as one share, largest first; without those of some names."""
    parts = sorted(((name, score) for name, score in hit.why.items() if name not in but), key=lambda part: -part[1])
    return tuple(Share(name, "", "", score) for name, score in parts)
