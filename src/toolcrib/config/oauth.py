"""The `oauth` object of a server's entry, as VS Code and Claude Code have it: the client that Toolcrib logs in as."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The client that Toolcrib is, where a service wants one that was registered by hand.

    Attributes:
        client_id: Its id; an https URL is that of a client metadata document. None lets Toolcrib register itself.
        client_secret: Its secret, if it has one.
        callback_port: The port of the redirect address that was registered; None takes a free one.
    """

    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    callback_port: int | None = None


KNOWN = {"clientId", "clientSecret", "callbackPort"}


def parse_oauth(value: object) -> tuple[OAuthClient | None, list[str]]:
    """Read the object.

    Returns:
        The client, or None where there is no object, and what is wrong with it.
    """
    if value is None or isinstance(value, bool):  # some clients switch it on or off; here it is always on
        return None, []
    if not isinstance(value, Mapping):
        return None, ["oauth must be an object"]
    given = cast("Mapping[str, Any]", value)
    found: list[str] = []
    texts: dict[str, str | None] = {}
    for name in ("clientId", "clientSecret"):
        text = given.get(name)
        if text is not None and not (isinstance(text, str) and text.strip()):
            found.append(f"oauth.{name} must be a text")
        texts[name] = text if isinstance(text, str) else None
    if texts["clientSecret"] is not None and texts["clientId"] is None:
        found.append("oauth.clientSecret needs oauth.clientId")
    port = given.get("callbackPort")
    if port is not None and not (isinstance(port, int) and not isinstance(port, bool) and 0 < port < 65_536):
        found.append("oauth.callbackPort must be a port, 1 to 65535")
        port = None
    return OAuthClient(texts["clientId"], texts["clientSecret"], port), found
