"""Standard output and error: UTF-8 whatever the locale, plain in a pipe, safe on a terminal."""

import io
import json
import math
import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

from toolcrib.hidden import escape_hidden, visible


def prepare_streams() -> None:
    """Make standard output and error write UTF-8; a closed one swallows what is written to it.

    Lone surrogates, which JSON can carry, are written as the escapes that JSON has for them.
    """
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def abandon_output() -> None:
    """Make later writes to standard output go nowhere, the one at the end of the process too."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def typed(word: str) -> str:
    """A word of the command line as it was typed, also where the locale could not decode it."""
    try:
        return word.encode(sys.getfilesystemencoding(), "surrogateescape").decode("utf-8")
    except UnicodeError:
        return word


def print_text(text: str = "") -> None:
    """Write text and a line end to standard output: as it is into a pipe, made safe on a terminal."""
    sys.stdout.write(f"{safe(text) if sys.stdout.isatty() else text}\n")


def print_json(value: Any) -> None:
    """Write a value to standard output as the one JSON document of `--json`."""
    text = json.dumps(_finite(value), ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write(f"{escape_hidden(text)}\n")


def tell(text: str) -> None:
    """Write a message to standard error, its first line under the program's name, the others indented."""
    first, *rest = safe(text).splitlines() or [""]
    lines = [f"toolcrib: {first}", *(f"  {line}" if line else "" for line in rest)]
    with suppress(OSError, ValueError):
        sys.stdout.flush()  # what was printed before stands before it where both go to one place
    with suppress(OSError, ValueError):  # nobody reads it
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()


def warn(text: str) -> None:
    """Write a warning to standard error."""
    tell(f"warning: {text}")


def safe(text: str) -> str:
    """Text from outside as it may go to a terminal: characters that command it are shown, not obeyed."""
    return visible(text)


def one_line(text: str) -> str:
    """Text from outside as one safe line."""
    return safe(" ".join(text.split()))


def _finite(value: Any) -> Any:
    """A value with `"Infinity"`, `"-Infinity"` and `"NaN"` for the numbers that JSON has no form for."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in cast("list[Any]", value)]
    return value
