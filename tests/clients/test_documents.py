"""Clients' files as texts: what is changed is the servers, and nothing else of the bytes."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from toolcrib.clients.documents import read_servers, with_servers
from toolcrib.errors import ConfigError

ENTRY: dict[str, Any] = {"command": "toolcrib", "args": ["serve"]}
ROOT = ("mcpServers",)


def changed(text: str, *without: str, root: tuple[str, ...] = ROOT, form: Any = "json", **put: Any) -> str:
    return with_servers(text.encode(), form, root, "file", without=without, put=put).decode()


@pytest.mark.parametrize(
    ("text", "without", "expected"),
    [
        ('{"mcpServers": {"a": {"url": "u"}}, "x": 1}', ["a"], '{"mcpServers": {%s}, "x": 1}'),
        (
            '{\n  "mcpServers": {\n    // first\n    "a": {},\n    "b": {}\n  }\n}\n',
            ["a"],
            '{\n  "mcpServers": {\n    // first\n    %s,\n    "b": {}\n  }\n}\n',
        ),
        (
            '{\n  "mcpServers": {\n    "a": {},\n    "b": {}, // last\n  },\n}\n',
            ["a", "b"],
            '{\n  "mcpServers": {\n    %s,\n     // last\n  },\n}\n',
        ),
        ('{\n  "mcpServers": {\n    "b": {}\n  }\n}', [], '{\n  "mcpServers": {\n    "b": {},\n    %s\n  }\n}'),
        ('{\n  "mcpServers": {\n    "b": {},\n  }\n}', [], '{\n  "mcpServers": {\n    "b": {},\n    %s,\n  }\n}'),
        ('{\n  "mcpServers": {}\n}', [], '{\n  "mcpServers": {\n    %s\n  }\n}'),
        ('{\n  "mcpServers": null\n}', [], '{\n  "mcpServers": {\n    %s\n  }\n}'),
        ('{\n  "x": 1\n}', [], '{\n  "x": 1,\n  "mcpServers": {\n    %s\n  }\n}'),
        ("{}", [], '{\n  "mcpServers": {\n    %s\n  }\n}'),
        ("", [], '{\n  "mcpServers": {\n    %s\n  }\n}\n'),
    ],
)
def test_only_the_servers_change(text: str, without: list[str], expected: str) -> None:
    result = changed(text, *without, toolcrib=ENTRY)
    assert read_servers(result.encode(), "json", ROOT, "file")["toolcrib"] == ENTRY
    # The layout of the entry itself is that of the file's indent, and follows where it stands.
    start = result.index('"toolcrib"')
    end = json.JSONDecoder().raw_decode(result, result.index("{", start))[1]
    assert result[:start] + "%s" + result[end:] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": {} /* one\n  two */\n}', '{"a": {}, /* one\n  two */\n  "n": 1\n}'),
        ('{\n  "a": {}, /* one\n  two */ // three\n}', '{\n  "a": {}, /* one\n  two */ // three\n  "n": 1,\n}'),
        ('{"a": {} /* one\n  two */}', '{"a": {},\n  "n": 1 /* one\n  two */}'),
        ('{\r\n  "a": {} // one\r\n}', '{\r\n  "a": {}, // one\r\n  "n": 1\r\n}'),
        ("{ // mine\n}", '{ // mine\n  "n": 1\n}'),
        ('{\n  // "old": {},\n  /* kept\n  */\n}', '{\n  // "old": {},\n  /* kept\n  */\n  "n": 1\n}'),
    ],
)
def test_comments_behind_the_last_member_and_in_an_empty_object_stay(text: str, expected: str) -> None:
    assert changed(text, root=(), n=1) == expected


def test_the_last_member_takes_the_comma_before_it_along() -> None:
    text = '{\n  "mcpServers": {\n    "a": {},\n    "b": {}\n  }\n}'
    assert changed(text, "b") == '{\n  "mcpServers": {\n    "a": {}\n  }\n}'
    assert changed(text, "a") == '{\n  "mcpServers": {\n    "b": {}\n  }\n}'
    assert changed(text, "a", "b") == '{\n  "mcpServers": {\n  }\n}'


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_indent_and_byte_order_mark_stay(mark: bytes) -> None:
    data = mark + b'{\r\n\t"mcpServers": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n'
    result = with_servers(data, "json", ROOT, "file", without=["a"], put={"t": {"command": "c"}})
    assert result == mark + b'{\r\n\t"mcpServers": {\r\n\t\t"t": {\r\n\t\t\t"command": "c"\r\n\t\t}\r\n\t}\r\n}\r\n'


def test_utf_16_stays_utf_16() -> None:
    data = "\ufeff".encode("utf-16-le") + '{"mcpServers": {"ä": {}}}'.encode("utf-16-le")
    result = with_servers(data, "json", ROOT, "file", put={"t": {}})
    assert json.loads(result.decode("utf-16")) == {"mcpServers": {"ä": {}, "t": {}}}


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(NAMES, VALUES, max_size=4),
    st.dictionaries(NAMES, VALUES, max_size=3),
    st.sets(st.integers(0, 3)),
    st.sampled_from([None, 0, 1, "\t"]),
)
def test_any_object_is_changed_as_a_dictionary_would_be(
    servers: dict[str, Any], put: dict[str, Any], gone: set[int], indent: Any
) -> None:
    text = json.dumps({"before": [1], "mcpServers": servers, "after": {"mcpServers": 0}}, indent=indent)
    without = {key for place, key in enumerate(servers) if place in gone}
    result = json.loads(changed(text, *without, **put)) if not put.keys() & {"root", "form", "text"} else None
    if result is not None:
        wanted = {key: value for key, value in servers.items() if key not in without} | put
        assert result == {"before": [1], "mcpServers": wanted, "after": {"mcpServers": 0}}


CODEX = """model = "gpt-5"  # the best

