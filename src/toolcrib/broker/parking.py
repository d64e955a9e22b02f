"""Calls that wait for an input: an approval, or what their server asks for.

A parked call is come back to by its token, or by the same call of the same caller. However many come back, it is
sent once, in a task of its own that no connection can take along when it breaks; all get the one outcome.
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

import anyio
from anyio.abc import TaskGroup

from toolcrib.broker.approvals import Pending
from toolcrib.broker.call import Call, Caller, Options, Outcome
from toolcrib.broker.listeners import Listeners
from toolcrib.broker.questions import Questions
from toolcrib.catalog import JsonObject
from toolcrib.errors import DeniedError, UnknownOutcomeError, UsageError

KEPT = 600.0
"""Seconds that an outcome is kept for who comes back, beyond the time for an answer."""

MOST_PARKED = 500
"""Calls of one principal that may be parked at the same time."""


Send = Callable[[Options], Awaitable[Outcome]]
"""Sends a parked call, with the options of whoever came back to it first."""


class UnknownTokenError(UsageError):
    """A token leads to no call: it was never given, was given to somebody else or for something else, or is too old."""

    code = "token_unknown"

    def __init__(self) -> None:
        super().__init__("That token belongs to no waiting call.", hint="Repeat the call without it.")


@dataclass(eq=False, slots=True)
class Parked:
    """One call that waits.

    Attributes:
        call: The call.
        asked: Digest of the request as its caller made it.
        send: Sends it, or goes on with it.
        expires_at: Until when it can be come back to, by the clock of its `Parking`.
        pending: The question that it waits for; None where its server asked.
        question: What its server asked.
        outcome: What became of it.
        error: What went wrong instead.
        sent: Whether it is on its way, or was.
        done: Set when it has ended.
        told: Whether anybody got the outcome.
        questions: What is asked while it is under way, of a client that comes back with the answers.
        scope: It runs in it, once it is on its way.
        listeners: Those who are there and want progress.
        waiting: How many wait for what becomes of it.
    """

    call: Call
    asked: str
    send: "Send"
    expires_at: float
    pending: Pending | None = None
    question: Outcome | None = None
    outcome: Outcome | None = None
    error: Exception | None = None
    sent: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)
    told: bool = False
    questions: Questions | None = None
    scope: anyio.CancelScope | None = None
    listeners: Listeners = field(default_factory=Listeners)
    waiting: int = 0
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    def cancel(self) -> None:
        """Give it up, if it is on its way."""
        if self.scope is not None:
            self.scope.cancel()


class Parking:
    """Keeps calls that can't go on until somebody answered something.

    Args:
        clock: Seconds that a change of the system's time does not move.

    Attributes:
        on_expired: Told of each call that nobody came back to in time, before it was sent.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._key = secrets.token_bytes(32)
        self.on_expired: Callable[[Parked], Awaitable[None]] | None = None
        self._clock = clock
        self._lots: dict[str, Parked] = {}
        self._tasks: TaskGroup | None = None
        self._sweeping = False

    def start(self, tasks: TaskGroup) -> None:
        """Let parked calls run in these tasks; without them, they run with whoever comes back."""
        self._tasks = tasks

    def add(self, call: Call, asked: str, send: "Send", seconds: float, pending: Pending | None = None) -> Parked:
        """Park a call.

        Args:
            call: The call.
            asked: Digest of the request as its caller made it.
            send: Sends it, or goes on with it, with the options of whoever comes back.
            seconds: How long an answer may take.
            pending: The question that it waits for; None where its server asked.

        Raises:
            DeniedError: Too many calls are parked.
        """
        parked = Parked(call, asked, send, self._clock() + seconds + KEPT, pending)
        self._keep(parked)
        return parked

    def _keep(self, parked: Parked) -> None:
        """Let a call be come back to.

        Raises:
            DeniedError: Too many calls are parked.
        """
        principal = parked.call.caller.principal
        theirs = [each for each in self._lots.values() if each.call.caller.principal == principal]
        if len(theirs) >= MOST_PARKED:
            self._drop_told(theirs)
        self._lots[parked.id] = parked
        if self._tasks is not None and not self._sweeping:
            self._sweeping = True
            self._tasks.start_soon(self._sweep)

    def drop(self, parked: Parked) -> bool:
        """Forget a call; nobody can come back to it. Whether it was here."""
        return self._lots.pop(parked.id, None) is not None

    def find(self, call: Call) -> Parked | None:
        """The parked call that the same caller, or run, comes back to by calling the same again; one whose outcome
        was told is over, and the same call a new one."""
        wanted = (call.caller.run_key, call.digest)
        for parked in self._lots.values():
            if parked.pending is None or parked.told or parked.expires_at <= self._clock():
                continue
            if (parked.call.caller.run_key, parked.call.digest) == wanted:
                return parked
        return None

    def token(self, parked: Parked) -> str:
        """The token that leads back to a call: sealed over the call, the tool, the principal, what was asked for, and
        the end of its time, with a key of this process alone. Each round of questions has another one."""
        principal = parked.call.caller.principal.name
        turn = str(0 if parked.questions is None else parked.questions.asked)
        return f"{parked.id}.{turn}.{self._seal(parked, turn, principal, parked.asked)}"

    def opened(self, token: str, caller: Caller, asked: str) -> Parked:
        """The call that a token leads to.

        Args:
            token: The token.
            caller: Who comes with it.
            asked: Digest of the request that it came with.

        Raises:
            UnknownTokenError: It was not given for this, to this principal, by this process; or its time is over.
        """
        lot, _, rest = token.partition(".")
        turn, _, seal = rest.partition(".")
        parked = self._lots.get(lot)
        if parked is None:
            raise UnknownTokenError
        expected = self._seal(parked, turn, caller.principal.name, asked)
        if not hmac.compare_digest(seal.encode("utf-8", "replace"), expected.encode()):
            raise UnknownTokenError
        if parked.expires_at <= self._clock():
            raise UnknownTokenError
        return parked

    async def go_on(self, parked: Parked, options: Options) -> Outcome:
        """Send a parked call, unless it was sent, and wait for what becomes of it.

        Args:
            parked: The call.
            options: Of who comes back; progress is told as long as it waits here.
        """
        on_progress = options.on_progress
        if not parked.sent:
            parked.sent = True
            if self._tasks is not None and options.returns and options.client is not None:
                parked.questions = Questions(options.client)
                options = replace(options, client=parked.questions)
            # Progress is asked for in any case: somebody who wants it may still come.
            options = replace(options, on_progress=parked.listeners)
            if self._tasks is None:
                await self._run(parked, options)
            else:
                self._tasks.start_soon(self._run, parked, options)
        elif parked.questions is not None:
            parked.questions.take(options.input_responses or {}, options.client)
        if on_progress is not None:
            parked.listeners.add(on_progress)
        parked.waiting += 1
        try:
            if (asked := await self._asked_meanwhile(parked)) is not None:
                return asked
        finally:
            parked.waiting -= 1
            if on_progress is not None:
                parked.listeners.remove(on_progress)
        parked.told = True
        if parked.error is not None:
            raise parked.error.with_traceback(None)
        assert parked.outcome is not None
        return parked.outcome

    async def run(self, call: Call, asked: str, send: "Send", seconds: float, options: Options) -> Outcome:
        """Run something whose server may ask in the middle of it, for a client that comes back with the answers.

        It is parked when something is asked. While whoever waits for it goes away, it is cancelled.

        Args:
            call: The call that it is.
            asked: Digest of the request as its caller made it.
            send: Does it, and asks the client of the options that it is given.
            seconds: How long an answer may take.
            options: Of the caller.
        """
        parked = Parked(call, asked, send, self._clock() + seconds + KEPT)
        return await self.go_on(parked, options)

    async def _asked_meanwhile(self, parked: Parked) -> Outcome | None:
        """Wait until a call has ended, or something is asked; the answer that asks it, in the latter case."""
        questions = parked.questions
        if questions is None:
            await parked.done.wait()
            return None
        try:
            while not parked.done.is_set():
                if questions.open:
                    if parked.id not in self._lots:
                        self._keep(parked)
                    asks: JsonObject = {"resultType": "input_required", "inputRequests": questions.open}
                    return Outcome("input_required", asks, parked.call, token=self.token(parked))
                await questions.news()
        except anyio.get_cancelled_exc_class():
            if parked.waiting == 1 and parked.pending is None:
                parked.cancel()
            raise
        return None

    async def _run(self, parked: Parked, options: Options) -> None:
        try:
            with anyio.CancelScope() as parked.scope:
                parked.outcome = await parked.send(options)
            if parked.scope.cancelled_caught:
                parked.error = DeniedError(f"The call of {parked.call.target} was given up.")
        except Exception as error:
            parked.error = error
        except BaseException:
            what = f"Toolcrib was closed while the call of {parked.call.target} was under way."
            parked.error = UnknownOutcomeError(parked.call.source, what)
            raise
        finally:
            parked.done.set()
            if parked.questions is not None:
                parked.questions.tell()

    async def _sweep(self) -> None:
        """Forget calls whose time is over."""
        while self._lots:
            now = self._clock()
            for parked in [each for each in self._lots.values() if each.expires_at <= now]:
                if parked.sent and not parked.done.is_set():
                    if parked.questions is None or not parked.questions.open:
                        continue
                    parked.cancel()  # nobody came back with the answer
                if self.on_expired is not None and not parked.sent:
                    await self.on_expired(parked)
                self.drop(parked)
            await anyio.sleep(max(1.0, min((each.expires_at for each in self._lots.values()), default=now) - now))
        self._sweeping = False

    def _drop_told(self, lots: Sequence[Parked]) -> None:
        """Make room: the oldest call whose outcome was told.

        Raises:
            DeniedError: There is none.
        """
        told = next((each for each in lots if each.told), None)
        if told is None:
            raise DeniedError(f"{MOST_PARKED} calls are waiting already.", hint="Decide some: toolcrib approve")
        self.drop(told)

    def _seal(self, parked: Parked, turn: str, principal: str, asked: str) -> str:
        sealed = json.dumps([parked.id, turn, parked.call.target, principal, asked, parked.expires_at])
        return base64.urlsafe_b64encode(hmac.digest(self._key, sealed.encode(), "sha256")).decode().rstrip("=")


def own_copy(params: JsonObject) -> JsonObject:
    """Params that nobody else can change while somebody is asked about them.

    Raises:
        UsageError: They are no JSON.
    """
    try:
        return json.loads(json.dumps(params))
    except (TypeError, ValueError, RecursionError):
        raise UsageError("The arguments can't be written as JSON.") from None


def asked_digest(method: str, target: str, arguments: JsonObject) -> str:
    """A digest of a request as its caller made it, whatever the order of members.

    Raises:
        UsageError: The arguments are no JSON.
    """
    try:
        text = json.dumps([method, target, arguments], sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        raise UsageError("The arguments can't be written as JSON.") from None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
