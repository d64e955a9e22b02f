"""The first sentence of a description."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.schema import first_sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Create an issue. Needs a token.", "Create an issue."),
        ("Create a new D1 database", "Create a new D1 database"),
        ("\n    This tool helps debug builds.\n\n    CRITICAL:\n    1. Logs", "This tool helps debug builds."),
        ("Upload files (e.g., PDRs, PDFs) to it. Then map.", "Upload files (e.g., PDRs, PDFs) to it."),
        ("Use e.g. Redis. Or not.", "Use e.g. Redis."),
        ("Runs Node.js 20.1 scripts in v1.2.3. Beta.", "Runs Node.js 20.1 scripts in v1.2.3."),
        ("Reads settings.json and .env files. Fast.", "Reads settings.json and .env files."),
        ("Is it there? It says.", "Is it there?"),
        ('Says "done." Then stops.', 'Says "done."'),
        ("Written by J. Doe for you. More.", "Written by J. Doe for you."),
        ("# Heading\n\nDoes a thing. More.", "Does a thing."),
        ("## Overview\n```json\n{}\n```\nDoes a thing.", "Does a thing."),
        ("Description:\nDoes a thing.", "Does a thing."),
        ("---\n\n**Does** a `thing`. More.", "Does a thing."),
        ("<tool>\n<summary>Does a thing.</summary>", "Does a thing."),
        ("- Lists pets. More.", "Lists pets."),
        ("Sees [the docs](https://example.com/a.b). More.", "Sees the docs."),
        ("This spans\ntwo lines. More.", "This spans two lines."),
        ("Lists things:\n- one\n- two", "Lists things:"),
        ("Notion | Create a page\nError Responses:\n400: Bad request", "Notion | Create a page"),
        ("List pets\n\n\n**Query Parameters:**\n\n- **limit**: No.", "List pets"),
        ("生成一个柱状图，用于比较。也可以堆叠。", "生成一个柱状图，用于比较。"),
        ("使用这个工具！快。", "使用这个工具！"),
        ("🚨 REQUIRED: Use this tool. Always.", "🚨 REQUIRED: Use this tool."),
        ("Sets snake_case_name and __dunder__ names. More.", "Sets snake_case_name and dunder names."),
        ("# Only a heading", "Only a heading"),
        ("Usage:", ""),
        ("[IMPORTANT] Use it. More.", "Use it."),
        ("(Alpha.)", "(Alpha.)"),
        ("Example cURL request:\n\n```console\ncurl\n```", ""),  # replicate
        ("(Alpha, limited. Asks an AI.) It helps. More.", "It helps."),
        ("```\ncode\n```", ""),
        ("", ""),
        (" \n\t", ""),
        ("...", "..."),
    ],
)
def test_the_first_sentence_is_found(text: str, expected: str) -> None:
    assert first_sentence(text) == expected


def test_a_long_sentence_is_cut_at_a_word() -> None:
    text = first_sentence("Permanently removes the certificate of the domain, and everything that hangs on it.", 40)
    assert text == "Permanently removes the certificate of…"


def test_a_text_without_blanks_is_cut_at_the_bound() -> None:
    assert first_sentence("生" * 200, 20) == "生" * 19 + "…"


def test_a_megabyte_is_read_only_at_its_beginning() -> None:
    assert first_sentence("word " * 200_000).endswith("…")


@given(st.text(max_size=300), st.integers(10, 130))
def test_the_result_is_one_line_within_the_bound(text: str, limit: int) -> None:
    found = first_sentence(text, limit)
    assert len(found) <= limit
    assert found.splitlines() in ([], [found])
    assert found == found.strip()
