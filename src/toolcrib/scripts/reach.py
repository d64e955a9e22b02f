"""What a script may call, as far as its text tells: so that what a call of it may do is known before it runs."""

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from toolcrib.sandbox import Language

_DYNAMIC = re.compile(
    "call_tool|getattr|globals|locals|vars|eval|exec|sys|builtins|inspect|importlib|gc"
    "|__(?:dict|builtins|globals|import|getattribute|subclasses)__"
)
_DYNAMIC_SCRIPT = re.compile(r"\b(?:call_tool|globalThis|self|window|eval|Function|Reflect|constructor)\b")
_ESCAPE = re.compile(r"\\u\{?0*([0-9A-Fa-f]{1,6})")
_DOTTED = re.compile(r"\b([A-Za-z_]\w*)\s*\.\s*([A-Za-z_]\w*)")
_MEMBER = re.compile(r"\s*\.\s*[A-Za-z_]")
_WORD = re.compile(r"[A-Za-z_]\w*")


def reach(code: str, language: Language, servers: Collection[str]) -> set[str] | None:
    """The ids of the tools that a script names, in namespaces or by flat names; whether there are such tools is not
    looked at. None where it may call others too: by ids made as it runs, or by a namespace under another name.

    Args:
        code: The script.
        language: What it is written in.
        servers: The ids of all sources.
    """
    return _reach_of_python(code, servers) if language == "python" else _reach_of_script(code, servers)


def _reach_of_python(code: str, servers: Collection[str]) -> set[str] | None:
    # What an identifier is, the syntax tells: brackets, comments and line ends may stand around a dot, and a letter
    # may have other forms (https://docs.python.org/3/reference/lexical_analysis.html#identifiers).
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = [node for node in nodes if isinstance(node, ast.Name)]
    before_dot = {
        id(node.value): node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    if any(each.id in servers and id(each) not in before_dot for each in names):
        return None
    words = {each.id for each in names} | set(_others(nodes))
    if any(_DYNAMIC.fullmatch(each) for each in words):
        return None
    dotted = {f"{each.id}.{before_dot[id(each)].attr}" for each in names if each.id in servers}
    return dotted | set(_flat(words, servers))


def _others(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Names that are no expression of their own: behind a dot, and in imports."""
    for node in nodes:
        match node:
            case ast.Attribute(_, name):
                yield name
            case ast.alias(name) | ast.ImportFrom(str() as name):
                yield from name.split(".")
            case _:
                pass


def _reach_of_script(code: str, servers: Collection[str]) -> set[str] | None:
    """Of TypeScript or JavaScript."""
    # An identifier may be written with escapes (ECMAScript, 12.7); where plain letters are, that hides something.
    escaped = any(int(each, 16) < 0x80 and chr(int(each, 16)).isalnum() for each in _ESCAPE.findall(code))
    if escaped or _DYNAMIC_SCRIPT.search(code) or _hands_on(code, servers):
        return None
    dotted = {f"{server}.{tool}" for server, tool in _DOTTED.findall(code) if server in servers}
    return dotted | set(_flat(set(_WORD.findall(code)), servers))


def _hands_on(code: str, servers: Collection[str]) -> bool:
    """Whether a namespace stands somewhere else than before a dot."""
    return any(match[0] in servers and not _MEMBER.match(code, match.end()) for match in _WORD.finditer(code))


def _flat(words: Iterable[str], servers: Collection[str]) -> Iterator[str]:
    for word in words:
        for at, char in enumerate(word):
            if char == "_" and word[:at] in servers and word[at + 1 :]:
                yield f"{word[:at]}.{word[at + 1 :]}"
