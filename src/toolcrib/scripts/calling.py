"""The calls of one run: each goes through the broker, and the script is told what came of it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast

from toolcrib.broker import (
    ApprovalWaitingError,
    Call,
    Caller,
    Effect,
    InvalidArgumentsError,
    Options,
    Outcome,
    content_of,
    text_of,
    value_of,
)
from toolcrib.catalog import SAVED_SCRIPTS, ClientSide, JsonObject, OnProgress, Tool
from toolcrib.errors import DeniedError, ToolcribError, UnknownOutcomeError, UnknownToolError
from toolcrib.sandbox import CallError, ScriptCall, StopError, SuspendError
from toolcrib.scripts.arguments import as_object
from toolcrib.scripts.outcome import RUN_META, MadeCall, MadeState
from toolcrib.scripts.progress import Steps
from toolcrib.scripts.replaying import EarlierCall, Replay

_MOST_SHOWN = 20
_SEARCH_LIMIT = 8
_MOST_FOUND = 50
_MOST_NAMED = 20
_MOST_DETAIL = 300


class Door(Protocol):
    """What scripts reach of everything else; the crib's own front door."""

    async def tool(self, name: str, *, caller: Caller) -> Tool:
        """A tool by its id or another spelling of it."""
        ...

    async def call(self, name: str, arguments: JsonObject, caller: Caller, options: Options) -> Outcome:
        """Call a tool, through the broker."""
        ...

    async def search(self, query: str, limit: int, caller: Caller) -> list[JsonObject]:
        """What a search finds: id, signature and description of each."""
        ...

    async def details(self, name: str, caller: Caller) -> JsonObject:
        """A tool's whole definition."""
        ...

    async def resources(self, server: str | None, caller: Caller) -> list[JsonObject]:
        """What the servers offer to read."""
        ...

    async def read_resource(self, uri: str, server: str | None, caller: Caller, client: ClientSide | None) -> Outcome:
        """Read a resource by its URI or name, through the broker."""
        ...

    def effect(self, tool: Tool) -> Effect:
        """What a call of a tool may do."""
        ...

    def labels(self, caller: Caller) -> frozenset[str]:
        """The labels of what a caller has read."""
        ...

    def has_read(self, caller: Caller, labels: frozenset[str]) -> None:
        """Let a caller count as having read something with these labels."""
        ...

    async def ended(self, caller: Caller) -> None:
        """Take back what was given to a run alone, now that it has ended: grants, and connections of its own."""
        ...


class Keeping(Protocol):
    """Keeps what calls with effects came to, so that a later run can be answered."""

    async def known(self) -> None:
        """Wait until the run is on record, which it has to be before anything with effects is made.

        Raises:
            StoreError: It can't be recorded.
        """
        ...

    async def keep(self, number: int, outcome: Outcome, again: EarlierCall | None) -> None:
        """Keep one, by its number in the run; `again` is the call of an earlier run that it repeats."""
        ...


