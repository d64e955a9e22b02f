"""`Approvals`: what a console, a program or the command line does with questions that are open."""

from collections.abc import AsyncGenerator
from typing import Any

import anyio

from toolcrib.broker.approvals.asking import LOOK_EVERY, Asking
from toolcrib.broker.approvals.grants import Grant, Granted
from toolcrib.broker.approvals.inbox import Approval, approval_from, decided_already, unknown_approval
from toolcrib.broker.approvals.pending import Answer
from toolcrib.broker.call import Caller


class Approvals:
    """Lists and decides what waits for an approval, in this process and in the inbox, and what was granted.

    Each question that is asked, and each that is answered here, is an `ApprovalChanged` among the crib's events.

    Args:
        asking: Asks the questions.
    """

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def list(self, *, everything: bool = False) -> list[Approval]:
        """What waits, oldest first.

        Args:
            everything: Also what was decided in the last day, of what came into the inbox or was decided here last.

        Raises:
            StoreError: The shared store can't be used.
        """
        inbox = self._asking.inbox
        filed = [] if inbox is None else await inbox.list(everything=everything)
        here = [
            each
            for each in self._asking.open.values()
            if not each.filed and (everything if each.answer is not None else each.left)
        ]
        # One that is just being put into the inbox may be in both.
        found = {each.id: each for each in [*map(approval_from, here), *filed]}
        return sorted(found.values(), key=lambda each: each.created_at)

    async def find(self, approval: str) -> Approval:
        """One question that waits, or was decided in the last day, by its id.

        Raises:
            UsageError: There is none.
            StoreError: The shared store can't be used.
        """
        listed = await self.list(everything=True)
        pending = self._asking.pending(approval)
        for each in listed:
            if each.id in (approval, pending and pending.question.id):
                return each
        raise unknown_approval(approval)

    async def decide(
        self, approval: str, approved: bool, *, grant: Grant | None = None, by: str = "console"
    ) -> Approval:
        """Answer a question; the first answer counts.

        Args:
            approval: The id.
            approved: Whether the call may go on.
            grant: What is granted with a yes; None grants this call alone.
            by: Who answers.

        Raises:
            UsageError: Nothing of that id waits.
            StoreError: The shared store can't be used.
        """
        grant = grant or Grant()
        pending = self._asking.pending(approval)
        if pending is not None and not pending.filed:
            if not await self._asking.settle(pending, Answer(approved, by, grant)):
                raise decided_already(approval_from(pending))
            return approval_from(pending)
        if self._asking.inbox is None:
            raise unknown_approval(approval)
        decided = await self._asking.inbox.decide(
            approval if pending is None else pending.question.id, approved, grant, by
        )
        self._asking.decided(decided, pending)
        return decided

    async def state(self) -> tuple[Any, ...]:
        """What differs after each question, answer and grant in the shared store, and when one of these ends.

        Raises:
            StoreError: The shared store can't be used.
        """
        return () if self._asking.inbox is None else await self._asking.inbox.state()

    async def follow(
        self, *, after: tuple[Any, ...] | None = None, poll_seconds: float = LOOK_EVERY
    ) -> AsyncGenerator[None]:
        """Something whenever a question, an answer or a grant has come into the shared store or gone from it, by
        whichever process. Never ends by itself.

        Args:
            after: The `state` that is known; None is that of now.
            poll_seconds: Between two looks.

        Raises:
            StoreError: The shared store can't be used.
        """
        known = await self.state() if after is None else after
        while True:
            now = await self.state()
            if now != known:
                known = now
                yield
            await anyio.sleep(poll_seconds)

    async def grants(self) -> "list[Granted]":
        """The grants that hold.

        Raises:
            StoreError: The shared store can't be used.
        """
        return await self._asking.grants.all()

    async def revoke(self, grant: str) -> bool:
        """Take a grant back, by its id; whether it was there.

        Raises:
            StoreError: The shared store can't be used.
        """
        return await self._asking.grants.remove(grant)

    async def end_run(self, caller: Caller) -> None:
        """Drop what was granted to a run that has ended.

        Args:
            caller: A caller with that `run`.

        Raises:
            StoreError: The shared store can't be used.
        """
        await self._asking.grants.end(caller.run_key)
