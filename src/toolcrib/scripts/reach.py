"""What a script may call, as far as its text tells: so that what a call of it may do is known before it runs."""

import ast
import re
from collections.abc import Collection, Iterator

from toolcrib.sandbox import Language

_DYNAMIC = re.compile(r"\b(?:call_tool|getattr|globals|locals|vars|globalThis|eval|exec|Function|Reflect)\b")
_DOTTED = re.compile(r"\b([A-Za-z_]\w*)\s*\.\s*([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")


def reach(code: str, language: Language, servers: Collection[str]) -> set[str] | None:
    """The ids of the tools that a script names, in namespaces or by flat names; whether there are such tools is not
    looked at. None where it may call others too: by ids made as it runs, or by a namespace under another name.

    Args:
        code: The script.
        language: What it is written in.
        servers: The ids of all sources.
    """
    if _DYNAMIC.search(code) or _hands_on(code, language, servers):
        return None
    dotted = {f"{server}.{tool}" for server, tool in _DOTTED.findall(code) if server in servers}
    return dotted | set(_flat(code, servers))


def _hands_on(code: str, language: Language, servers: Collection[str]) -> bool:
    """Whether a namespace stands somewhere else than before a dot."""
    if language != "python":
        return any(
            match[0] in servers and not re.match(r"\s*\.\s*[A-Za-z_]", code[match.end() :])
            for match in _WORD.finditer(code)
        )
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    before_dot = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return any(
        isinstance(node, ast.Name) and node.id in servers and id(node) not in before_dot for node in ast.walk(tree)
    )


def _flat(code: str, servers: Collection[str]) -> Iterator[str]:
    for word in set(_WORD.findall(code)):
        for at, char in enumerate(word):
            if char == "_" and word[:at] in servers and word[at + 1 :]:
                yield f"{word[:at]}.{word[at + 1 :]}"
