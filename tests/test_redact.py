"""No secret is logged, stored or shown; what is not secret stays readable."""

import json
import time
from typing import Any

import pytest

from toolcrib.config import Variables, config_from_mapping
from toolcrib.errors import ProtocolError
from toolcrib.redact import REDACTED, Secrets, looks_secret, redact, redact_text


def words(text: str) -> list[str]:
    return text.split()


# Made up, in the forms that the services document.
TOKENS = [
    "sk-proj-a1B2c3D4e5F6g7H8i9J0",  # OpenAI
    "sk-ant-api03-abcdefghijklmnop1234",  # Anthropic
    "sk_live_51H8abcdefghijklmnop",  # Stripe
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",  # GitHub, classic
    "github_pat_11ABCDEFG0123456789_abcdefghijkl",  # GitHub, fine-grained
    "glpat-abcDEF1234567890abcd",  # GitLab
    "AKIAIOSFODNN7EXAMPLE",  # AWS' own documentation example
    "xoxb-123456789012-abcdefGHIJKL",  # Slack
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",  # Google
    "hf_abcdefghijklmnopqrstuvwxyz123456",  # Hugging Face
    "npm_abcdefghijklmnopqrstuvwxyz1234567890",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",  # RFC 7519
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("frame", ["{}", "failed with {}.", "['{}']", "https://x.example/{}/y", "a\n{}\nb", "x={},y"])
def test_the_tokens_of_known_services_are_taken_out_of_any_text(token: str, frame: str) -> None:
    redacted = redact_text(frame.format(token))
    assert token not in redacted
    assert REDACTED in redacted


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("Authorization: Bearer abc.DEF-123_x~4/5+6==", "Authorization: ***"),
        ("GET /\r\nauthorization: Basic dXNlcjpwYXNz\r\nAccept: */*", "GET /\r\nauthorization: ***\r\nAccept: */*"),
        ("Cookie: session=abc; theme=dark", "Cookie: ***"),
        ("sent Bearer a1b2c3d4e5 to x", "sent Bearer *** to x"),
        ("X-Api-Key: 5ecret", "X-Api-Key: ***"),
        ("postgres://me:pw@db.example/x", "postgres://***@db.example/x"),
        ("https://x.example/mcp?api_key=abc&page=2#top", "https://x.example/mcp?api_key=***&page=2#top"),
        ("https://x.example/?page=2&access_token=abc", "https://x.example/?page=2&access_token=***"),
        ("error: password=hunter2", "error: password=***"),
        ("password: hunter2", "password: ***"),
        ("GITHUB_TOKEN=abc NODE_ENV=test", "GITHUB_TOKEN=*** NODE_ENV=test"),
        ("run --api-key abc --verbose", "run --api-key *** --verbose"),
        ("run --api-key=abc --verbose", "run --api-key=*** --verbose"),
        ('{"token": "a b \\"c\\" d", "n": 1}', '{"token": "***", "n": 1}'),
        ("{'client_secret': 'a b', 'n': 1}", "{'client_secret': '***', 'n': 1}"),
        ('"{\\"token\\": \\"a b\\", \\"n\\": 1}"', '"{\\"token\\": \\"***\\", \\"n\\": 1}"'),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "***\nrest"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "***"),
    ],
)
def test_named_secrets_are_taken_out_of_a_text(text: str, redacted: str) -> None:
    assert redact_text(text) == redacted
    assert redact_text(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unexpected token: foo in JSON at position 3",
        "Basic usage and bearer bonds",
        "KeyError: 'name'",
        "max_tokens=4096, total_tokens: 12",
        "primary_key=id sort_key=name",
        "token_type=bearer token_url=https://x.example/token",
        "GITHUB_TOKEN=${GITHUB_TOKEN}",
        "Authorization: Bearer ${env:TOKEN}",
        "https://x.example/path?page=2&q=monkey#key",
        "sk-learn-is-a-very-long-package-name",
        "git@github.com:owner/repo.git",
        "the author wrote: hello",
    ],
)
def test_a_text_without_secrets_stays_as_it_is(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        '{ "id": "key", "type": "promptString", "password": true }',  # VS Code's inputs
        "password: null, token=None, --token false",
        'bearer_token_env_var = "FIGMA_OAUTH_TOKEN"',  # Codex
        "SECRET_ENV=OPENAI_API_KEY --token-env GITHUB_TOKEN",
        '"secretEnvVar": "DB_2"',
    ],
)
def test_what_is_no_text_and_the_name_of_a_variable_are_no_secrets(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "secret",
    [*TOKENS, "hunter2", "a1b2c3d4e5f6", "p4ss_w0rd", "JBSWY3DPEHPK3PXP", "true1", "A_9F86D081884C7D659A2F", "X" * 40],
)
def test_a_secret_in_the_place_of_a_variable_or_a_truth_is_still_taken_out(secret: str) -> None:
    for frame in ('bearer_token_env_var = "{}"', "TOKEN_ENV={}", '"tokenEnvVar": "{}"', "password: {}"):
        assert secret not in redact_text(frame.format(secret))
        assert secret not in str(redact({"bearer_token_env_var": secret}))
    assert redact_text('"password": "true"') == '"password": "***"'  # here it is a text, and may be the word
    assert redact_text("password=123456") == "password=***"


