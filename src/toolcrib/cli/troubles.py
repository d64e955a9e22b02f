"""What goes wrong, as a person or program is told of it: a sentence, what to do, and an exit code."""

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import typer

from toolcrib.cli.logs import clean
from toolcrib.cli.streams import print_json, tell
from toolcrib.errors import ToolcribError, UnknownToolError, UsageError, shown
from toolcrib.redact import without_known

FAILED = 1
"""Exit code: what was asked for failed."""

MISUSED = 2
"""Exit code: it was asked for wrongly, or the configuration can't be used."""

_COMMAND_OPTIONS = {"--config", "-c", "--json"}
_MISUSE_CODES = {
    "config_invalid",
    "tool_unknown",
    "name_ambiguous",
    "arguments_invalid",
    "skill_unknown",
    "skill_unusable",
}


def report(error: Exception, *, as_json: bool, debug: bool) -> int:
    """Tell an error on standard error, and with `--json` also as the document on standard output.

    Args:
        error: Whatever ended the command.
        as_json: Whether the command was asked for a document.
        debug: Whether to show where it happened.

    Returns:
        The exit code.

    Raises:
        BrokenPipeError: That is what ended the command, and is no error to tell.
    """
    found = _cause(error)
    if isinstance(found, BrokenPipeError):
        raise found
    if debug:
        sys.stderr.write(clean("".join(traceback.format_exception(error))))
    message, hint, body, code = _told(found)
    message, hint = without_known(message), without_known(hint)
    body = {name: without_known(member) if isinstance(member, str) else member for name, member in body.items()}
    tell(f"{message}\n{hint}" if hint else message)
    if as_json:
        print_json({"error": body})
    return code


def _cause(error: BaseException) -> BaseException:
    """The first error that a group was raised for, those that Toolcrib raises on purpose before others."""
    leaves = list(_leaves(error))
    return next((each for each in leaves if isinstance(each, ToolcribError)), leaves[0])


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(each)
    else:
        yield error


def _in_plain_words(error: typer.TyperException) -> str:
    """What is wrong with the words of a command, also where pydantic found it."""
    problems: Sequence[Mapping[str, Any]] = getattr(error.__cause__, "errors", list[Any])()
    if not problems:
        return error.format_message()
    problem = problems[0]
    bounds: Mapping[str, Any] = problem.get("ctx") or {}
    match str(problem["type"]).partition("_")[0], problem["type"]:
        case "int", _:
            plain = f"{shown(str(problem['input']), 60)} is not a whole number."
        case "float", _:
            plain = f"{shown(str(problem['input']), 60)} is not a number."
        case _, "greater_than_equal":
            plain = f"it must be at least {bounds['ge']}."
        case _, "less_than_equal":
            plain = f"it must be at most {bounds['le']}."
        case _:
            plain = str(problem["msg"]).removeprefix("Value error, ")  # pydantic's mark of our own words
    error.message = plain
    return error.format_message()


def _told(error: BaseException) -> tuple[str, str, dict[str, object], int]:
    """Message, hint, the error as JSON, and the exit code."""
    if isinstance(error, ToolcribError):
        hint = error.hint
        if isinstance(error, UnknownToolError) and (hint or "").startswith("search_tools"):  # a model's word for it
            hint = "toolcrib search finds tools from words that describe them."
        elif error.code == "skill_unknown" and hint.startswith("search_tools"):
            hint = "toolcrib search lists the skills that there are."
        code = MISUSED if isinstance(error, UsageError) or error.code in _MISUSE_CODES else FAILED
        return error.message, hint, {**error.to_json(), **({"hint": hint} if hint else {})}, code
    if isinstance(error, typer.TyperException):
        context: typer.Context | None = getattr(error, "ctx", None)
        path = context.command_path if context else "toolcrib"
        hint = f"See: {path} --help"
        if path == "toolcrib" and context and getattr(error, "option_name", None) in _COMMAND_OPTIONS:
            hint = "Options of a command stand after it: toolcrib COMMAND --config FILE --json"
        message = _in_plain_words(error)
        message = message if message.endswith((".", "?", "!")) else f"{message}."
        return message, hint, {"code": "usage", "message": message, "hint": hint}, MISUSED
    if isinstance(error, OSError) and error.strerror:
        place = f" {error.filename}:" if error.filename else ""
        message, hint = f"The system refused:{place} {error.strerror}.", ""
    else:
        text = clean(str(error).partition("\n")[0])
        message = f"Internal error: {type(error).__name__}{f': {text}' if text else ''}"
        hint = "Run it again with --debug to see where it happened."
    return message, hint, {"code": "internal", "message": message}, FAILED
