"""Saved scripts as a source: each is a tool, and calling it runs it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

import anyio

from toolcrib.broker import ApprovalWaitingError, Call, Caller, CallerContext, Effect, text_of
from toolcrib.catalog import (
    NO_CONTEXT,
    SAVED_SCRIPTS,
    JsonObject,
    ListMethod,
    RequestContext,
    RequestMethod,
    Tool,
    ToolRegistry,
)
from toolcrib.errors import CallTimeoutError, DeniedError, ProtocolError, ToolcribError, UsageError
from toolcrib.scripts.folder import ScriptFolder
from toolcrib.scripts.outcome import RUN_META, Purpose, RunOutcome
from toolcrib.scripts.reach import reach
from toolcrib.scripts.runner import ScriptRunner
from toolcrib.scripts.saved import SavedScript
from toolcrib.scripts.telling import effects_line, run_result, value_blocks

DEEPEST = 4
"""Saved scripts that may be at work inside each other."""
RETRY_META = "toolcrib/retry_of"
"""Member of a request's `_meta` that names the run which it is to go on from."""

_AT_ONCE = 8
_LARGEST_VALUE = 16 * 1024 * 1024
_METHOD_NOT_FOUND = -32601
_INVALID_PARAMS = -32602
_GREATEST_FIRST: tuple[Effect, ...] = ("destructive", "unknown", "write")


