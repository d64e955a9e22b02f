"""Reading an `envFile`: lines of `KEY=VALUE` as the dotenv tools of several languages agree on them."""

import re
from pathlib import Path

from toolcrib.errors import ConfigError

_ASSIGNMENT = re.compile(
    r"""
    (?:export[ \t]+)?
    (?P<key>[A-Za-z_][A-Za-z0-9_.-]*) [ \t]* =
    (?:
        [ \t]* (?: '(?P<single>[^']*)' | "(?P<double>(?:[^"\\]|\\.)*)" ) [ \t]* (?:\#[^\r\n]*)?
        | (?![ \t]*['"]) (?P<bare>[^\r\n]*)
    )
    (?:\r?\n|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_IGNORED = re.compile(r"[ \t]*(?:\#[^\r\n]*)?(?:\r?\n|\Z)")
_INDENT = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"[ \t]#.*$")
_ESCAPE = re.compile(r"""\\([nrt\\"'])""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def read_env_file(path: Path, where: str) -> dict[str, str]:
    """The variables of one file.

    Args:
        path: The file, UTF-8.
        where: Which server and field named it, for errors.

    Raises:
        ConfigError: It can't be read, or a line is no assignment (the line's number, never its text).
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise ConfigError(f"{where}: {path} can't be read: {reason}.", hint="Check the path.") from None
    return parse_env(text, f"{where}: {path}")


def parse_env(text: str, where: str) -> dict[str, str]:
    r"""Parse `KEY=VALUE` lines.

    Comments, blank lines and a leading `export` are allowed. Single quotes keep their text as it is, double
    quotes know `\n`, `\r`, `\t`, `\\` and escaped quotes; both may span lines. Without quotes the value ends
    at ` #` or the end of the line. Nothing is expanded. A later line wins.

    Args:
        text: The file's text.
        where: Which server, field and file it is, for errors.

    Raises:
        ConfigError: A line is no assignment.
    """
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        if blank := _IGNORED.match(text, at):
            at = blank.end()
            continue
        start = _INDENT.match(text, at)
        line = _ASSIGNMENT.match(text, start.end() if start else at)
        if line is None:
            number = text.count("\n", 0, at) + 1
            raise ConfigError(f"{where}: line {number} is not KEY=VALUE.", hint="Correct or remove the line.")
        found[line["key"]] = _value(line)
        at = line.end()
    return found


def _value(line: re.Match[str]) -> str:
    if line["single"] is not None:
        return line["single"]
    if line["double"] is not None:
        return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), line["double"])
    return _COMMENT.sub("", line["bare"] or "").strip()
