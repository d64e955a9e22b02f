"""The broker: the one place that every request to a source goes through."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Protocol

import anyio

from toolcrib.broker.access import Access
from toolcrib.broker.call import DEFAULT_OPTIONS, LOCAL, Call, Caller, Effect, Options, Outcome, Prepared
from toolcrib.broker.dataflow import DataFlow, NoDataFlow
from toolcrib.broker.effects import effect_of
from toolcrib.broker.journal import Ending, Journal, NoJournal
from toolcrib.broker.parking import NoParking, Parking
from toolcrib.broker.policy import Decision, Policy
from toolcrib.broker.prepare import InvalidArgumentsError, Preparer
from toolcrib.broker.results import Fit, Whole
from toolcrib.catalog import JsonObject, RequestContext, RequestMethod, Source, Tool, ToolRegistry
from toolcrib.errors import (
    CallTimeoutError,
    DeniedError,
    ProtocolError,
    ServerError,
    UnknownOutcomeError,
    UnknownToolError,
    UsageError,
    shown,
)

_ENDINGS: Mapping[str, Ending] = {"result": "done", "tool_error": "failed", "input_required": "waiting"}

Approver = Callable[[Call, str], Awaitable[bool]]
"""Asked whether a call may go on, with the policy's reason."""


class Sources(Protocol):
    """The sources by id, as the crib keeps them."""

    def find(self, source_id: str) -> Source | None:
        """The source, or None."""
        ...

    def effects(self, source_id: str) -> tuple[Mapping[str, Effect], bool]:
        """The configured effects by glob over tool names, and whether the source is trusted."""
        ...

    def context(self, source_id: str, caller: Caller) -> RequestContext:
        """What accompanies a caller's requests to a source: whose they are, and over which connection they go."""
        ...

    async def learn(self, name: str, caller: Caller) -> bool:
        """Connect the source that a name seems to belong to, if it was never listed for the caller; whether it now
        is."""
        ...


