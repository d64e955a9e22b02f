"""Resources of all sources: listed together, and read by URI or name from the source that has them."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import anyio

from toolcrib.catalog import JsonObject, ListMethod, RequestContext, Source
from toolcrib.errors import ServerError, UsageError, shown

_AT_ONCE = 8
_NAMED = 5
_OFFERED = 12
_LONGEST = 200
_VARIABLE = re.compile(r"\\\{[^}]*\\\}")


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, or a template of some.

    Attributes:
        server: The id of the source that has it.
        uri: Its URI; of a template, with variables in braces.
        definition: All that the source says of it.
        is_template: Whether it is a template.
    """

    server: str
    uri: str
    definition: JsonObject
    is_template: bool = False

    @property
    def name(self) -> str:
        """Its name; empty where it has none."""
        return str(self.definition.get("name") or "")


@dataclass(frozen=True, slots=True)
class Resources:
    """What was listed.

    Attributes:
        found: All resources, then all templates, source by source.
        failed: The ids of sources that could not be asked.
    """

    found: tuple[Resource, ...]
    failed: tuple[str, ...] = ()

    def one(self, wanted: str, server: str = "") -> tuple[str, str]:
        """The source and the URI that a URI or a name stands for.

        Args:
            wanted: A URI, also one that a template stands for; else a name.
            server: Only of this source.

        Raises:
            UsageError: There is none, or a name fits several.
        """
        known = [each for each in self.found if server in ("", each.server)]
        exact = [each for each in known if not each.is_template and wanted == each.uri]
        named = [each for each in known if not each.is_template and wanted == each.name]
        made = [each for each in known if each.is_template and _fits(each.uri, wanted)]
        for fitting in (exact, named, made):
            sources = dict.fromkeys(each.server for each in fitting)
            if len(sources) > 1 or (fitting is named and len(fitting) > 1):
                listed = ", ".join(f"{each.uri} of {each.server}" for each in fitting[:_NAMED])
                raise UsageError(f"{shown(wanted)} could be several resources: {listed}.", hint="Say which server.")
            if fitting:
                return fitting[0].server, fitting[0].uri if fitting is named else wanted
        raise UsageError(f"There is no resource {shown(wanted)}.", hint=_available(wanted, known))


def _available(wanted: str, known: Sequence[Resource]) -> str:
    """What there is, the nearest first."""
    spelled = {spelling: each for each in known for spelling in (each.uri, each.name) if spelling}
    near = [spelled[spelling] for spelling in get_close_matches(wanted[:_LONGEST], spelled, _OFFERED)]
    offered = [*near, *(each for each in known if each not in near)][:_OFFERED]
    lines = [f"{each.uri} ({each.name})" if each.name else each.uri for each in offered]
    left = len(known) - len(lines)
    if not lines:
        return "No server offers anything to read."
    return f"What there is: {', '.join(lines)}{f'; mcp_list_resources lists {left} more' if left else ''}."


async def listed(sources: Iterable[Source], context: Callable[[str], RequestContext]) -> Resources:
    """The resources of sources; one that can't be asked costs only its own.

    Args:
        sources: Those that the caller may know of.
        context: What accompanies a request to one.
    """
    asked = list(sources)
    found: dict[str, list[Resource]] = {}
    failed: list[str] = []
    gate = anyio.CapacityLimiter(_AT_ONCE)

    async def one(source: Source) -> None:
        async with gate:
            try:
                await source.ensure(context(source.id))
            except ServerError:
                failed.append(source.id)
                return
            plain = await _entries(source, "resources/list", context(source.id))
            templates = await _entries(source, "resources/templates/list", context(source.id))
        found[source.id] = [
            *(Resource(source.id, str(each["uri"]), each) for each in plain if "uri" in each),
            *(Resource(source.id, str(each["uriTemplate"]), each, True) for each in templates if "uriTemplate" in each),
        ]

    async with anyio.create_task_group() as tasks:
        for source in asked:
            tasks.start_soon(one, source)
    rows = [row for source in asked for row in found.get(source.id, ())]
    rows.sort(key=lambda row: row.is_template)
    return Resources(tuple(rows), tuple(sorted(failed)))


async def _entries(source: Source, method: ListMethod, context: RequestContext) -> Sequence[JsonObject]:
    """What a source lists; nothing where it has nothing of that kind."""
    with suppress(ServerError):
        return await source.list(method, context)
    return ()


def _fits(template: str, uri: str) -> bool:
    """Whether a URI may be one of a template's (RFC 6570; any value of a variable is taken)."""
    pattern: Any = _VARIABLE.sub(".+", re.escape(template))
    return len(uri) <= 4_096 and re.fullmatch(pattern, uri) is not None
