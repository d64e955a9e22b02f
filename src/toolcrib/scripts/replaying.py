"""Calls of an earlier run that are not made again: each that was done answers once, in order. What failed there is
tried again."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolcrib.broker import Call, Outcome
from toolcrib.catalog import JsonObject
from toolcrib.sandbox import StopError


@dataclass(frozen=True, slots=True)
class EarlierCall:
    """A call with effects of an earlier run.

    Attributes:
        call_id: The call.
        tool_id: The tool.
        digest: Equal for calls that ask for the same, as the journal has it.
        state: Whether it was done, or nobody knows what it did.
        result: What it came to; None where that is not kept any more.
    """

    call_id: str
    tool_id: str
    digest: str
    state: Literal["done", "unknown"]
    result: JsonObject | None


class Replay:
    """Answers calls of a run from those of an earlier one.

    Args:
        run: The earlier run.
        calls: Its calls with effects, in order.
        digest: Gives a call's digest, as the journal has it.
    """

    def __init__(self, run: str, calls: Sequence[EarlierCall], digest: Callable[[Call], str]) -> None:
        self._run = run
        self._digest = digest
        self._tools = {call.tool_id for call in calls}
        self._calls: dict[str, deque[EarlierCall]] = {}
        for call in calls:
            self._calls.setdefault(call.digest, deque()).append(call)

    def take(self, call: Call) -> tuple[EarlierCall, Outcome] | None:
        """What an earlier run's call of the same came to, or None where there is none: then it is to be made.

        Raises:
            StopError: Nobody knows what the earlier call did, or its result is not kept any more.
        """
        # Of calls that only read none is kept, but for what a model has said: it may say something else next time.
        if call.target not in self._tools:
            return None
        known = self._calls.get(self._digest(call))
        if not known:
            return None
        earlier = known.popleft()
        if earlier.state == "unknown":
            raise StopError(
                f"{call.target} was called with these arguments in run {self._run}, and nobody knows whether that took "
                "effect. Look first; then run without retry_of, from where it is safe to go on."
            )
        if earlier.result is None:
            raise StopError(
                f"{call.target} was called with these arguments in run {self._run}, and its result is not kept "
                "any more. Run without retry_of, from where it is safe to go on."
            )
        return earlier, Outcome("result", earlier.result, call)
