"""What all adapters have in common: which tools a framework is told of, and how its calls reach the broker."""

from typing import Literal

from toolcrib.broker import Caller
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.errors import UsageError
from toolcrib.llm.messages import ToolUse
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.surfaces import AllTools, Answer, SearchTools, Surface

Told = Literal["search", "all"]
"""The constant tools, with which a model finds and calls all others; or every visible tool by itself."""


class CribTools:
    """The tools of a crib as a framework is told of them.

    Args:
        crib: The tools, open; it stays open.
        told: See `Told`.
        conversation: Whose conversation calls belong to; empty takes what the framework says of each call.
        result_budget: Most bytes of JSON in one result; a larger one is kept, and read by `read_result`. None takes
            what the configuration says with `search`, and everything with `all`.

    Raises:
        UsageError: `told` is neither.
    """

    def __init__(
        self, crib: Crib, told: Told = "search", *, conversation: str = "", result_budget: int | None = None
    ) -> None:
        if told not in ("search", "all"):
            raise UsageError(f'A framework is told of "search" or "all", not "{told}".')
        self._surface: Surface = (SearchTools if told == "search" else AllTools)(crib, budget=result_budget)
        self._conversation = conversation

    async def specs(self, conversation: str = "") -> tuple[ToolSpec, ...]:
        """The tools, by names that every vendor takes."""
        return await self._surface.tools(self._caller(conversation))

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        *,
        call_id: str = "",
        conversation: str = "",
        unreadable: str | None = None,
    ) -> Answer:
        """Call a tool through the broker; whatever goes wrong is an answer too.

        Args:
            name: The name that was told.
            arguments: With what.
            call_id: The framework's id of the call.
            conversation: The framework's own name of the conversation.
            unreadable: What a model wrote in place of arguments that are a JSON object.
        """
        use = ToolUse(call_id, name, arguments, unreadable)
        return await self._surface.answer(use, self._caller(conversation))

    def _caller(self, conversation: str) -> Caller:
        return Caller(conversation=self._conversation or conversation)


def missing_extra(framework: str, extra: str, error: ImportError) -> UsageError:
    """The error of a module whose framework is not installed."""
    return UsageError(
        f"{framework} needs {error.name}, which is not installed.",
        hint=f"Install it with: pip install 'toolcrib[{extra}]'",
    )
