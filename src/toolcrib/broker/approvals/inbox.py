"""The inbox: questions that wait in the shared store, decided from whichever process."""

import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from anyio import to_thread

from toolcrib.broker.approvals.bounds import dumped, loaded
from toolcrib.broker.approvals.grants import Grant, Granted, Scope, subject_of
from toolcrib.broker.approvals.pending import Pending
from toolcrib.broker.approvals.question import arguments_text, asker, trace_text
from toolcrib.errors import StoreError, UsageError, shown
from toolcrib.hidden import visible
from toolcrib.store import Store

Status = Literal["waiting", "approved", "denied", "expired"]

MOST_WAITING = 200
"""Questions of one principal: more are not read by anybody, and must not be in the way of those of others."""

_MOST_ARGUMENTS = 100_000


@dataclass(frozen=True, slots=True)
class Approval:
    """A question and what became of it.

    Attributes:
        id: Its id.
        status: Whether it waits, was approved or denied, or nobody answered in time.
        tool: The tool, or the source for other requests.
        server: Its source.
        effect: What the call may do.
        arguments: The arguments as JSON text, shortened where they are very long.
        reason: Why the policy asks.
        rule: The rule that asks.
        asked_by: Who makes the call, in words.
        question: The whole question as it is put to a person.
        created_at: When it was asked, in seconds since 1970.
        expires_at: When it counts as unanswered.
        decided_by: Who answered; empty while it waits.
        scope: What was granted.
        principal: The name of who makes the call.
        decided_at: When it was answered, in seconds since 1970; None while it waits.
        traces: Which values of the arguments come from earlier results, a line each.
    """

    id: str
    status: Status
    tool: str
    server: str
    effect: str
    arguments: str
    reason: str
    rule: str
    asked_by: str
    question: str
    created_at: float
    expires_at: float
    decided_by: str = ""
    scope: Scope = "call"
    principal: str = ""
    decided_at: float | None = None
    traces: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As one JSON object; the arguments as a value where they are whole."""
        try:
            arguments: Any = json.loads(self.arguments)
        except (ValueError, RecursionError):
            arguments = self.arguments
        return {**asdict(self), "arguments": arguments, "traces": list(self.traces)}


_MEMBERS = tuple(Approval.__dataclass_fields__)
_GRANTED = ("id", "subject", "tool", "definition", "rule", "approval", "by")


class Inbox:
    """Questions in the shared store.

    Args:
        opened: Gives the store.
        exists: Whether there is one yet: to find nothing, none is made.
        redact: Takes secrets out of a text before it is stored.
    """

    def __init__(
        self,
        opened: Callable[[], Awaitable[Store]],
        exists: Callable[[], Awaitable[bool]],
        redact: Callable[[str], str],
    ) -> None:
        self._opened = opened
        self.exists = exists
        self._redact = redact
        self._ensured: Store | None = None

    async def store(self) -> Store:
        """The store, with the tables in it.

        Raises:
            StoreError: It can't be used.
        """
        store = await self._opened()
        if store is not self._ensured:
            from toolcrib.broker.approvals import queries

            await to_thread.run_sync(store.ensure, "approvals", queries.VERSION, queries.METADATA)
            self._ensured = store
        return store

    async def file(self, pending: Pending, most_seconds: float) -> None:
        """Put a question into the inbox; one of the same call that lies there, as from before a restart, is taken up.

        Args:
            pending: The question.
            most_seconds: How long a grant given with its approval may hold.

        Raises:
            StoreError: The store can't be used, or holds too many questions.
        """
        from toolcrib.broker.approvals import queries

        store = await self.store()
        now = store.clock()
        row = await store.write(
            queries.file, {**self._row(pending, now), "most_seconds": most_seconds}, now, MOST_WAITING
        )
        if row is None:
            raise StoreError(f"{MOST_WAITING} approvals are waiting already.", hint="Decide some: toolcrib approve")
        pending.question = pending.question.named(row["id"])
        pending.shorten(row["expires_at"] - now)
        pending.filed = True

    async def take(self, approval: str) -> dict[str, Any] | None:
        """A question as it is now; its approval is handed out once, with `spent` false.

        Raises:
            StoreError: The store can't be used.
        """
        from toolcrib.broker.approvals import queries

        store = await self.store()
        if await store.read(queries.status, approval) == "waiting":
            return {"status": "waiting"}
        return await store.write(queries.take, approval)

    async def decide(self, approval: str, approved: bool, grant: Grant, by: str) -> Approval:
        """Answer a question.

        Raises:
            UsageError: There is none of that id, or it was answered before.
            StoreError: The store can't be used.
        """
        from toolcrib.broker.approvals import queries

        store = await self.store()
        values = {
            "status": "approved" if approved else "denied",
            "decided_by": by,
            "scope": grant.scope,
            "seconds": grant.seconds,
            "bounds": dumped(grant.bounds),
        }
        done, row = await store.write(queries.decide, approval, values, secrets.token_hex(4), store.clock())
        if row is None:
            raise unknown_approval(approval)
        found = approval_of(row, store.clock())
        if not done:
            raise decided_already(found)
        return found

    async def close(self, approval: str) -> None:
        """Let a question count as unanswered.

        Raises:
            StoreError: The store can't be used.
        """
        from toolcrib.broker.approvals import queries

        await (await self.store()).write(queries.close, approval, "expired")

    async def list(self, *, everything: bool = False) -> list[Approval]:
        """The questions that wait, or all of the last day, oldest first.

        Raises:
            StoreError: The store can't be used.
        """
        from toolcrib.broker.approvals import queries

        if not await self.exists():
            return []
        store = await self.store()
        now = store.clock()
        return [approval_of(row, now) for row in await store.read(queries.approvals, now, everything)]

    async def state(self) -> tuple[Any, ...]:
        """What differs after each question, answer and grant, and when one of these ends; of whichever process.

        Raises:
            StoreError: The store can't be used.
        """
        from toolcrib.broker.approvals import queries

        return await (await self.store()).read(queries.state) if await self.exists() else ()

    def _row(self, pending: Pending, now: float) -> dict[str, Any]:
        question, call = pending.question, pending.question.call
        return {
            "id": question.id,
            "status": "waiting",
            "subject": call.caller.run_key,
            "caller": subject_of(call.caller, "caller"),
            "principal": call.caller.principal.name,
            "digest": call.digest,
            "definition": pending.definition,
            "rule": question.rule,
            "tool": call.target,
            "server": call.source,
            "effect": call.effect,
            "reason": self._stored(question.reason),
            "asked_by": asker(call),
            "arguments": self._stored(arguments_text(question.arguments, _MOST_ARGUMENTS)),
            "question": self._stored(question.worded(_MOST_ARGUMENTS)),
            "traces": json.dumps([self._stored(trace_text(each)) for each in question.traces]),
            "created_at": now,
            "expires_at": now + pending.left,
            "decided_by": "",
            "decided_at": None,
            "scope": "call",
            "bounds": "[]",
            "spent": False,
        }

    def _stored(self, text: str) -> str:
        return visible(self._redact(text)).encode("utf-8", "replace").decode()


class StoredGrants:
    """The grants of all instances, in the shared store: what one revokes holds nowhere any more.

    Args:
        inbox: Gives the store.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    async def add(self, granted: Granted) -> None:
        """See `Grants`.

        Raises:
            StoreError: The store can't be used.
        """
        from toolcrib.broker.approvals import queries

        store = await self._inbox.store()
        now = store.clock()
        values: dict[str, Any] = {name: getattr(granted, name) for name in _GRANTED}
        values |= {"bounds": dumped(granted.bounds), "created_at": now, "expires_at": now + granted.seconds}
        await store.write(queries.add_grant, values)

    async def of(self, subjects: Sequence[str], tool: str | None = None) -> list[Granted]:
        """See `Grants`."""
        return await self._read(list(subjects), tool)

    async def all(self) -> list[Granted]:
        """See `Grants`."""
        return await self._read(None, None)

    async def remove(self, grant: str) -> bool:
        """See `Grants`."""
        from toolcrib.broker.approvals import queries

        return await (await self._inbox.store()).write(queries.remove_grant, grant)

    async def end(self, subject: str) -> None:
        """See `Grants`."""
        from toolcrib.broker.approvals import queries

        if await self._inbox.exists():
            await (await self._inbox.store()).write(queries.end_subject, subject)

    async def _read(self, subjects: Sequence[str] | None, tool: str | None) -> list[Granted]:
        from toolcrib.broker.approvals import queries

        if not await self._inbox.exists():
            return []
        store = await self._inbox.store()
        now = store.clock()
        rows = await store.read(queries.grants, now, subjects, tool)
        return [_granted(row, now) for row in rows]