class ScriptCalls:
    """Makes the calls of one run.

    Args:
        door: Where they go.
        caller: Who runs the script; its calls are the script's.
        flat: Tool ids by their flat names in the script.
        replay: Answers what an earlier run did already.
        keeping: Keeps results.
        on_progress: Is told of each call that ended, and of what calls report.
        client: What stands behind the caller and can be asked while a call waits.
        extract: The tool behind the function `extract`; None where there is none.
        only_reads: Whether only calls that are known to read may be made.

    Attributes:
        made: What was called, in the order in which it ended.
        shown: Blocks that the script showed.
    """

    def __init__(
        self,
        door: Door,
        caller: Caller,
        flat: Mapping[str, str],
        replay: Replay | None,
        keeping: Keeping,
        on_progress: OnProgress | None,
        client: ClientSide | None,
        extract: str | None = None,
        *,
        only_reads: bool = False,
    ) -> None:
        self._extract = extract
        self._door = door
        self._caller = caller
        self._flat = flat
        self._replay = replay
        self._keeping = keeping
        self._steps = Steps(on_progress)
        self._client = client
        self._only_reads = only_reads
        self.made: list[MadeCall] = []
        self.shown: list[JsonObject] = []
        self._waits_for: list[ApprovalWaitingError] = []
        self._ids: dict[int, str] = {}

    @property
    def waiting(self) -> str:
        """Which approvals are waited for, and how they are given; empty for none."""
        if len(self._waits_for) < 2:
            return "".join(
                each.message if each.command in each.message else f"{each.message} A person allows it: {each.command}"
                for each in self._waits_for
            )
        ids = self.approvals
        some = ", ".join(ids[:_MOST_NAMED]) + (f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else "")
        return (
            f"Its calls wait for the approvals {some}, and have not been sent. A person allows them: toolcrib approve"
        )

    @property
    def approvals(self) -> list[str]:
        """The ids of the approvals that are waited for."""
        return list(dict.fromkeys(error.approval for error in self._waits_for))

    async def __call__(self, call: ScriptCall) -> Any:
        """Make a call.

        Raises:
            CallError: It failed; the script may catch it.
            StopError: It must not be made, and the script must not go on.
            SuspendError: It waits for an approval.
        """
        try:
            value = await self._value(call)
        except CallError:
            await self._steps.ended(call)
            raise
        await self._steps.ended(call)
        return value

    async def _value(self, call: ScriptCall) -> Any:
        match call.name:
            case "search_tools":
                return await self._looked(call, self._search)
            case "get_tool_details":
                return await self._looked(call, self._details)
            case "mcp_list_resources":
                return await self._looked(call, self._resources)
            case "mcp_read_resource":
                return await self._looked(call, self._resource)
            case "show":
                return self._show(call)
            case "extract" if self._extract is not None:
                return await self._extracted(call, self._extract)
            case "call_tool":
                name, arguments = _inner(call)
                return await self._tool(call, name, arguments)
            case name:
                return await self._tool(call, self._flat.get(name, name), None)

    async def _tool(self, call: ScriptCall, name: str, arguments: JsonObject | None) -> Any:
        effect: Effect = "unknown"
        try:
            tool = await self._door.tool(name, caller=self._caller)
            effect = self._door.effect(tool)
            given = as_object(tool, call.args, call.kwargs) if arguments is None else arguments
            if effect != "read":
                await self._keeping.known()
            outcome, repeated = await self._called(call, tool, given)
        except (CallError, StopError, ToolcribError) as error:
            raise self._failed(error, call, name, effect) from None
        state: MadeState = "repeated" if repeated else "failed" if outcome.is_error else "done"
        self._file(call, tool.id, outcome.call.effect, state, _detail(outcome) if outcome.is_error else "")
        if outcome.is_error:
            data = outcome.result.get("structuredContent", content_of(outcome.result))
            raise CallError(text_of(outcome.result) or f"{tool.id} failed.", tool=tool.id, data=data)
        return value_of(outcome.result)

    async def _extracted(self, call: ScriptCall, tool: str) -> Any:
        given = _by_place(call, "value", "shape")
        if not {"value", "shape"} <= given.keys() or given["shape"] is None:
            raise CallError("extract takes a value and the shape of what is wanted.", kind="TypeError", tool=tool)
        found = await self._tool(call, tool, {"value": given["value"], "shape": given["shape"]})
        return cast("JsonObject", found)["value"]

    async def _called(self, call: ScriptCall, tool: Tool, arguments: JsonObject) -> tuple[Outcome, bool]:
        """What came of a call, and whether an earlier run had made it."""
        taken: list[EarlierCall] = []

        def earlier(prepared: Call) -> Outcome | None:
            self._ids[call.number] = prepared.id
            found = self._replay.take(prepared) if self._replay is not None else None
            if found is None:
                return None
            taken.append(found[0])
            self._ids[call.number] = found[0].call_id
            return found[1]

        options = Options(
            on_progress=self._steps.of(call), earlier=earlier, client=self._client, only_reads=self._only_reads
        )
        outcome = await self._door.call(tool.id, arguments, self._caller, options)
        is_kept = outcome.call.effect != "read" or tool.id == self._extract
        if is_kept and not outcome.is_error:
            await self._keeping.keep(call.number, outcome, taken[0] if taken else None)
        return outcome, bool(taken)

    async def _looked(self, call: ScriptCall, look: Callable[[ScriptCall], Awaitable[Any]]) -> Any:
        try:
            found = await look(call)
        except (CallError, ToolcribError) as error:
            raise self._failed(error, call, call.name, "read") from None
        self._file(call, call.name, "read", "done")
        return found

    def _failed(
        self, error: CallError | StopError | ToolcribError, call: ScriptCall, name: str, effect: Effect
    ) -> CallError | StopError | SuspendError:
        """File a call that came to nothing, and give what the script gets of it: a denial ends it, whatever it
        catches, and an approval that is still open puts it to sleep."""
        match error:
            case CallError():
                self._file(call, name, effect, "failed", error.message)
                return error
            case StopError():
                self._file(call, name, effect, "denied", str(error))
                return error
            case ApprovalWaitingError():
                self._waits_for.append(error)
                self._file(call, name, effect, "waiting")
                return SuspendError(str(error))
            case DeniedError():
                self._file(call, name, effect, "denied", str(error))
                return StopError(str(error))
            case _:
                unknown = isinstance(error, UnknownOutcomeError) and effect != "read"
                self._file(call, name, effect, "unknown" if unknown else "failed", str(error))
                return _call_error(error, name)

    async def _search(self, call: ScriptCall) -> list[JsonObject]:
        given = _by_place(call, "query", "limit")
        limit = given.get("limit")
        most = min(limit, _MOST_FOUND) if isinstance(limit, int) and limit > 0 else _SEARCH_LIMIT
        return await self._door.search(str(given.get("query") or ""), most, self._caller)

    async def _details(self, call: ScriptCall) -> JsonObject:
        given = _by_place(call, "name")
        return await self._door.details(str(given.get("name") or ""), self._caller)

    async def _resources(self, call: ScriptCall) -> list[JsonObject]:
        return await self._door.resources(_optional(_by_place(call, "server").get("server"), call), self._caller)

    async def _resource(self, call: ScriptCall) -> list[JsonObject]:
        """The contents of a resource: each with its URI, and a text or, of bytes, a blob in Base64."""
        given = _by_place(call, "uri", "server")
        uri, server = _optional(given.get("uri"), call), _optional(given.get("server"), call)
        if not uri:
            raise CallError("mcp_read_resource needs a resource's uri.", kind="TypeError", tool=call.name)
        outcome = await self._door.read_resource(uri, server, self._caller, self._client)
        return content_of({"content": outcome.result.get("contents")})

    def _show(self, call: ScriptCall) -> None:
        """Take blocks that the caller is to see as they are, such as an image of a result."""
        for value in call.args:
            for each in cast("list[Any]", value) if isinstance(value, list) else [value]:
                if len(self.shown) >= _MOST_SHOWN:
                    raise CallError(f"A script may show {_MOST_SHOWN} blocks.", kind="ValueError")
                self.shown.append(_block(each))

    def _file(self, call: ScriptCall, name: str, effect: Effect, state: MadeState, detail: str = "") -> None:
        call_id = self._ids.pop(call.number, "")
        self.made.append(MadeCall(call.number, name, call.line, effect, state, detail, call_id))


