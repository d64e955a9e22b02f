"""Code mode over one crib: where scripts run, what they may call, and what is kept of them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from toolcrib.broker import Call, Caller, DataFlow, Effect, Filter, Ledger, Options, Outcome, SeenShapes
from toolcrib.catalog import SKILL_HEAD, ClientSide, JsonObject, Tool, VisibleSet
from toolcrib.config import ScriptSettings
from toolcrib.crib.shared import SharedStore
from toolcrib.errors import StoreError
from toolcrib.sandbox import Language, Limits, Sandbox
from toolcrib.schema import example_call, signature
from toolcrib.schema.stubs import StubTool, python_stubs, typescript_stubs
from toolcrib.scripts import Backends, EarlierCall, Naming, Runs, ScriptRunner

if TYPE_CHECKING:
    from toolcrib.crib.crib import Crib
    from toolcrib.skills import Skill

_MIB = 1024 * 1024
_MOST_CALLS = 100_000
"""As many as a run may ever make: of none that it made may it be forgotten that it was."""
_MOST_PRINTED = 32 * 1024


def runner_of(
    crib: "Crib",
    settings: ScriptSettings,
    shared: SharedStore,
    ledger: Ledger,
    flow: DataFlow,
    instance: str,
    extract: Tool | None = None,
) -> ScriptRunner:
    """What runs scripts over a crib.

    Args:
        crib: The crib.
        settings: The configuration's `scripts`.
        shared: The store of runs.
        ledger: Has the key that snapshots are sealed with.
        flow: Knows what callers have read.
        instance: This process.
        extract: The tool behind the function `extract` of scripts, if there is one.
    """
    limits = Limits(
        cpu=settings.seconds,
        wall=settings.seconds,
        total=settings.total_seconds,
        memory=settings.memory_mb * _MIB,
        calls=settings.calls,
        output=_MOST_PRINTED,
        result_bytes=crib.config.settings.result_budget or _MIB,
    )

    async def key() -> bytes:
        await ledger.store()
        return ledger.key

    runs = Runs(
        shared.opened,
        key,
        instance,
        keep_seconds=settings.keep_seconds,
        retention_days=crib.config.settings.journal.retention_days or 365,
        settled=_Settled(crib) if crib.config.settings.journal.enabled else None,
        redact=crib.secrets.text,
    )
    tool = crib.registry.tool
    door = _Door(crib, flow, extract)
    name = None if extract is None else extract.id
    return ScriptRunner(door, _Names(crib), tool, backends(settings), partial(_stubs, crib.seen), runs, limits, name)


def backends(settings: ScriptSettings) -> Backends:
    """What runs scripts of each language that the configuration allows."""
    found: dict[Language, Sequence[Callable[[], Sandbox]]] = {
        "python": (_monty, _cpython) if settings.full_python else (_monty,)
    }
    if settings.typescript:
        found["typescript"] = (lambda: _deno("typescript"),)
        found["javascript"] = (lambda: _deno("javascript"),)
    return found


def _monty() -> Sandbox:
    from toolcrib.sandbox.monty.sandbox import MontySandbox

    return MontySandbox()


def _cpython() -> Sandbox:
    from toolcrib.sandbox.cpython.sandbox import CPythonSandbox

    return CPythonSandbox()


def _deno(language: Language) -> Sandbox:
    from toolcrib.sandbox.deno.sandbox import DenoSandbox

    return DenoSandbox("typescript" if language == "typescript" else "javascript")


def _stubs(
    seen: SeenShapes, caller: Caller, tools: Sequence[Tool], flat: Mapping[str, Tool], language: Language
) -> str:
    """The types of what a script names; scripts of JavaScript are not checked against any."""
    if language == "javascript":
        return ""
    named = {tool.id: tool for tool in (*tools, *flat.values())}
    typed = (
        StubTool(each.id, each.input_schema, each.output_schema, each.description, seen.of(each.id, caller.principal))
        for each in named.values()
    )
    make = python_stubs if language == "python" else typescript_stubs
    return make(typed, {name: tool.id for name, tool in flat.items()})


class _Door:
    """The crib as scripts reach it."""

    def __init__(self, crib: "Crib", flow: DataFlow, extract: Tool | None) -> None:
        self._crib = crib
        self._flow = flow
        self._extract = extract

    async def tool(self, name: str, *, caller: Caller) -> Tool:
        if self._extract is not None and name == self._extract.id:
            return self._extract
        return await self._crib.tool(name, caller=caller)

    async def call(self, name: str, arguments: JsonObject, caller: Caller, options: Options) -> Outcome:
        return await self._crib.request("tools/call", name, arguments, caller, options)

    async def search(self, query: str, limit: int, caller: Caller) -> list[JsonObject]:
        answer = await self._crib.search(query, limit=limit, caller=caller)
        skills = [{"id": each.id, "signature": "", "description": each.description} for each in answer.skills]
        return [*skills, *(_brief(found.tool) for found in answer.found)]

    async def details(self, name: str, caller: Caller) -> JsonObject:
        if name.startswith(SKILL_HEAD) and self._crib.has_skills:
            return await self._skill(self._crib.skills.get(name, caller), caller)
        tool = await self._crib.tool(name, caller=caller)
        seen = self._crib.seen.of(tool.id, caller.principal)
        seen_before = {"seen_before": seen} if seen and tool.output_schema is None else {}
        return {
            **_brief(tool),
            **seen_before,
            "example": example_call(tool.input_schema),
            "definition": tool.definition,
        }

    async def _skill(self, skill: "Skill", caller: Caller) -> JsonObject:
        needs = await self._crib.skills.needs(skill, caller)
        return {
            "id": skill.id,
            "description": skill.description,
            "text": skill.text,
            "tools": [_brief(tool) for tool in needs.tools],
            "missing": dict(needs.missing),
            "files": [skill.uri(path) for path in self._crib.skills.files(skill)],
        }

    async def resources(self, server: str | None, caller: Caller) -> list[JsonObject]:
        known = await self._crib.resources(server=server, caller=caller)
        return [
            {**each.definition, "server": each.server, "uri": each.uri, "is_template": each.is_template}
            for each in known.found
        ]

    async def read_resource(self, uri: str, server: str | None, caller: Caller, client: ClientSide | None) -> Outcome:
        return await self._crib.read_resource(uri, server=server, caller=caller, options=Options(client=client))

    def effect(self, tool: Tool) -> Effect:
        return self._crib.effect(tool)

    def labels(self, caller: Caller) -> frozenset[str]:
        return self._flow.labels(caller)

    def has_read(self, caller: Caller, labels: frozenset[str]) -> None:
        if labels:
            self._flow.learned(Call("tools/call", "", "", {}, caller, None, "read"), {}, labels)

    async def ended(self, caller: Caller) -> None:
        self._crib.release(caller)
        with suppress(StoreError):  # what was granted ends by itself too
            await self._crib.approvals.end_run(caller)


def _brief(tool: Tool) -> JsonObject:
    return {
        "id": tool.id,
        "signature": signature(tool.id, tool.input_schema, tool.output_schema),
        "description": tool.description,
    }


class _Names:
    """The names that a caller's scripts may use; made once a visible set."""

    def __init__(self, crib: "Crib") -> None:
        self._crib = crib
        self._known: tuple[VisibleSet, Naming] | None = None

    def __call__(self, caller: Caller) -> Naming:
        visible = self._crib.visible(caller)
        if self._known is None or self._known[0] is not visible:
            registry = self._crib.registry
            tools = {
                server: {each: raw for each, raw in registry.raw_names(server).items() if each in visible}
                for server in registry.servers
            }
            self._known = (visible, Naming({server: ids for server, ids in tools.items() if ids}))
        return self._known[1]


class _Settled:
    """What the journal has of a run's calls with effects."""

    def __init__(self, crib: "Crib") -> None:
        self._crib = crib

    async def __call__(self, run: str) -> list[EarlierCall]:
        entries = await self._crib.journal.entries(Filter(run=run), limit=_MOST_CALLS)
        return [
            EarlierCall(each.id, each.tool, each.digest, "done" if each.state == "done" else "unknown", None)
            for each in reversed(entries)
            if each.effect != "read" and each.state in ("started", "done", "unknown")
        ]
