"""What a server wants before it answers: said once, in words and with the command that helps."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from toolcrib.errors import AuthRequiredError


@dataclass(frozen=True, slots=True)
class Need:
    """Why a server does not let Toolcrib in.

    Attributes:
        server: The server's id.
        reason: What happened, in one sentence.
        hint: What to do about it.
        closed: Whether no request at all is let in, rather than only some.
        by_login: Whether a login helps, and nothing but a new one.
    """

    server: str
    reason: str
    hint: str
    closed: bool = True
    by_login: bool = True

    def error(self) -> AuthRequiredError:
        """The same as an error."""
        return AuthRequiredError(self.server, self.reason, hint=self.hint)


_heard: ContextVar[list[Need] | None] = ContextVar("toolcrib_heard_needs", default=None)


@contextmanager
def hearing(needs: list[Need]) -> Generator[None]:
    """Collect the needs that the requests sent in the block meet with.

    The SDK's transports send each message in the context of who sent it.
    """
    token = _heard.set(needs)
    try:
        yield
    finally:
        _heard.reset(token)


def tell(need: Need) -> None:
    """Let whoever sent the request hear of a need."""
    if (needs := _heard.get()) is not None:
        needs.append(need)
