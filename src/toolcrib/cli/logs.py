"""What libraries log: nothing by default, warnings while serving, everything with `--debug`; never a secret."""

import logging
import sys
import warnings
from typing import Any

from toolcrib.redact import Secrets, redact_text, without_known

_KEPT: list[Secrets] = []
"""The secrets of cribs that are closed already: what is told of their errors afterwards must not hold them either."""


def keep_out(secrets: Secrets) -> None:
    """Keep these secrets out of all that this process logs or tells, to its end."""
    _KEPT.append(secrets)


def clean(text: str) -> str:
    """A text without any secret, as for logs and tracebacks."""
    return redact_text(without_known(text))


def keep_logs_quiet() -> None:
    """Let what libraries log and warn of pass unseen: a failure is told once, by the command that it stops."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
        if not sys.warnoptions:
            warnings.simplefilter("ignore")


def log_warnings() -> None:
    """Write warnings and errors to standard error, for a process that lives long; exceptions take one line."""
    if not logging.getLogger().handlers:
        _log("toolcrib: %(message)s", logging.WARNING, tracebacks=False)


def log_everything() -> None:
    """Write whatever is logged to standard error, with tracebacks."""
    _log("%(asctime)s %(levelname)s %(name)s: %(message)s", logging.DEBUG, tracebacks=True)


class _Formatter(logging.Formatter):
    def __init__(self, form: str, *, tracebacks: bool) -> None:
        super().__init__(form)
        self._tracebacks = tracebacks

    def format(self, record: logging.LogRecord) -> str:
        return clean(super().format(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return super().formatException(ei) if self._tracebacks else f"  {ei[0].__name__}: {ei[1]}"


def _log(form: str, level: int, *, tracebacks: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(form, tracebacks=tracebacks))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
