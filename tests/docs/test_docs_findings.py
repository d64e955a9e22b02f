"""Whatever the doctor may find has an entry in the documentation."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCTOR = ROOT / "src" / "toolcrib" / "doctor"


def checks() -> Iterator[str]:
    """The name of the check in each `Finding(…)` of the doctor's source."""
    for path in DOCTOR.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = {
            target.id: assigned.value.value
            for assigned in tree.body
            if isinstance(assigned, ast.Assign) and isinstance(assigned.value, ast.Constant)
            for target in assigned.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Finding":
                match call.args[0]:
                    case ast.Constant(value=name):
                        yield str(name)
                    case ast.Name(id=name):
                        yield str(named[name])
                    case other:
                        raise AssertionError(f"{path.name}:{other.lineno} names its check in another way")


def test_every_check_has_an_entry_in_troubleshooting() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^## (\w+)$", page, re.MULTILINE))
    assert len(told) > 15
    assert told == set(checks())


def test_every_check_is_told_with_the_command() -> None:
    section = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").partition("\n## doctor\n")[2]
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", section.partition("\n## ")[0], re.MULTILINE)
    assert {name.strip("`") for cell in cells for name in cell.split(", ")} >= set(checks())