def test_the_name_of_a_variable_is_not_searched_for() -> None:
    secrets = Secrets()
    secrets.add("GITHUB_TOKEN", name="TOKEN_ENV")
    assert secrets.text("set GITHUB_TOKEN") == "set GITHUB_TOKEN"
    assert redact({"bearer_token_env_var": "GITHUB_TOKEN"}) == {"bearer_token_env_var": "GITHUB_TOKEN"}


def test_the_default_of_a_variable_may_be_the_secret() -> None:
    assert redact_text("API_KEY=${API_KEY:-abc}") == "API_KEY=***"


@pytest.mark.parametrize(
    "name",
    words(
        "token access_token accessToken GITHUB_TOKEN apiKey API_KEY api-key X-Api-Key key secret client_secret "
        "clientSecret SECRET_KEY_BASE password dbPassword PGPASSWORD passwd authorization Authorization "
        "Proxy-Authorization cookie Set-Cookie credentials AWS_SECRET_ACCESS_KEY private_key --token jwt auth "
        "refresh_tokens api_keys"
    ),
)
def test_a_name_tells_that_its_value_is_secret(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    words(
        "name monkey keyboard author tokenizer max_tokens tokens total_tokens token_count token_type token_url "
        "primary_key publicKey keys password_policy secret_name id x"
    ),
)
def test_a_name_that_only_resembles_one_is_not_secret(name: str) -> None:
    assert not looks_secret(name)


def test_values_are_redacted_by_name_form_and_place() -> None:
    value: dict[str, Any] = {
        "user": "ann",
        "password": "x",
        "pin": 3,
        "api_key": 12345,
        "auth": {"type": "basic", "value": "x"},
        "headers": [{"Authorization": "Bearer x", "Accept": "*/*"}],
        "token": None,
        "secret": "",
        "max_tokens": 5,
        "url": "https://me:pw@x.example",
        "note": f"uses {TOKENS[0]}",
        "cookie": "${COOKIE}",
        "ok": True,
        "ratio": 0.5,
        TOKENS[3]: 1,
    }
    before = json.dumps(value)
    assert redact(value) == {
        "user": "ann",
        "password": "***",
        "pin": 3,
        "api_key": "***",
        "auth": "***",
        "headers": [{"Authorization": "***", "Accept": "*/*"}],
        "token": None,
        "secret": "",
        "max_tokens": 5,
        "url": "https://***@x.example",
        "note": "uses ***",
        "cookie": "${COOKIE}",
        "ok": True,
        "ratio": 0.5,
        "***": 1,
    }
    assert json.dumps(value) == before


def test_what_is_no_json_becomes_text() -> None:
    assert redact([ValueError("password=x"), b"ab", ("a",)]) == ["password=***", "b'ab'", ["a"]]


def test_a_value_that_contains_itself_is_cut() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert REDACTED in json.dumps(redact(loop))


def test_exact_values_are_taken_out_however_they_are_spelled() -> None:
    secrets = Secrets()
    secrets.add('p/w "1"+ü', name="PASSWORD")
    for spelled in ('p/w "1"+ü', json.dumps('p/w "1"+ü'), "p%2Fw%20%221%22%2B%C3%BC", repr('p/w "1"+ü')):
        assert secrets.text(f"<{spelled}>").strip("<>\"'") == REDACTED
    assert secrets.value({"a": ['p/w "1"+ü']}) == {"a": [REDACTED]}


def test_an_error_of_a_server_keeps_the_shape_of_its_data_and_loses_the_secrets_in_it() -> None:
    secrets = Secrets()
    secrets.add("abcd1234", name="token")
    error = ProtocolError("up", "no abcd1234", rpc_code=-32000, data={"tried": [{"abcd1234": ["abcd1234", 1]}, True]})
    secrets.clean(error)
    assert "abcd1234" not in str(error)
    assert error.data == {"tried": [{REDACTED: [REDACTED, 1]}, True]}


def test_the_longer_of_two_values_is_taken_out_whole() -> None:
    secrets = Secrets()
    secrets.add("abcd1234", name="token")
    secrets.add("abcd1234-more", name="token")
    assert secrets.text("x abcd1234-more y") == "x *** y"


@pytest.mark.parametrize(
    "value",
    ["true", "8080", "short", "/usr/local/share", "~/data", "C:\\Users\\ann", "production", "WARNING", "utf-8",
     "api.example.com:8443", "localhost:5432", "https://x.example/mcp?page=2", "1.2.3", "2026-07-28"],
)  # fmt: skip
def test_plainly_public_values_are_not_searched_for(value: str) -> None:
    secrets = Secrets()
    secrets.add(value, name="SETTING")
    assert len(secrets) == 0


