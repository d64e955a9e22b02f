"""Grants: what an approval allows beyond the one call that was asked about, and for how long."""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from toolcrib.broker.approvals.bounds import MOST_BOUNDS, Bounds, within
from toolcrib.broker.call import Call, Caller
from toolcrib.errors import UsageError

Scope = Literal["call", "tool", "caller"]
"""What a grant is for: this one call; this tool in this run, or in this conversation where there is no run; this
tool in this conversation, whatever runs in it."""


@dataclass(frozen=True, slots=True)
class Grant:
    """How far an approval reaches. Whatever its scope, it is for one tool, as it is defined now, and for the rule
    that asked: nothing is a grant for everything.

    Attributes:
        scope: What it is for.
        seconds: How long it holds at most; None, or more than the configuration allows, takes what that allows.
        bounds: Tests that the arguments must pass, as in the policy's rules; beyond them it does not hold.

    Raises:
        UsageError: It has more tests than a person can look through.
    """

    scope: Scope = "call"
    seconds: float | None = None
    bounds: Bounds = ()

    def __post_init__(self) -> None:
        """Count the bounds."""
        if len(self.bounds) > MOST_BOUNDS:
            raise UsageError(
                f"A grant has at most {MOST_BOUNDS} bounds, not {len(self.bounds):,}.",
                hint="Use one test with `one_of` or `pattern` in place of many.",
            )


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant that was given, and can be revoked.

    Attributes:
        subject: Whose it is: the key of a caller or of a run.
        tool: The tool, or the source for other requests.
        definition: Digest of the tool's definition when it was given.
        rule: The rule that had asked.
        approval: The approval with which it was given.
        by: Who gave it.
        seconds: How long it holds from now.
        bounds: See `Grant`.
        id: By which it is revoked.
    """

    subject: str
    tool: str
    definition: str
    rule: str
    approval: str
    by: str
    seconds: float
    bounds: Bounds = ()
    id: str = field(default_factory=lambda: secrets.token_hex(4))

    def to_json(self) -> dict[str, object]:
        """All of it by name."""
        bounds = [test.model_dump(mode="json", exclude_unset=True) for test in self.bounds]
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "bounds": bounds}

    def covers(self, call: Call, definition: str, rule: str) -> bool:
        """Whether it lets a call go on."""
        return (
            self.tool == call.target
            and self.definition == definition
            and self.rule == rule
            and self.subject in {call.caller.key, call.caller.run_key}
            and within(self.bounds, call.arguments)
        )


def subject_of(caller: Caller, scope: Scope) -> str:
    """Whose a grant of that scope is."""
    return caller.key if scope == "caller" else caller.run_key


class Grants(Protocol):
    """The grants that were given and hold."""

    async def add(self, granted: Granted) -> None:
        """Keep one, for as long as it holds."""
        ...

    async def of(self, subjects: Sequence[str], tool: str | None = None) -> list[Granted]:
        """Those of these subjects, for one tool or all."""
        ...

    async def all(self) -> list[Granted]:
        """All that hold."""
        ...

    async def remove(self, grant: str) -> bool:
        """Revoke one; whether it was there."""
        ...

    async def end(self, subject: str) -> None:
        """Drop all of a subject, which has ended."""
        ...


class MemoryGrants:
    """The grants of one process.

    Args:
        clock: Seconds that a change of the system's time does not move.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._given: dict[str, tuple[float, Granted]] = {}

    async def add(self, granted: Granted) -> None:
        """See `Grants`."""
        self._given[granted.id] = (self._clock() + granted.seconds, granted)

    async def of(self, subjects: Sequence[str], tool: str | None = None) -> list[Granted]:
        """See `Grants`."""
        return [each for each in await self.all() if each.subject in subjects and tool in {None, each.tool}]

    async def all(self) -> list[Granted]:
        """See `Grants`."""
        now = self._clock()
        self._given = {key: each for key, each in self._given.items() if each[0] > now}
        return [granted for _, granted in self._given.values()]

    async def remove(self, grant: str) -> bool:
        """See `Grants`."""
        return self._given.pop(grant, None) is not None

    async def end(self, subject: str) -> None:
        """See `Grants`."""
        self._given = {key: each for key, each in self._given.items() if each[1].subject != subject}
