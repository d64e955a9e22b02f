"""Who the holder of a bearer token is, by the digests of the tokens that are let in."""

import hmac
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from toolcrib.broker import Principal
from toolcrib.config import TokenFile, TokenSettings, digest_of


@dataclass(frozen=True, slots=True)
class Holder:
    """Whom a token lets in.

    Attributes:
        principal: Who.
        missing: Scopes that the token would need and does not have; then it lets nobody in.
    """

    principal: Principal
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Known:
    digest: bytes
    holder: Holder
    expires_at: float


class Tokens:
    """The tokens of a configuration and of the tokens' file, which is looked at again when it has changed.

    Args:
        configured: The tokens of the configuration.
        file: Those that `toolcrib principals add` has made.
        clock: Seconds since 1970.
    """

    def __init__(
        self, configured: Sequence[TokenSettings], file: TokenFile, clock: Callable[[], float] = time.time
    ) -> None:
        self._configured = configured
        self._file = file
        self._clock = clock
        self._known: dict[bytes, list[_Known]] = {}
        self._names: frozenset[str] = frozenset()
        self._take(())

    def any(self) -> bool:
        """Whether there are any at all, ones that have expired too.

        Raises:
            StoreError: The file can't be read.
        """
        self._follow()
        return bool(self._known)

    def holder(self, token: str) -> Holder | None:
        """Whom a token lets in; None for one that is unknown, taken away or expired.

        Raises:
            StoreError: The file can't be read.
        """
        self._follow()
        digest = digest_of(token).encode()
        found = None
        # Which digests begin alike tells nothing that helps to find a token; the rest is compared in constant time.
        for known in self._known.get(digest[:8], ()):
            if hmac.compare_digest(known.digest, digest) and known.expires_at > self._clock():
                found = known.holder
        return found

    def have(self, principal: str) -> bool:
        """Whether a principal has a token, be it one that has expired.

        Raises:
            StoreError: The file can't be read.
        """
        self._follow()
        return principal in self._names

    def _follow(self) -> None:
        if self._file.changed():
            self._take(self._file.tokens)

    def _take(self, stored: Iterable[TokenSettings]) -> None:
        known: dict[bytes, list[_Known]] = {}
        for each in (*self._configured, *stored):
            digest = each.sha256.encode()
            expires_at = float("inf") if each.expires is None else each.expires.timestamp()
            holder = Holder(Principal(each.principal, tuple(sorted({*each.roles}))))
            known.setdefault(digest[:8], []).append(_Known(digest, holder, expires_at))
        self._known = known
        self._names = frozenset(each.holder.principal.name for group in known.values() for each in group)
