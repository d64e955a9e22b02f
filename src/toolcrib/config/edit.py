"""Adding a server's entry to a configuration file, and taking it out again; all else in the file stays."""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from toolcrib.config.entry import looks_like_entry
from toolcrib.errors import ConfigError, UsageError, shown
from toolcrib.files import write_whole

_ROOTS = ("mcpServers", "servers")
_OURS = {"inputs", "toolcrib", "$schema"}
_INDENT = re.compile(r"\n([ \t]+)\S")
_INPUT = re.compile(r"\$\{input:([^}:]+)")


def add_entry(path: Path, key: str, entry: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]] = ()) -> Path | None:
    """Add a server to a configuration file, which is made if there is none.

    Args:
        path: The file.
        key: The server's key.
        entry: Its entry.
        inputs: The `inputs` that it refers to.

    Returns:
        The copy of the file as it was before; None for a new file.

    Raises:
        UsageError: There is such a key already.
        ConfigError: The file can't be read, written, or changed without losing something.
    """

    def change(data: dict[str, Any]) -> None:
        servers = _servers(data)
        if key in servers:
            raise UsageError(f"{path} has a server {shown(key)} already.", hint="Give this one another key.")
        servers[key] = dict(entry)
        if inputs:
            known = data.setdefault("inputs", [])
            if not isinstance(known, list):
                raise ConfigError(f"{path}: inputs is no list.", hint="Correct it first.")
            ids = {each["id"] for each in inputs}
            others = [each for each in cast("list[Any]", known) if _id(each) not in ids]
            data["inputs"] = [*others, *map(dict, inputs)]

    return _rewrite(path, change)


def remove_entry(path: Path, key: str) -> Path | None:
    """Take a server out of a configuration file, with the `inputs` that nothing else there refers to.

    Returns:
        The copy of the file as it was before.

    Raises:
        UsageError: There is no such key.
        ConfigError: The file can't be read, written, or changed without losing something.
    """

    def change(data: dict[str, Any]) -> None:
        servers = _servers(data)
        if key not in servers:
            raise UsageError(f"{path} has no server {shown(key)}.")
        own = set(_INPUT.findall(json.dumps(servers.pop(key))))
        inputs = data.get("inputs")
        if not isinstance(inputs, list) or not own:
            return
        rest = {name: member for name, member in data.items() if name != "inputs"}
        unused = own - set(_INPUT.findall(json.dumps(rest)))
        data["inputs"] = [each for each in cast("list[Any]", inputs) if _id(each) not in unused]

    return _rewrite(path, change)


def _servers(data: dict[str, Any]) -> dict[str, Any]:
    """The object that holds the servers, in each of the shapes that a file may have."""
    for root in _ROOTS:
        if isinstance(data.get(root), dict) and not looks_like_entry(data[root]):
            return cast("dict[str, Any]", data[root])
    if any(looks_like_entry(member) for name, member in data.items() if name not in _OURS):
        return data
    return data.setdefault("mcpServers", {})


def _id(entry: object) -> object:
    return cast("dict[str, object]", entry).get("id") if isinstance(entry, dict) else None


def _rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> Path | None:
    real = path.resolve()  # a link to the file stays one
    try:
        before = real.read_text(encoding="utf-8") if real.exists() else None
        data = {} if before is None else _parsed(path, before)
        change(data)
        indent = _INDENT.search(before or "")
        text = json.dumps(data, ensure_ascii=False, indent=indent[1] if indent else 2) + "\n"
        backup = None if before is None else path.with_name(f"{path.name}.bak")
        if backup is not None:
            shutil.copy2(real, backup)
        write_whole(real, [text.encode()], private=False)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"{path} can't be changed: {reason}.", hint="Check its rights, or name another file."
        ) from None
    return backup


def _parsed(path: Path, text: str) -> dict[str, Any]:
    """The content of a file that can be written back without losing anything: strict JSON, no key twice."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        data = json.loads(text, object_pairs_hook=members)
    except (ValueError, RecursionError):
        raise ConfigError(
            f"{path} has comments, trailing commas, a key twice or faults, which a program would lose.",
            hint="Change it by hand, or name another file.",
        ) from None
    if not isinstance(data, dict):
        raise ConfigError(f"{path} is no object.", hint="Name another file.")
    return cast("dict[str, Any]", data)
