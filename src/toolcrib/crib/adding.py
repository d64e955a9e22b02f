"""What a program adds to a crib beside the configured servers: functions, and sources of any kind."""

from collections.abc import Callable
from typing import Any

from toolcrib.catalog import SAVED_SCRIPTS, SKILLS, Source
from toolcrib.crib.explaining import CribExplaining
from toolcrib.errors import UsageError
from toolcrib.functions import LocalFunctions

_OWN = {SAVED_SCRIPTS: "the saved scripts", SKILLS: "the skills"}


class CribAdding(CribExplaining):
    """A crib as a program adds to it."""

    def add_functions(self, *functions: Callable[..., Any], server: str = "local", description: str = "") -> list[str]:
        """Add Python functions as tools beside those of the servers, and return their ids.

        Args:
            functions: Functions with annotated parameters; coroutine functions are awaited.
            server: The id that heads their tool ids.
            description: One line about them together.

        Raises:
            UsageError: A function can't be described, or the id is a configured server's.
        """
        source = self._sources.find(server)
        if server in _OWN:
            raise UsageError(f"{server} is the id of {_OWN[server]}.", hint="Give the functions another `server`.")
        if source is None:
            source = LocalFunctions(server, description)
            self._sources.put(source)
        elif not isinstance(source, LocalFunctions):
            raise UsageError(f"{server} is a server already.", hint="Give the functions another `server`.")
        for function in functions:
            source.add(function)
        self._put_definitions(source)
        return self.registry.keys(server)

    async def add_source(self, source: Source) -> list[str]:
        """Add a source of any kind, list its tools, and return their ids.

        Raises:
            UsageError: The id is taken.
            ServerError: The source can't list its tools.
        """
        if self._sources.find(source.id) is not None or source.id in _OWN:
            raise UsageError(f"There is a source {source.id} already.", hint="Give this one another id.")
        definitions = await source.list("tools/list")
        self._sources.put(source)
        self._sources.take(source.id, definitions)
        return self.registry.keys(source.id)

    def _put_definitions(self, source: LocalFunctions) -> None:
        self._sources.take(source.id, source.definitions)
