"""No fixture keeps an event loop longer than its tests need it.

AnyIO's plugin holds a loop as long as a coroutine fixture lives, and `anyio.run` refuses beside one. Which tests come
after one in the same process is chance where several processes share the work.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def fixtures(scope: str) -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The fixtures that have a scope, with their files."""
    for path in sorted(ROOT.rglob("*.py")):
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = [ast.unparse(mark) for mark in each.decorator_list]
                if any("fixture(" in mark and f"scope='{scope}'" in mark for mark in marks):
                    yield path, each


def test_no_fixture_of_a_session_is_a_coroutine() -> None:
    found = [(path, each.name) for path, each in fixtures("session") if isinstance(each, ast.AsyncFunctionDef)]
    assert found == []


def test_a_fixture_of_a_package_is_in_one() -> None:
    """Elsewhere pytest keeps it until the end: `_pytest.fixtures.get_scope_package`, pytest 9.2."""
    found = {path for path, _ in fixtures("package")}
    assert found
    assert [path for path in found if not (path.parent / "__init__.py").exists()] == []
