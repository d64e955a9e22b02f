"""`ServerConfig`: a server's entry as written; `ResolvedServer`: the same with its variables filled in."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from toolcrib.config.dotenv import read_env_file
from toolcrib.config.models import ServerOptions
from toolcrib.config.oauth import OAuthClient
from toolcrib.config.variables import Expander, Variables
from toolcrib.errors import ConfigError, shown

Transport = Literal["stdio", "http", "sse"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2: token
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # RFC 9110, 5.5: field-value


@dataclass(frozen=True, repr=False)
class ServerConfig:
    """One server's entry, as it was written: no variable is expanded.

    Attributes:
        key: The entry's key.
        transport: How to talk to it.
        command: What to start; None for a remote server.
        args: The command's arguments.
        env: The command's own environment variables.
        cwd: The folder to start it in.
        env_file: A file of further environment variables; `env` wins over it.
        url: Where a remote server is; None for a local one.
        headers: HTTP headers for a remote server.
        oauth: The client to log in as; None leaves that to Toolcrib.
        disabled: Whether the entry is switched off.
        options: Toolcrib's own options.
        unknown: Members that Toolcrib does not use, as written.
        origin: The file; None when the configuration was no file.
        error: Why the entry can't be used, or None.
    """

    key: str
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None
    env_file: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    oauth: OAuthClient | None = None
    disabled: bool = False
    options: ServerOptions = field(default_factory=ServerOptions)
    unknown: Mapping[str, Any] = field(default_factory=dict[str, Any])
    origin: Path | None = None
    error: ConfigError | None = None

    @cached_property
    def config_hash(self) -> str:
        """32 hex digits over what identifies the server; its snapshot is filed under them.

        Descriptions, tags, limits and the like don't change it, nor do the values of variables.
        """
        identity = [
            self.transport,
            self.command,
            list(self.args),
            dict(self.env),
            self.cwd,
            self.env_file,
            self.url,
            dict(self.headers),
            self.options.protocol,
            str(self.base) if self._depends_on_place else None,
        ]
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def resolve(self, variables: Variables | None = None) -> "ResolvedServer":
        """Fill the variables in, as is done each time a server is connected to.

        May block, since it can read a file, open the keyring or ask the user.

        Args:
            variables: Where their values come from; by default the environment and the system's keyring.

        Raises:
            ConfigError: The entry can't be used, or a variable has no value. It names the server, the field
                and the variable, never a value.
        """
        if self.error is not None:
            raise ConfigError(self.error.message, hint=self.error.hint)
        filled = _Filled(self.key, Expander(variables or Variables(), _project(self.origin)))
        env: dict[str, str] = {}
        if self.env_file is not None:
            path = self.base / filled.path("envFile", self.env_file)
            env |= read_env_file(path, filled.where("envFile"))
        env |= filled.env(self.env)
        return ResolvedServer(
            key=self.key,
            transport=self.transport,
            command=None if self.command is None else filled.path("command", self.command),
            args=tuple(filled.text(f"args[{place}]", text) for place, text in enumerate(self.args)),
            env=env,
            cwd=None if self.cwd is None else self.base / filled.path("cwd", self.cwd),
            url=None if self.url is None else filled.url(self.url),
            headers=filled.headers(self.headers),
            oauth=None if self.oauth is None else filled.oauth(self.oauth),
            private=tuple(filled.private),
        )

    def unfilled(self, variables: Variables | None = None) -> list[ConfigError]:
        """What keeps each field from being filled in, one error a field at most. May block.

        Args:
            variables: As for `resolve`.
        """
        expander = Expander(variables or Variables(), _project(self.origin))
        errors: dict[str, ConfigError] = {}
        for name, text in self._fields():
            try:
                expander.expand(text, f"{self.key}, {name}")
            except ConfigError as error:
                errors.setdefault(error.message, error)
        return list(errors.values())

    def _fields(self) -> Iterator[tuple[str, str]]:
        """Every text that may hold variables, with the name of its field."""
        alone = {"command": self.command, "cwd": self.cwd, "envFile": self.env_file, "url": self.url}
        for name, text in alone.items():
            if text is not None:
                yield name, text
        for place, text in enumerate(self.args):
            yield f"args[{place}]", text
        for name, text in self.env.items():
            yield f"env.{name}", text
        for name, text in self.headers.items():
            yield f"headers.{name}", text

    @property
    def base(self) -> Path:
        """Where a relative `cwd` or `envFile` starts: the project, else the file's folder, else here."""
        return _project(self.origin) or (self.origin.parent if self.origin else Path.cwd())

    @property
    def _depends_on_place(self) -> bool:
        """Whether the same entry in another folder is another server."""
        if any(path and not path.startswith(("/", "~", "${")) for path in (self.cwd, self.env_file)):
            return True
        texts = (self.command, self.cwd, self.env_file, self.url, *self.args, *self.env.values())
        return any(text and "${workspaceFolder" in text for text in texts)

    def __repr__(self) -> str:
        return f"ServerConfig({_shown_safely(self)})"


