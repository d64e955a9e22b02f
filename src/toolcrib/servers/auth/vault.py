"""Where logins are kept: in the system's keyring, or where there is none in files that only their owner can read.

Each login has a small file in the folder in any case. It names the issuer, and says where the secret part is; since
it is replaced with every change, whoever shares the folder can tell a new login from an old one by looking at it.
"""

import hashlib
import json
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast
from urllib.parse import urlsplit, urlunsplit

import anyio

from toolcrib.catalog import JsonObject
from toolcrib.errors import StoreError
from toolcrib.files import make_folder, try_lock, write_whole

KEYRING_SERVICE = "toolcrib"

Place = Literal["keyring", "file"]
"""Where the secret part of a login is."""

Version = tuple[int, int, int] | None
"""Tells one state of a login from another; None while there is none."""

_EARLY_SECONDS = 30.0
_EARLY_SHARE = 0.1
"""A token is renewed so long before it expires, or at this share of its life where that is shorter."""

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True, repr=False)
class StoredLogin:
    """One login. Holds secrets: its `repr` shows none, and neither must you.

    Attributes:
        issuer: The authorization server.
        client: The client's registration there, as the SDK models it.
        tokens: What it granted, as the SDK models it; empty once it refused to renew them.
        renew_at: When to renew them, in seconds since the epoch; None when they say nothing of their end.
        metadata: The authorization server's metadata (RFC 8414); empty where it has none.
        resource: The protected resource's metadata (RFC 9728); empty where there is none.
    """

    issuer: str
    client: JsonObject
    tokens: JsonObject
    renew_at: float | None
    metadata: JsonObject
    resource: JsonObject

    @property
    def access_token(self) -> str | None:
        """What is sent to the server."""
        return self.tokens.get("access_token")

    @property
    def renewable(self) -> bool:
        """Whether new tokens can be had without a person."""
        return bool(self.tokens.get("refresh_token"))

    @property
    def scope(self) -> str:
        """The scopes granted, separated by blanks; empty where nothing is said of them."""
        return self.tokens.get("scope") or ""

    @property
    def due(self) -> bool:
        """Whether the tokens are to be renewed before they are used."""
        return self.renew_at is not None and time.time() >= self.renew_at

    def __repr__(self) -> str:
        return f"StoredLogin(issuer={self.issuer!r})"


def renewal_time(expires_in: int | None) -> float | None:
    """When to renew tokens that were granted just now for so many seconds."""
    if expires_in is None:
        return None
    return time.time() + expires_in - min(_EARLY_SECONDS, expires_in * _EARLY_SHARE)


class Keyring(Protocol):
    """What is used of the library `keyring`."""

    def get_password(self, service: str, username: str) -> str | None:
        """The password, or None."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store it."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Remove it."""
        ...


def usable_keyring() -> Keyring | None:
    """The system's keyring, or None where there is none, as on most machines without a desktop."""
    try:
        import keyring

        backend = keyring.get_keyring()
        return cast("Keyring", backend) if backend.priority > 0 else None
    except Exception:  # back-ends raise errors of their own libraries (D-Bus, Win32, Keychain)
        return None


