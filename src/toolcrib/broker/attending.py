"""Calls that can't go on at once: asked about, parked, come back to, and sent once."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from toolcrib.broker.approvals import Answer, Asking, Pending, definition_digest
from toolcrib.broker.call import Call, Caller, Options, Outcome, Prepared
from toolcrib.broker.journal import Journal
from toolcrib.broker.parking import Parked, Parking
from toolcrib.broker.policy import NO_READ, Decision
from toolcrib.broker.waiting import (
    APPROVAL_KEY,
    ApprovalWaitingError,
    ChangedError,
    ask_at_once,
    can_elicit,
    check_client,
    denied,
    follow_up,
    question,
    ruling,
)
from toolcrib.catalog import ClientSide, JsonObject, MidwayAsking, Source
from toolcrib.errors import ServerError
from toolcrib.servers.asking import declared

Dispatch = Callable[[Source, Call, Decision, Options, JsonObject | None], Awaitable[Outcome]]
"""Sends a call, with more members in its params where it goes on."""


class WaitingCalls:
    """Sees calls through that wait for an approval, or for what their server asks.

    Args:
        asking: Asks for approvals.
        parking: Keeps calls meanwhile.
        journal: Where it is recorded.
        dispatch: Sends a call.
        unchanged: Gives the connected source of a call that has waited; raises `ChangedError` where its tool is no
            longer defined as the digest says.
    """

    def __init__(
        self,
        asking: Asking,
        parking: Parking,
        journal: Journal,
        dispatch: Dispatch,
        unchanged: Callable[[Call, str, ClientSide | None], Awaitable[Source]],
    ) -> None:
        self._asking = asking
        self._parking = parking
        self._journal = journal
        self._dispatch = dispatch
        self._unchanged = unchanged
        parking.on_expired = self._give_up

    async def allowed(self, call: Call, decision: Decision, options: Options) -> Decision | None:
        """The decision to let a call go on that the policy does not allow by itself: what an earlier grant or the
        program's approver say; None where somebody else has to be asked.

        Raises:
            DeniedError: It must not.
        """
        if decision.verdict == "deny":
            await self._journal.stopped(call, "denied", decision)
            raise denied(call, decision)
        granted = await self._asking.granted(call, decision)
        if granted is not None or self._asking.approver is None:
            return granted
        pending = self._asking.ask(call, decision)
        try:
            answer = await self._asking.by_approver(pending)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._journal.stopped(call, "cancelled", decision, "given up while the approver was asked")
            raise
        await self._rule(call, pending, answer)
        await self._unchanged(call, pending.definition, options.client)
        return ruling(pending, answer)

    async def _rule(self, call: Call, pending: Pending, answer: Answer) -> None:
        """Stop a call that was not approved.

        Raises:
            DeniedError: It was not.
        """
        if not answer.approved:
            await self._journal.stopped(call, "denied", ruling(pending, answer), answer.why)
            raise denied(call, pending.decision, answer)

    async def _parked(self, call: Call, prepared: Prepared | None, decision: Decision, asked: str) -> Parked:
        """The parked call that this one is, or comes back to."""
        parked = self._parking.find(call)
        if parked is not None and parked.pending is not None:
            before = parked.pending
            alike = before.decision.rule == decision.rule and before.definition == definition_digest(call.tool)
            if parked.sent or alike:
                return parked
            await self._give_up(parked, "it is asked about anew")
        pending = self._asking.ask(call, decision)

        async def send(options: Options) -> Outcome:
            source = await self._unchanged(call, pending.definition, options.client)
            assert pending.answer is not None
            allowed = ruling(pending, pending.answer)
            outcome = await self._dispatch(source, call, allowed, options, None)
            if outcome.kind == "input_required":
                outcome = await self.answered(source, outcome, prepared, allowed, options, asked)
            return told(outcome, prepared)

        parked = self._parking.add(call, asked, send, self._asking.limits.timeout, pending)
        await self._journal.stopped(call, "waiting", decision, f"for approval {pending.question.id}")
        return parked

    async def _attend(self, parked: Parked, options: Options) -> Outcome:
        """Wait with a parked call for what it waits for, and send it when it has that.

        Raises:
            ApprovalWaitingError: Nobody has approved it yet.
            DeniedError: It was not approved.
        """
        if not parked.sent and parked.pending is not None:
            answer = await self._approval(parked.pending, options)
            if answer is None and options.returns and can_elicit(options.client):
                return question(parked.call, parked.pending, self._parking.token(parked))
            if answer is None:
                raise ApprovalWaitingError(parked.call, parked.pending.question.id, self._parking.token(parked))
            if not answer.approved:
                self._parking.drop(parked)
                await self._rule(parked.call, parked.pending, answer)
        asks = None if parked.sent else parked.question
        if asks is not None and follow_up(asks, options.input_responses) is None:
            return replace(asks, token=self._parking.token(parked))
        try:
            return await self._parking.go_on(parked, options)
        except ChangedError:
            await self._give_up(parked, "its tool has changed")
            raise

    async def _approval(self, pending: Pending, options: Options) -> Answer | None:
        """The answer to a question, from where the caller can be asked; None where there is none yet."""
        client = options.client if can_elicit(options.client) else None
        if pending.answer is not None:
            return pending.answer
        if client is None or not options.returns:
            return await self._asking.wait(pending, client)
        said = (options.input_responses or {}).get(APPROVAL_KEY)
        if said is not None:
            await self._asking.by_form(pending, said)
        return pending.answer

    async def wait(
        self, call: Call, prepared: Prepared | None, decision: Decision, options: Options, asked: str
    ) -> Outcome:
        """Park a call that somebody has to approve, or come back to it, and wait with it.

        Args:
            call: The call.
            prepared: How its arguments were prepared.
            decision: Of the policy, to ask.
            options: Of the caller.
            asked: Digest of the request as its caller made it.

        Raises:
            ApprovalWaitingError: Nobody has approved it yet.
            DeniedError: It was not approved.
            ChangedError: Its tool has changed meanwhile: it has to begin anew.
        """
        return await self._attend(await self._parked(call, prepared, decision, asked), options)

    async def resume(self, token: str, caller: Caller, options: Options, asked: str) -> Outcome:
        """Come back to a parked call by its token; see `wait`.

        Raises:
            UnknownTokenError: See `Parking.opened`.
            DeniedError: Only a read is to be gone on with, and it is none.
        """
        parked = self._parking.opened(token, caller, asked)
        if options.only_reads and parked.call.effect != "read":
            raise denied(parked.call, NO_READ)
        return await self._attend(parked, options)

    async def sent(
        self, source: Source, call: Call, prepared: Prepared | None, decision: Decision, options: Options, asked: str
    ) -> Outcome:
        """Send a call, and see it through where its server asks for something.

        Args:
            source: Where to.
            call: The call.
            prepared: How its arguments were prepared.
            decision: What lets it go on.
            options: Of the caller.
            asked: Digest of the request as its caller made it.
        """

        async def send(options: Options) -> Outcome:
            outcome = await self._dispatch(source, call, decision, options, answers)
            if outcome.kind == "input_required":
                outcome = await self.answered(source, outcome, prepared, decision, options, asked)
            return outcome

        # Answers to what was never asked here are the server's to judge, as they are where it is called directly.
        answers: JsonObject | None = {"inputResponses": options.input_responses} if options.input_responses else None
        if options.returns and declared(options.client) and isinstance(source, MidwayAsking) and source.asks_midway:
            return await self._parking.run(call, asked, send, self._asking.limits.timeout, options)
        return await send(options)

    async def answered(
        self,
        source: Source,
        outcome: Outcome,
        prepared: Prepared | None,
        decision: Decision,
        options: Options,
        asked: str,
    ) -> Outcome:
        """Go on with a call whose server asks for something: ask a client that can be asked at once, else park the
        call for whoever comes back with the answers."""
        rounds = 0
        while outcome.kind == "input_required":
            try:
                check_client(outcome, options.client)
                if options.client is None or options.returns:
                    break
                more = await ask_at_once(outcome, options, rounds)
            except ServerError as error:
                await self._journal.ended(outcome.call, "cancelled", str(error))
                raise
            outcome = await self._dispatch(source, outcome.call, decision, options, more)
            rounds += 1
        if outcome.kind != "input_required":
            return outcome
        waits = outcome

        async def send(options: Options) -> Outcome:
            more = follow_up(waits, options.input_responses) or {}
            following = await self._dispatch(source, waits.call, decision, options, more)
            if following.kind == "input_required":
                following = await self.answered(source, following, prepared, decision, options, asked)
            return told(following, prepared)

        parked = self._parking.add(waits.call, asked, send, self._asking.limits.timeout)
        parked.question = waits
        return replace(waits, token=self._parking.token(parked))

    async def _give_up(self, parked: Parked, why: str = "nobody came back to it") -> None:
        """Put down that a call was never sent, or never gone on with."""
        if not self._parking.drop(parked):
            return
        if parked.pending is None:
            await self._journal.ended(parked.call, "cancelled", why)
            return
        await self._asking.expire(parked.pending)
        await self._journal.stopped(parked.call, "cancelled", parked.pending.decision, why)


def told(outcome: Outcome, prepared: Prepared | None) -> Outcome:
    """An outcome that tells how its arguments were prepared."""
    if prepared is None:
        return outcome
    return replace(outcome, changes=prepared.changes, unvalidated=prepared.unvalidated)
