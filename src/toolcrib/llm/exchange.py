"""One question and its answer: the rounds of calls in between, and the repair of those that can't be made."""

import itertools
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import anyio

from toolcrib.broker import Caller, Face
from toolcrib.llm.account import Account, Accountant, Price, roughly
from toolcrib.llm.conversation import Conversation
from toolcrib.llm.events import (
    ChatResponse,
    ClientEvent,
    Ended,
    SkillGiven,
    ToolCall,
    ToolEnded,
    ToolStarted,
    Trimmed,
    TurnEnded,
)
from toolcrib.llm.messages import Message, Part, Text, ToolResult, ToolUse
from toolcrib.llm.provider import (
    NO_USAGE,
    BrokenAnswerError,
    ContextTooLongError,
    Provider,
    Request,
    ToolChoice,
    Turn,
)
from toolcrib.llm.results import text_block
from toolcrib.llm.skills import GIVEN, ConversationSkills
from toolcrib.llm.surfaces.base import FINDING, Answer, Surface

MOST_SIDE_ROUNDS = 10
"""Rounds made only of looking things up and mending calls; they don't count as rounds."""

_LARGEST_SHARE = 0.5
"""Share of a model's window that one result may take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an exchange may take.

    Attributes:
        rounds: Rounds in which tools are called.
        parallel: Calls made at the same time.
        repairs: How often one tool's call may be mended before the mistake counts as a round.
        max_output: Most tokens of one answer; None leaves it to the provider.
        side_rounds: Rounds made only of looking things up and mending calls.
        trim: Whether a conversation that grows too long is cut at its beginning, rather than ended by an error.
    """

    rounds: int = 1
    parallel: int = 8
    repairs: int = 1
    max_output: int | None = None
    trim: bool = False
    side_rounds: int = MOST_SIDE_ROUNDS