def _detail(outcome: Outcome) -> str:
    """What went wrong with a call; of a saved script, also what it did all the same."""
    text = text_of(outcome.result)
    meta = outcome.result.get("_meta")
    run = cast("JsonObject", meta).get(RUN_META) if isinstance(meta, dict) else None
    if outcome.call.source == SAVED_SCRIPTS and isinstance(run, dict):
        return f"{text.partition(chr(10))[0][:_MOST_DETAIL]} In {cast('JsonObject', run).get('effects')}."
    return text[:_MOST_DETAIL]


def _inner(call: ScriptCall) -> tuple[str, JsonObject]:
    """Id and arguments of a `call_tool` inside a script."""
    given = _by_place(call, "name", "arguments")
    name, arguments = given.get("name"), given.get("arguments")
    if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
        raise CallError("call_tool takes a tool's id and an object of arguments.", kind="TypeError", tool="call_tool")
    return name, cast("JsonObject", arguments or {})


def _block(value: Any) -> JsonObject:
    """A content block; what was read of a resource as one.

    Raises:
        CallError: It is neither.
    """
    block = cast("JsonObject", value) if isinstance(value, dict) else {}
    if isinstance(block.get("type"), str):
        return block
    if isinstance(block.get("uri"), str) and ("text" in block or "blob" in block):
        return {"type": "resource", "resource": block}
    raise CallError(
        "show takes content blocks, such as those of a result with an image, and contents of resources.",
        kind="TypeError",
    )


def _optional(value: Any, call: ScriptCall) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise CallError(f"{call.name} takes texts.", kind="TypeError", tool=call.name)


def _by_place(call: ScriptCall, *names: str) -> JsonObject:
    """Arguments by name, those without one by their place; a single object in their place is taken for all."""
    if len(call.args) == 1 and isinstance(call.args[0], dict) and not call.kwargs:
        return cast("JsonObject", call.args[0])
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}


def _call_error(error: ToolcribError, name: str) -> CallError:
    data: Any = error.to_json()
    tool = error.tool.id if isinstance(error, InvalidArgumentsError) else name
    kind = "AttributeError" if isinstance(error, UnknownToolError) else "ToolError"
    return CallError(str(error), kind=kind, tool=tool, data=data)
