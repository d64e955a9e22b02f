"""The one repetition of a request that the broker makes by itself, and which requests it makes it for."""

from collections.abc import Awaitable, Callable

from toolcrib.broker.call import Call
from toolcrib.catalog import JsonObject
from toolcrib.errors import ProtocolError, ServerError, StoreError, UnknownOutcomeError


def may_be_repeated(call: Call, *, trusted: bool) -> bool:
    """Whether doing the same twice is as good as doing it once: a read, or what a trusted server calls idempotent
    (specification, tools: annotations of others are untrusted)."""
    if call.effect == "read":
        return True
    return trusted and call.tool is not None and call.tool.annotations.get("idempotentHint") is True


async def send(
    call: Call, request: Callable[[], Awaitable[JsonObject]], record: Callable[[], Awaitable[object]], *, trusted: bool
) -> JsonObject:
    """Send a request, and once more where the connection was lost before the answer came and that does no harm.

    A server that did not answer in time is not asked again: it may still be at work. What was never sent, because
    the connection had ended before, is sent by the server's own line.

    Args:
        call: The call.
        request: Sends it.
        record: Records that it is sent once more, before it is.
        trusted: Whether the server's own word is believed.

    Raises:
        ServerError: As the request does; where the repetition had no answer either, what was raised first.
    """
    try:
        return await request()
    except UnknownOutcomeError as lost:
        if not may_be_repeated(call, trusted=trusted):
            raise
        try:
            await record()
        except StoreError:
            raise lost from None
        try:
            return await request()
        except ProtocolError:
            raise
        except ServerError:
            raise lost from None
