"""What every registry promises: `Registry`, and the `Listing` that it gives."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from toolcrib.servers.registries.document import ServerDescription


@dataclass(frozen=True, slots=True)
class Listing:
    """What a registry holds, as far as that is known.

    Attributes:
        place: The registry: its URL or path, as configured.
        servers: The descriptions, one a name.
        read_at: When they were read, in seconds since the epoch; None when nothing was.
        problem: Why they are old, some, or none; empty when all is well.
    """

    place: str
    servers: tuple[ServerDescription, ...] = ()
    read_at: float | None = None
    problem: str = ""


class Registry(ABC):
    """A source of descriptions of servers.

    Args:
        place: Its URL or path, as configured.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    @abstractmethod
    async def read(self) -> Listing:
        """What it holds now. A failure is told in the listing, and never raised."""


def shown_place(place: str) -> str:
    """A registry's place without the user name, password and query that a URL may hold."""
    if "://" not in place:
        return place
    try:
        parts = urlsplit(place)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        return "that is configured"


def newest(found: Iterable[ServerDescription]) -> tuple[ServerDescription, ...]:
    """One description a name, in the order in which the names first came: the one marked as latest, else the
    one published last, else the one that came last."""
    kept: dict[str, ServerDescription] = {}
    for each in found:
        other = kept.get(each.name)
        if other is None or (each.latest, each.published) >= (other.latest, other.published):
            kept[each.name] = each
    return tuple(kept.values())
