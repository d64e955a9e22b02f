"""What a skill names of servers and tools: enabled as far as that is allowed, and told as far as it is there."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from toolcrib.broker import Caller
from toolcrib.catalog import Tool, public_name
from toolcrib.errors import ToolcribError, UnknownToolError, UsageError
from toolcrib.schema import UnknownServerError

if TYPE_CHECKING:
    from toolcrib.crib.crib import Crib
    from toolcrib.crib.sources import SourceTable
    from toolcrib.skills import Skill

_WILD = re.compile(r"[*?\[]")
_ENABLING = re.compile("enable_server")
_HEAD = re.compile(r"__|\.|/")


@dataclass(frozen=True, slots=True)
class SkillNeeds:
    """What of the tools that a skill names is there.

    Attributes:
        tools: The tools, in the order in which it names them; of a server of which it names no tool, all.
        missing: What it names and is not there, and why.
    """

    tools: tuple[Tool, ...]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class UsedSkill:
    """What came of using a skill.

    Attributes:
        skill: The skill.
        enabled: The ids of the servers that it names and that are on now.
        tools: The ids of its tools that are there.
        missing: The servers and tools that it names and that are not there, and why.
    """

    skill: "Skill"
    enabled: tuple[str, ...]
    tools: tuple[str, ...]
    missing: Mapping[str, str]


class NeedsOf:
    """Tells, and enables, what skills name.

    Args:
        crib: Has the tools, and turns servers on as its configuration allows.
        sources: Learns what servers list.
        source_id: The id of a server that a caller may know of; raises `UsageError` for any other.
        is_off: Whether a server is off, or set aside.
    """

    def __init__(
        self,
        crib: "Crib",
        sources: "SourceTable",
        source_id: Callable[[str, Caller], str],
        is_off: Callable[[str], bool],
    ) -> None:
        self._crib = crib
        self._sources = sources
        self._source_id = source_id
        self._is_off = is_off

    async def enabled(self, skill: "Skill", caller: Caller) -> UsedSkill:
        """Turn on what a skill names, by the rules that hold for `enable_server`, and tell what came of it."""
        on: dict[str, None] = {}
        missing: dict[str, str] = {}
        for name in dict.fromkeys((*skill.servers, *_servers_of(skill.tools))):
            try:
                on[await self._on(name, caller)] = None
            except ToolcribError as error:
                missing[name] = _why(error)
        needs = await self._told(skill, caller, missing)
        return UsedSkill(skill, tuple(on), tuple(tool.id for tool in needs.tools), needs.missing)

    async def known(self, skill: "Skill", caller: Caller) -> SkillNeeds:
        """What of the tools that a skill names is there; nothing is turned on."""
        return await self._told(skill, caller, {})

    async def _on(self, name: str, caller: Caller) -> str:
        """Turn a server on, if it is off; its id."""
        try:
            server = self._source_id(name, caller)
        except UsageError:
            if "/" not in name:  # what has one may be the name of a server in a registry
                raise
            return (await self._crib.enable(name, caller=caller)).id
        if self._is_off(server):
            await self._crib.enable(server, caller=caller)
        return server

    async def _told(self, skill: "Skill", caller: Caller, missing: Mapping[str, str]) -> SkillNeeds:
        found: dict[str, Tool] = {}
        why = dict(missing)
        for name in skill.tools:
            if next(iter(_servers_of([name])), "") in missing:
                continue  # that its server is not there was told
            try:
                for tool in await self._tools(name, caller):
                    found[tool.id] = tool
            except ToolcribError as error:
                why[name] = _why(error)
        named = _servers_of(skill.tools)
        for name in skill.servers:
            if name in why or name in named:
                continue
            try:
                server = self._source_id(name, caller)
                if server not in named:
                    for tool in await self._tools(f"{server}.*", caller):
                        found[tool.id] = tool
            except ToolcribError as error:
                why[name] = _why(error)
        return SkillNeeds(tuple(found.values()), why)

    async def _tools(self, name: str, caller: Caller) -> list[Tool]:
        """The tools that a name or a glob stands for.

        Raises:
            UnknownToolError, AmbiguousNameError: There is none, or it could be several.
            ServerError: The server was never listed, and can't be reached.
        """
        if not _WILD.search(name):
            return [await self._crib.tool(name, caller=caller)]
        await self._sources.learn(name, caller)
        ids = [public_name(key) for key in self._crib.known_keys(caller=caller)]
        fitting = [each for each in ids if fnmatchcase(each, name)]
        # Where nothing fits, asking for it by the glob itself tells what is amiss, such as a server that is off.
        return [await self._crib.tool(each, caller=caller) for each in fitting or [name]]


def _why(error: ToolcribError) -> str:
    """Why something is not there, without what is told of every name that nothing has."""
    if isinstance(error, UnknownServerError):
        said_to_all = error.near is None
    else:
        said_to_all = isinstance(error, UsageError) or (
            isinstance(error, UnknownToolError) and not error.candidates and not _ENABLING.search(error.hint)
        )
    return error.message if said_to_all else str(error)


def _servers_of(tools: Iterable[str]) -> dict[str, None]:
    """The servers that tools are named with."""
    heads = (_HEAD.split(name, maxsplit=1)[0] for name in tools if _HEAD.search(name))
    return {head: None for head in heads if not _WILD.search(head)}