@dataclass(slots=True)
class Exchange:
    """Answers one question of a conversation.

    A call that can't be made as it was written is answered with the tool's schema, and is not sent. Where a
    turn held nothing else, that turn and its answer are shown to the model once and stay out of the
    conversation; where other calls of the turn were made, or the vendor ties reasoning to the turn, they stay.

    Args:
        provider: The model.
        surface: How it is told of tools.
        conversation: Takes the messages.
        limits: What the exchange may take.
        accountant: Counts requests.
        price: What the model's tokens cost, where that is known.
        face: Where the question came in.
        skills: What is given with questions.
    """

    provider: Provider
    surface: Surface
    conversation: Conversation
    limits: Limits
    accountant: Accountant
    price: Price | None = None
    face: Face = "library"
    skills: ConversationSkills = field(default_factory=lambda: ConversationSkills(()))
    _aside: list[Message] = field(default_factory=list[Message], init=False)
    _mistakes: Counter[str] = field(default_factory=Counter[str], init=False)
    _calls: list[ToolCall] = field(default_factory=list[ToolCall], init=False)
    _accounts: list[TurnEnded] = field(default_factory=list[TurnEnded], init=False)
    _rounds: int = field(default=0, init=False)
    _side_rounds: int = field(default=0, init=False)
    _looked: bool = field(default=False, init=False)

    async def run(self, question: str) -> AsyncGenerator[ClientEvent]:
        """Ask, call, and ask again until there is an answer; a `ChatResponse` comes last.

        Raises:
            ProviderError: The model failed. A question that nothing came of yet is taken back.
        """
        caller = Caller(conversation=self.conversation.id, face=self.face)
        if self.conversation.tools is None:
            self.conversation.tools = await self.surface.tools(caller)
            self.conversation.surface = self.surface.name
            self.conversation.whole = await self.surface.whole(caller)
        given = await self.skills.texts(question, self.conversation, self.surface, caller)
        asked = Message("user", (Text(question), *given))
        self.conversation.add(asked)
        try:
            for text in given:
                yield SkillGiven(text.extra[GIVEN])
            while True:
                turn: Turn | None = None
                async with aclosing(self._turn()) as events:
                    async for event in events:
                        if isinstance(event, Turn):
                            turn = event
                        else:
                            yield event
                assert turn is not None
                turn = self._told_apart(turn)
                yield self._accounts[-1]
                ended = self._ended(turn)
                if ended is not None:
                    yield self._response(turn, ended)
                    return
                if turn.stop == "paused":
                    self._settle(turn.message)
                    self._side_rounds += 1
                    continue
                for use in turn.message.uses:
                    yield ToolStarted(use.id, use.name, use.arguments)
                answers = await self._answers(turn.message, caller)
                # Before it is told: whoever stops listening here must not make the conversation forget what was done.
                self._take(turn.message, answers)
                for answer in answers:
                    yield ToolEnded(self._calls_of(answer), answer.result.content)
        except BaseException:
            messages = self.conversation.messages
            if messages and messages[-1] is asked:
                self.conversation.take_back(len(messages) - 1)
            raise

    async def _turn(self) -> AsyncGenerator[ClientEvent | Turn]:
        """One turn of the model, within its window."""
        trimmed = self._fit()
        if trimmed is not None:
            yield trimmed
        request = self._request()
        account = self.accountant.account(request)
        try:
            turn: Turn | None = None
            async with aclosing(self.provider.stream(request)) as events:
                async for event in events:
                    if isinstance(event, Turn):
                        turn = event
                    else:
                        yield event
        except ContextTooLongError:
            cut = self.conversation.trim(1) if self.limits.trim else 0
            if not cut:
                raise
            yield Trimmed(cut, self.conversation.segment)
            async with aclosing(self._turn()) as events:
                async for event in events:
                    yield event
            return
        if turn is None:
            raise BrokenAnswerError(self.provider.name, "The answer of the model broke off.", hint="Ask again.")
        account = replace(account, saved=self._saved(request, account))
        cost = None if self.price is None else self.price.of(turn.usage)
        self._accounts.append(TurnEnded(turn.usage, account, cost))
        self.conversation.spent = self.conversation.spent.and_of(turn.usage, account.saved, cost)
        yield turn

    def _told_apart(self, turn: Turn) -> Turn:
        """The turn with ids that no call before has: vendors refuse a conversation in which two calls have one."""
        known = {use.id for message in (*self.conversation.messages, *self._aside) for use in message.uses}
        parts: list[Part] = []
        for part in turn.message.parts:
            if isinstance(part, ToolUse):
                free = (f"{part.id}_{number}" for number in itertools.count(2))
                own = part.id if part.id not in known else next(each for each in free if each not in known)
                known.add(own)
                parts.append(replace(part, id=own))
            else:
                parts.append(part)
        return replace(turn, message=Message(turn.message.role, tuple(parts)))

    def _saved(self, request: Request, account: Account) -> int:
        """What the surface saved in a request; see `Account.saved`."""
        if self.conversation.surface == "all":
            return 0
        if self._looked:
            return -account.total
        return self.conversation.whole - account.tools - self.accountant.tokens_of(request, self.conversation.aside)

    @property
    def _used_up(self) -> bool:
        """Whether the model may call no more tools, and is asked for what it has."""
        return self._rounds >= self.limits.rounds or self._side_rounds >= self.limits.side_rounds

    def _request(self) -> Request:
        choice: ToolChoice = "none" if self._used_up else "auto"
        return Request(
            (*self.conversation.messages, *self._aside),
            self.conversation.system,
            self.conversation.tools or (),
            choice,
            self.limits.max_output,
        )

    def _fit(self) -> Trimmed | None:
        """Cut the conversation's beginning until a request fits the window, where that is wanted.

        Raises:
            ContextTooLongError: It doesn't fit.
        """
        room = self.provider.traits.window - (self.limits.max_output or 0)
        dropped = 0
        while (total := self.accountant.account(self._request()).total) > room:
            exchanges = sum(1 for each in self.conversation.messages if each.role == "user" and each.text)
            if not self.limits.trim or exchanges < 2:
                raise ContextTooLongError(
                    self.provider.name,
                    f"The conversation has about {total:,} tokens, more than the {room:,} that {self.provider.model} "
                    "takes.",
                    hint="Begin another conversation, or let old exchanges be dropped with trim=True.",
                )
            dropped += self.conversation.trim(exchanges - 1)
        return Trimmed(dropped, self.conversation.segment) if dropped else None

    def _ended(self, turn: Turn) -> Ended | None:
        """How the exchange ends with this turn, or None while it goes on."""
        if turn.stop == "refused":
            self._settle(turn.message.without_calls())
            return "refused"
        if turn.stop == "length":
            # The last call may have been cut off, so none is made.
            self._settle(turn.message.without_calls())
            return "length"
        if turn.stop == "paused" and not self._used_up:
            return None
        if turn.stop == "paused":
            self._settle(turn.message.without_calls())
            return "rounds"
        if not turn.message.uses:
            self._settle(turn.message if turn.message.parts else None)
            return "rounds" if self._used_up else "answered"
        if self._used_up:
            # Some servers don't know this choice.
            self._settle(turn.message.without_calls())
            return "rounds"
        return None

    def _settle(self, *messages: Message | None) -> None:
        """Add to the conversation, in place of what was only shown aside."""
        self._aside.clear()
        self.conversation.add(*(message for message in messages if message is not None))

    async def _answers(self, message: Message, caller: Caller) -> list[Answer]:
        """Make the calls of a turn side by side, and answer them in order.

        When this is cancelled, the conversation still gets an answer for each call, which says what is known.
        """
        uses = message.uses
        answers: dict[int, Answer] = {}
        gate = anyio.CapacityLimiter(self.limits.parallel)

        async def one(place: int, use: ToolUse) -> None:
            async with gate:
                answers[place] = await self.surface.answer(use, caller)

        try:
            async with anyio.create_task_group() as tasks:
                for place, use in enumerate(uses):
                    tasks.start_soon(one, place, use)
        except BaseException:
            results = [answers[place].result if place in answers else _given_up(use) for place, use in enumerate(uses)]
            self._settle(message, Message("user", tuple(results)))
            raise
        return [self._fitting(answers[place]) for place in range(len(uses))]

    def _fitting(self, answer: Answer) -> Answer:
        """The answer, unless its result alone would fill the model's window: then one that says so.

        It refers to no tool that the conversation does not have: a vendor would refuse every request from there on.
        """
        traits = self.provider.traits
        size = sum(roughly(block, media=traits.media) for block in answer.result.content)
        if size <= traits.window * _LARGEST_SHARE:
            known = {tool.name for tool in self.conversation.tools or ()}
            references = tuple(name for name in answer.result.references if name in known)
            return replace(answer, result=replace(answer.result, references=references))
        text = (
            f"{answer.tool_id} was called, but its result of about {int(size):,} tokens is more than this conversation "
            "can hold. Ask for less, such as a page, a range or fewer fields."
        )
        result = ToolResult(answer.result.id, answer.result.name, (text_block(text),), True)
        return Answer(answer.kind, result, answer.tool_id, answer.arguments)

    def _take(self, message: Message, answers: list[Answer]) -> None:
        """Put a turn and its answers where they belong, and count the round."""
        mistaken = [answer for answer in answers if answer.kind == "mistaken"]
        for answer in mistaken:
            self._mistakes[answer.tool_id] += 1
        used_up = any(self._mistakes[answer.tool_id] > self.limits.repairs for answer in mistaken)
        counts = used_up or any(answer.kind == "called" for answer in answers)
        results = Message("user", tuple(answer.result for answer in answers))
        binds = message.binds or self.provider.traits.binds_reasoning
        if len(mistaken) == len(answers) and not used_up and not binds:
            self._aside[:] = [*self._aside, message, results]
        else:
            self._settle(message, results)
        finding = [answer for answer in answers if answer.kind == "mistaken" or answer.result.name in FINDING]
        self.conversation.aside |= {answer.result.id for answer in finding}
        self._looked = len(finding) == len(answers)
        if counts:
            self._rounds += 1
        else:
            self._side_rounds += 1

    def _calls_of(self, answer: Answer) -> ToolCall:
        call = ToolCall(answer.result.id, answer.tool_id, answer.arguments, answer.kind, answer.result.is_error)
        self._calls.append(call)
        return call

    def _response(self, turn: Turn, ended: Ended) -> ChatResponse:
        usage = sum((each.usage for each in self._accounts), NO_USAGE)
        accounts = tuple(each.account for each in self._accounts)
        costs = [each.cost for each in self._accounts if each.cost is not None]
        cost = sum(costs) if costs else None
        return ChatResponse(
            turn.message.text, tuple(self._calls), usage, self._rounds, ended, accounts, turn.detail, cost
        )


def _given_up(use: ToolUse) -> ToolResult:
    text = "The call was given up before its answer came; whether it took effect is not known."
    return ToolResult(use.id, use.name, (text_block(text),), True)
