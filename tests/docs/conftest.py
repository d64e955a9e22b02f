"""The code blocks of the documentation, and a place where they can be run.

A fence says what is done with its block:

- `python`: executed, all blocks of a page in one namespace and one event loop, so `await` may stand at the top.
  `crib` is an open `Crib` over the demo servers. A `text` block right after it is what it prints.
- `json`: parsed; a configuration must load without an error or a warning. A call of a meta-tool is made, and the
  block after it compared.
- `toml`, `yaml`: parsed.
- `console`: each line that starts with `$ ` is run in the page's folder, and what follows it compared with the
  output. A command must succeed, unless the next one is `echo $?`.
- `text`: not looked at, save as what a block before it prints.

A comment right above a fence says more: `<!-- not run: REASON -->`; `<!-- sent: FILE PATH -->`, what is shown is a
part of what a vendor is sent; `<!-- file: NAME -->`, data or a script is written to that file of the page's folder, and
not run; `<!-- faulty file: NAME -->`, the same for one that is wrong on purpose; `<!-- client file: NAME -->`, the same
for a client's own.

In what is compared, `…` stands for anything within a line, and alone on a line for any number of lines. How wide the
columns of a table are does not count.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT_ABOVE = re.compile(r"<!--(?P<text>(?:(?!-->).)*)-->\s*\Z", re.DOTALL)
_BLANKS = re.compile(r" {2,}")
_BLANK_BETWEEN = re.compile(r"\s*")


@dataclass(frozen=True)
class Block:
    """One fenced block: where it is, its language, its text, and the comment right above it."""

    page: str
    line: int
    language: str
    text: str
    comment: str
    follows: bool

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        return not self.comment.startswith("not run:")

    @property
    def file(self) -> str:
        """The file that it is written to; empty when it is not."""
        return self.comment.partition("file:")[2].strip()

    @property
    def is_to_load(self) -> bool:
        """Whether it has to be right as a configuration of Toolcrib's own."""
        return not self.comment.startswith(("faulty", "client"))


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page in order; `follows` marks one with nothing but blanks between it and the one before."""
    source = page.read_text(encoding="utf-8")
    found: list[Block] = []
    end = -1
    for match in _FENCE.finditer(source):
        comment = _COMMENT_ABOVE.search(source, 0, match.start())
        follows = end >= 0 and bool(_BLANK_BETWEEN.fullmatch(source, end, match.start()))
        line = source.count("\n", 0, match.start()) + 1
        about = comment["text"].strip() if comment else ""
        found.append(
            Block(page.relative_to(ROOT).as_posix(), line, match["info"].strip(), match["text"], about, follows)
        )
        end = match.end()
    return found


def is_like(shown: str, printed: str) -> bool:
    """Whether an output is the one that is shown, `…` standing for anything."""
    pattern = ""
    for line in _lines(shown):
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += r"[^\n]*".join(re.escape(part) for part in line.split("…")) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _lines(printed))) is not None


def holds(value: Any, shown: Any) -> bool:
    """Whether a value has all that is shown of it; `…` is any text, and ends a list that goes on."""
    if isinstance(shown, dict):
        return isinstance(value, dict) and all(key in value and holds(value[key], shown[key]) for key in shown)
    if isinstance(shown, list):
        if not isinstance(value, list):
            return False
        if shown[-1:] == ["…"]:
            shown, value = shown[:-1], value[: len(shown) - 1]
        return len(shown) == len(value) and all(map(holds, value, shown))
    if isinstance(shown, str) and "…" in shown:
        pattern = ".*".join(re.escape(part) for part in shown.split("…"))
        return isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None
    return type(value) is type(shown) and bool(value == shown)


def _lines(text: str) -> list[str]:
    """The lines without what a reader does not see: blanks at the end, and more than two in a row."""
    return [_BLANKS.sub("  ", line).rstrip() for line in text.strip("\n").splitlines()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", PAGES, ids=[page.relative_to(ROOT).as_posix() for page in PAGES])


@pytest.fixture
def blocks(page: Path) -> list[Block]:
    return blocks_of(page)


@pytest.fixture(scope="session")
def like() -> Any:
    return is_like


@pytest.fixture(scope="session", name="holds")
def holding() -> Any:
    return holds


@pytest.fixture(scope="session")
def pages() -> list[Path]:
    return PAGES
