"""How text becomes terms. Stems are Snowball's (snowballstem.org, English and Russian)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.search.terms import surfaces, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getHTTPHeader", ["http", "header"]),
        ("create_pull_request", ["creat", "pull", "request"]),
        ("list-all-branches", ["list", "branch"]),
        ("parseURLs APIs IDs", ["pars", "url", "api", "id"]),
        ("PDFs vpns", ["pdf", "vpn"]),
        ("sha256sum s3", ["sha", "256", "sum", "3"]),
        ("XMLHttpRequest2", ["xml", "http", "request", "2"]),
        ("the user's issues", ["user", "issu"]),
        ("azure/storage.account:list", ["azur", "storag", "account", "list"]),
        ("ÄpfelBaum", ["apfel", "baum"]),
        ("ＡＰＩ １２", ["api", "12"]),
        ("ﬁle", ["file"]),
        ("", []),
        ("…!?😀", []),
        ("\x00x1\ud800b2", ["x", "1", "b", "2"]),
    ],
)
def test_words_are_split_and_stemmed(text: str, expected: list[str]) -> None:
    assert terms(text).sequence == expected


def test_words_without_meaning_in_a_catalog_are_dropped() -> None:
    assert terms("please show me how to get the list of all issues").sequence == ["list", "issu"]


def test_chinese_is_pairs_and_characters_and_ends_at_other_scripts() -> None:
    found = terms("查询API北京市")
    assert found.sequence == ["查询", "api", "北京", "京市"]
    assert found.extras == ["查", "询", "北", "京", "市"]
    assert terms("票").sequence == ["票"]
    assert terms("票").extras == []


def test_kana_and_hangul_are_pairs() -> None:
    assert terms("データ").sequence == ["デー", "ータ"]
    assert terms("검색기 앱").sequence == ["검색", "색기", "앱"]


def test_russian_is_stemmed_and_yo_is_ye() -> None:
    assert terms("письма Ёлки").sequence == ["письм", "елк"]
    # Ukrainian has letters of its own: left as it is.
    assert terms("їжак").sequence == ["їжак"]


def test_short_i_is_no_i_with_an_accent() -> None:
    assert terms("йод").sequence == ["йод"]


def test_accents_are_folded_and_kept_beside() -> None:
    found = terms("tìm kiếm Đường straße")
    assert found.sequence == ["tim", "kiem", "duong", "strass"]
    assert found.extras == ["tìm", "kiếm", "đường"]


def test_a_name_of_two_parts_is_also_one_word() -> None:
    assert terms("YouTube").extras == ["youtub"]
    assert terms("getPullRequests").extras == []


def test_surfaces_are_neither_dropped_nor_stemmed() -> None:
    assert surfaces("getTheIssues") == ["get", "the", "issues"]


def test_a_blob_gives_one_short_term() -> None:
    (term,) = terms("x" * 10_000).sequence
    assert len(term) <= 64
    assert len(terms("字" * 100_000).sequence) < 1_000


@given(st.text())
def test_any_text_has_terms_of_letters_and_digits(text: str) -> None:
    found = terms(text)
    for term in (*found.sequence, *found.extras):
        assert term
        assert not term.isspace()
        term.encode()


@given(st.text(alphabet="aàbBcC1é_ -", max_size=20), st.text(alphabet="aàbBcC1é_ -", max_size=20))
def test_texts_apart_have_the_terms_of_each(left: str, right: str) -> None:
    assert terms(f"{left}\n{right}").sequence == terms(left).sequence + terms(right).sequence