@dataclass(frozen=True, slots=True, repr=False)
class ResolvedServer:
    """What it takes to connect to one server. Holds secrets: its `repr` shows none, and neither must you.

    Attributes:
        key: The entry's key.
        transport: How to talk to it.
        command: What to start; None for a remote server.
        args: The command's arguments.
        env: The command's own environment variables, those of `envFile` included.
        cwd: The folder to start it in.
        url: Where a remote server is; None for a local one.
        headers: HTTP headers for a remote server.
        oauth: The client to log in as; None leaves that to Toolcrib.
        private: Name and value of everything that was filled in and may be secret.
    """

    key: str
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    oauth: OAuthClient | None = None
    private: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"ResolvedServer({_shown_safely(self)})"


class _Filled:
    """The fields of one entry with their variables filled in and their values checked."""

    def __init__(self, key: str, expander: Expander) -> None:
        self._key = key
        self._expander = expander

    @property
    def private(self) -> list[tuple[str, str]]:
        return self._expander.private

    def where(self, name: str) -> str:
        return f"Server {shown(self._key)}, {name}"

    def text(self, name: str, raw: str) -> str:
        text = self._expander.expand(raw, self.where(name))
        if "\x00" in text:
            raise ConfigError(f"{self.where(name)}: a NUL character can't be passed on.", hint="Remove it.")
        return text

    def path(self, name: str, raw: str) -> str:
        return os.path.expanduser(self.text(name, raw))

    def env(self, raw: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(f"env.{name}", value) for name, value in raw.items()}

    def url(self, raw: str) -> str:
        url = self.text("url", raw).strip()
        if problem := url_problem(url):
            raise ConfigError(f"{self.where('url')}: {problem}.", hint="It starts with https:// or http://.")
        return url

    def oauth(self, raw: OAuthClient) -> OAuthClient:
        return OAuthClient(
            None if raw.client_id is None else self.text("oauth.clientId", raw.client_id).strip(),
            None if raw.client_secret is None else self.text("oauth.clientSecret", raw.client_secret).strip(),
            raw.callback_port,
        )

    def headers(self, raw: Mapping[str, str]) -> dict[str, str]:
        filled: dict[str, str] = {}
        for name, value in raw.items():
            # A token read from a file often ends in a newline, which is no part of it.
            text = self.text(f"headers.{name}", value).strip()
            if not _HEADER_VALUE.fullmatch(text):
                raise ConfigError(
                    f"{self.where(f'headers.{name}')}: the value has a character that HTTP does not allow.",
                    hint="Look for a line break or a typographic character in it.",
                )
            filled[name] = text
        return filled


def url_problem(url: str) -> str | None:
    """What keeps a URL from being that of a server, or None."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme.lower() in {"http", "https"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    return None if usable else "not the URL of an HTTP server"


def header_name_problem(name: str) -> str | None:
    """What keeps a text from being an HTTP header's name, or None."""
    return None if _HEADER_NAME.fullmatch(name) else f"{shown(name)} is no header name"


def _project(origin: Path | None) -> Path | None:
    """The project of a configuration file that clients keep inside projects, as they find it themselves."""
    if origin is None:
        return None
    if origin.name == ".mcp.json":
        return origin.parent
    folder = origin.parent.parent
    inside = origin.parent.name in {".vscode", ".cursor"}
    return folder if inside and str(folder) != os.path.expanduser("~") else None


def _shown_safely(server: ServerConfig | ResolvedServer) -> str:
    return ", ".join(_facts(server))


def _facts(server: ServerConfig | ResolvedServer) -> Iterator[str]:
    yield f"key={server.key!r}"
    yield f"transport={server.transport!r}"
    if server.command is not None:
        yield f"command={server.command!r}"
    if server.args:
        yield f"args=<{len(server.args)}>"
    if server.url is not None:
        yield f"url={_host(server.url)!r}"
    if server.env:
        yield f"env=<{', '.join(server.env)}>"
    if server.headers:
        yield f"headers=<{', '.join(server.headers)}>"
    if isinstance(server, ServerConfig) and server.error is not None:
        yield f"error={server.error.message!r}"


def _host(url: str) -> str:
    # Paths, queries and user names of URLs are where services put their keys.
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}"
    except ValueError:
        return "..."
