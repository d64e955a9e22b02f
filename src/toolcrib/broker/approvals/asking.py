"""Whom a question goes to: the program's approver, the caller's client, the inbox; else nobody, which is a no."""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import anyio

from toolcrib.broker.approvals.grants import Grant, Granted, Grants, MemoryGrants, subject_of
from toolcrib.broker.approvals.inbox import Approval, Inbox, StoredGrants
from toolcrib.broker.approvals.pending import Answer, Pending, new_id
from toolcrib.broker.approvals.question import Question, definition_digest
from toolcrib.broker.call import Call
from toolcrib.broker.dataflow import DataFlow, NoDataFlow
from toolcrib.broker.policy import Decision
from toolcrib.catalog import ClientSide
from toolcrib.errors import StoreError, UsageError
from toolcrib.events import ApprovalChanged

logger = logging.getLogger(__name__)

Approver = Callable[[Question], Awaitable["bool | Grant"]]
"""Asked whether a call may go on. True allows this call, a `Grant` what it says; everything else is a no."""

ELICIT = "elicitation/create"

LOOK_EVERY = 0.5
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long is waited, in seconds.

    Attributes:
        timeout: For an answer.
        patience: Of one request; then it is answered with "waiting", and comes back.
        grants: How long a grant holds that goes beyond one call.
    """

    timeout: float = 600.0
    patience: float = 45.0
    grants: float = 3600.0


class Asking:
    """Asks, in this order: what was granted before; the approver; the client; the inbox.

    Args:
        limits: How long is waited.
        approver: Given by the program.
        inbox: Questions in the shared store; None has none.
        flow: Knows where values come from.
        on_change: Told of each question that is asked, and of each that was answered, once.
        clock: Seconds that a change of the system's time does not move.
        look_every: Seconds between two looks into the inbox, where another process may have answered.

    Attributes:
        open: The questions that are open in this process, by id.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        approver: Approver | None = None,
        inbox: Inbox | None = None,
        flow: DataFlow | None = None,
        on_change: Callable[[ApprovalChanged], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self.limits = limits or Limits()
        self.inbox = inbox
        self.open: dict[str, Pending] = {}
        self.approver = approver
        # An approver's word need not outlive its process; so a program that has one never touches the store.
        self.grants: Grants = StoredGrants(inbox) if inbox is not None and approver is None else MemoryGrants(clock)
        self._flow: DataFlow = flow or NoDataFlow()
        self._on_change = on_change
        self._clock = clock
        self._look_every = look_every

    async def granted(self, call: Call, decision: Decision) -> Decision | None:
        """The decision to let a call go on that an earlier grant covers; None where none does."""
        subjects = [call.caller.run_key, *({call.caller.key} - {call.caller.run_key})]
        try:
            given = await self.grants.of(subjects, call.target)
        except StoreError as error:
            logger.warning("Grants can't be looked up: %s", error)
            return None
        definition = definition_digest(call.tool)
        for each in given:
            if each.covers(call, definition, decision.rule):
                return Decision("allow", decision.reason, decision.rule, f"grant {each.id}", each.by)
        return None

    def ask(self, call: Call, decision: Decision) -> Pending:
        """Open a question about a call."""
        approval = new_id()
        question = Question(approval, call, decision.reason, decision.rule, tuple(self._flow.traces(call)))
        pending = Pending(question, decision, definition_digest(call.tool), self.limits.timeout, self._clock)
        self._forget()
        self.open[approval] = pending
        self._tell(pending)
        return pending

    def pending(self, approval: str) -> Pending | None:
        """The question of an id, where it is open in this process.

        One that finds the same call in the inbox goes on under the id there. Whoever was shown it before may answer
        by the id that he was shown.
        """
        found = self.open.get(approval)
        return found or next((each for each in self.open.values() if each.before == approval), None)

    async def by_approver(self, pending: Pending) -> Answer:
        """Ask the program's approver. One that raises, hangs or answers with anything else has not agreed; where
        the question is decided otherwise meanwhile, its answer is not waited for."""
        approver = self.approver
        assert approver is not None

        async def ask() -> None:
            await self.settle(pending, await self._said(approver, pending))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            while pending.answer is None:
                await pending.changed.wait()
            tasks.cancel_scope.cancel()
        assert pending.answer is not None
        return pending.answer

    async def by_form(self, pending: Pending, said: Any) -> None:
        """Take the form with which a client answered.

        Args:
            pending: The question.
            said: The `ElicitResult` as on the wire, or whatever came in its place.
        """
        form = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
        approved, grant = pending.question.read_form(form)
        await self.settle(pending, Answer(approved, "client", grant))

    async def wait(self, pending: Pending, client: ClientSide | None) -> Answer | None:
        """Wait for an answer: of the client, where it can be asked at once, else of the inbox.

        Returns:
            The answer; None where the request has waited long enough, and may come back.
        """
        if client is None:
            await self._file(pending, "there is nobody to ask")
        patient = client is not None and self.inbox is None
        with anyio.move_on_after(pending.left if patient else min(self.limits.patience, pending.left)):
            async with anyio.create_task_group() as tasks:
                if client is not None:
                    tasks.start_soon(self._by_client, pending, client)
                await self._answered(pending)
                tasks.cancel_scope.cancel()
        if pending.answer is None and not pending.left:
            await self.expire(pending)
        if pending.answer is None:
            await self._file(pending, "nobody has answered yet")
        return pending.answer

    async def settle(self, pending: Pending, answer: Answer) -> bool:
        """Answer an open question; False where another answer came first, or this one could not be put down in the
        inbox where the question lies: it is open then as before."""
        first = False
        with anyio.CancelScope(shield=True):  # whoever waits for the answer ends those who gave it
            first = await self._settle(pending, answer)
        return first  # noqa: RET504  a scope might swallow an exception, as far as types tell

    def decided(self, approval: Approval, pending: Pending | None) -> None:
        """Tell of an answer that was put into the inbox, and have those look there who wait for it; nobody may.

        Args:
            approval: The question with its answer.
            pending: The same, where it is open in this process.
        """
        self._on_change(ApprovalChanged(approval.id, approval.tool, approval.status, approval.decided_by))
        if pending is not None:
            pending.told = True
            pending.wake()

    async def expire(self, pending: Pending) -> None:
        """Let a question count as unanswered, unless an answer came in the last moment."""
        if pending.filed and self.inbox is not None:
            with suppress(StoreError):
                await self.inbox.close(pending.question.id)
            await self._look(pending)
        if pending.settle(self._late):
            self._tell(pending)

    @property
    def _late(self) -> Answer:
        return Answer(False, why=f"was not approved: nobody answered within {self.limits.timeout:g} s")

    async def _said(self, approver: Approver, pending: Pending) -> Answer:
        with anyio.move_on_after(pending.left):
            try:
                said: Any = await approver(pending.question)
            except Exception:
                logger.exception("The approver failed on %s", pending.question.call.target)
                return Answer(False, "approver", why="was not approved: the approver failed")
            if isinstance(said, Grant):
                return Answer(True, "approver", said)
            return Answer(said is True, "approver")
        return Answer(False, "approver", why="was not approved: the approver did not answer in time")

    async def _settle(self, pending: Pending, answer: Answer) -> bool:
        async with pending.lock:
            here = not pending.filed
            first = here and pending.settle(answer)
        if not here and pending.answer is None and self.inbox is not None:
            try:
                await self.inbox.decide(pending.question.id, answer.approved, answer.grant, answer.by)
                first = True
            except UsageError:  # somebody was faster
                pass
            except StoreError as error:
                logger.warning("An answer is lost, since the inbox can't be written: %s", error)
            await self._look(pending)
        elif first:
            if answer.approved and answer.grant.scope != "call":
                await self._grant(pending, answer)
            self._tell(pending)
        return first

    async def _by_client(self, pending: Pending, client: ClientSide) -> None:
        """Ask the client at once, by elicitation; where it can't, the inbox."""
        async with pending.dialog:
            if pending.answer is not None:
                return
            try:
                said = await client.answer(ELICIT, pending.question.form)
            except Exception as error:  # whatever is wrong with a client, others can be asked
                logger.warning("The client can't ask about %s: %s", pending.question.call.target, error)
                await self._file(pending, "the client can't ask for it")
            else:
                await self.by_form(pending, said)

    async def _file(self, pending: Pending, otherwise: str) -> None:
        """Put a question into the inbox; where there is none, the answer is no."""
        problem = ""
        async with pending.lock:
            if not pending.filed and pending.answer is None:
                problem = otherwise if self.inbox is None else await self._filed(pending, self.inbox)
        if problem:
            await self.settle(pending, Answer(False, why=f"needs an approval, and {problem}"))
        pending.wake()

    async def _filed(self, pending: Pending, inbox: Inbox) -> str:
        """Why a question can't be put into the inbox; empty where it was."""
        before = pending.question.id
        try:
            await inbox.file(pending, self.limits.grants)
        except StoreError as error:
            logger.warning("The inbox can't be used: %s", error)
            return f"the inbox can't take it: {error.message.rstrip('.')}"
        self.open[pending.question.id] = self.open.pop(before, pending)
        if before != pending.question.id:
            pending.before = before
        return ""

    async def _answered(self, pending: Pending) -> None:
        """Wait until there is an answer, looking for one in the inbox where the question lies there."""
        while pending.answer is None:
            if pending.filed:
                await self._look(pending)
            if pending.answer is None:
                with anyio.move_on_after(self._look_every if pending.filed else None):
                    await pending.changed.wait()

    async def _look(self, pending: Pending) -> None:
        """Take the answer that lies in the inbox, if there is one. Its approval counts once, so nobody may leave
        between taking it and knowing it."""
        assert self.inbox is not None
        with anyio.CancelScope(shield=True):
            async with pending.lock:
                if pending.answer is not None:
                    return
                try:
                    row = await self.inbox.take(pending.question.id)
                except StoreError as error:
                    logger.warning("The inbox can't be looked into: %s", error)
                    return
                status = "expired" if row is None else row["status"]
                if row is None or status == "expired":
                    pending.settle(self._late)
                elif status == "denied":
                    pending.settle(Answer(False, row["decided_by"]))
                elif status == "approved" and row["spent"]:
                    pending.settle(Answer(False, why="was approved, and another process has sent it"))
                elif status == "approved":
                    pending.settle(Answer(True, row["decided_by"], Grant(row["scope"])))
        if pending.answer is not None:
            self._tell(pending)

    async def _grant(self, pending: Pending, answer: Answer) -> None:
        call = pending.question.call
        most = self.limits.grants
        granted = Granted(
            subject=subject_of(call.caller, answer.grant.scope),
            tool=call.target,
            definition=pending.definition,
            rule=pending.question.rule,
            approval=pending.question.id,
            by=answer.by,
            seconds=most if answer.grant.seconds is None else min(answer.grant.seconds, most),
            bounds=answer.grant.bounds,
        )
        try:
            await self.grants.add(granted)
        except StoreError as error:
            logger.warning("Only this call is allowed, since the grant can't be stored: %s", error)

    def _tell(self, pending: Pending) -> None:
        question, answer = pending.question, pending.answer
        if answer is None:
            self._on_change(ApprovalChanged(question.id, question.call.target, "waiting"))
        elif not pending.told:
            pending.told = True
            status = "approved" if answer.approved else "denied"
            self._on_change(ApprovalChanged(question.id, question.call.target, status, answer.by))

    def _forget(self) -> None:
        """Keep no more than a number of answered questions at hand, nor any that nobody can answer any more."""
        for approval, pending in list(self.open.items()):
            if pending.answer is not None or not pending.left:
                del self.open[approval]
