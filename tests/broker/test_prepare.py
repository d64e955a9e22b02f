"""Arguments of tools whose schema can't be used."""

from typing import Any

import pytest

from toolcrib.broker.prepare import Preparer
from toolcrib.catalog import ToolRegistry

DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]

SCHEMA = {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}


@pytest.mark.parametrize(
    ("value", "is_sendable"),
    [(float("nan"), False), (10**5_000, False), (DEEP, False), ("\ud83d", False), ({1: 2}, False), ([None, 1.5], True)],
    ids=["nan", "bigint", "deep", "surrogate", "key", "plain"],
)
def test_what_has_no_form_in_json_is_refused_also_where_nothing_else_can_be_checked(
    value: Any, is_sendable: bool
) -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([{"name": "odd", "inputSchema": SCHEMA}], server="s")
    prepared = Preparer().prepare(registry.tool("s.odd"), 1, {"a": value})
    assert prepared.unvalidated
    assert prepared.validation.is_valid == is_sendable
