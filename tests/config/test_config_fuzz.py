"""Whatever a configuration holds, it is read or refused in a sentence."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.config import Variables, config_from_mapping
from toolcrib.config.dotenv import parse_env
from toolcrib.config.jsonc import parse_document
from toolcrib.errors import ConfigError
from toolcrib.redact import Secrets, redact

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
placeholders = st.text(alphabet="${}:-aA_/ ", max_size=20)
members = ["command", "args", "env", "cwd", "envFile", "url", "serverUrl", "headers", "type", "transport"]
members += ["disabled", "enabled", "toolcrib", "description", "tools", "other"]
texts = st.lists(placeholders, max_size=2)
entries = st.dictionaries(
    st.sampled_from(members), values | placeholders | texts | st.dictionaries(st.text(max_size=5), placeholders)
)
likely = st.fixed_dictionaries(
    {"command": placeholders},
    optional={"args": texts, "env": st.dictionaries(st.text(max_size=5), placeholders), "cwd": placeholders},
)


@settings(deadline=None)
@given(servers=st.dictionaries(st.text(max_size=8), entries | likely | values, max_size=3), other=values)
def test_any_entry_is_read_or_has_an_error(servers: Mapping[str, Any], other: Any) -> None:
    with suppress(ConfigError):
        config_from_mapping({"mcpServers": servers, "toolcrib": other, "inputs": other})
    config = config_from_mapping({"mcpServers": servers})
    assert list(config.servers) == list(servers)
    secrets = Secrets()
    for server in config.servers.values():
        assert len(server.config_hash) == 32
        repr(server)
        with suppress(ConfigError):
            resolved = server.resolve(Variables(environ={"a": "${A}", "A": "value"}, keyring=lambda name: None))
            repr(resolved)
            secrets.add_server(resolved)
    json.dumps(redact(servers, secrets))


@settings(deadline=None)
@given(value=values)
def test_any_value_at_the_root_is_read_or_refused(value: Any) -> None:
    with suppress(ConfigError):
        config_from_mapping(value)


@settings(deadline=None)
@given(text=st.text(alphabet='{}[]",:/*\n\\ a1', max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(ConfigError):
        parse_document(text, "it")


@settings(deadline=None)
@given(value=values, separator=st.sampled_from(["", " ", "\n", "/* , } */", "// ] \n"]))
def test_comments_and_trailing_commas_change_nothing(value: Any, separator: str) -> None:
    text = json.dumps({"v": value}, separators=(f"{separator},{separator}", f"{separator}:{separator}"))
    assert parse_document(f"{text[:-1]}{separator},{separator}}}{separator}", "it").value == {"v": value}


@settings(deadline=None)
@given(text=st.text(alphabet="K=\"'\\# \n\r$expor", max_size=30))
def test_any_env_file_is_read_or_refused(text: str) -> None:
    with suppress(ConfigError):
        parse_env(text, "it")
