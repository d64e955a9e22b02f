"""`toolcrib principals`: tokens are made, listed and removed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config import TOKENS_FILE, digest_of, user_state_dir

Cli = Callable[..., Any]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    tokens = [{"name": "old", "principal": "ann", "sha256": "0" * 64, "expires": "2001-01-01T00:00:00Z"}]
    settings = {"http": {"tokens": tokens}, "principals": {"ann": {}, "ben": {"allow": []}}}
    path.write_text(json.dumps({"mcpServers": {}, "toolcrib": settings}))
    return path


def test_a_token_is_printed_once_and_only_its_digest_is_kept(cli: Cli) -> None:
    made = cli("principals", "add", "ann", "--role", "staff", "--expires", "30d")
    assert made.code == 0
    token = made.out.strip()
    assert token.startswith("tcrib_")
    assert len(token) == len("tcrib_") + 43  # 32 bytes in base64, unpadded
    file = user_state_dir() / TOKENS_FILE
    assert token not in file.read_text()
    assert digest_of(token) in file.read_text()
    assert file.stat().st_mode & 0o077 == 0

    listed = cli("principals", "--json").json
    assert [(each["name"], each["principal"], each["roles"]) for each in listed["tokens"]] == [
        ("ann", "ann", ["staff"])
    ]
    assert token not in json.dumps(listed)


def test_all_tokens_are_listed_and_who_has_none(cli: Cli, config: Path) -> None:
    assert cli("principals", "add", "carl").code == 0
    listed = cli("principals", "-c", config)
    assert [line.split()[:2] for line in listed.out.splitlines()[1:3]] == [["ann", "old"], ["carl", "carl"]]
    assert "2001-01-01 00:00 UTC (has ended)" in listed.out
    assert "Without a token of their own: ben." in listed.out


def test_tokens_are_removed_one_or_all(cli: Cli) -> None:
    for label in ("laptop", "phone", "desk"):
        assert cli("principals", "add", "ann", "--token", label).code == 0
    assert cli("principals", "remove", "ann", "--token", "phone").out == "Removed: phone.\n"
    assert cli("principals", "remove", "ann").out == "Removed: laptop, desk.\n"
    again = cli("principals", "remove", "ann", "--json")
    assert (again.code, again.json["error"]["code"]) == (2, "usage")


def test_a_principal_or_token_that_is_not_there_is_wrong_use_that_names_those_there_are(cli: Cli) -> None:
    assert cli("principals", "add", "annabel", "--token", "laptop").code == 0
    ran = cli("principals", "remove", "anabel")
    assert ran.code == 2
    assert "Did you mean annabel?" in ran.err
    assert "Its tokens: laptop." in cli("principals", "remove", "annabel", "--token", "phone").err
    assert "toolcrib principals lists them" in cli("principals", "remove", "nobody").err


@pytest.mark.parametrize(
    "words",
    [
        ["add", ""],
        ["add", "*"],
        ["add", "a\nb"],
        ["add", "x" * 201],
        ["add", "ann", "--expires", "soon"],
        ["add", "ann", "--expires", "2001-01-01T00:00Z"],
        ["add", "ann", "--expires", "2099-01-01T00:00"],
        ["add", "taken"],
    ],
    ids=str,
)
def test_what_makes_no_token_is_wrong_use(cli: Cli, words: list[str]) -> None:
    assert cli("principals", "add", "taken").code == 0
    ran = cli("principals", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("toolcrib: ")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2, "tokens": []}', '{"format": 1, "tokens": [{}]}'])
def test_a_damaged_file_is_told_and_left_alone(cli: Cli, content: str) -> None:
    file = user_state_dir() / TOKENS_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    for words in (["list"], ["add", "ann"], ["remove", "ann"]):
        ran = cli("principals", *words)
        assert ran.code == 1
        assert "Who is let in can't be told" in ran.err
    assert file.read_text() == content
