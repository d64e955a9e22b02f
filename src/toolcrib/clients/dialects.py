"""What a client's entry means, written as an entry of Toolcrib's own configuration."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.clients.known import Client
from toolcrib.config.entry import looks_like_entry

_DOLLAR = re.compile(r"\$(?:\{(?P<braced>[^{}]*)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))")


@dataclass(frozen=True, slots=True)
class Translated:
    """An entry in Toolcrib's form.

    Attributes:
        entry: It; None where the client alone can run that server.
        note: Why it can't be taken over, or what its user should know; empty when there is nothing to say.
    """

    entry: Mapping[str, Any] | None
    note: str = ""


def translated(client: Client, entry: object) -> Translated:
    """An entry of a client's file in Toolcrib's form.

    Args:
        client: Whose file it is.
        entry: The entry as written.
    """
    if not isinstance(entry, Mapping):
        return Translated(None, "its entry is no object")
    written: Mapping[str, Any] = _with_our_variables(client, entry)
    rule = _RULES.get(client.id)
    found = rule(written) if rule else Translated(written)
    if found.entry is not None and not looks_like_entry(found.entry):
        return Translated(None, "its entry has neither a command nor a url")
    try:
        json.dumps(found.entry, allow_nan=False)
    except (TypeError, ValueError):  # a date of TOML or YAML, a number beyond all floats
        return Translated(None, "its entry holds a value that JSON has no form for")
    return found


def _codex(entry: Mapping[str, Any]) -> Translated:
    made = _kept(entry, "command", "args", "cwd", "url")
    headers = {**_table(entry, "http_headers")}
    headers |= {name: f"${{env:{variable}}}" for name, variable in _table(entry, "env_http_headers").items()}
    if bearer := entry.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{env:{bearer}}}"
    env = {**_table(entry, "env")}
    env |= {name: f"${{env:{name}}}" for name in _names(entry, "env_vars", of="name")}
    options = {
        "start_timeout": _seconds(entry, "startup_timeout_sec") or _seconds(entry, "startup_timeout_ms", 1000),
        "timeout": _seconds(entry, "tool_timeout_sec"),
        "allow": entry.get("enabled_tools"),
        "deny": entry.get("disabled_tools"),
    }
    return Translated(_complete(made, env, headers, options, off=entry.get("enabled") is False))


def _gemini(entry: Mapping[str, Any]) -> Translated:
    made = _kept(entry, "command", "args", "cwd", "type", "description", "oauth")
    if "httpUrl" in entry:
        made |= {"url": entry["httpUrl"], "type": "http"}
    elif "url" in entry:
        made |= {"url": entry["url"], "type": entry.get("type", "sse")}
    options = {
        "timeout": _seconds(entry, "timeout", 1000),
        "allow": entry.get("includeTools"),
        "deny": entry.get("excludeTools"),
    }
    return Translated(_complete(made, _table(entry, "env"), _table(entry, "headers"), options))


def _zed(entry: Mapping[str, Any]) -> Translated:
    command = entry.get("command")
    if isinstance(command, Mapping):  # as versions before 2025-10 wrote it
        started = cast("Mapping[str, Any]", command)
        made = {"command": started.get("path"), **_kept(started, "args")}
        env = _table(started, "env")
    elif "command" in entry or "url" in entry:
        made = _kept(entry, "command", "args", "url")
        env = _table(entry, "env")
    else:
        return Translated(None, "it belongs to an extension of Zed")
    return Translated(_complete(made, env, _table(entry, "headers"), {}, off=entry.get("enabled") is False))


def _goose(entry: Mapping[str, Any]) -> Translated:
    kinds = {"stdio": "stdio", "sse": "sse", "streamable_http": "http"}
    kind = kinds.get(str(entry.get("type")))
    if kind is None:
        return Translated(None, "it is built into Goose")
    made: dict[str, Any] = {"type": kind, **_kept(entry, "args", "cwd", "description")}
    made |= {"command": entry.get("cmd")} if kind == "stdio" else {"url": entry.get("uri")}
    keys = _names(entry, "env_keys")
    env = {name: f"${{env:{name}}}" for name in keys} | _table(entry, "envs")
    options = {"timeout": _seconds(entry, "timeout"), "allow": entry.get("available_tools") or None}
    note = ""
    if unset := [name for name in keys if name not in _table(entry, "envs")]:
        note = f"Goose keeps {', '.join(unset)} in a store of its own, which Toolcrib does not read"
    off = entry.get("enabled") is False
    return Translated(_complete(made, env, _table(entry, "headers"), options, off=off), note)


def _copilot(entry: Mapping[str, Any]) -> Translated:
    made = {name: value for name, value in entry.items() if name != "tools"}
    tools = _names(entry, "tools")
    options = {"allow": tools if tools != ["*"] and "tools" in entry else None}
    return Translated(_complete(made, _table(entry, "env"), _table(entry, "headers"), options))


def _windsurf(entry: Mapping[str, Any]) -> Translated:
    made = {name: value for name, value in entry.items() if name not in {"disabledTools", "serverUrl"}}
    if "serverUrl" in entry:
        made["url"] = entry["serverUrl"]
    options = {"deny": entry.get("disabledTools")}
    return Translated(_complete(made, _table(entry, "env"), _table(entry, "headers"), options))


_RULES: Mapping[str, Callable[[Mapping[str, Any]], Translated]] = {
    "codex": _codex,
    "gemini-cli": _gemini,
    "zed": _zed,
    "goose": _goose,
    "copilot-cli": _copilot,
    "windsurf": _windsurf,
}
"""Clients whose entries are of another form than `command`, `args`, `env`, `url`, `headers`."""


def _kept(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: entry[name] for name in names if entry.get(name) is not None}


def _names(entry: Mapping[str, Any], name: str, of: str = "") -> list[str]:
    """The texts of a list; of its objects, the member that is called like `of`."""
    value = entry.get(name)
    found: list[str] = []
    for each in cast("list[object]", value) if isinstance(value, list) else []:
        text = cast("Mapping[str, object]", each).get(of) if isinstance(each, Mapping) else each
        found += [text] if isinstance(text, str) else []
    return found


def _seconds(entry: Mapping[str, Any], name: str, in_one: int = 1) -> float | None:
    """A span of time in seconds, of which `in_one` parts make one; None for what is none."""
    value: object = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return None
    return value if in_one == 1 else value / in_one


def _table(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = entry.get(name)
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else {}


def _complete(
    made: Mapping[str, Any],
    env: Mapping[str, Any],
    headers: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    off: bool = False,
) -> dict[str, Any]:
    entry = {**made}
    entry |= {name: value for name, value in (("env", env), ("headers", headers)) if value}
    if off:
        entry["disabled"] = True
    own = {name: value for name, value in options.items() if value is not None}
    if own:
        entry["toolcrib"] = {**own, **_table(made, "toolcrib")}
    return entry


def _with_our_variables(client: Client, value: Any) -> Any:
    """A value with the client's variables in its texts written as Toolcrib's, and what only looks like one escaped."""
    if isinstance(value, str):
        match client.expands:
            case "braces":
                return value
            case "dollar":
                return _DOLLAR.sub(lambda found: f"${{{found['braced'] or found['bare']}}}", value)
            case "none":
                return value.replace("${", "$${")
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {key: _with_our_variables(client, member) for key, member in members.items()}
    if isinstance(value, list):
        return [_with_our_variables(client, each) for each in cast("list[Any]", value)]
    return value
