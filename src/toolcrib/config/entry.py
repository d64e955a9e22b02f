"""Reading one server's entry as the clients in use write it."""

import json
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from toolcrib.config.models import ServerOptions, problems
from toolcrib.config.oauth import KNOWN as OAUTH_KEYS
from toolcrib.config.oauth import OAuthClient, parse_oauth
from toolcrib.config.server import ServerConfig, Transport, header_name_problem, url_problem
from toolcrib.errors import ConfigError, shown

TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",  # Copilot
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",  # Cline
    "streamable_http": "http",
    "sse": "sse",
}
"""Transports by the names that clients give them, in lower case."""

_OWN = {"command", "args", "env", "cwd", "envFile", "url", "serverUrl", "headers", "type", "transport"} | {
    "oauth",
    "disabled",
    "enabled",
    "description",
    "toolcrib",
}

# Kept without a word: they allow, describe or display something in their own client. `timeout` is among
# them since clients disagree about its unit (Cline seconds, Gemini and FastMCP milliseconds);
# `toolcrib.timeout` is in seconds.
_OTHERS = {"autoApprove", "alwaysAllow", "timeout", "trust", "name", "icon", "gallery", "version", "dev"}

# Not applied either, but whoever wrote them expects tools to be hidden.
_LIMITS = {"tools", "disabledTools", "enabledTools", "includeTools", "excludeTools"}

_UNFIT = re.compile(r"[\x00\ud800-\udfff]")
"""What ends a text for the system, and what has no form in UTF-8."""


def looks_like_entry(value: object) -> bool:
    """Whether a value is meant to be a server: an object that says what to start or where to connect."""
    if not isinstance(value, Mapping):
        return False
    members = cast("Mapping[str, object]", value)
    return any(isinstance(members.get(name), str) for name in ("command", "url", "serverUrl"))


def parse_entry(key: str, value: object, origin: Path | None) -> tuple[ServerConfig, list[str]]:
    """Read one server's entry.

    Args:
        key: The entry's key.
        value: The entry; whatever is wrong with it becomes the server's `error`.
        origin: The file that it stands in, if any.

    Returns:
        The server and the warnings about it.
    """
    if not isinstance(value, Mapping):
        return _unusable(key, ["the entry must be an object"], origin), []
    entry = cast("Mapping[str, Any]", value)
    fields = _Fields(entry)
    command = fields.text("command")
    url = fields.text("url") or fields.text("serverUrl")  # Windsurf
    transport = _transport(fields, command, url)
    options = _options(fields)
    server = ServerConfig(
        key=key,
        transport=transport,
        command=command,
        args=fields.texts("args"),
        env=fields.table("env"),
        cwd=fields.text("cwd"),
        env_file=fields.text("envFile"),
        url=url,
        headers=_headers(fields),
        oauth=_oauth(fields),
        disabled=fields.flag("disabled") or fields.flag("enabled", otherwise=True) is False,
        options=options,
        unknown={name: member for name, member in entry.items() if name not in _OWN},
        origin=origin,
        error=_error([*([] if key.strip() else ["its key is empty"]), *fields.problems], key),
    )
    return server, _warnings(key, entry, options)


