"""Resources of all sources: listed together, and read by URI or name from the source that has them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from toolcrib.catalog import JsonObject, ListMethod, RequestContext, Source
from toolcrib.crib.offers import Offered, offered
from toolcrib.errors import UsageError, shown

QUALIFIED = "toolcrib://"
"""Begins the URI by which a resource can be named together with its server: `toolcrib://SERVER/URI`."""

_NAMED = 5
_OFFERED = 12
_LONGEST = 200
_VARIABLE = re.compile(r"\\\{[^}]*\\\}")
_BRACES = re.compile(r"\{[^}]*\}")


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


@dataclass(frozen=True)
class Resources:
    """What was listed.

    Attributes:
        found: All resources, then all templates, source by source.
        failed: The ids of sources that could not be asked.
    """

    found: tuple[Resource, ...]
    failed: tuple[str, ...] = ()

    def one(self, wanted: str, server: str = "", *, by_name: bool = True) -> tuple[str, str]:
        """The source and the URI that a URI or a name stands for.

        Args:
            wanted: A URI, also one that a template stands for, or a qualified one; else a name.
            server: Only of this source.
            by_name: Whether a name is one too.

        Raises:
            NoResourceError: There is none.
            UsageError: It could be several.
        """
        known = [each for each in self.found if server in ("", each.server)]
        exact = [each for each in known if not each.is_template and wanted == each.uri]
        if not exact and not server and (parts := unqualified(wanted)) is not None:
            return self.one(parts[1], parts[0], by_name=by_name)
        named = [each for each in known if by_name and not each.is_template and wanted == each.name]
        made = _closest([each for each in known if each.is_template and _fits(each.uri, wanted)])
        for fitting in (exact, named, made):
            sources = dict.fromkeys(each.server for each in fitting)
            if len(sources) > 1 or (fitting is named and len(fitting) > 1):
                found = [qualified(each.server, each.uri if fitting is named else wanted) for each in fitting]
                raise UsageError(
                    f"{shown(wanted)} could be several resources.", hint=f"Use one of: {', '.join(found[:_NAMED])}."
                )
            if fitting:
                return fitting[0].server, fitting[0].uri if fitting is named else wanted
        raise NoResourceError(wanted, _available(wanted, known))

    def template(self, wanted: str) -> tuple[str, str] | None:
        """The only source that has a template, also a qualified one, and the template; None where there is none."""
        having = [
            each for each in self.found if each.is_template and wanted in (each.uri, qualified(each.server, each.uri))
        ]
        return (having[0].server, having[0].uri) if len({each.server for each in having}) == 1 else None


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


class NoResourceError(UsageError):
    """No source that the caller may know of has that resource.

    Args:
        wanted: What was asked for.
        hint: What there is.
    """

    code = "resource_unknown"

    def __init__(self, wanted: str, hint: str) -> None:
        super().__init__(f"There is no resource {shown(wanted)}.", hint=hint)
        self.wanted = wanted


def qualified(server: str, uri: str) -> str:
    """The URI of a resource together with its server. A template stays one."""
    return f"{QUALIFIED}{server}/{uri}"


def unqualified(uri: str) -> tuple[str, str] | None:
    """The server and the URI in a qualified one; None for any other."""
    server, slash, rest = uri.removeprefix(QUALIFIED).partition("/")
    return (server, rest) if uri.startswith(QUALIFIED) and slash else None


async def listed(
    sources: Iterable[Source],
    context: Callable[[str], RequestContext],
    kinds: Sequence[ListMethod] = ("resources/list", "resources/templates/list"),
    **waiting: Any,
) -> tuple[Resources, Sequence[Offered]]:
    """The resources of sources, and what was listed of each kind; one that can't be asked costs only its own.

    Args:
        sources: Those that the caller may know of.
        context: What accompanies a request to one.
        kinds: What to list.
        waiting: See `offered`.
    """
    asked = list(sources)
    answers: list[Offered] = []
    rows: list[Resource] = []
    for kind in kinds:
        answer = await offered(asked, kind, context, **waiting)
        answers.append(answer)
        member, is_template = ("uri", False) if kind == "resources/list" else ("uriTemplate", True)
        rows += [
            Resource(source, str(entry[member]), entry, is_template)
            for source, entry in answer.entries()
            if member in entry
        ]
    failed = sorted({source for answer in answers for source in (*answer.failed, *answer.late)})
    return Resources(tuple(rows), tuple(failed)), answers


def _closest(templates: list[Resource]) -> list[Resource]:
    """Those of the templates that say the most of the URI themselves."""
    most = max((_said(each) for each in templates), default=0)
    return [each for each in templates if _said(each) == most]


def _said(template: Resource) -> int:
    return len(_BRACES.sub("", template.uri))


def _fits(template: str, uri: str) -> bool:
    """Whether a URI may be one of a template's (RFC 6570; any value of a variable is taken)."""
    pattern: Any = _VARIABLE.sub(".+", re.escape(template))
    return len(uri) <= 4_096 and re.fullmatch(pattern, uri) is not None