# documents
[mcp_servers.docs]
command = "npx"
args = [
  "-y",
  "[mcp_servers.docs]",
]

[mcp_servers.docs.env]
KEY = "v"

[mcp_servers."my server"]
url = "https://example.org/mcp"

# other things
[tools]
web = true
"""


def test_tables_are_cut_by_lines_and_comments_stay() -> None:
    result = changed(CODEX, "docs", "my server", root=("mcp_servers",), form="toml", toolcrib=ENTRY)
    assert result == (
        'model = "gpt-5"  # the best\n\n# documents\n[mcp_servers.toolcrib]\ncommand = "toolcrib"\nargs = ["serve"]\n'
        "\n# other things\n[tools]\nweb = true\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {docs = {command = "npx"}}\n[tools]\nweb = true\n',
        '[mcp_servers]\ndocs.command = "npx"\n[tools]\nweb = true\n',
        '[mcp_servers]\n[mcp_servers.docs]\ncommand = "npx"\n[tools]\nweb = true\n',
        'text = """\n[mcp_servers.docs]\n"""\n[mcp_servers.docs]\ncommand = "npx"\n[tools]\nweb = true\n',
        "[tools]\nweb = true",
        "",
    ],
)
def test_every_way_to_write_a_table_is_changed(text: str) -> None:
    result = tomllib.loads(changed(text, "docs", root=("mcp_servers",), form="toml", toolcrib=ENTRY))
    before = tomllib.loads(text)
    assert result == {**before, "mcp_servers": {"toolcrib": ENTRY}}


GOOSE = """# Goose
GOOSE_PROVIDER: anthropic # mine
extensions:
  developer:
    type: builtin
    name: "developer"
  fetch:
    type: stdio
    cmd: uvx
    args:
      - mcp-server-fetch
GOOSE_MODEL: 'x'
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("extensions:\nx: 1\n", "extensions:\n  n:\n    cmd: t\nx: 1\n"),
        ("# mine\n\n# alone\n", "# mine\n\n# alone\nextensions:\n  n:\n    cmd: t\n"),
        ("# mine\r\n# alone\r\n", "# mine\r\n# alone\r\nextensions:\r\n  n:\r\n    cmd: t\r\n"),
    ],
)
def test_yaml_without_servers_gets_some_and_keeps_its_comments(text: str, expected: str) -> None:
    assert changed(text, root=("extensions",), form="yaml", n={"cmd": "t"}) == expected


