"""Any number of made-up tools that look like given ones to an index.

Each server is shaped like a real one taken at random: as many tools, and in each as many words in every field.
The words are copied in short runs from places at random in all that was written before, so frequent words stay
frequent and phrases come back, or are invented at the rate at which the real tools bring new ones. That keeps the
real head of the word frequencies, gives Zipf's tail to the rest (Simon, "On a class of skew distribution
functions", Biometrika 1955), and lets the vocabulary grow by Heaps' law with the exponent measured on the real tools.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from random import Random
from typing import Any, cast

from toolcrib.catalog import Tool
from toolcrib.search import ServerDocs

Servers = Sequence[tuple[ServerDocs, Sequence[Tool]]]

_WORD = re.compile(r"[a-z]+")
_RUN = 3
_MOST_REMEMBERED = 8_000_000
_SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class _Shape:
    """How many words the fields of a tool have; `parameters` one count for each parameter's description."""

    name: int
    description: tuple[int, ...]
    parameters: tuple[int, ...]


class Synthetic:
    """Makes servers with tools.

    Args:
        like: The real servers.
        seed: The same seed makes the same servers.
    """

    def __init__(self, like: Servers, seed: int) -> None:
        self._rng = Random(seed)
        self._shapes = [[_shape(tool) for tool in tools] for _, tools in like if tools]
        self._written: list[str] = []
        half = self._read(like[: (len(like) + 1) // 2])
        whole = self._read(like)
        self._count, self._known = whole
        self.growth = log(whole[1] / half[1]) / log(whole[0] / half[0])
        """The exponent of Heaps' law in the real tools."""

    def _read(self, like: Servers) -> tuple[int, int]:
        """Remember what is written in servers: how many words, and how many different ones."""
        self._written = [word for _, tools in like for tool in tools for word in _words(tool)]
        return len(self._written), len(set(self._written))

    def servers(self, tools: int) -> Iterator[tuple[ServerDocs, list[Tool]]]:
        """Servers with that many tools in all."""
        made = 0
        while made < tools:
            shapes = self._rng.choice(self._shapes)[: tools - made]
            # A number keeps ids apart; it is a word of its own in the index, as versions and ports are.
            server = f"{'_'.join(self._some(2))}_{made}"
            docs = ServerDocs(server, title=" ".join(self._some(2)), description=" ".join(self._some(12)))
            yield docs, [self._tool(server, at, shape) for at, shape in enumerate(shapes)]
            made += len(shapes)

    def _tool(self, server: str, at: int, shape: _Shape) -> Tool:
        name = "_".join(self._some(shape.name))
        description = ". ".join(" ".join(self._some(length)) for length in shape.description)
        names = ("_".join(self._some(2)) for _ in shape.parameters)
        properties = {
            name: {"type": "string", "description": " ".join(self._some(length))}
            for name, length in zip(names, shape.parameters, strict=True)
        }
        definition: dict[str, Any] = {"description": description, "inputSchema": {"properties": properties}}
        return Tool(f"{server}.{name}_{at}", server, name, definition)

    def _some(self, length: int) -> list[str]:
        """That many words."""
        rng, written = self._rng, self._written
        words: list[str] = []
        while len(words) < length:
            if rng.random() < _RUN * self.growth * self._known / self._count:
                words.append(self._invented())
            else:
                at = rng.randrange(len(written))
                words += written[at : at + min(length - len(words), rng.randint(1, 2 * _RUN - 1))]
        self._count += len(words)
        if len(written) < _MOST_REMEMBERED:
            written += words
        return words

    def _invented(self) -> str:
        """A word that was not there before."""
        self._known += 1
        number, word = self._known, ""
        while number:
            number, at = divmod(number, len(_SYLLABLES))
            word += _SYLLABLES[at]
        return f"{word}x"


def _shape(tool: Tool) -> _Shape:
    sentences = (len(_found(text)) for text in tool.description.split(". "))
    described = (len(_found(text)) for _, text in _parameters(tool))
    return _Shape(max(1, len(_found(tool.name))), tuple(filter(None, sentences)), tuple(described))


def _words(tool: Tool) -> list[str]:
    """The words of a tool, in order."""
    texts = [tool.name, tool.description, *(part for each in _parameters(tool) for part in each)]
    return [word for text in texts for word in _found(text)]


def _parameters(tool: Tool) -> Iterator[tuple[str, str]]:
    """The names and descriptions of a tool's parameters."""
    properties: object = tool.definition.get("inputSchema", {}).get("properties")
    if isinstance(properties, dict):
        for name, schema in cast("dict[str, Any]", properties).items():
            text: object = cast("dict[str, Any]", schema).get("description") if isinstance(schema, dict) else None
            yield name, text if isinstance(text, str) else ""


def _found(text: str) -> list[str]:
    return _WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).lower())
