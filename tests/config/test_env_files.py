"""`envFile`: what the dotenv tools of several languages agree on."""

from pathlib import Path

import pytest

from toolcrib.config.dotenv import parse_env, read_env_file
from toolcrib.errors import ConfigError


# As python-dotenv 1.2.4 reads them. Node 20's util.parseEnv differs in a#b (a) and in \" (ends the text).
@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K=v", "v"),
        ("K=", ""),
        ("K = spaced ", "spaced"),
        ("export K=v", "v"),
        ("  K=v", "v"),
        ("K=a=b", "a=b"),
        ("K=two words", "two words"),
        ("K=v # comment", "v"),
        ("K=a#b", "a#b"),
        ("K= # comment", ""),
        ("K=it's", "it's"),
        ("K='single # $X \\n'", "single # $X \\n"),
        ('K="double # x"', "double # x"),
        ('K="a\\nb"', "a\nb"),
        ('K="say \\"hi\\""', 'say "hi"'),
        ('K="C:\\dir"', "C:\\dir"),
        ('K="v" # comment', "v"),
        ("K='two\nlines'", "two\nlines"),
        ('K="two\nlines"', "two\nlines"),
        ("K=${X} $Y", "${X} $Y"),
        ("K=v\r", "v"),
    ],
)
def test_a_value_is_read(line: str, value: str) -> None:
    assert parse_env(f"# before\n\n{line}\nZ=after", "x") == {"K": value, "Z": "after"}


def test_a_later_line_wins() -> None:
    assert parse_env("K=1\nK=2", "x") == {"K": "2"}


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n  # comments", "   "])
def test_nothing_is_no_variables(text: str) -> None:
    assert parse_env(text, "x") == {}


@pytest.mark.parametrize("line", ["no assignment", "=v", "1K=v", 'K="unclosed', "K='a'b", "K-", "export"])
def test_a_line_that_is_no_assignment_is_named_by_number_alone(line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_env(f"A=1\n\n{line}\n", "Server 'it', envFile: f")
    assert caught.value.message == "Server 'it', envFile: f: line 3 is not KEY=VALUE."


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("K=ü\n", encoding="utf-8-sig")
    assert read_env_file(tmp_path / "f", "x") == {"K": "ü"}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"K=\xff")
    for name in ("missing", "binary", "."):
        with pytest.raises(ConfigError, match="can't be read"):
            read_env_file(tmp_path / name, "Server 'it', envFile")
