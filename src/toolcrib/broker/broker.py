"""The broker: the one place that every request to a source goes through."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import anyio

from toolcrib.broker.access import Access
from toolcrib.broker.approvals import Asking, definition_digest
from toolcrib.broker.attending import WaitingCalls, told
from toolcrib.broker.call import DEFAULT_OPTIONS, LOCAL, Call, Caller, Effect, Options, Outcome, Prepared
from toolcrib.broker.changes import NoWatcher, Watcher
from toolcrib.broker.dataflow import DataFlow, NoDataFlow
from toolcrib.broker.effects import effect_of
from toolcrib.broker.journal import Ending, Journal, NoJournal
from toolcrib.broker.observing import Asked, Observer, observed
from toolcrib.broker.pages import asked_of, gone_on_with
from toolcrib.broker.parking import Parking, asked_digest, own_copy
from toolcrib.broker.policy import NO_READ, Decision, Policy
from toolcrib.broker.prepare import InvalidArgumentsError, Preparer
from toolcrib.broker.quota import Quota
from toolcrib.broker.repeating import send
from toolcrib.broker.results import Fit, Whole
from toolcrib.broker.waiting import ApprovalWaitingError, ChangedError
from toolcrib.catalog import ClientSide, JsonObject, RequestContext, RequestMethod, Source, Tool, ToolRegistry
from toolcrib.errors import (
    CallTimeoutError,
    DeniedError,
    ProtocolError,
    ServerError,
    UnknownOutcomeError,
    UnknownToolError,
)
from toolcrib.schema import UnknownServerError

_ENDINGS: Mapping[str, Ending] = {"result": "done", "tool_error": "failed", "input_required": "waiting"}

_MOST_CHANGES = 5
"""Times that one request may find its tool changed after it was approved."""


class Sources(Protocol):
    """The sources by id, as the crib keeps them."""

    def __iter__(self) -> Iterator[Source]:
        """All of them."""
        ...

    def find(self, source_id: str) -> Source | None:
        """The source, or None."""
        ...

    def effects(self, source_id: str) -> tuple[Mapping[str, Effect], bool]:
        """The configured effects by glob over tool names, and whether the source is trusted."""
        ...

    def context(self, source_id: str, caller: Caller, client: ClientSide | None = None) -> RequestContext:
        """What accompanies a caller's requests to a source: whose they are, and over which connection they go."""
        ...

    def own(self, name: str, caller: Caller) -> tuple[Source, Tool] | None:
        """A tool of the house's own and its source, by its id; it is in no catalog, and for whom it is not, None."""
        ...

    async def learn(self, name: str, caller: Caller, client: ClientSide | None = None) -> bool:
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
        asking: Asks where the policy says so; without it such calls are refused.
        watcher: Sees to it that tools are what they were when they were first used.
        quota: How many calls a principal may make; None sets no bound.
        observers: Watch requests go by; more may come.
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
        asking: Asking | None = None,
        watcher: Watcher | None = None,
        quota: Quota | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._sources = sources
        self._registry = registry
        self._policy = policy
        self._access = access
        self._journal: Journal = journal or NoJournal()
        self._fit: Fit = fit or Whole()
        self._flow: DataFlow = flow or NoDataFlow()
        self._watcher: Watcher = watcher or NoWatcher()
        self._waiting = WaitingCalls(
            asking or Asking(), parking or Parking(), self._journal, self._dispatch, self._unchanged
        )
        self._preparer = Preparer()
        self._quota = quota
        self._observers = observers

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
            DeniedError: The policy forbids it, or nobody approved it; nothing was sent.
            ApprovalWaitingError: Nobody has approved it yet; nothing was sent.
            UnknownTokenError: The token leads to no call.
            ServerError: The server can't be reached, refused, or its answer never came; see its subclasses.
            RateLimitedError: The principal has made too many calls.
        """
        if not self._observers:
            return await self._answered(method, target, arguments, caller, options)
        return await observed(
            self._observers,
            Asked(method, target, caller),
            options,
            lambda chosen: self._answered(method, target, arguments, caller, chosen),
        )

    async def _answered(
        self, method: RequestMethod, target: str, arguments: JsonObject | None, caller: Caller, options: Options
    ) -> Outcome:
        if self._quota is not None and method == "tools/call" and options.token is None:
            self._quota.take(caller.principal)
        for _ in range(_MOST_CHANGES):
            try:
                if options.token is None:
                    outcome = await self._request(method, target, arguments or {}, caller, options)
                else:
                    asked = asked_digest(method, target, arguments or {})
                    outcome = await self._waiting.resume(options.token, caller, options, asked)
            except ChangedError:
                options = replace(options, token=None, input_responses=None)
            else:
                return await self._finish(outcome, options)
        raise DeniedError(f"{target} was changed by its server each time it was approved.", hint="Look at its server.")

    async def _request(
        self, method: RequestMethod, target: str, arguments: JsonObject, caller: Caller, options: Options
    ) -> Outcome:
        prepared: Prepared | None = None
        if method == "tools/call":
            source, tool = await self._tool(target, caller, options.client)
            prepared = self._preparer.prepare(tool, self._registry.version, arguments)
            if not prepared.validation.is_valid:
                raise InvalidArgumentsError(tool, prepared.validation)
            call = self._call_of_tool(source, tool, prepared, caller)
        else:
            source = self._sources.find(target)
            if source is None or self._access.hides_source(source.id, caller.principal):
                hides = self._access.hides_source
                raise UnknownServerError(
                    target, [each.id for each in self._sources if not hides(each.id, caller.principal)]
                )
            await source.ensure(self._sources.context(source.id, caller, options.client))
            call = Call(method, target, source.id, arguments, caller, None, "read")
        await self._flow.settle(caller, call=call)
        decision = await self._watcher.decided(call, self._decision(call, options))
        if decision.verdict != "deny" and options.earlier is not None:
            known = options.earlier(call)
            if known is not None:
                # Nothing is sent, so nobody has to be asked; but it is read anew, maybe in another conversation.
                self._flow.learned(call, known.result)
                return told(known, prepared)
        if decision.verdict != "allow":
            if decision.verdict == "ask":
                await self._flow.settle(caller, now=True, call=call)  # the question tells where values come from
                call = replace(call, params=own_copy(call.params))
            allowed = await self._waiting.allowed(call, decision, options)
            if allowed is None:
                asked = asked_digest(method, target, arguments)
                unasked = replace(options, input_responses=None)  # nothing answers a question that nobody was asked
                return await self._waiting.wait(call, prepared, decision, unasked, asked)
            decision = allowed
        asked = asked_digest(method, target, arguments)  # now: its caller may change the arguments while it waits
        return told(await self._waiting.sent(source, call, prepared, decision, options, asked), prepared)

    def _decision(self, call: Call, options: Options) -> Decision:
        return NO_READ if options.only_reads and call.effect != "read" else self._policy.decide(call)

    async def _tool(self, name: str, caller: Caller, client: ClientSide | None = None) -> tuple[Source, Tool]:
        """The tool and its source, connected, with the definition as it is listed now."""
        own = self._sources.own(name, caller)
        if own is not None:
            return own
        try:
            tool_id = self._access.resolve(name, caller.principal)
        except UnknownToolError:
            if not await self._sources.learn(name, caller, client):
                raise
            tool_id = self._access.resolve(name, caller.principal)
        source = self._sources.find(self._registry.tool(tool_id).server)
        if source is None:
            raise UnknownToolError(name)
        await source.ensure(self._sources.context(source.id, caller, client))
        # Connecting lists anew: the tool may be gone, or may have changed since it was shown.
        return source, self._registry.tool(self._access.resolve(tool_id, caller.principal))

    def _call_of_tool(self, source: Source, tool: Tool, prepared: Prepared, caller: Caller) -> Call:
        overrides, trusted = self._sources.effects(source.id)
        effect = effect_of(tool, overrides, trusted=trusted)
        params = {"name": tool.name, "arguments": prepared.arguments}
        return Call("tools/call", tool.id, source.id, params, caller, tool, effect)

    async def _unchanged(self, call: Call, definition: str, client: ClientSide | None) -> Source:
        """The source of a call that has waited, connected.

        Raises:
            ChangedError: The tool is no longer defined as its digest says.
        """
        if call.tool is None:
            source = self._sources.find(call.source)
            assert source is not None
            await source.ensure(self._sources.context(source.id, call.caller, client))
            return source
        source, tool = await self._tool(call.target, call.caller, client)
        if tool is not call.tool and definition_digest(tool) != definition:
            raise ChangedError
        return source

    async def _dispatch(
        self, source: Source, call: Call, decision: Decision, options: Options, more: JsonObject | None = None
    ) -> Outcome:
        """Send the call, and classify what came back; an effect is on record before it leaves.

        Args:
            source: Where to.
            call: The call.
            decision: What lets it go on.
            options: Of whoever waits for it.
            more: Members of the params with which it goes on after its server asked for something.
        """
        unsettled = await self._journal.started(call, decision)
        self._watcher.sent(call, decision)
        ending: Ending = "unknown"
        detail = ""
        result: JsonObject | None = None
        context = replace(
            self._sources.context(source.id, call.caller, options.client),
            timeout=options.timeout,
            on_progress=options.on_progress,
            meta=options.meta,
        )
        try:
            result = await self._answer_of(source, call, decision, context, options, more)
            self._flow.learned(call, result)
            outcome = replace(classify(call, result), unsettled=unsettled)
            ending = _ENDINGS[outcome.kind]
            return outcome
        except (UnknownOutcomeError, CallTimeoutError) as error:
            detail = str(error)
            raise self._unknown(call, error) from error
        except ProtocolError as error:
            # A model reads what the server says here too.
            self._flow.learned(call, {"content": [{"type": "text", "text": error.rpc_message}]})
            ending, detail = "failed", str(error)
            raise
        except (ServerError, ApprovalWaitingError, DeniedError) as error:
            # The last two are what became of a saved script's own calls: of what it did they tell themselves.
            ending, detail = "failed", str(error)
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._journal.ended(call, ending, detail, result)

    async def _answer_of(
        self,
        source: Source,
        call: Call,
        decision: Decision,
        context: RequestContext,
        options: Options,
        more: JsonObject | None,
    ) -> JsonObject:
        """The result of a call; also where its server asks by an error for something before it goes on."""
        params = gone_on_with(call, more)
        try:
            return await send(
                call,
                lambda: source.request(call.method, params, context),
                lambda: self._journal.started(call, decision),
                trusted=self._sources.effects(source.id)[1],
            )
        except ProtocolError as error:
            asked = asked_of(error, call, options)
            if asked is None:
                raise
            return asked

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
            return outcome
        result, handle = await self._fit.fit(outcome.result, options.budget, outcome.call)
        return outcome if result is outcome.result else replace(outcome, result=result, handle=handle)


def classify(call: Call, result: JsonObject) -> Outcome:
    """What a result is: `isError` marks a tool's own error, `resultType` one that waits for input.

    A result without `resultType` comes from a server of the handshake era and is complete (specification
    2026-07-28, basic).
    """
    if result.get("resultType") == "input_required":
        return Outcome("input_required", result, call)
    return Outcome("tool_error" if result.get("isError") is True else "result", result, call)