class SavedScripts:
    """The scripts of a folder as tools.

    Args:
        folder: Where they are kept.
        runner: Gives what runs them; asked for when the first is called.
        catalog: Has the tools that they may name.
        sources: Gives the ids of all sources.
        effect: What a call of a tool may do.
    """

    id = SAVED_SCRIPTS
    description = "Scripts that were saved here"
    asks_midway = True

    def __init__(
        self,
        folder: ScriptFolder,
        runner: Callable[[], ScriptRunner],
        catalog: ToolRegistry,
        sources: Callable[[], Collection[str]],
        effect: Callable[[Tool], Effect],
    ) -> None:
        self.folder = folder
        self._runner = runner
        self._catalog = catalog
        self._sources = sources
        self._effect = effect
        self._gates: dict[int, anyio.CapacityLimiter] = {}
        self._effects: tuple[object, dict[str, Effect]] = (None, {})

    @property
    def definitions(self) -> list[JsonObject]:
        """The definitions of all scripts, as they were read last."""
        return [script.definition for script in self.folder.scripts.values()]

    def effects(self) -> Mapping[str, Effect]:
        """What a call of each script may do, by its name: the most that one of the tools may do which it names; where
        it may call others too, or one of them is not known, that can't be told.

        A script that only reads is held to that: no other call of it is made.
        """
        now = (self._catalog.version, self.folder.scripts)
        if self._effects[0] != now:
            found: dict[str, Effect] = {}
            self._effects = (now, found)
            for name in self.folder.scripts:
                found[name] = self._effect_of(name, ())
        return self._effects[1]

    def _effect_of(self, name: str, within: tuple[str, ...]) -> Effect:
        script = self.folder.scripts.get(name)
        if script is None or name in within or len(within) >= DEEPEST:
            return "unknown"
        named = reach(script.code, script.language, self._sources())
        found: set[Effect] = {"unknown"} if named is None else set()
        for tool_id in named or ():
            server, _, own = tool_id.partition(".")
            if server == SAVED_SCRIPTS:
                found.add(self._effect_of(own, (*within, name)))
            elif self._catalog.has_tool(tool_id):
                found.add(self._effect(self._catalog.tool(tool_id)))
            else:
                found.add("unknown")
        for effect in _GREATEST_FIRST:
            if effect in found:
                return effect
        return "read"

    def offers(self, capability: str) -> bool:
        """Whether it offers what a capability stands for: tools alone."""
        return capability == "tools"

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Nothing to do: whoever holds this source follows the folder."""

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        """The definitions for `tools/list`; nothing for the other lists."""
        return self.definitions if method == "tools/list" else []

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Run a script; see `Source.request`. What came of it is the result, with its account.

        Raises:
            ProtocolError: There is no such script, or the request is no tool call.
            CallTimeoutError: It took too long.
            ApprovalWaitingError: It waits for an approval; the same call goes on with it.
            DeniedError: It is a part of another script, and a call of it was denied.
        """
        if method != "tools/call":
            raise ProtocolError(self.id, f"{method} is not offered", rpc_code=_METHOD_NOT_FOUND)
        script = self.folder.scripts.get(str(params.get("name")))
        if script is None:
            raise ProtocolError(self.id, f"unknown tool {params.get('name')}", rpc_code=_INVALID_PARAMS)
        # Told now, of this text: the folder may change while the call waits for its turn.
        effect = self.effects()[script.name]
        caller = context.caller if isinstance(context, CallerContext) else Caller()
        arguments = cast("JsonObject", params.get("arguments") or {})
        try:
            _check_nesting(script.name, caller.within)
            with anyio.fail_after(context.timeout):
                async with self._gates.setdefault(len(caller.within), anyio.CapacityLimiter(_AT_ONCE)):
                    outcome = await self._run(script, effect, arguments, caller, context)
        except TimeoutError:
            if context.timeout is None:
                raise
            raise CallTimeoutError(self.id, f"{script.name} took longer than {context.timeout:g} s.") from None
        except (ApprovalWaitingError, DeniedError):
            raise
        except ToolcribError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return self._result(script, outcome, arguments, caller)

    async def _run(
        self, script: SavedScript, effect: Effect, arguments: JsonObject, caller: Caller, context: RequestContext
    ) -> RunOutcome:
        runner = self._runner()
        program = script.program(arguments)
        asked, earlier = await runner.asked(f"{SAVED_SCRIPTS}.{script.name}", arguments, caller)
        purpose = Purpose(
            only_reads=effect == "read",
            result_bytes=_LARGEST_VALUE,
            parent=caller.run,
            asked=asked,
            script=script.name,
        )
        retry_of = context.meta.get(RETRY_META)
        return await runner.run(
            program,
            script.language,
            replace(caller, within=(*caller.within, script.name)),
            retry_of=retry_of if isinstance(retry_of, str) else earlier,
            on_progress=context.on_progress,
            client=context.client,
            purpose=purpose,
        )

    def _result(self, script: SavedScript, outcome: RunOutcome, arguments: JsonObject, caller: Caller) -> JsonObject:
        """What came of a run, as the result of the tool."""
        tool_id = f"{SAVED_SCRIPTS}.{script.name}"
        if outcome.status == "suspended":
            raise _waiting(tool_id, arguments, caller, outcome)
        result = run_result(outcome, partial(_again, caller, script.name))
        result["_meta"] = {RUN_META: {"id": outcome.run, "status": outcome.status, "effects": effects_line(outcome)}}
        if caller.run and outcome.status == "stopped":
            raise DeniedError(f"{tool_id} was stopped. {text_of(result)}")
        if outcome.ok and outcome.cut:
            told = f"The value of {script.name} is larger than {_LARGEST_VALUE:,} bytes, and so was not given whole."
            result = {**result, "content": [{"type": "text", "text": told}, result["content"][-1]], "isError": True}
        elif outcome.ok and (caller.run or (outcome.value is not None and not value_blocks(outcome))):
            result["structuredContent"] = outcome.value
        return result


def _waiting(tool: str, arguments: JsonObject, caller: Caller, outcome: RunOutcome) -> ApprovalWaitingError:
    """What is told of a script that sleeps: it goes on when it is called again."""
    call = Call("tools/call", tool, SAVED_SCRIPTS, {"arguments": arguments}, caller, None, "unknown")
    error = ApprovalWaitingError(call, outcome.approvals[0] if outcome.approvals else "", "")
    error.message = f"{tool} waits. {outcome.waiting}"
    error.hint = f"Once that is decided, repeat this very call: it goes on where it stands ({outcome.run})."
    return error


def _check_nesting(name: str, within: tuple[str, ...]) -> None:
    way = " → ".join([*within, name])
    if name in within:
        raise UsageError(f"The script {name} calls itself ({way}), which is not done.", hint="Use a loop inside it.")
    if len(within) >= DEEPEST:
        raise UsageError(f"Scripts call each other {len(within) + 1} deep ({way}); at most {DEEPEST} are run.")


def _again(caller: Caller, name: str, run: str) -> str:
    """How a run of a saved script is gone on with; empty for one inside another, which is gone on with by that."""
    if caller.run:
        return ""
    if caller.face == "cli":
        return f"toolcrib scripts run {name} --retry-of {run} …"
    return f'run_code(code="", retry_of="{run}")'
