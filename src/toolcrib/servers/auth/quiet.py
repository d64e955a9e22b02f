"""Keeping tokens out of what the SDK logs."""

import logging

_LOGGER = logging.getLogger("mcp.client.auth.oauth2")


class _WithoutException(logging.Filter):
    """Takes the exception out of a record: some quote the answer that they could not read, tokens and all."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        return True


_FILTER = _WithoutException()


def keep_tokens_out_of_logs() -> None:
    """Let the SDK's provider log no exceptions; what matters of them is told where they are caught."""
    if _FILTER not in _LOGGER.filters:
        _LOGGER.addFilter(_FILTER)
