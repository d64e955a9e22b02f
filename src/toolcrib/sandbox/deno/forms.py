"""The forms in which a script of TypeScript or JavaScript is tried: with and without its last expression returned.

A script is the body of an async function, so that `await` and `return` may stand anywhere in it, on the lines where
they were. Whether its last statement is an expression only a parser could tell for sure; a form that is wrong is no
valid script, and then nothing of it runs.
"""

import re

HEAD = "export default async function () { "
TAIL = "\n}"
_NO_EXPRESSION = re.compile(
    r"(?:const|let|var|if|for|while|do|switch|try|catch|finally|return|throw|function|async\s+function|class|interface"
    r"|type|enum|declare|namespace|import|export|break|continue|else|case|default|abstract|@)\b|[})\].,;:?*/%&|^=<>+-]"
)
_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|[(){}\[\]]|\n|.", re.DOTALL
)
_GOES_ON = ("=", "+", "-", "*", "/", "%", "&", "|", "^", "?", ":", ",", ".", "<", ">", "=>", "(", "[", "!", "&&", "||")


def forms(code: str) -> list[str]:
    """The forms of a script, the likeliest first."""
    plain = f"{HEAD}{code}{TAIL}"
    at = _last_statement(code)
    return [plain] if at is None else [f"{HEAD}{code[:at]}return {code[at:]}{TAIL}", plain]


def _last_statement(code: str) -> int | None:
    """Where the last statement begins, if it looks like an expression."""
    depth, at_start = 0, True
    begin: int | None = None
    before = ""
    for match in _TOKEN.finditer(code):
        token = match[0]
        if token == "\n":
            at_start = at_start or (depth == 0 and not before.endswith(_GOES_ON))
            continue
        if token.isspace() or token.startswith(("//", "/*")):
            continue
        if at_start and depth == 0:
            if not _NO_EXPRESSION.match(code, match.start()):
                begin = match.start()
            elif token not in (")", "]", "}", ".", ",", "?", ":"):
                begin = None
        at_start = False
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
            if token == "}" and depth == 0 and begin is None:
                at_start = True
        elif token == ";" and depth == 0:
            at_start = True
            before = ""
            continue
        before = (before + token)[-2:]
    return begin
