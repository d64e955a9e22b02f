"""How one server and its login stand: the login in use, and what the server wants when it lets nobody in."""

from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from toolcrib.errors import StoreError
from toolcrib.servers.auth.need import Need, tell
from toolcrib.servers.auth.vault import StoredLogin, Vault, Version

if TYPE_CHECKING:
    import httpx2

    from toolcrib.config import ResolvedServer
    from toolcrib.redact import Secrets

_LOGIN_HINT = "`toolcrib servers login {}` logs in."


class Standing:
    """How one server and its login stand, for as long as the server is known.

    A browser is never opened from here: what a server wants is said, and a person does it.

    Args:
        server: The server's id.
        vault: Where logins are kept.
        secrets: Told of tokens, which must not be shown.
    """

    def __init__(self, server: str, vault: Vault, secrets: "Secrets") -> None:
        self.server = server
        self.need: Need | None = None
        self._vault = vault
        self._secrets = secrets
        self._url = ""
        self._login: StoredLogin | None = None
        self._seen: Version = None
        self._trouble: StoreError | None = None
        self._refused = ""
        self._configured = False
        self._lock = anyio.Lock()

    @property
    def outdated(self) -> bool:
        """Whether the need may have been met since: there is another login, or something other than one was needed."""
        return self.need is None or not self.need.by_login or self._vault.version(self.server, self._url) != self._seen

    def auth_for(self, resolved: "ResolvedServer") -> "httpx2.Auth | None":
        """What puts the stored login into requests; None where the configuration has credentials of its own."""
        from toolcrib.servers.auth.bearer import StoredTokens

        assert resolved.url is not None
        self.need, self._url = None, resolved.url
        self._configured = "@" in urlsplit(resolved.url).netloc or any(
            name.lower() == "authorization" for name in resolved.headers
        )
        if self._configured:
            return None
        return StoredTokens(self, resolved.url)

    async def current(self) -> StoredLogin | None:
        """The login as it is stored now; None where there is none that can be read."""
        if self._vault.version(self.server, self._url) != self._seen or self._trouble is not None:
            await self._load()
        return self._login

    async def renewed(self, stale: StoredLogin) -> StoredLogin | None:
        """A login in place of one that has expired or was refused; None where a person has to log in.

        What another task or process has renewed meanwhile is taken. Cancelling waits for a renewal that is under
        way: its tokens would be lost, and the old ones don't count any more.

        Raises:
            httpx2.HTTPError: The authorization server can't be reached, or is out of order.
        """
        async with self._lock, self._vault.locked(self.server, self._url):
            await self._load()
            login = self._login
            if login is None or login.access_token is None:
                return None
            if login.access_token != stale.access_token:
                return login
            if not login.renewable:
                return None
            from toolcrib.servers.auth.renewal import RenewalRefusedError, renew

            with anyio.CancelScope(shield=True):
                try:
                    await self._save(await renew(self._url, login))
                except RenewalRefusedError as refusal:
                    self._refused = str(refusal)
                    await self._save(refusal.without_tokens)
            return None if self._refused else self._login

    async def note(self, response: "httpx2.Response") -> None:
        """Note what a response of the server says of who may ask."""
        from toolcrib.servers.auth.bearer import insufficient_scope

        scope = insufficient_scope(response)
        if response.status_code == 401:
            need = self._configured_need(401) if self._configured else self._login_need()
        elif scope is not None and self._configured:
            need = self._configured_need(403)
        elif scope is not None:
            await anyio.to_thread.run_sync(self._vault.want, self.server, self._url, scope)
            wanted = f": {scope}" if scope else ""
            need = self._need(f"{self.server} wants more rights than its login has{wanted}.", closed=False)
        else:
            return
        self.need = need
        tell(need)

    def _login_need(self) -> Need:
        if self._trouble is not None:
            return Need(self.server, self._trouble.message, self._trouble.hint)
        if self._refused:
            return self._need(f"The login to {self.server} has ended, and could not be renewed ({self._refused}).")
        if self._login is not None:
            return self._need(f"{self.server} does not accept its stored login any more.")
        return self._need(f"{self.server} wants a login (HTTP status 401).")

    def _need(self, reason: str, *, closed: bool = True) -> Need:
        return Need(self.server, reason, _LOGIN_HINT.format(self.server), closed=closed)

    def _configured_need(self, status: int) -> Need:
        return Need(
            self.server,
            f"{self.server} does not accept the credentials of its configuration (HTTP status {status}).",
            f"Correct its `headers`; without an Authorization header, `toolcrib servers login {self.server}` logs in.",
            closed=status == 401,
            by_login=False,
        )

    async def _load(self) -> None:
        try:
            self._login, self._seen = await anyio.to_thread.run_sync(self._vault.load, self.server, self._url)
            self._trouble = None
        except StoreError as error:
            self._login, self._trouble = None, error
            self._seen = self._vault.version(self.server, self._url)
        if self._login is not None:
            if self._login.access_token is not None:
                self._refused = ""
            self._keep_secret(self._login)

    async def _save(self, login: StoredLogin) -> None:
        self._keep_secret(login)
        with suppress(StoreError):  # it serves this process; the next one will have to log in
            await anyio.to_thread.run_sync(self._vault.save, self.server, self._url, login)
        self._login, self._seen = login, self._vault.version(self.server, self._url)

    def _keep_secret(self, login: StoredLogin) -> None:
        for found in (login.tokens, login.client):
            for name in ("access_token", "refresh_token", "client_secret"):
                if value := found.get(name):
                    self._secrets.add(value, name=name)
