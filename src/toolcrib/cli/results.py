"""The result of a call as a person, a pipe or a file takes it."""

import base64
import binascii
import json
import mimetypes
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from toolcrib.cli.streams import one_line, print_text, tell, warn
from toolcrib.errors import UsageError
from toolcrib.hidden import kinds_of

if TYPE_CHECKING:
    from toolcrib.catalog import JsonObject


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes that came in a result.

    Attributes:
        kind: `image`, `audio` or `resource`.
        mime: Their media type.
        content: The bytes.
    """

    kind: str
    mime: str
    content: bytes

    @property
    def suffix(self) -> str:
        """The ending of a file that holds them."""
        main, _, sub = self.mime.partition(";")[0].strip().partition("/")
        # Types that were registered late are known under their experimental names: audio/x-wav.
        guesses = (mimetypes.guess_extension(f"{main}/{name}", strict=False) for name in (sub, f"x-{sub}"))
        return next((guess for guess in guesses if guess), ".bin")

    def __str__(self) -> str:
        return f"{self.kind} of {len(self.content):,} bytes, {one_line(self.mime)}"


def print_result(result: Mapping[str, Any], name: str) -> None:
    """Print a result: text as text, structured content as JSON.

    What is neither is saved to a file, named on standard error; in a pipe it is described.

    Args:
        result: The result, as the server sent it.
        name: What a file is called that holds a part of it.
    """
    folder: Path | None = None
    for part in _parts(result):
        if isinstance(part, str):
            print_text(part)
        elif sys.stdout.isatty():
            folder = folder or Path(tempfile.mkdtemp(prefix="toolcrib-"))
            _save(part, _free(folder / f"{name}{part.suffix}"))
        else:
            print_text(f"[{part}; --output FILE keeps it]")


def save_result(result: Mapping[str, Any], path: Path) -> list[str]:
    """Write a result to a file: its bytes if it holds any, else its text or JSON.

    Args:
        result: The result, as the server sent it.
        path: The file; what it held is replaced. Bytes beyond the first go to files beside it.

    Returns:
        The texts that came beside bytes, which are in no file.

    Raises:
        UsageError: It can't be written.
    """
    parts = list(_parts(result))
    binaries = [part for part in parts if isinstance(part, Binary)]
    texts = [part for part in parts if isinstance(part, str)]
    try:
        if not binaries:
            path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", errors="backslashreplace")
            tell(f"Wrote {path}.")
            return []
        for place, binary in enumerate(binaries):
            _save(binary, path if not place else _free(path.with_name(f"{path.stem}-{place + 1}{binary.suffix}")))
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}.", hint="Name another file.") from None
    return texts


def result_text(result: Mapping[str, Any]) -> str:
    """Everything in a result as text, bytes described."""
    return "\n".join(part if isinstance(part, str) else f"[{part}]" for part in _parts(result))


def warn_of_hidden(result: Mapping[str, Any]) -> None:
    """Tell on standard error where a result holds text that nobody sees."""
    from toolcrib.metatools import hidden_in_result

    places = hidden_in_result(result)
    if places:
        where = ", ".join(each.path for each in places)
        warn(f"the result holds hidden text: {kinds_of(places)} at {where}")


def _parts(result: Mapping[str, Any]) -> Iterator[str | Binary]:
    """The content in order, a block at a time; then the structured content, which no text block repeats."""
    from toolcrib.broker import content_of, repeats_structure

    for block in content_of(result):
        if not repeats_structure(block, result):
            yield _part(block)
    if "structuredContent" in result:
        yield _pretty(result["structuredContent"])


def _part(block: "JsonObject") -> str | Binary:
    """A content block of the protocol (2026-07-28, schema, ContentBlock); any other as its JSON."""
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind in {"image", "audio"}:
        return _binary(str(kind), block.get("mimeType"), block.get("data")) or _pretty(block)
    if kind == "resource_link":
        words = (block.get("title") or block.get("name"), block.get("uri"), block.get("description"))
        return "  ".join(str(word) for word in words if word)
    resource: Any = block.get("resource")
    if kind == "resource" and isinstance(resource, dict):
        held = cast("JsonObject", resource)
        if isinstance(text := held.get("text"), str):
            return text
        return _binary("resource", held.get("mimeType"), held.get("blob")) or _pretty(block)
    return _pretty(block)


def _binary(kind: str, mime: object, data: object) -> Binary | None:
    if not isinstance(data, str):
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Binary(kind, mime if isinstance(mime, str) else "application/octet-stream", content)


def _save(binary: Binary, path: Path) -> None:
    path.write_bytes(binary.content)
    tell(f"Saved {path}: {binary}.")


def _free(path: Path) -> Path:
    """The path, or the next one by number that does not exist."""
    return next(each for each in _numbered(path) if not each.exists())


def _numbered(path: Path) -> Iterable[Path]:
    yield path
    number = 2
    while True:
        yield path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
