"""What a call may do: by the configuration, the server's word and the tool's name."""

import re
from collections import Counter
from typing import Any

import pytest

from toolcrib.broker import Effect, effect_of
from toolcrib.broker.effects import deleting_word, judged
from toolcrib.catalog import Tool


def tool(name: str, annotations: Any = None) -> Tool:
    return Tool(f"s.{name}", "s", name, {"name": name, "annotations": annotations})


# The hints of the protocol (2026-07-28, schema, ToolAnnotations), and what each may do to the effect of a tool
# whose name says nothing, and of one whose name says that it deletes.
@pytest.mark.parametrize(
    ("annotations", "untrusted", "untrusted_delete", "trusted", "trusted_delete"),
    [
        (None, "unknown", "destructive", "unknown", "destructive"),
        ({}, "unknown", "destructive", "unknown", "destructive"),
        ({"readOnlyHint": True}, "unknown", "destructive", "read", "read"),
        ({"readOnlyHint": True, "destructiveHint": False}, "unknown", "destructive", "read", "read"),
        ({"readOnlyHint": True, "destructiveHint": True}, "destructive", "destructive", "read", "read"),
        ({"readOnlyHint": False}, "write", "destructive", "write", "destructive"),
        ({"readOnlyHint": False, "destructiveHint": False}, "write", "destructive", "write", "write"),
        ({"destructiveHint": False}, "unknown", "destructive", "write", "write"),
        ({"destructiveHint": True}, "destructive", "destructive", "destructive", "destructive"),
        ({"readOnlyHint": "true", "destructiveHint": 1}, "unknown", "destructive", "unknown", "destructive"),
        (["readOnlyHint"], "unknown", "destructive", "unknown", "destructive"),
    ],
)
def test_what_the_server_says_raises_an_effect_and_lowers_it_only_if_it_is_trusted(
    annotations: Any, untrusted: Effect, untrusted_delete: Effect, trusted: Effect, trusted_delete: Effect
) -> None:
    told = [
        effect_of(tool(name, annotations), {}, trusted=is_trusted)
        for is_trusted in (False, True)
        for name in ("note", "delete_note")
    ]
    assert told == [untrusted, untrusted_delete, trusted, trusted_delete]


def test_the_configuration_decides_first() -> None:
    overrides: dict[str, Effect] = {"delete_draft": "write", "delete_*": "read", "get_*": "destructive"}
    assert effect_of(tool("delete_draft", {"destructiveHint": True}), overrides, trusted=False) == "write"
    assert effect_of(tool("delete_note"), overrides, trusted=False) == "read"
    assert effect_of(tool("get_note", {"readOnlyHint": True}), overrides, trusted=True) == "destructive"


@pytest.mark.parametrize(
    "name",
    [
        "delete", "delete_note", "deleteNote", "DeleteNote", "DELETE_NOTE", "notes-delete", "kv.delete", "json_del",
        "XMLDelete", "deleteHTMLPage", "bulkdelete", "deleteuser", "removeAll2", "v2dropTable", "git_rm",
        "empty_then_wipe_it",
    ],
)  # fmt: skip
def test_words_that_take_away_are_found_however_they_are_written(name: str) -> None:
    assert deleting_word(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "", "dropbox_upload", "list_deleted", "getDeletedItems", "undelete_note", "killer_whale", "backdrop_set",
        "removed_items", "skills", "model_list", "rmarkdown_render", "clearance_check", "Ελ_删除",
    ],
)  # fmt: skip
def test_words_that_only_look_like_it_are_not(name: str) -> None:
    assert deleting_word(name) is None


def test_what_told_the_effect_is_told() -> None:
    assert judged(tool("delete_note"), {}, trusted=False).why == "its name says 'delete'"
    assert judged(tool("a"), {"*": "read"}, trusted=False).why == "the configuration says so of '*'"
    assert "not trusted" in judged(tool("a", {"readOnlyHint": True}), {}, trusted=False).why


def test_the_words_are_right_about_the_recorded_tools(catalogs: dict[str, dict[str, Any]]) -> None:
    """The figures beside the list of words."""
    said: Counter[str] = Counter()
    for catalog in catalogs.values():
        for each in catalog.get("tools") or []:
            if deleting_word(each["name"]):
                hints = each.get("annotations") or {}
                annotated = "readOnlyHint" in hints or "destructiveHint" in hints
                said["destructive" if hints.get("destructiveHint") else "not" if annotated else "nothing"] += 1
    assert said == {"destructive": 142, "not": 1, "nothing": 46}


def test_no_word_is_given_twice() -> None:
    from toolcrib.broker.effects import DELETING

    words = re.findall(r"\w+", DELETING)
    assert words == sorted(set(words))
