"""A question that is open, and its answer: the first one counts, from wherever it comes."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from toolcrib.broker.approvals.grants import Grant
from toolcrib.broker.approvals.question import Question
from toolcrib.broker.policy import Decision


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a question.

    Attributes:
        approved: Whether the call may go on.
        by: Who answered: `approver`, `client`, or `inbox` and a name.
        grant: What was granted with it.
        why: Why not, where nobody said no: as the rest of a sentence about the call.
        at: When, in seconds since 1970.
    """

    approved: bool
    by: str = ""
    grant: Grant = field(default_factory=Grant)
    why: str = "was not approved"
    at: float = field(default_factory=time.time)


class Pending:
    """One open question.

    Args:
        question: The question.
        decision: Of the policy, to ask.
        definition: Digest of the tool's definition that is asked about.
        seconds: Until it counts as unanswered.
        clock: Seconds that a change of the system's time does not move.

    Attributes:
        answer: The answer; None while there is none.
        filed: Whether it lies in the inbox, and the row there counts.
        told: Whether it was told that there is an answer.
        before: The id that it had until then; empty where it kept it.
        created_at: When it was asked, in seconds since 1970.
        seconds: Until it counts as unanswered, from then on.
        lock: Held while the inbox is asked about it.
        dialog: Held while a client is asked: nobody is shown the same question twice at once.
        changed: Set, and made anew, when something may have happened to it.
    """

    def __init__(
        self, question: Question, decision: Decision, definition: str, seconds: float, clock: Callable[[], float]
    ) -> None:
        self.question = question
        self.decision = decision
        self.definition = definition
        self.answer: Answer | None = None
        self.filed = False
        self.told = False
        self.before = ""
        self.changed = anyio.Event()
        self.lock = anyio.Lock()
        self.dialog = anyio.Lock()
        self.created_at = time.time()
        self.seconds = seconds
        self._clock = clock
        self._deadline = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds until it counts as unanswered."""
        return max(0.0, self._deadline - self._clock())

    def shorten(self, seconds: float) -> None:
        """Let it count as unanswered after so many seconds from now, if that is sooner."""
        self._deadline = min(self._deadline, self._clock() + seconds)

    def settle(self, answer: Answer) -> bool:
        """Take an answer; False when there is one already, which stays."""
        if self.answer is not None:
            return False
        self.answer = answer
        self.wake()
        return True

    def wake(self) -> None:
        """Have those who wait look again."""
        self.changed.set()
        self.changed = anyio.Event()


def new_id() -> str:
    """The id of an approval: short enough to type, and not to be guessed from another one."""
    return secrets.token_hex(3)
