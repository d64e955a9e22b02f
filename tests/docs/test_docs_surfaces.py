"""The payloads that the pages of the surfaces show are parts of what is really sent, as `tests/llm/golden` keeps it.

A comment `<!-- sent: FILE PATH -->` above a block says which part. What is shown of an object may be less than it has;
`…` stands for any text, and ends a list that goes on.
"""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "llm" / "golden"
MARK = "sent:"


def part_of(comment: str) -> Any:
    file, path = comment.removeprefix(MARK).split()
    value = json.loads((GOLDEN / f"{file}.json").read_text(encoding="utf-8"))
    for step in path.split("/"):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def test_what_is_shown_as_sent_is_sent(blocks: list[Any], holds: Any) -> None:
    for block in blocks:
        if block.comment.startswith(MARK):
            sent = part_of(block.comment)
            assert holds(sent, json.loads(block.text)), f"{block.where}\n{json.dumps(sent, indent=2)}"


@pytest.mark.parametrize("surface", ["all", "deferred", "search", "native"])
def test_each_surface_has_a_page_with_its_payload(surface: str) -> None:
    page = (ROOT / "docs" / "surfaces" / f"{surface}.md").read_text(encoding="utf-8")
    assert f"<!-- {MARK} anthropic-{surface} first" in page
