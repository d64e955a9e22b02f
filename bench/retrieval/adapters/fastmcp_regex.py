"""FastMCP's `RegexSearchTransform`, asked with a pattern of the request's words.

A model would write the pattern. Here it is any two neighbouring words of the request in their order; a request with a
single word asks for that. Matches come in the order of the catalog, since the transform does not rank.
"""

import asyncio
import importlib
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from bench.retrieval.adapters.exchange import Search, Tools, answer
from bench.retrieval.adapters.fastmcp_bm25 import fastmcp_tools

_WORD = re.compile(r"[a-z]{3,}")
_FUNCTION_WORDS_TEXT = "the and for with from into that this are was can could would you your please need want help"
_FUNCTION_WORDS = frozenset(f"{_FUNCTION_WORDS_TEXT} get give show find".split())
_MOST_CHARACTERS = 1_000


def build(tools: Tools) -> Search:
    # The package is in the peer's environment alone, where no type checker looks.
    transforms: Any = importlib.import_module("fastmcp.server.transforms.search")
    listed = fastmcp_tools(tools)
    transform = transforms.RegexSearchTransform(max_results=50)
    runner = asyncio.Runner()

    def search(query: str, limit: int) -> Sequence[str]:
        found = runner.run(transform._search(listed, pattern(query)))
        return [tool.name for tool in found]

    return search


def pattern(query: str) -> str:
    """The regular expression for a request."""
    words = [word for word in _WORD.findall(query.lower()) if word not in _FUNCTION_WORDS]
    pairs = [f"{one}.{{0,20}}{other}" for one, other in pairwise(words)] or words
    result = ""
    for pair in dict.fromkeys(pairs):
        longer = f"{result}|{pair}" if result else pair
        if len(longer) > _MOST_CHARACTERS:
            break
        result = longer
    return result or re.escape(query[:100])


if __name__ == "__main__":
    answer(build)
