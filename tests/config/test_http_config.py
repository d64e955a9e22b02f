"""The settings of serving over HTTP: what is mistyped there is an error, and nobody is let in for it."""

import json
from typing import Any

import pytest

from toolcrib.config import config_from_mapping, load_config
from toolcrib.errors import ConfigError

TOKEN = {"name": "a", "principal": "ann", "sha256": "0" * 64}


def load(**settings: Any) -> Any:
    return config_from_mapping({"mcpServers": {}, "toolcrib": settings}).settings


@pytest.mark.parametrize(
    ("http", "told"),
    [
        ({"token": []}, "http.token"),
        ({"tokens": [{**TOKEN, "expire": "2027-01-01T00:00:00Z"}]}, "http.tokens.0.expire"),
        ({"tokens": [{**TOKEN, "expires": "2027-01-01T00:00:00"}]}, "http.tokens.0.expires"),
        ({"tokens": [{**TOKEN, "sha256": "secret"}]}, "http.tokens.0.sha256"),
        ({"tokens": [{**TOKEN, "principal": "*"}]}, "http.tokens.0.principal"),
        ({"tokens": [{**TOKEN, "principal": "a\u0000b"}]}, "http.tokens.0.principal"),
        ({"tokens": [{"name": "a", "sha256": "0" * 64}]}, "http.tokens.0.principal"),
        ({"oauth": {"issuer": "https://login.example"}}, "needs an audience"),
        ({"oauth": {"issuer": "http://login.example", "audience": ["a"]}}, "must be an https URL"),
        ({"oauth": {"issuer": "login.example", "audience": ["a"]}}, "must be an https URL"),
        ({"oauth": {"algorithms": ["HS256"]}}, "http.oauth.algorithms.0"),
        ({"oauth": {"algorithms": ["none"]}}, "http.oauth.algorithms.0"),
        ({"oauth": {"algorithms": []}}, "http.oauth.algorithms"),
        ({"oauth": {"scopes": ["two words"]}}, "http.oauth.scopes.0"),
        ({"oauth": {"jwks_url": "http://10.0.0.1/keys"}}, "must be an https URL"),
        ({"max_body_mb": 0}, "http.max_body_mb"),
        ({"max_header_kb": 65}, "http.max_header_kb"),
        ({"drain_seconds": -1}, "http.drain_seconds"),
        ({"metrics": "everybody"}, "http.metrics"),
    ],
    ids=str,
)
def test_a_mistake_in_http_keeps_toolcrib_from_starting(http: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(http=http)
    assert told in str(caught.value)
    assert "secret" not in str(caught.value).replace("shared secret", "")


@pytest.mark.parametrize(
    "entry", [{"alow": []}, {"allow": "notes.*"}, {"allow": [""]}, {"calls_per_minute": 0}, {"roles": [7]}, []], ids=str
)
def test_a_mistake_in_a_principal_keeps_toolcrib_from_starting(entry: Any) -> None:
    with pytest.raises(ConfigError, match=r"toolcrib\.principals\.ann"):
        load(principals={"ann": entry})


def test_digests_are_not_shown() -> None:
    assert "0" * 64 not in repr(load(http={"tokens": [TOKEN]}))


def test_principals_of_several_files_are_merged(tmp_path: Any) -> None:
    for name, settings in (("a", {"ann": {"allow": []}}), ("b", {"ben": {"roles": ["staff"]}})):
        (tmp_path / f"{name}.json").write_text(json.dumps({"mcpServers": {}, "toolcrib": {"principals": settings}}))
    merged = load_config([tmp_path / "a.json", tmp_path / "b.json"]).settings
    assert merged.principals["ann"].allow == ()
    assert merged.principals["ben"].roles == ("staff",)
