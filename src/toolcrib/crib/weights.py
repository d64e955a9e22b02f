"""What the definitions of the catalog's tools cost a model, counted once for each listing."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

from toolcrib.catalog import ToolRegistry, definition_tokens
from toolcrib.errors import ToolcribError


class Weights:
    """Tokens of tools' definitions as a client sends them, by the counter of `toolcrib.tokens.count_tokens`.

    Args:
        registry: The catalog.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._counted: dict[str, tuple[int, dict[str, int]]] = {}

    def of(self, parts: Iterable[str]) -> dict[str, int]:
        """Tokens by key of the tools of some parts of the catalog. Reads files and counts, so it belongs into a thread.

        What can't be read or counted is left out.
        """
        found: dict[str, int] = {}
        for part in parts:
            version = self._registry.version_of(part)
            known = self._counted.get(part)
            if known is None or known[0] != version:
                known = self._counted[part] = (version, dict(self._count(part)))
            found |= known[1]
        return found

    def _count(self, part: str) -> Iterator[tuple[str, int]]:
        # The catalog may change meanwhile, in its own thread: what is gone then costs nothing.
        with suppress(ToolcribError, LookupError):
            for tool in self._registry.tools(part):
                with suppress(RecursionError):  # nested too deeply for Python to write
                    yield tool.key, definition_tokens(tool)
