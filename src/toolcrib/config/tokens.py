"""The bearer tokens that `toolcrib principals` has made: a file of their digests, which running servers follow."""

import hashlib
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from toolcrib.config.http import TokenSettings
from toolcrib.errors import StoreError, UsageError, shown
from toolcrib.files import write_whole

TOKENS_FILE = "tokens.json"
"""Its name in the state folder."""

_FORMAT = 1
_NO_FILE = (0, 0, 0)
_PREFIX = "tcrib_"
_BYTES = 32


def new_token() -> str:
    """A token that nobody has: 256 random bits behind a prefix by which a leaked one is known for what it is."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest_of(token: str) -> str:
    """What is kept of a token. A token is random, so that its plain SHA-256 tells nothing of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class TokenFile:
    """The file, of which several running programs read.

    Args:
        file: It need not exist.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._seen: tuple[int, int, int] | None = None
        self.tokens: Sequence[TokenSettings] = ()

    def changed(self) -> bool:
        """Read the file if it is not the one read last, and say whether that was so. Costs a `stat` otherwise.

        Raises:
            StoreError: It can't be used: a token that was taken away must not work for that.
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
        self.tokens = () if seen == _NO_FILE else self._read()
        self._seen = seen
        return True

    def add(self, token: TokenSettings) -> None:
        """Let a token in.

        Raises:
            UsageError: There is one of that name.
            StoreError: The file can't be read or written.
        """
        tokens = self._now()
        if any(each.name == token.name for each in tokens):
            raise UsageError(f"There is a token {shown(token.name)} already.", hint="Give this one another --token.")
        self._write([*tokens, token])

    def remove(self, principal: str, name: str | None) -> Sequence[TokenSettings]:
        """Take tokens away, and return them.

        Args:
            principal: Whose.
            name: Which; None all.

        Raises:
            StoreError: The file can't be read or written.
        """
        tokens = self._now()
        gone = [each for each in tokens if each.principal == principal and name in (None, each.name)]
        if gone:
            self._write([each for each in tokens if each not in gone])
        return gone

    def _now(self) -> Sequence[TokenSettings]:
        self._seen = None
        self.changed()
        return self.tokens

    def _write(self, tokens: Sequence[TokenSettings]) -> None:
        stored = {"format": _FORMAT, "tokens": [each.model_dump(mode="json") for each in tokens]}
        try:
            write_whole(self.file, [json.dumps(stored, indent=2, ensure_ascii=False).encode()], durable=True)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None

    def _read(self) -> Sequence[TokenSettings]:
        try:
            stored: Any = json.loads(self.file.read_bytes())
            if stored["format"] != _FORMAT:
                raise self._unusable("it is of another form")
            return tuple(TokenSettings.model_validate(each) for each in cast("list[Any]", stored["tokens"]))
        except OSError as error:
            problem = error.strerror or str(error)
        except (ValidationError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            problem = "it is damaged"
        raise self._unusable(problem)

    def _unusable(self, problem: str) -> StoreError:
        return StoreError(
            f"Who is let in can't be told: {self.file}: {problem}.",
            hint="Mend the file, or delete it and make tokens anew.",
        )
