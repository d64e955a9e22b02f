"""The bearer tokens that `toolcrib principals` has made: a file of their digests, which running servers follow."""

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from toolcrib.config.http import TokenSettings
from toolcrib.config.shared_file import SharedFile
from toolcrib.errors import StoreError, UsageError, shown

TOKENS_FILE = "tokens.json"
"""Its name in the state folder."""

_PREFIX = "tcrib_"
_BYTES = 32


def new_token() -> str:
    """A token that nobody has: 256 random bits behind a prefix by which a leaked one is known for what it is."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest_of(token: str) -> str:
    """What is kept of a token. A token is random, so that its plain SHA-256 tells nothing of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class TokenFile(SharedFile[Sequence[TokenSettings]]):
    """The file, of which several running programs read.

    Args:
        file: It need not exist.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(file, (), "tokens")

    @property
    def tokens(self) -> Sequence[TokenSettings]:
        """The tokens as of the last `changed`."""
        return self.content

    def add(self, token: TokenSettings) -> None:
        """Let a token in.

        Raises:
            UsageError: There is one of that name.
            StoreError: The file can't be read or written.
        """
        with self.changing() as tokens:
            if any(each.name == token.name for each in tokens):
                hint = "Give this one another --token."
                raise UsageError(f"There is a token {shown(token.name)} already.", hint=hint)
            self._write([*tokens, token])

    def remove(self, principal: str, name: str | None) -> Sequence[TokenSettings]:
        """Take tokens away, and return them.

        Args:
            principal: Whose.
            name: Which; None all.

        Raises:
            StoreError: The file can't be read or written.
        """
        with self.changing() as tokens:
            gone = [each for each in tokens if each.principal == principal and name in (None, each.name)]
            if gone:
                self._write([each for each in tokens if each not in gone])
        return gone

    def _write(self, tokens: Sequence[TokenSettings]) -> None:
        self.write([each.model_dump(mode="json") for each in tokens])

    def _parsed(self, value: Any) -> Sequence[TokenSettings]:
        return tuple(TokenSettings.model_validate(each) for each in cast("list[Any]", value))

    def _unusable(self, problem: str) -> StoreError:
        return StoreError(
            f"Who is let in can't be told: {self.file}: {problem}.",
            hint="Mend the file, or delete it and make tokens anew.",
        )
