"""No file of ours has grown until it holds several things."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 420


@pytest.mark.parametrize("folder", ["src", "tests", "bench", "examples"])
def test_no_file_is_longer_than_one_subject_needs(folder: str) -> None:
    lines = {path: path.read_bytes().count(b"\n") for path in (ROOT / folder).rglob("*.py")}
    assert len(lines) > 3
    assert {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > MOST_LINES} == {}
