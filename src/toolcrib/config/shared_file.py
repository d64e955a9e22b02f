"""A small file that several running programs read, and go by as soon as it has changed."""

import json
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from toolcrib.errors import StoreError
from toolcrib.files import held, write_whole

_FORMAT = 1
_NO_FILE = (0, 0, 0)

Content = TypeVar("Content")


class SharedFile(ABC, Generic[Content]):
    """The file, which need not exist.

    Args:
        file: Where it is.
        empty: What there is without one.
        member: The member of the file's object that holds the content.

    Attributes:
        file: Where it is.
        content: What it held when it was last read.
    """

    def __init__(self, file: Path, empty: Content, member: str) -> None:
        self.file = file
        self.content = empty
        self._empty = empty
        self._member = member
        self._seen: tuple[int, int, int] | None = None

    def changed(self) -> bool:
        """Read the file if it is not the one read last, and say whether that was so. Costs a `stat` otherwise.

        Raises:
            StoreError: It can't be used: what was taken out of it must not count for that.
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
        self.content = self._empty if seen == _NO_FILE else self._read()
        self._seen = seen
        return True

    def now(self) -> Content:
        """What it holds at this moment, read anew.

        Raises:
            StoreError: It can't be read.
        """
        self._seen = None
        self.changed()
        return self.content

    @contextmanager
    def changing(self) -> Generator[Content]:
        """What it holds at this moment, for whoever goes on to `write`: no other program does meanwhile.

        Raises:
            StoreError: It can't be read.
        """
        with held(self.file.with_suffix(".lock")):
            yield self.now()

    def write(self, content: Any) -> None:
        """Put another content, as JSON, in its place; where that depends on what it holds, within `changing`.

        Raises:
            StoreError: It can't be written.
        """
        stored = {"format": _FORMAT, self._member: content}
        try:
            write_whole(self.file, [json.dumps(stored, indent=2, ensure_ascii=False).encode()], durable=True)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None

    @abstractmethod
    def _parsed(self, value: Any) -> Content:
        """The content of a JSON value.

        Raises:
            ValueError: It is of another form; so are TypeError, KeyError and AttributeError understood.
        """

    @abstractmethod
    def _unusable(self, problem: str) -> StoreError:
        """What to say where the file can't be used."""

    def _read(self) -> Content:
        try:
            stored: Any = json.loads(self.file.read_bytes())
            if stored["format"] == _FORMAT:
                return self._parsed(stored[self._member])
            problem = "it is of another form"
        except OSError as error:
            problem = error.strerror or str(error)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problem = "it is damaged"
        raise self._unusable(problem)
