"""Resources of all servers as if they were of one."""

from collections.abc import Iterable

from toolcrib.broker import Caller, Options, Outcome
from toolcrib.catalog import JsonObject, ListMethod
from toolcrib.crib import Crib
from toolcrib.crib.resources import qualified
from toolcrib.gateway.profiles.keeping import kept
from toolcrib.gateway.profiles.paging import Place, Row, page
from toolcrib.gateway.profiles.projecting import fitting
from toolcrib.gateway.profiles.surface import Asked

_URI = {"resources/list": "uri", "resources/templates/list": "uriTemplate"}


class PassedResources:
    """Lists and reads the resources of all servers that a caller may know of.

    A resource keeps its URI; where several servers have the same, each of them is listed by a qualified one.

    Args:
        crib: An open crib.
    """

    def __init__(self, crib: Crib) -> None:
        self._crib = crib

    async def page(self, method: ListMethod, asked: Asked) -> JsonObject:
        """One page of resources, or of templates: server by server as configured, then by URI.

        Raises:
            UsageError: There is no such page.
        """
        offered = await self._crib.offered(method, caller=asked.caller)
        rows = _rows(_URI[method], offered.entries())
        found, following = page(method.removesuffix("/list"), rows, asked.cursor, lambda row: row.key)
        member = "resources" if method == "resources/list" else "resourceTemplates"
        answer: JsonObject = {member: fitting(method, found, asked.version)}
        answer |= kept(asked.caller, offered.ttl, private=offered.private)
        return answer if following is None else {**answer, "nextCursor": following}

    async def read(self, uri: str, caller: Caller, options: Options) -> Outcome:
        """Read a resource; see `Crib.read_resource`."""
        return await self._crib.read_resource(uri, caller=caller, options=options, by_name=False)


def _rows(member: str, entries: Iterable[tuple[str, JsonObject]]) -> list[Row[JsonObject]]:
    listed = [(server, entry) for server, entry in entries if isinstance(entry.get(member), str)]
    owners: dict[str, set[str]] = {}
    for server, entry in listed:
        owners.setdefault(entry[member], set()).add(server)
    ranks: dict[str, int] = {}
    rows: dict[Place, Row[JsonObject]] = {}
    for server, entry in listed:
        uri = entry[member] if len(owners[entry[member]]) == 1 else qualified(server, entry[member])
        place = Place(ranks.setdefault(server, len(ranks)), uri)
        rows.setdefault(place, Row(place, {**entry, member: uri}))
    return [rows[place] for place in sorted(rows)]
