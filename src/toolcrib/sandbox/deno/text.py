"""What can be told of a script of TypeScript from its text alone."""

import re
from collections.abc import Iterator

from toolcrib.sandbox.contract import Finding, Names

_TEXTS = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\$]|\$(?!\{))*`", re.DOTALL
)
_MOST_FINDINGS = 50


def look_through(code: str, names: Names) -> list[Finding]:
    """Tools that there aren't, and calls whose result is thrown away.

    Args:
        code: The script.
        names: What it may call.
    """
    if not names.namespaces and not names.functions:
        return []
    bare = _TEXTS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    return sorted(_found(bare, names), key=lambda finding: (finding.line, finding.column))[:_MOST_FINDINGS]


def _found(bare: str, names: Names) -> Iterator[Finding]:
    servers = "|".join(map(re.escape, names.namespaces))
    if servers:
        for match in re.finditer(rf"(?<![\w$.])({servers})\.([A-Za-z_$][\w$]*)", bare):
            name = f"{match[1]}.{match[2]}"
            if not names.knows(name):
                line, column = _place(bare, match.start())
                text = f"{match[1]} has no tool {match[2]!r}."
                yield Finding(line, column, "unknown-tool", text, hint=names.hint(name))
    functions = "|".join(map(re.escape, names.functions))
    either = "|".join(part for part in (rf"(?:{servers})\.[\w$]+" if servers else "", functions) if part)
    for match in re.finditer(rf"(?:^|(?<=[;{{}}]))[ \t]*((?:{either}))\s*\(", bare, re.MULTILINE):
        before = bare[: match.start()].rstrip()
        if before.endswith((",", "(", "[", "=", "=>", ".", "await", "return", "?", ":", "&&", "||")):
            continue
        line, column = _place(bare, match.start(1))
        text = f"{match[1]}(...) is not awaited, so nothing comes of it."
        yield Finding(line, column, "not-awaited", text, hint=f"Write: await {match[1]}(...)")


_OPENS = re.compile(
    r"(?P<loop>\b(?:for(?:\s+await)?|while)\s*\()"
    r"|(?P<each>\.(?:map|flatMap|forEach|filter|find|some|every|reduce|from)\s*\()"
    r"|(?P<do>\bdo\s*\{)|(?P<open>[({\[])|(?P<close>[)}\]])|(?P<end>[;\n])"
)


def uses_of(code: str, function: str) -> list[tuple[int, int, bool]]:
    """Where a script calls a function that is not its own: line, column, and whether that is in a loop, as far as text
    tells.

    Args:
        code: The script.
        function: The function's name.
    """
    bare = _TEXTS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    if re.search(rf"\b(?:function|const|let|var|class|import)\s*\*?\s*\{{?\s*{function}\b", bare):
        return []
    calls = [match.start() for match in re.finditer(rf"(?<![\w$.]){function}\s*\(", bare)]
    loops = _loops(bare) if calls else []
    return [(*_place(bare, at), any(first < at < last for first, last in loops)) for at in calls]


def _loops(bare: str) -> list[tuple[int, int]]:
    """The parts of a script that may run many times: bodies of loops, and what is handed to methods that go over all
    items."""
    found: list[tuple[int, int]] = []
    open_: list[tuple[str, int]] = []
    pending: int | None = None
    for match in _OPENS.finditer(bare):
        kind, at = str(match.lastgroup), match.start()
        if kind == "end":
            # the body of a loop may be a single statement
            if pending is not None and not open_ and bare[pending:at].strip():
                found.append((pending, at))
                pending = None
        elif kind == "close":
            begun = open_.pop() if open_ else ("open", at)
            if begun[0] == "loop":
                pending = match.end()
            elif begun[0] in ("each", "do", "body"):
                found.append((begun[1], at))
        elif pending is not None and match[0] == "{" and not bare[pending:at].strip():
            open_.append(("body", at))
            pending = None
        else:
            open_.append((kind, at))
    if pending is not None:
        found.append((pending, len(bare)))
    return found


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