class Vault:
    """The logins of one user, one a server and authorization server; several processes may share them.

    Two servers at one address have two logins, for they may be two accounts. All methods may block, save `version`.

    Args:
        folder: Created, for its owner alone, with the first login.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[tuple[str, str], Path] = {}

    def version(self, server: str, url: str) -> Version:
        """Which login there is now; one look at a file."""
        try:
            return _version(os.stat(self._path(server, url)))
        except OSError:
            return None

    def load(self, server: str, url: str) -> tuple[StoredLogin | None, Version]:
        """The login, if there is one, and its version.

        Args:
            server: The server's id.
            url: Its address, variables filled in.

        Raises:
            StoreError: There is one, but it can't be read.
        """
        entry, version = self._entry(server, url)
        if entry is None:
            return None, version
        try:
            secret = cast("JsonObject", entry["secret"] if entry["kept_in"] == "file" else self._secret(entry))
            login = StoredLogin(
                issuer=entry["issuer"],
                client=secret["client"],
                tokens=secret["tokens"],
                renew_at=secret["renew_at"],
                metadata=entry["metadata"],
                resource=entry["resource"],
            )
        except (KeyError, TypeError, ValueError):
            raise StoreError(f"The stored login of {server} is damaged.", hint=_log_in(server)) from None
        return login, version

    def save(self, server: str, url: str, login: StoredLogin) -> Place:
        """Store a login in place of the one before, and tell where its secret part is.

        Raises:
            StoreError: The folder can't be written.
        """
        path = self._path(server, url)
        account = f"oauth {path.stem} {login.issuer}"
        secret = {"client": login.client, "tokens": login.tokens, "renew_at": login.renew_at}
        before = self._account(server, url)
        place: Place = "keyring" if _keep(account, json.dumps(secret)) else "file"
        entry: dict[str, Any] = {
            "server": server,
            "issuer": login.issuer,
            "kept_in": place,
            "account": account,
            "metadata": login.metadata,
            "resource": login.resource,
        }
        if place == "file":
            entry["secret"] = secret
        self._write(path, entry)
        if before is not None and (before != account or place == "file"):
            _drop(before)
        return place

    def forget(self, server: str, url: str) -> bool:
        """Remove a login; whether there was one.

        Raises:
            StoreError: It can't be removed.
        """
        account = self._account(server, url)
        path = self._path(server, url)
        existed = path.exists()
        try:
            path.unlink(missing_ok=True)
            self._wanted_path(server, url).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"The login of {server} can't be removed: {error.strerror}.") from error
        if account is not None:
            _drop(account)
        return existed

    def want(self, server: str, url: str, scope: str) -> None:
        """Note scopes that a server asked for beyond those of its login, for the next login to ask for."""
        with suppress(StoreError):  # costs only a second login
            self._write(self._wanted_path(server, url), {"scope": scope})

    def wanted(self, server: str, url: str) -> str:
        """The scopes noted by `want` since the last login; empty when there are none."""
        try:
            return str(json.loads(self._wanted_path(server, url).read_bytes())["scope"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def met(self, server: str, url: str) -> None:
        """Forget what `want` noted."""
        with suppress(OSError):
            self._wanted_path(server, url).unlink(missing_ok=True)

    @asynccontextmanager
    async def locked(self, server: str, url: str) -> AsyncGenerator[None]:
        """Keep all other processes from changing the login meanwhile; where files can't be locked, nobody is kept.

        Two that renew the same tokens at once would be taken for a thief and its victim, and both be logged out
        (RFC 9700, 4.14.2).
        """
        try:
            self._prepare()
            descriptor = os.open(self._path(server, url).with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            yield
            return
        try:
            while not try_lock(descriptor):  # noqa: ASYNC110 - another process lets go of it, and sets no event
                await anyio.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    def _entry(self, server: str, url: str) -> tuple[dict[str, Any] | None, Version]:
        try:
            with open(self._path(server, url), "rb") as file:
                version = _version(os.fstat(file.fileno()))
                entry = json.loads(file.read())
        except FileNotFoundError:
            return None, None
        except (OSError, ValueError):
            raise StoreError(f"The stored login of {server} can't be read.", hint=_log_in(server)) from None
        return (cast("dict[str, Any]", entry), version) if isinstance(entry, dict) else ({}, version)

    def _account(self, server: str, url: str) -> str | None:
        """The account in the keyring that the stored login names."""
        with suppress(StoreError):
            entry, _ = self._entry(server, url)
            if entry is not None and entry.get("kept_in") == "keyring":
                return entry.get("account")
        return None

    def _secret(self, entry: dict[str, Any]) -> Any:
        server = entry["server"]
        keyring = usable_keyring()
        try:
            text = None if keyring is None else keyring.get_password(KEYRING_SERVICE, entry["account"])
        except Exception as error:  # see usable_keyring
            raise StoreError(
                f"The login of {server} is in the system's keyring, which can't be read ({type(error).__name__}).",
                hint=f"Unlock it. {_log_in(server)}",
            ) from None
        if text is None:
            raise StoreError(f"The system's keyring no longer holds the login of {server}.", hint=_log_in(server))
        return json.loads(text)

    def _write(self, path: Path, entry: dict[str, Any]) -> None:
        try:
            self._prepare()
            write_whole(path, [json.dumps(entry).encode()], durable=True)
        except OSError as error:
            raise StoreError(
                f"Logins can't be stored: {self._folder}: {error.strerror}.",
                hint="TOOLCRIB_STATE_DIR names another folder.",
            ) from error

    def _prepare(self) -> None:
        make_folder(self._folder)
        os.chmod(self._folder, 0o700)

    def _path(self, server: str, url: str) -> Path:
        path = self._paths.get((server, url))
        if path is None:  # kept, since every request to a server looks at its file
            parts = urlsplit(url)
            place = urlunsplit(parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment=""))
            name = f"{server}-{hashlib.sha256(place.encode()).hexdigest()[:32]}.json"
            path = self._paths[server, url] = self._folder / name
        return path

    def _wanted_path(self, server: str, url: str) -> Path:
        return self._path(server, url).with_suffix(".wanted")


def _log_in(server: str) -> str:
    return f"toolcrib servers login {server} logs in anew."


def _version(found: os.stat_result) -> Version:
    return found.st_mtime_ns, found.st_ino, found.st_size


def _keep(account: str, text: str) -> bool:
    """Put a password into the keyring; False where there is none, or it does not take it (Windows' is bounded)."""
    keyring = usable_keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(KEYRING_SERVICE, account, text)
    except Exception:  # see usable_keyring
        return False
    return True


def _drop(account: str) -> None:
    keyring = usable_keyring()
    if keyring is not None:
        with suppress(Exception):  # see usable_keyring; it may be gone already
            keyring.delete_password(KEYRING_SERVICE, account)