@pytest.mark.parametrize(
    "text",
    [
        'm.a.command = "x"\nm."q.r" = {command = "y"}\n[[other]]\nn = 1\n[m.z]\ncommand = "z"\n',
        "m.a.c = 'x'\n[m.z]\nc = 'y'\n",  # an IndexError
    ],
)
def test_servers_that_tomlkit_can_t_take_out_are_told_and_nothing_is_lost(text: str) -> None:
    servers = read_servers(text.encode(), "toml", ("m",), "config.toml")
    assert {"a", "z"} <= {*servers}
    with pytest.raises(ConfigError, match="can't be taken out safely"):
        with_servers(text.encode(), "toml", ("m",), "config.toml", without=[*servers], put={})


def test_tables_out_of_order_that_tomlkit_does_not_read_are_cut_by_lines() -> None:
    text = "[a.b]\nx = 1\n[m.t]\nc = 'x'\n[a]\ny = 2\n[m.u]\nc = 'y'\n[a.c]\nz = 1\n"
    out = changed(text, "t", "u", root=("m",), form="toml", n={"c": "n"})
    assert tomllib.loads(out) == {"a": {"b": {"x": 1}, "y": 2, "c": {"z": 1}}, "m": {"n": {"c": "n"}}}


def test_yaml_keeps_comments_quotes_and_layout() -> None:
    result = changed(GOOSE, "fetch", root=("extensions",), form="yaml", toolcrib={"cmd": "toolcrib", "args": ["serve"]})
    assert result == GOOSE[: GOOSE.index("  fetch:")] + (
        "  toolcrib:\n    cmd: toolcrib\n    args:\n      - serve\nGOOSE_MODEL: 'x'\n"
    )
    assert YAML().load(result)["extensions"]["developer"]["name"] == "developer"
    assert changed("", root=("extensions",), form="yaml", a={"cmd": "x"}) == "extensions:\n  a:\n    cmd: x\n"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", "{"),
        ("json", "[]"),
        ("json", '{"mcpServers": []}'),
        ("json", "[" * 100_000),
        ("toml", "= 1"),
        ("toml", "mcpServers = 1"),
        ("yaml", "a: [1"),
        ("yaml", "mcpServers: 1"),
        ("yaml", "- 1"),
    ],
)
def test_what_is_no_such_file_is_refused(form: Any, text: str) -> None:
    with pytest.raises(ConfigError):
        with_servers(text.encode(), form, ROOT, "file", put={"t": ENTRY})


def test_what_is_not_text_is_refused() -> None:
    with pytest.raises(ConfigError, match="not text"):
        read_servers(b'{"a": "\xff\xfe\xfa"}', "json", ROOT, "file")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("toml", "[m.t]\nx = 1\nat = 2020-01-01\n[m.u]\nf = inf\n"),
        ("yaml", "m:\n  t: {at: 2020-01-01, all: !!set {p, q}}\n  u: &u {c: y}\nother: *u\n"),
        ("yaml", "base: &b {c: x}\nm:\n  t: *b\n  u: {<<: *b, d: y}\n"),
        ("json", '{"m": {"t": {"c": "\\ud800"}, "u": {"n": 1e999, "\\udfff": -1e999}}}'),
    ],
)
def test_values_of_any_kind_stay_and_are_put_in_again(form: Any, text: str) -> None:
    before = read_servers(text.encode(), form, ("m",), "file")
    rest = {key: value for key, value in read_servers(text.encode(), form, (), "file").items() if key != "m"}
    out = with_servers(text.encode(), form, ("m",), "file", without=["t"], put={"n": {"c": "n"}})
    assert read_servers(out, form, ("m",), "file") == {"u": before["u"], "n": {"c": "n"}}
    again = with_servers(out, form, ("m",), "file", without=["n"], put={"t": before["t"]})
    assert read_servers(again, form, ("m",), "file") == before
    assert {k: v for k, v in read_servers(again, form, (), "file").items() if k != "m"} == rest


def test_lines_that_stand_for_billions_of_values_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    text = "\n".join([*lines, "m: {t: {args: *a9}}"])
    with pytest.raises(ConfigError, match="more than 200,000 values"):
        read_servers(text.encode(), "yaml", ("m",), "file")
