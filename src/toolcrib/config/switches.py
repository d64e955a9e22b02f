"""What the user has switched on and off beside the configuration files, which may be those of other clients."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from toolcrib.config.server import ServerConfig
from toolcrib.config.shared_file import SharedFile
from toolcrib.errors import StoreError


class Switches(SharedFile[Mapping[str, bool]]):
    """The user's switches, in a file that several running programs share.

    A switch belongs to one entry of one file: its key there, and the file.

    Args:
        file: The file; it need not exist.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(file, {}, "servers")

    def get(self, server: ServerConfig) -> bool | None:
        """Whether the user has switched a server on or off; None where neither. As of the last `changed`."""
        return self.content.get(_name(server))

    def put(self, server: ServerConfig, on: bool | None) -> None:
        """Switch a server on or off for good; None forgets what was switched.

        Raises:
            StoreError: The file can't be read or written.
        """
        with self.changing() as before:
            switched = {name: each for name, each in before.items() if name != _name(server)}
            if on is not None:
                switched[_name(server)] = on
            self.write(switched)
        self.changed()

    def turn(self, server: ServerConfig, *, on: bool) -> None:
        """Let a server be on or off for good, and keep no switch where the configuration says the same already.

        Args:
            server: Its entry as the configuration has it.
            on: Whether it is to be on.

        Raises:
            StoreError: The file can't be read or written.
        """
        needed = not on or server.disabled or server.options.start == "on_request"
        self.put(server, on if needed else None)

    def _parsed(self, value: Any) -> Mapping[str, bool]:
        servers = cast("dict[str, Any]", value)
        if not all(isinstance(each, bool) for each in servers.values()):
            raise TypeError
        return servers

    def _unusable(self, problem: str) -> StoreError:
        return StoreError(
            f"What is switched on and off can't be told: {self.file}: {problem}.",
            hint="Mend or delete the file; without it, the configuration alone counts.",
        )


def _name(server: ServerConfig) -> str:
    return f"{server.origin or ''}#{server.key}"