class _Fields:
    """The members of one entry, read by type; what does not fit is collected."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.entry = entry
        self.problems: list[str] = []

    def text(self, name: str) -> str | None:
        value = self.entry.get(name)
        if value is None:
            return None
        if isinstance(value, str) and value.strip():
            return self._fit(name, value)
        self.problems.append(f"{name} must be a text" if not isinstance(value, str) else f"{name} is empty")
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.entry.get(name)
        if value is None:
            return ()
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            texts = [_scalar(item) for item in cast("Sequence[object]", value)]
            if None not in texts:
                return tuple(self._fit(name, text) for text in texts if text is not None)
        self.problems.append(f"{name} must be a list of texts")
        return ()

    def table(self, name: str) -> dict[str, str]:
        value = self.entry.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.problems.append(f"{name} must be an object")
            return {}
        found: dict[str, str] = {}
        for key, member in cast("Mapping[str, object]", value).items():
            text = _scalar(member)
            if not key or "=" in key or _UNFIT.search(key):
                self.problems.append(f"{name} has the impossible name {shown(key)}")
            elif text is not None:
                found[key] = self._fit(f"{name}.{key}", text)
            elif member is not None:  # in VS Code, null takes a variable away: there is nothing to take away
                self.problems.append(f"{name}.{key} must be a text")
        return found

    def flag(self, name: str, *, otherwise: bool = False) -> bool:
        value = self.entry.get(name)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            self.problems.append(f"{name} must be true or false")
            return otherwise
        return value

    def _fit(self, name: str, text: str) -> str:
        if _UNFIT.search(text):
            self.problems.append(
                f"{name} holds a zero character or half a surrogate pair, which no program or address can have"
            )
        return text


def _scalar(value: object) -> str | None:
    """A text, or a number or boolean spelled as JSON does; None for anything else."""
    if isinstance(value, str):
        return value
    return (
        json.dumps(value) if isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value)) else None
    )


def _transport(fields: _Fields, command: str | None, url: str | None) -> Transport:
    inferred: Transport = "stdio" if url is None else "sse" if _ends_in_sse(url) else "http"
    named = _named_transports(fields)
    transport = named[0] if named else inferred
    if fields.problems:
        return transport
    if command is not None and url is not None:
        fields.problems.append("it has both a command and a url")
    elif command is None and url is None:
        fields.problems.append("it has neither a command nor a url")
    elif (transport == "stdio") != (command is not None):
        needed = "a command" if transport == "stdio" else "a url"
        fields.problems.append(f"its type is {transport}, which needs {needed}")
    elif url is not None and "${" not in url and (problem := url_problem(url)):
        fields.problems.append(f"url is {problem}")
    return transport


def _named_transports(fields: _Fields) -> list[Transport]:
    named: list[Transport] = []
    for name in ("type", "transport"):
        value = fields.text(name)
        if value is None:
            continue
        known = TRANSPORTS.get(value.lower())
        if known is None:
            fields.problems.append(f"{name} {shown(value, 40)} is unknown; known are stdio, http and sse")
        else:
            named.append(known)
    if len(set(named)) > 1:
        fields.problems.append("type and transport contradict each other")
    return named


def _ends_in_sse(url: str) -> bool:
    return url.partition("?")[0].partition("#")[0].rstrip("/").endswith("/sse")


def _headers(fields: _Fields) -> dict[str, str]:
    headers = fields.table("headers")
    fields.problems.extend(problem for name in headers if (problem := header_name_problem(name)))
    return headers


def _oauth(fields: _Fields) -> OAuthClient | None:
    client, found = parse_oauth(fields.entry.get("oauth"))
    fields.problems.extend(found)
    return client


def _options(fields: _Fields) -> ServerOptions:
    given = fields.entry.get("toolcrib")
    try:
        options = ServerOptions() if given is None else ServerOptions.model_validate(given)
    except ValidationError as error:
        fields.problems.extend(problems(error))
        return ServerOptions()
    # Some clients have a description of their own; the configured text serves here too.
    described = fields.entry.get("description")
    if isinstance(described, str) and "description" not in options.model_fields_set:
        return options.model_copy(update={"description": described})
    return options


def _unusable(key: str, found: list[str], origin: Path | None) -> ServerConfig:
    return ServerConfig(key=key, transport="stdio", origin=origin, error=_error(found, key))


def _error(found: list[str], key: str) -> ConfigError | None:
    if not found:
        return None
    unique = list(dict.fromkeys(found))
    return ConfigError(f"Server {shown(key)}: {'; '.join(unique)}.", hint="Correct its entry in the configuration.")


def _warnings(key: str, entry: Mapping[str, Any], options: ServerOptions) -> list[str]:
    who = f"Server {shown(key)}"
    unknown = [name for name in entry if name not in _OWN | _OTHERS | _LIMITS]
    if isinstance(oauth := entry.get("oauth"), Mapping):
        unknown += [f"oauth.{name}" for name in cast("Mapping[str, object]", oauth) if name not in OAUTH_KEYS]
    unknown += [f"toolcrib.{name}" for name in options.unknown()]
    limits = [name for name in entry if name in _LIMITS and not (name == "tools" and entry[name] == ["*"])]
    warnings: list[str] = []
    if unknown:
        warnings.append(f"{who}: {name_keys(unknown)} not known here; kept, without effect.")
    if limits:
        warnings.append(
            f"{who}: {name_keys(limits)} for another client; here, toolcrib.allow and toolcrib.deny hide tools."
        )
    return warnings


def name_keys(names: Sequence[str], limit: int = 8) -> str:
    """Names as the subject of a sentence, with its verb: `'a' and 'b' are`."""
    listed = [shown(name, 60) for name in names[:limit]]
    if len(names) > limit:
        listed.append(f"{len(names) - limit} more keys")
    subject = ", ".join(listed[:-1]) + (" and " if len(listed) > 1 else "") + listed[-1]
    return f"{subject} {'is' if len(names) == 1 else 'are'}"