def approval_of(row: dict[str, Any], now: float) -> Approval:
    """A row as others see it; one whose time is over counts as unanswered."""
    members: dict[str, Any] = {name: row[name] for name in _MEMBERS}
    members["traces"] = tuple(json.loads(row["traces"]))
    if row["status"] == "waiting" and row["expires_at"] <= now:
        members["status"] = "expired"
    return Approval(**members)


def approval_from(pending: Pending) -> Approval:
    """A question that is open in this process alone."""
    question, call, answer = pending.question, pending.question.call, pending.answer
    status: Status = "waiting"
    if answer is not None:
        status = "approved" if answer.approved else "denied" if answer.by else "expired"
    return Approval(
        id=question.id,
        status=status,
        tool=call.target,
        server=call.source,
        effect=call.effect,
        arguments=arguments_text(question.arguments, _MOST_ARGUMENTS),
        reason=question.reason,
        rule=question.rule,
        asked_by=asker(call),
        question=question.worded(_MOST_ARGUMENTS),
        created_at=pending.created_at,
        expires_at=pending.created_at + pending.seconds,
        decided_by="" if answer is None else answer.by,
        scope="call" if answer is None else answer.grant.scope,
        principal=call.caller.principal.name,
        decided_at=None if answer is None else answer.at,
        traces=tuple(visible(trace_text(each)) for each in question.traces),
    )


def unknown_approval(approval: str) -> UsageError:
    """Nothing has that id."""
    return UsageError(f"There is no approval {shown(approval)}.", hint="toolcrib approve lists those that wait.")


def decided_already(approval: Approval) -> UsageError:
    """Somebody was faster, or nobody was."""
    how = f"was {approval.status} by {approval.decided_by}" if approval.decided_by else f"has {approval.status}"
    return UsageError(f"Approval {approval.id} {how} already.", hint="toolcrib approve lists those that wait.")


def _granted(row: dict[str, Any], now: float) -> Granted:
    members = {name: row[name] for name in _GRANTED}
    return Granted(**members, bounds=loaded(row["bounds"]), seconds=row["expires_at"] - now)
