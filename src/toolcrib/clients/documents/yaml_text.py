"""YAML, as Goose has it."""

import io
import re
from collections.abc import Collection, Mapping, MutableMapping
from math import inf
from typing import Any, cast

from toolcrib.errors import ConfigError

_MAPPING_INDENT = re.compile(r"^[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n( +)[^\s-]", re.MULTILINE)

MAX_VALUES = 200_000
"""Aliases counted as what they stand for: nine lines can stand for a billion values."""


class YamlText:
    """Read and written by ruamel.yaml, which keeps comments, quotes and the order."""

    def servers(self, text: str, root: tuple[str, ...], name: str) -> Mapping[str, Any]:
        """The servers by key; see `Document`."""
        found = _mapping(_loaded(text, name)[1], root, name)
        if _size(found, {}) > MAX_VALUES:
            raise ConfigError(f"{name} holds more than {MAX_VALUES:,} values.", hint="Is this a configuration?")
        return {} if found is None else {str(key): _plain(value) for key, value in found.items()}

    def changed(
        self, text: str, root: tuple[str, ...], name: str, without: Collection[str], put: Mapping[str, Any]
    ) -> str:
        """The text with other servers; see `Document`."""
        yaml, document = _loaded(text, name)
        before = text.rstrip() if document is None else ""  # comments alone are no document that could hold them
        if document is None:
            document = {}
        servers = _mapping(document, root, name)
        if servers is None:
            servers = cast("MutableMapping[str, Any]", document)
            for key in root:
                if servers.get(key) is None:  # not there, or a key without a value
                    servers[key] = {}
                servers = cast("MutableMapping[str, Any]", servers[key])
        for key in [each for each in servers if str(each) in without and str(each) not in put]:
            del servers[key]
        servers.update(put)
        into = io.StringIO()
        yaml.dump(document, into)
        written = f"{before}\n{into.getvalue()}" if before else into.getvalue()
        return written.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else written


def _loaded(text: str, name: str) -> tuple[Any, Any]:
    """What writes YAML in the layout of this text, and what the text holds."""
    import ruamel.yaml.util
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    layout: Any = ruamel.yaml.util
    yaml: Any = YAML()
    yaml.preserve_quotes = True
    yaml.width = 2**16
    try:
        loaded = yaml.load(text)
        _, indent, offset = layout.load_yaml_guess_indent(text)
    except (YAMLError, RecursionError) as error:
        reason = " ".join(str(getattr(error, "problem", None) or type(error).__name__).split()).removeprefix("but ")
        raise ConfigError(f"{name} is not YAML: {reason}.", hint="Correct it first.") from None
    mapping = _MAPPING_INDENT.search(text)
    yaml.indent(mapping=len(mapping[1]) if mapping else 2, sequence=indent or 2, offset=offset or 0)
    return yaml, loaded


def _mapping(document: Any, root: tuple[str, ...], name: str) -> MutableMapping[str, Any] | None:
    found = document
    for key in root:
        if found is None:
            return None
        if not isinstance(found, MutableMapping):
            raise _no_mapping(name, root)
        found = cast("MutableMapping[str, Any]", found).get(key)
    if found is not None and not isinstance(found, MutableMapping):
        raise _no_mapping(name, root)
    return cast("MutableMapping[str, Any] | None", found)


def _size(value: Any, known: dict[int, float]) -> float:
    """How many values there are inside one; infinitely many where it contains itself."""
    if not isinstance(value, Mapping | list):
        return 1
    place = id(cast("object", value))
    if place not in known:
        known[place] = inf
        inner = cast("Mapping[Any, Any]", value).values() if isinstance(value, Mapping) else cast("list[Any]", value)
        known[place] = 1 + sum(_size(each, known) for each in inner)
    return known[place]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    # Texts, numbers and truths keep their layout in subclasses of the plain types.
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def _no_mapping(name: str, root: tuple[str, ...]) -> ConfigError:
    return ConfigError(f"{name}: {'.'.join(root)} is no mapping of servers.", hint="Correct it first.")
