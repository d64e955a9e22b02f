"""What the user has switched on and off beside the configuration files, which may be those of other clients."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from toolcrib.config.server import ServerConfig
from toolcrib.errors import StoreError
from toolcrib.files import write_whole

_FORMAT = 1
_NO_FILE = (0, 0, 0)


class Switches:
    """The user's switches, in a file that several running programs share.

    A switch belongs to one entry of one file: its key there, and the file.

    Args:
        file: The file; it need not exist.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._seen: tuple[int, int, int] | None = None
        self._on: Mapping[str, bool] = {}

    def changed(self) -> bool:
        """Read the file if it is not the one read last, and say whether that was so. Costs a `stat` otherwise.

        Raises:
            StoreError: The file can't be used: a server that was switched off must not run for that.
        """
        try:
            stat = self.file.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        except (FileNotFoundError, NotADirectoryError):
            seen = _NO_FILE
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        if seen == self._seen:
            return False
        self._on = {} if seen == _NO_FILE else self._read()
        self._seen = seen
        return True

    def get(self, server: ServerConfig) -> bool | None:
        """Whether the user has switched a server on or off; None where neither. As of the last `changed`."""
        return self._on.get(_name(server))

    def put(self, server: ServerConfig, on: bool | None) -> None:
        """Switch a server on or off for good; None forgets what was switched.

        Raises:
            StoreError: The file can't be read or written.
        """
        self._seen = None
        self.changed()
        switched = {name: each for name, each in self._on.items() if name != _name(server)}
        if on is not None:
            switched[_name(server)] = on
        try:
            stored = {"format": _FORMAT, "servers": switched}
            write_whole(self.file, [json.dumps(stored, indent=2).encode()])
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        self.changed()

    def _read(self) -> Mapping[str, bool]:
        try:
            stored: Any = json.loads(self.file.read_bytes())
            servers = cast("dict[str, Any]", stored["servers"])
            if stored["format"] == _FORMAT and all(isinstance(each, bool) for each in servers.values()):
                return servers
            problem = "it is of another form"
        except OSError as error:
            problem = error.strerror or str(error)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problem = "it is damaged"
        raise self._unusable(problem)

    def _unusable(self, problem: str) -> StoreError:
        return StoreError(
            f"What is switched on and off can't be told: {self.file}: {problem}.",
            hint="Mend or delete the file; without it, the configuration alone counts.",
        )


def _name(server: ServerConfig) -> str:
    return f"{server.origin or ''}#{server.key}"
