"""Adding servers' entries to a configuration file, and taking one out again; all else in the file stays."""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from toolcrib.config.encoding import decoded, encoded
from toolcrib.config.entry import looks_like_entry
from toolcrib.config.jsonc import parse_document
from toolcrib.config.jsonedit import members_at, with_members
from toolcrib.config.paths import user_state_dir
from toolcrib.errors import ConfigError, UsageError, shown
from toolcrib.files import followed, held, write_whole

_ROOTS = ("mcpServers", "servers")
_OURS = {"inputs", "toolcrib", "$schema"}
_INPUT = re.compile(r"\$\{input:([^}:]+)")


def add_entry(path: Path, key: str, entry: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]] = ()) -> Path | None:
    """Add a server to a configuration file, as `add_entries` adds several."""
    return add_entries(path, {key: entry}, inputs)


def add_entries(
    path: Path, entries: Mapping[str, Mapping[str, Any]], inputs: Sequence[Mapping[str, Any]] = ()
) -> Path | None:
    """Add servers to a configuration file, which is made if there is none.

    Args:
        path: The file.
        entries: Their entries by key.
        inputs: The `inputs` that they refer to.

    Returns:
        The copy of the file as it was before; None for a new file.

    Raises:
        UsageError: There is such a key already.
        ConfigError: The file can't be read or written.
    """

    def change(text: str) -> str:
        root = _root(text, str(path))
        servers: Mapping[str, Any] = members_at(text, root, str(path)) if text.strip() else {}
        if there := [key for key in entries if key in servers]:
            raise UsageError(f"{path} has a server {shown(there[0])} already.", hint="Give this one another key.")
        text = with_members(text, root, str(path), put=entries)
        if inputs:
            ids = {each["id"] for each in inputs}
            others = [each for each in _inputs(text, path) if _id(each) not in ids]
            text = with_members(text, (), str(path), put={"inputs": [*others, *map(dict, inputs)]})
        return text

    return _rewrite(path, change)


def remove_entry(path: Path, key: str) -> Path | None:
    """Take a server out of a configuration file, with the `inputs` that nothing else there refers to.

    Returns:
        The copy of the file as it was before.

    Raises:
        UsageError: There is no such key.
        ConfigError: The file can't be read or written.
    """

    def change(text: str) -> str:
        root = _root(text, str(path))
        servers = members_at(text, root, str(path))
        if key not in servers:
            raise UsageError(f"{path} has no server {shown(key)}.")
        own = set(_INPUT.findall(json.dumps(servers[key])))
        text = with_members(text, root, str(path), without={key}, put={})
        rest = {name: each for name, each in members_at(text, (), str(path)).items() if name != "inputs"}
        unused = own - set(_INPUT.findall(json.dumps(rest)))
        if unused and (inputs := _inputs(text, path)):
            kept = [each for each in inputs if _id(each) not in unused]
            text = with_members(text, (), str(path), put={"inputs": kept})
        return text

    return _rewrite(path, change)


def change_entry(path: Path, key: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
    """Write a server's entry anew. No copy is kept, since what goes may be a secret.

    Args:
        path: The configuration file.
        key: The server's key there.
        change: Makes the new entry of the old one; when it raises, the file stays as it is.

    Raises:
        UsageError: There is no such key.
        ConfigError: The file can't be read or written.
    """

    def rewrite(text: str) -> str:
        root = _root(text, str(path))
        servers = members_at(text, root, str(path))
        if key not in servers:
            raise UsageError(f"{path} has no server {shown(key)}.")
        return with_members(text, root, str(path), without={key}, put={key: change(servers[key])})

    _rewrite(path, rewrite, keep=False)


def _root(text: str, name: str) -> tuple[str, ...]:
    """Where the servers stand, in each of the shapes that a file may have."""
    data: Mapping[str, Any] = members_at(text, (), name) if text.strip() else {}
    for root in _ROOTS:
        if isinstance(data.get(root), dict) and not looks_like_entry(data[root]):
            return (root,)
    if any(looks_like_entry(member) for name, member in data.items() if name not in _OURS):
        return ()
    return ("mcpServers",)


def _inputs(text: str, path: Path) -> list[object]:
    inputs = cast("Mapping[str, object]", parse_document(text, str(path)).value).get("inputs", [])
    if not isinstance(inputs, list):
        raise ConfigError(f"{path}: inputs is no list.", hint="Correct it first.")
    return cast("list[object]", inputs)


def _id(entry: object) -> object:
    return cast("dict[str, object]", entry).get("id") if isinstance(entry, dict) else None


def backup_of(path: Path) -> Path:
    """Where the copy of a file as it was before is kept."""
    return path.with_name(f"{path.name}.bak")


def refuse_no_file(path: Path) -> None:
    """Refuse to write where something else than a file is: reading a pipe would wait for whoever writes to it.

    Raises:
        ConfigError: A folder, a pipe or a device is there, or the path can't be one.
    """
    try:
        is_other = path.exists() and not path.is_file()
    except OSError as error:
        raise ConfigError(f"{path} can't be a file: {error.strerror}.", hint="Name another file.") from None
    if is_other:
        raise ConfigError(f"{path} is no ordinary file.", hint="Name a file of JSON.")


def _rewrite(path: Path, change: Callable[[str], str], *, keep: bool = True) -> Path | None:
    refuse_no_file(path)
    try:
        # What another process adds at the same time must not be lost.
        with held(user_state_dir() / "configuration.lock"):
            real = followed(path)
            before = real.read_bytes() if real.exists() else None
            text, encoding = decoded(before or b"", str(path))
            changed = encoded(change(text), encoding)
            backup = None if before is None or not keep else backup_of(path)
            if backup is not None:
                shutil.copy2(real, backup)
            write_whole(real, [changed], private=False)
    except OSError as error:
        raise ConfigError(
            f"{path} can't be changed: {error.strerror}.", hint="Check its rights, or name another file."
        ) from None
    return backup