class Broker:
    """Resolves, prepares, authorises, records, sends and classifies every request.

    Args:
        sources: The sources by id.
        registry: The catalog.
        policy: What may be seen and called.
        access: Visible sets and names.
        journal: Where calls are recorded.
        parking: Where calls wait for input.
        fit: How results are made to fit a caller's budget.
        flow: Remembers what callers have read.
        approver: Asked where the policy says so; without one such calls are refused.
    """

    def __init__(
        self,
        sources: Sources,
        registry: ToolRegistry,
        policy: Policy,
        access: Access,
        *,
        journal: Journal | None = None,
        parking: Parking | None = None,
        fit: Fit | None = None,
        flow: DataFlow | None = None,
        approver: Approver | None = None,
    ) -> None:
        self._sources = sources
        self._registry = registry
        self._policy = policy
        self._access = access
        self._journal: Journal = journal or NoJournal()
        self._parking: Parking = parking or NoParking()
        self._fit: Fit = fit or Whole()
        self._flow: DataFlow = flow or NoDataFlow()
        self._approver = approver
        self._preparer = Preparer()

    async def request(
        self,
        method: RequestMethod,
        target: str,
        arguments: JsonObject | None = None,
        caller: Caller = LOCAL,
        options: Options = DEFAULT_OPTIONS,
    ) -> Outcome:
        """Make one request on a caller's behalf.

        Args:
            method: The request, by its name on the wire.
            target: A tool id or another spelling of one for `tools/call`; else the id of a source.
            arguments: The tool's arguments; for other requests the request's own params.
            caller: Who asks.
            options: Time limit, progress, budget, and the way back to a parked call.

        Raises:
            UnknownToolError, AmbiguousNameError: No visible tool, or several, have that name.
            InvalidArgumentsError: The arguments don't fit; nothing was sent.
            DeniedError: The policy forbids it; nothing was sent.
            ServerError: The server can't be reached, refused, or its answer never came; see its subclasses.
        """
        if options.token is not None:
            return await self._parking.resume(options.token, caller, options)
        prepared: Prepared | None = None
        if method == "tools/call":
            source, tool = await self._tool(target, caller)
            prepared = self._preparer.prepare(tool, self._registry.version, arguments or {})
            if not prepared.validation.is_valid:
                raise InvalidArgumentsError(tool, prepared.validation)
            call = self._call_of_tool(source, tool, prepared, caller)
        else:
            source = self._sources.find(target)
            if source is None:
                raise UsageError(f"There is no server {shown(target)}.")
            await source.ensure(self._sources.context(source.id, caller))
            call = Call(method, target, source.id, arguments or {}, caller, None, "read")
        decision = await self._authorise(call)
        outcome = await self._dispatch(source, call, decision, options)
        if prepared is not None:
            outcome = replace(outcome, changes=prepared.changes, unvalidated=prepared.unvalidated)
        return await self._finish(outcome, options)

    async def _tool(self, name: str, caller: Caller) -> tuple[Source, Tool]:
        """The tool and its source, connected, with the definition as it is listed now."""
        try:
            tool_id = self._access.resolve(name, caller.principal)
        except UnknownToolError:
            if not await self._sources.learn(name, caller):
                raise
            tool_id = self._access.resolve(name, caller.principal)
        source = self._sources.find(self._registry.tool(tool_id).server)
        if source is None:
            raise UnknownToolError(name)
        await source.ensure(self._sources.context(source.id, caller))
        # Connecting lists anew: the tool may be gone, or may have changed since it was shown.
        return source, self._registry.tool(self._access.resolve(tool_id, caller.principal))

    def _call_of_tool(self, source: Source, tool: Tool, prepared: Prepared, caller: Caller) -> Call:
        overrides, trusted = self._sources.effects(source.id)
        effect = effect_of(tool, overrides, trusted=trusted)
        params = {"name": tool.name, "arguments": prepared.arguments}
        return Call("tools/call", tool.id, source.id, params, caller, tool, effect)

    async def _authorise(self, call: Call) -> Decision:
        decision = self._policy.decide(call)
        if decision.verdict == "allow":
            return decision
        approved = (
            decision.verdict == "ask" and self._approver is not None and await self._approver(call, decision.reason)
        )
        if approved:
            return decision
        await self._journal.stopped(call, "denied", decision)
        reason = f": {decision.reason}" if decision.reason else "."
        raise DeniedError(f"The call of {call.target} is not allowed{reason}")

    async def _dispatch(self, source: Source, call: Call, decision: Decision, options: Options) -> Outcome:
        """Send the call, and classify what came back; an effect is on record before it leaves."""
        await self._journal.started(call, decision)
        ending: Ending = "unknown"
        detail = ""
        result: JsonObject | None = None
        context = replace(
            self._sources.context(source.id, call.caller),
            timeout=options.timeout,
            on_progress=options.on_progress,
            meta=options.meta,
        )
        try:
            result = await source.request(call.method, call.params, context)
            self._flow.learned(call, result)
            outcome = classify(call, result)
            ending = _ENDINGS[outcome.kind]
            return outcome
        except (UnknownOutcomeError, CallTimeoutError) as error:
            detail = str(error)
            raise self._unknown(call, error) from error
        except ProtocolError as error:
            ending, detail = "failed", str(error)
            raise
        except ServerError as error:
            ending, detail = "failed", str(error)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._journal.ended(call, ending, detail, result)

    def _unknown(self, call: Call, error: ServerError) -> ServerError:
        """What a caller is told when the answer never came: after an effect, not to repeat it blindly."""
        if call.effect == "read":
            return error
        if isinstance(error, CallTimeoutError):
            message = f"{error.message.rstrip('.')}, so whether {call.target} took effect is not known."
        else:
            message = f"{error.message} Whether {call.target} took effect is not known."
        return UnknownOutcomeError(error.server, message, hint="Look before you repeat the call.")

    async def _finish(self, outcome: Outcome, options: Options) -> Outcome:
        if outcome.kind == "input_required":
            return await self._parking.park(outcome.call, outcome)
        result, handle = await self._fit.fit(outcome.result, options.budget, outcome.call)
        return outcome if handle is None else replace(outcome, result=result, handle=handle)


def classify(call: Call, result: JsonObject) -> Outcome:
    """What a result is: `isError` marks a tool's own error, `resultType` one that waits for input.

    A result without `resultType` comes from a server of the handshake era and is complete (specification
    2026-07-28, basic).
    """
    if result.get("resultType") == "input_required":
        return Outcome("input_required", result, call)
    return Outcome("tool_error" if result.get("isError") is True else "result", result, call)
