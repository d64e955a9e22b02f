"""`ScriptFolder`: the saved scripts of a state directory, a file each, shared by all instances."""

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolcrib.errors import StoreError, UsageError, shown
from toolcrib.files import write_whole
from toolcrib.scripts.saved import SavedScript, check_name

_ENDING = ".json"
_MOST_BYTES = 4 * 1024 * 1024
_NOBODY: tuple[Any, ...] = ()


class ScriptFolder:
    """Keeps scripts in a folder. Several processes may use it at once: each file is written whole and moved to its
    place, and of two that save the same new name only one does.

    Args:
        folder: The folder; it need not exist.
        clock: The time in seconds since 1970.

    Attributes:
        scripts: What was read last, by name, in order.
        broken: What can't be used, by name, and why.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._seen: tuple[Any, ...] | None = None
        self.scripts: Mapping[str, SavedScript] = {}
        self.broken: Mapping[str, str] = {}

    def changed(self) -> bool:
        """Read the folder if it is not as it was when it was read last, and say whether that was so.

        A file that can't be read, or holds something else, costs only its own script.
        """
        seen = self._look()
        if seen == self._seen:
            return False
        scripts: dict[str, SavedScript] = {}
        broken: dict[str, str] = {}
        for name, *_ in seen:
            try:
                scripts[name] = self._read(name)
            except (OSError, UsageError) as error:
                broken[name] = str(error)
        self._seen, self.scripts, self.broken = seen, scripts, broken
        return True

    def save(self, script: SavedScript, *, replace: bool) -> SavedScript:
        """Keep a script; returns it with the time.

        Args:
            script: The script.
            replace: Whether one of that name may be replaced.

        Raises:
            UsageError: There is one of that name already.
            StoreError: It can't be written.
        """
        kept = SavedScript(
            script.name, script.code, script.description, script.language, script.given, self._clock()
        ).checked()
        path = self._path(script.name)
        content = json.dumps(kept.to_json(), indent=2).encode("utf-8", "surrogatepass")
        try:
            if replace:
                write_whole(path, [content], durable=True)
            else:
                self._write_new(path, content)
        except FileExistsError:
            raise UsageError(
                f"There is a script {script.name} already.", hint="Save it under another name, or replace that one."
            ) from None
        except OSError as error:
            raise StoreError(f"{path} can't be written: {error.strerror or error}.") from None
        return kept

    def remove(self, name: str) -> None:
        """Delete a script, also a broken one.

        Raises:
            UsageError: There is none.
            StoreError: It can't be deleted.
        """
        check_name(name)
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            raise UsageError(f"There is no script {shown(name)}.", hint="toolcrib scripts lists them.") from None
        except OSError as error:
            raise StoreError(f"{self._path(name)} can't be deleted: {error.strerror or error}.") from None

    def _look(self) -> tuple[Any, ...]:
        """What tells the folder as it is from what it was: each file's name, time, size and number."""
        try:
            with os.scandir(self._folder) as entries:
                found = [
                    (entry.name.removesuffix(_ENDING), *_state(entry))
                    for entry in entries
                    if entry.name.endswith(_ENDING) and not entry.name.startswith(".")
                ]
        except OSError:
            return _NOBODY
        return tuple(sorted(found))

    def _read(self, name: str) -> SavedScript:
        check_name(name)
        if self._path(name).exists() and not self._path(name).is_file():  # opening a pipe would wait for its writer
            raise UsageError("It is no file.")
        with self._path(name).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise UsageError("It is larger than what Toolcrib writes.")
        try:
            stored: object = json.loads(content)
        except (ValueError, RecursionError):
            raise UsageError("It is damaged.") from None
        return SavedScript.from_json(name, stored)

    def _write_new(self, path: Path, content: bytes) -> None:
        beside = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.new")
        write_whole(beside, [content], durable=True)
        try:
            try:
                os.link(beside, path)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                with path.open("xb") as file:
                    file.write(content)
        finally:
            with suppress(OSError):
                beside.unlink()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_ENDING}"


def _state(entry: os.DirEntry[str]) -> tuple[int, int, int]:
    """A file's time, size and number; of one that has gone just now, or of a link to nothing, none."""
    try:
        stat = entry.stat()
    except OSError:
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
