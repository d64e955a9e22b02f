"""A client's file as a text whose servers can be read and changed while all else stays as it is."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from toolcrib.clients.known import Format
from toolcrib.config.encoding import decoded, encoded
from toolcrib.errors import ConfigError

__all__ = ["Document", "read_bytes", "read_servers", "with_servers"]

MAX_BYTES = 64 * 1024 * 1024
"""Claude Code keeps histories in its file, so it may be large; nothing sensible is larger than this."""


class Document(Protocol):
    """How one format is read and changed.

    The root is the path of keys to the object of the servers.
    """

    def servers(self, text: str, root: tuple[str, ...], name: str) -> Mapping[str, Any]:
        """The servers by key; empty where the root is not there.

        Raises:
            ConfigError: The text is not of this format, or the root holds something else.
        """
        ...

    def changed(
        self, text: str, root: tuple[str, ...], name: str, without: Collection[str], put: Mapping[str, Any]
    ) -> str:
        """The text without some servers and with others; the first that is put takes the first one's place.

        Raises:
            ConfigError: As `servers`.
        """
        ...


def read_bytes(path: Path) -> bytes | None:
    """What a file holds; None where there is none.

    Raises:
        ConfigError: It can't be read, is no file, or is larger than `MAX_BYTES`.
    """
    try:
        if path.is_dir():
            raise ConfigError(f"{path} is a folder.", hint="Name the file inside it.")
        if path.exists() and not path.is_file():  # reading a pipe would wait for whoever writes to it
            raise ConfigError(f"{path} is no ordinary file.", hint="Put a file of text in its place.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError(f"{path} is a link to nothing.", hint="Correct or remove the link.") from None
        return None
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}.", hint="Check its rights.") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than 64 MiB.", hint="Is this a configuration?")
    return data


def read_servers(data: bytes, form: Format, root: tuple[str, ...], name: str) -> Mapping[str, Any]:
    """The servers that a file names, as written, by key.

    Args:
        data: What the file holds.
        form: What it is written in.
        root: The path of keys to the servers.
        name: What errors call it.

    Raises:
        ConfigError: It is not text, not of this format, or has something else where the servers stand.
    """
    text, _ = decoded(data, name)
    return _document(form).servers(text, root, name) if text.strip() else {}


def with_servers(
    data: bytes | None,
    form: Format,
    root: tuple[str, ...],
    name: str,
    *,
    without: Collection[str] = (),
    put: Mapping[str, Any],
) -> bytes:
    """A file's content with other servers; comments, other members, encoding and line ends stay.

    Args:
        data: What the file holds; None makes a new one.
        form: What it is written in.
        root: The path of keys to the servers.
        name: What errors call it.
        without: Keys of servers to take out.
        put: Entries to put in, by key; those that are there already are replaced.

    Raises:
        ConfigError: As `read_servers`; or it is written in a way that can't be changed safely.
    """
    document = _document(form)
    text, encoding = decoded(data or b"", name)
    before: Mapping[str, Any] = {}
    whole: Mapping[str, Any] = {}
    if text.strip():
        before, whole = document.servers(text, root, name), document.servers(text, (), name)
    changed = document.changed(text, root, name, without, put)
    wanted = {key: entry for key, entry in before.items() if key not in without} | {**put}
    rest = _without(document.servers(changed, (), name), root)
    if document.servers(changed, root, name) != wanted or rest != _without(whole, root):
        raise ConfigError(f"{name} can't be changed without losing something.", hint="Change it by hand.")
    return encoded(changed, encoding)


def _without(whole: Mapping[str, Any], root: tuple[str, ...]) -> Mapping[str, Any]:
    """All that a document holds beside the servers."""
    if not root:
        return {}
    key, *rest = root
    return {**whole, key: _without(whole.get(key) or {}, tuple(rest))}


def _document(form: Format) -> Document:
    # Each loads a library that only its own format needs.
    match form:
        case "toml":
            from toolcrib.clients.documents.toml_text import TomlText

            return TomlText()
        case "yaml":
            from toolcrib.clients.documents.yaml_text import YamlText

            return YamlText()
        case "json":
            from toolcrib.clients.documents.json_text import JsonText

            return JsonText()
