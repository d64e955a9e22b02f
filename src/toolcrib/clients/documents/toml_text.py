"""TOML, as Codex has it."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from typing import Any, cast

from toolcrib.errors import ConfigError

_HEADER = re.compile(r"[ \t]*\[")


class TomlText:
    """Tables are cut out and put in by lines; where servers are written otherwise, by tomlkit.

    tomlkit takes the comments before the next table for part of the table that it removes, and loses its way in some
    documents whose tables are not in order.
    """

    def servers(self, text: str, root: tuple[str, ...], name: str) -> Mapping[str, Any]:
        """The servers by key; see `Document`."""
        return _table(_parsed(text, name), root, name) or {}

    def changed(
        self, text: str, root: tuple[str, ...], name: str, without: Collection[str], put: Mapping[str, Any]
    ) -> str:
        """The text with other servers; see `Document`."""
        servers = self.servers(text, root, name)
        wanted = {key: entry for key, entry in servers.items() if key not in without} | {**put}
        by_lines = _by_lines(text, root, {*without, *put}, put)
        if by_lines is not None and self._holds(by_lines, root, wanted):
            return by_lines
        try:
            return _rewritten(text, root, without, put)
        except Exception:  # besides errors of its own, it raises IndexError and KeyError over dotted keys
            raise ConfigError(
                f"{name} has servers that can't be taken out safely.",
                hint=f"Write each as a table: [{'.'.join(root)}.NAME].",
            ) from None

    def _holds(self, text: str, root: tuple[str, ...], servers: Mapping[str, Any]) -> bool:
        try:
            return self.servers(text, root, "") == servers
        except ConfigError:
            return False  # what looked like a table was a line of a text


def _by_lines(text: str, root: tuple[str, ...], out: Collection[str], put: Mapping[str, Any]) -> str | None:
    """The text without the tables of some servers and with those of others in their place; None where a header is
    not understood."""
    import tomlkit

    table: dict[str, Any] = {**put}
    for key in reversed(root):
        table = {key: table}
    newcomers = tomlkit.dumps(_item(table, bare=len(root) + 1)).strip("\n").splitlines()
    kept: list[str] = []
    place: int | None = None
    for header, lines in _tables(text):
        path = _path(header)
        if header and path is None:
            return None
        if path is not None and len(path) > len(root) and path[: len(root)] == root and path[len(root)] in out:
            place = len(kept) if place is None else place
            kept += _closing_comments(lines)
        else:
            kept += lines
    if put and place is None:
        place = len(kept)
        newcomers = [*([""] if kept and kept[-1].strip() else []), *newcomers]
    if place is not None and put:
        following = [""] if place < len(kept) and kept[place].strip() else []
        kept[place:place] = [*newcomers, *following]
    newline = "\r\n" if "\r\n" in text else "\n"
    return newline.join(kept) + newline


def _tables(text: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of each table with its header; those before the first have none."""
    header, lines = "", list[str]()
    for line in text.splitlines():
        if _HEADER.match(line):
            yield header, lines
            header, lines = line, []
        lines.append(line)
    yield header, lines


def _path(header: str) -> tuple[str, ...] | None:
    """The keys of a table's header; None where it is none, such as a line of an array."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        value: Any = tomlkit.parse(header).unwrap()
    except TOMLKitError:
        return None
    keys: list[str] = []
    while isinstance(value, dict | list) and value:
        inner = cast("list[Any] | dict[str, Any]", value)
        if isinstance(inner, list):
            value = inner[0]
        else:
            key, value = next(iter(inner.items()))
            keys.append(key)
    return tuple(keys)


def _closing_comments(lines: list[str]) -> list[str]:
    """The comments at a table's end: they speak of what comes next."""
    start = len(lines)
    while start > 1 and (not lines[start - 1].strip() or lines[start - 1].lstrip().startswith("#")):
        start -= 1
    closing = lines[start:]
    return closing if any(line.strip() for line in closing) else []


def _rewritten(text: str, root: tuple[str, ...], without: Collection[str], put: Mapping[str, Any]) -> str:
    import tomlkit
    import tomlkit.items

    document = tomlkit.parse(text)
    servers = cast("MutableMapping[str, Any]", document)
    for key in root:
        if key not in servers:
            servers[key] = tomlkit.table(is_super_table=True)
        servers = cast("MutableMapping[str, Any]", servers[key])
    for key in [each for each in servers if each in without or each in put]:
        del servers[key]
    inline = isinstance(servers, tomlkit.items.InlineTable)
    for key, entry in put.items():
        servers[key] = entry if inline else _item(entry)
    return tomlkit.dumps(document)


def _parsed(text: str, name: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise ConfigError(f"{name} is not TOML: {reason.rstrip('.')}.", hint="Correct it first.") from None


def _table(document: Mapping[str, Any], root: tuple[str, ...], name: str) -> Mapping[str, Any] | None:
    found = document
    for key in root:
        inner: object = found.get(key)
        if inner is None:
            return None
        if not isinstance(inner, Mapping):
            raise ConfigError(f"{name}: {'.'.join(root)} is no table of servers.", hint="Correct it first.")
        found = cast("Mapping[str, Any]", inner)
    return found


def _item(entry: Mapping[str, Any], *, bare: int = 0) -> Any:
    """An entry as a table, its objects as tables below it.

    Args:
        entry: The entry.
        bare: How many tables around it get no header of their own.
    """
    import tomlkit

    table = tomlkit.table(is_super_table=bare > 0)
    for key, value in entry.items():
        inner = isinstance(value, Mapping)
        table.add(key, _item(cast("Mapping[str, Any]", value), bare=max(bare - 1, 0)) if inner else value)
    return table