def test_even_a_plain_word_is_a_secret_under_a_secret_name() -> None:
    secrets = Secrets()
    secrets.add("production", name="DB_PASSWORD")
    assert secrets.text("login with production") == "login with ***"


def test_a_value_below_six_characters_is_never_searched_for() -> None:
    secrets = Secrets()
    secrets.add("admin", name="PASSWORD")
    assert secrets.text("admins administer") == "admins administer"


def test_all_that_a_server_was_given_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {
        "local": {
            "command": "npx",
            "args": ["-y", "@scope/a-package", "--api-key", "arg-s3cr3t-1", "--token=arg-s3cr3t-2", "${FROM_ENV}"],
            "env": {"GITHUB_TOKEN": "env-s3cr3t", "LOG_LEVEL": "debugging"},
        },
        "remote": {
            "url": "https://me:url-s3cr3t-1@x.example/mcp?api_key=url-s3cr3t-2&page=10",
            "headers": {"Authorization": "Bearer header-s3cr3t", "Accept": "application/json"},
        },
    }
    config = config_from_mapping({"mcpServers": entries})
    secrets = Secrets()
    for server in config.servers.values():
        secrets.add_server(server.resolve(Variables(environ={"FROM_ENV": "variable-s3cr3t"})))
    for value in ("arg-s3cr3t-1", "arg-s3cr3t-2", "env-s3cr3t", "variable-s3cr3t", "url-s3cr3t-1", "url-s3cr3t-2"):
        assert secrets.text(f"said: {value}!") == "said: ***!"
    assert secrets.text("said: header-s3cr3t!") == "said: ***!"
    for public in ("@scope/a-package", "debugging", "application/json", "x.example"):
        assert secrets.text(public) == public


def test_the_collection_shows_no_value() -> None:
    secrets = Secrets()
    secrets.add("s3cr3t-value", name="token")
    assert repr(secrets) == "<Secrets: 1 values>"


@pytest.mark.parametrize(
    "unit", ["a", "a.", "token:", '"a":"', "-----BEGIN PRIVATE KEY-----", "http://", "eyJ", "-a ", 'token:"', 'a=\\"']
)
def test_the_time_grows_with_the_length_alone(unit: str) -> None:
    # A pattern that backtracks takes hours for this length; two seconds allow for a busy machine.
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    redact_text(text)
    assert time.process_time() - started < 2


def test_what_a_pattern_of_the_configuration_matches_is_taken_out_whole() -> None:
    secrets = Secrets([r"EMP-\d{4,6}", r"\bnote: .*"])
    assert secrets.text("paid EMP-123456 and EMP-12, note: all of it\nnext") == "paid *** and EMP-12, ***\nnext"
    assert secrets.value({"who": ["EMP-1234"], "EMP-9999": 1}) == {"who": ["***"], "***": 1}
    assert secrets.exact("token=abc EMP-1234") == "token=abc ***"


def test_a_text_made_to_blow_up_a_pattern_takes_no_longer_than_another() -> None:
    secrets = Secrets([r"(a|a)*b"])
    text = "a" * 20_000
    begun = time.process_time()
    assert secrets.text(text) == text
    assert time.process_time() - begun < 1


def test_values_are_found_among_very_many() -> None:
    secrets = Secrets()
    for number in range(2_000):
        secrets.add(f"v4lue/{number:05} +x")
    assert secrets.exact('told v4lue/01234 +x and "v4lue%2F01999%20%2Bx"') == 'told *** and "***"'
    assert secrets.exact("nothing of it") == "nothing of it"
    secrets.add("v4lue-added-later")
    assert secrets.exact("v4lue-added-later") == "***"


def test_what_an_entry_says_is_secret_before_it_is_connected_and_variables_stay_readable() -> None:
    config = config_from_mapping(
        {
            "mcpServers": {
                "here": {"command": "x", "args": ["--token", "argu-m3nt"], "env": {"A_KEY": "l1teral", "B": "${VAR}"}},
                "there": {"url": "https://me:passw0rd@x.example/mcp", "headers": {"X-Api-Key": "he4der"}},
            }
        }
    )
    secrets = Secrets()
    for entry in config.servers.values():
        secrets.add_entry(entry)
    for secret in ("l1teral", "argu-m3nt", "passw0rd", "he4der"):
        assert secrets.exact(f"<{secret}>") == "<***>"
    assert secrets.exact("${VAR}") == "${VAR}"


@pytest.mark.parametrize(
    "secret",
    [
        *TOKENS,
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----",
        "Bearer a1b2c3d4e5",
        "postgres://me:pw1234@db.example/x",
        "myApiKey=abc123",
        "SESSION_COOKIE: abc123",
        "hookSig=abc123",
        "glpat-abcDEF1234567890abcd",
    ],
)
def test_a_long_text_is_redacted_like_a_short_one(secret: str) -> None:
    around = "Nothing in this line is worth hiding. " * 20
    assert redact_text(f"{around} {secret} {around}") == f"{around} {redact_text(secret)} {around}"
    assert redact_text(around) == around
