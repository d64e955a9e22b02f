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


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
