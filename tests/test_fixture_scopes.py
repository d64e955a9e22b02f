"""No fixture keeps an event loop for a whole run of the tests."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def test_no_fixture_of_a_session_is_a_coroutine() -> None:
    """AnyIO's plugin holds a loop as long as a coroutine fixture lives, and `anyio.run` refuses beside one.

    Which tests come after one in the same process is chance where several processes share the work.
    """
    found: list[str] = []
    for path in sorted(ROOT.rglob("*.py")):
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.AsyncFunctionDef):
                marks = [ast.unparse(mark) for mark in each.decorator_list]
                if any("fixture(" in mark and "scope='session'" in mark for mark in marks):
                    found.append(f"{path.relative_to(ROOT)}:{each.name}")
    assert found == []
