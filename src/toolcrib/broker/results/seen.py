"""Shapes of earlier results: what tools that declare none answer with, as it was seen."""

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from toolcrib.broker.call import Call, Principal
from toolcrib.broker.results.fit import Fit
from toolcrib.broker.results.measuring import is_small
from toolcrib.broker.results.shape import shape
from toolcrib.broker.results.values import value_of
from toolcrib.catalog import JsonObject
from toolcrib.files import write_whole
from toolcrib.hidden import visible

SEEN_FOLDER = "seen"
"""Where, in the state directory, shapes are kept."""

_CHARACTERS = 300
_MOST_TOOLS = 1_000
_MOST_BYTES = 1024 * 1024
_UNSAVED = 20
_DEEPEST = 6
_MOST_VALUES = 5_000
_MOST_ITEMS = 40
_NAME = re.compile(r"[A-Za-z_@$][A-Za-z_@$ -]{0,39}[0-9]{0,2}")
"""A key that is a name of something, and not itself a value, as an address, a number or an id is."""


class SeenShapes:
    """The shapes of what tools without an output schema answered, for each principal its own.

    Types and the names of members are kept, never a value; members whose names look like data are told as `*`.

    Args:
        folder: Where they are kept, a private file a principal.
        redact: Takes secrets out of a text.
    """

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        self._folder = folder
        self._redact = redact
        self._known: dict[str, dict[str, str]] = {}
        self._new: dict[str, dict[str, str]] = {}
        self._looked: set[tuple[str, str]] = set()

    def of(self, tool_id: str, principal: Principal) -> str:
        """The shape of a result that a principal got from a tool; empty where none was seen."""
        return self._all(principal.name).get(tool_id, "")

    def learn(self, call: Call, result: JsonObject) -> None:
        """Take in what a tool answered, where its definition does not say what that is like."""
        tool, name = call.tool, call.caller.principal.name
        if tool is None or tool.output_schema is not None or (name, tool.id) in self._looked:
            return
        # A text that is large would have to be parsed for it.
        if result.get("isError") is True or not ("structuredContent" in result or is_small(result)):
            return
        self._looked.add((name, tool.id))
        value = value_of(result)
        if not isinstance(value, dict | list):
            return
        text = visible(self._redact(shape(_Outline().of(value), _CHARACTERS)))
        if self._all(name).get(tool.id) == text:
            return
        new = self._new.setdefault(name, {})
        new[tool.id] = self._known[name][tool.id] = text
        if len(new) % _UNSAVED == 0:
            self.save()

    def save(self) -> None:
        """Write what was learned, beside what other instances have; what can't be written is learned again."""
        for name, new in self._new.items():
            if new:
                merged = {**self._read(name), **new}
                kept = dict(list(merged.items())[-_MOST_TOOLS:])
                with suppress(OSError):
                    write_whole(self._file(name), [json.dumps(kept, ensure_ascii=False).encode("utf-8", "replace")])

    def _all(self, name: str) -> dict[str, str]:
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> dict[str, str]:
        try:
            with self._file(name).open("rb") as file:
                stored: Any = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        found = cast("dict[str, Any]", stored) if isinstance(stored, dict) else {}
        return {tool_id: text[:_CHARACTERS] for tool_id, text in found.items() if isinstance(text, str)}

    def _file(self, name: str) -> Path:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest[:24]}.json"


class Noticing:
    """Lets shapes be learned from results on their way to a caller.

    Args:
        fit: What makes them fit.
        seen: Learns.
    """

    def __init__(self, fit: Fit, seen: SeenShapes) -> None:
        self._fit = fit
        self._seen = seen

    async def fit(self, result: JsonObject, budget: int | None, call: Call) -> tuple[JsonObject, str | None]:
        """See `Fit.fit`."""
        self._seen.learn(call, result)
        return await self._fit.fit(result, budget, call)


class _Outline:
    """The beginning of a value, in which members whose keys look like data are one, `*`."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def of(self, value: Any, depth: int = 0) -> Any:
        """It, as deep and as long as a shape is looked for."""
        self._left -= 1
        is_over = depth > _DEEPEST or self._left < 0
        if isinstance(value, list):
            items = cast("list[Any]", value)[:_MOST_ITEMS]
            return [] if is_over else [self.of(each, depth + 1) for each in items]
        if not isinstance(value, dict):
            return value
        made: JsonObject = {}
        for key, each in cast("JsonObject", value).items():
            name = key if _NAME.fullmatch(key) else "*"
            if is_over or len(made) >= _MOST_ITEMS:
                break
            if name not in made:
                made[name] = self.of(each, depth + 1)
        return made
