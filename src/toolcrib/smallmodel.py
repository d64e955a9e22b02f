"""`SmallModel`: a language model for small chores, as the parts that have some know it. They know no vendor."""

from typing import Any, Protocol


class SmallModel(Protocol):
    """Answers one question at a time with JSON. Made by a face or a program, and handed down."""

    @property
    def name(self) -> str:
        """What it is called, such as `anthropic:claude-haiku-4-5`."""
        ...

    @property
    def window(self) -> int:
        """Tokens that question and answer may take together."""
        ...

    async def answer(self, task: str, text: str, shape: dict[str, Any]) -> Any:
        """Ask it.

        Args:
            task: What it is to do; the program's own words.
            text: What it is to do that with; may hold anything.
            shape: The JSON Schema that the answer should fit.

        Returns:
            The answer as JSON. Whether it fits is for whoever asks to find out: a model may answer anything.

        Raises:
            ToolcribError: It failed, or took too long.
        """
        ...

    async def close(self) -> None:
        """Close the connections that it has opened."""
        ...
