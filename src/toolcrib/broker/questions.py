"""What a server asks in the middle of a call, for a client that is asked by an answer and comes back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import anyio

from toolcrib.catalog import ClientSide, JsonObject, TakesLogs
from toolcrib.errors import ProtocolError

_INVALID_PARAMS = -32602


@dataclass(eq=False, slots=True)
class _Question:
    """One question: the request, and the answer when it has come."""

    request: JsonObject
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: Any = None


class Questions:
    """Stands for such a client while a call is under way: it keeps each question until its answer is brought.

    Args:
        client: The client, with the capabilities that it declared.

    Attributes:
        asked: How many questions there were.
    """

    def __init__(self, client: ClientSide) -> None:
        self._client = client
        self._questions: dict[str, _Question] = {}
        self.asked = 0
        self._news = anyio.Event()

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """See `ClientSide.capabilities`."""
        return self._client.capabilities

    @property
    def log_level(self) -> str | None:
        """See `TakesLogs.log_level`."""
        return self._client.log_level if isinstance(self._client, TakesLogs) else ""

    async def log(self, params: JsonObject) -> None:
        """See `TakesLogs.log`."""
        if isinstance(self._client, TakesLogs):
            await self._client.log(params)

    @property
    def open(self) -> JsonObject:
        """The requests that have no answer yet, by key."""
        return {key: each.request for key, each in self._questions.items() if not each.answered.is_set()}

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        """Ask, and wait for the answer. See `ClientSide.answer`."""
        self.asked += 1
        key = f"ask_{self.asked}"
        question = self._questions[key] = _Question({"method": method, "params": params})
        self.tell()
        try:
            await question.answered.wait()
        finally:
            del self._questions[key]
        answer: Any = question.answer
        if not isinstance(answer, dict):
            raise ProtocolError("client", "the answer is no object", rpc_code=_INVALID_PARAMS)
        return cast("JsonObject", answer)

    def take(self, answers: Mapping[str, Any], client: ClientSide | None) -> None:
        """Take the answers that a client came back with.

        Args:
            answers: By key; those to nothing that was asked are left aside.
            client: What stands behind the request that brought them.
        """
        if client is not None:
            self._client = client
        for key, answer in answers.items():
            question = self._questions.get(key)
            if question is not None and not question.answered.is_set():
                question.answer = answer
                question.answered.set()

    def tell(self) -> None:
        """Wake whoever waits for news."""
        self._news.set()
        self._news = anyio.Event()

    async def news(self) -> None:
        """Wait until something is asked, or the call has ended."""
        await self._news.wait()
