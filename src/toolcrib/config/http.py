"""The settings of serving over HTTP, and of who may do what: `http`, `principals` and `roles`.

A mistyped member could let in somebody for longer, or to more, than was meant, so unknown ones are errors here.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from toolcrib.config.objects import Strict

LOCAL = "local"
"""The principal that the local user is."""

EVERYBODY = "*"
"""The entry of `principals` for whoever has none."""

MOST_PER_MINUTE = 1_000_000

ConsoleRole = Literal["viewer", "approver", "admin"]
"""What a principal may do on the console: look; decide what waits, too; change things, too."""


def principal_name(name: str) -> str:
    """A principal's name, if it is one.

    Raises:
        ValueError: It is empty, longer than 200 characters, or has characters that nobody sees.
    """
    if not 0 < len(name) <= 200 or not name.isprintable() or name != name.strip():
        raise ValueError("must be a name of at most 200 visible characters")
    if name == EVERYBODY:
        raise ValueError(f"must not be {EVERYBODY}, which stands for everybody else")
    return name


def _web_url(url: str) -> str:
    if not url:
        return url
    parts = urlsplit(url)
    local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not parts.hostname or parts.fragment or not (parts.scheme == "https" or local):
        raise ValueError("must be an https URL, or an http one of this machine")
    return url


PrincipalName = Annotated[str, Field(strict=True), AfterValidator(principal_name)]
_Text = Annotated[str, Field(min_length=1, max_length=1_000, strict=True)]
_Url = Annotated[str, Field(max_length=2_000, strict=True), AfterValidator(_web_url)]
_Globs = tuple[_Text, ...]
_PerMinute = Annotated[int, Field(ge=1, le=MOST_PER_MINUTE, strict=True)]
Profile = Literal["discover", "all", "auto"]
"""What the gateway shows: the constant tools that lead to all others, every tool directly, or the one or the other."""

_FEWEST_FIRST: tuple[Profile, ...] = ("discover", "auto", "all")

_Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


class TokenSettings(Strict):
    """A bearer token, known by its digest alone.

    Attributes:
        name: What the token is called, to take it away again.
        sha256: The SHA-256 of the token, in hex.
        principal: Whose it is.
        expires: When it ends to work; null never.
        roles: Roles that its holder has beside those of the principal.
    """

    name: _Text
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", repr=False)]
    principal: PrincipalName
    expires: AwareDatetime | None = None
    roles: _Globs = ()


class OAuthSettings(Strict):
    """The `http.oauth` object of the settings: the tokens of an authorization server are let in.

    Attributes:
        issuer: The authorization server, as its tokens name it; empty lets in no such tokens.
        audience: What a token must be meant for; one of them suffices.
        resource: The URL under which clients know this server; without it the first audience that is a URL, else
            the URL of the request.
        jwks_url: Where the issuer's public keys are; empty finds it in the issuer's metadata.
        algorithms: The signatures that are accepted. Those with a shared secret never are.
        principal_claim: The member of a token that names the principal.
        scopes: Scopes that a token must have, all of them.
        roles: Roles by scope.
    """

    issuer: _Url = ""
    audience: Annotated[tuple[_Text, ...], Field(max_length=100)] = ()
    resource: _Url = ""
    jwks_url: _Url = ""
    algorithms: Annotated[tuple[_Algorithm, ...], Field(min_length=1)] = ("RS256", "PS256", "ES256", "EdDSA")
    principal_claim: _Text = "sub"
    scopes: tuple[Annotated[str, Field(pattern=r"^[!#-\[\]-~]{1,200}$")], ...] = ()
    roles: Mapping[str, _Globs] = Field(default_factory=dict[str, tuple[str, ...]])

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.issuer and not self.audience:
            raise ValueError("needs an audience: without one, tokens for other services would be let in")
        return self


class HttpSettings(Strict):
    """The `http` object of the settings: how the gateway serves over HTTP.

    Attributes:
        allowed_hosts: Values of the `Host` header that are let in, beside those of `--allow-host`.
        allowed_origins: The same for `Origin`.
        max_body_mb: Megabytes (2^20 bytes) that the body of a request may have.
        max_header_kb: Kilobytes (2^10 bytes) that its headers may have together.
        tokens: Bearer tokens that are let in, beside those that `toolcrib principals add` has made.
        oauth: Whose tokens are let in beside them.
        drain_seconds: Seconds that requests under way may take when the server is told to stop.
        metrics: Who gets `/metrics`: requests from this machine (`local`), whoever has a token, everybody (`open`), or
            nobody (`off`).
        console: Whether the console is served beside the gateway.
    """

    allowed_hosts: tuple[_Text, ...] = ()
    allowed_origins: tuple[_Text, ...] = ()
    max_body_mb: Annotated[int, Field(ge=1, le=1_024, strict=True)] = 4
    max_header_kb: Annotated[int, Field(ge=1, le=64, strict=True)] = 32
    tokens: tuple[TokenSettings, ...] = ()
    oauth: OAuthSettings = OAuthSettings()
    drain_seconds: Annotated[float, Field(ge=0, le=3_600, strict=True, allow_inf_nan=False)] = 5.0
    metrics: Literal["off", "local", "token", "open"] = "local"
    console: Annotated[bool, Field(strict=True)] = True


class PrincipalSettings(Strict):
    """What one principal may know of and use.

    Attributes:
        allow: Globs over tool ids; null leaves it to the roles, and where there are none, allows all.
        deny: Globs over tool ids that are never allowed, whatever `allow` and the roles say.
        roles: Roles whose lists count too.
        profile: What the gateway shows it where its path does not say; null leaves it to the roles.
        requests_per_minute: Requests over HTTP that are answered in a minute; null sets no bound.
        calls_per_minute: Calls of tools that are made in a minute, those of scripts too; null sets no bound.
        console: What it may do on the console; null leaves it to the roles, and where there are none, lets it in to
            nothing.
    """

    allow: _Globs | None = None
    deny: _Globs = ()
    roles: _Globs = ()
    profile: Profile | None = None
    requests_per_minute: _PerMinute | None = None
    calls_per_minute: _PerMinute | None = None
    console: ConsoleRole | None = None


class RoleSettings(Strict):
    """What a role lets its holders know of and use.

    Attributes:
        allow: Globs over tool ids.
        deny: Globs over tool ids that its holders may not use, whatever else lets them.
        console: What its holders may do on the console.
        profile: What the gateway shows those of its holders who have none of their own.
    """

    allow: _Globs = ()
    deny: _Globs = ()
    console: ConsoleRole | None = None
    profile: Profile | None = None


def entry_of(principals: Mapping[str, PrincipalSettings], name: str) -> PrincipalSettings | None:
    """The entry that counts for a principal: its own; else that of everybody, which the local user is not part of."""
    return principals.get(name) or (None if name == LOCAL else principals.get(EVERYBODY))


def roles_of(
    principals: Mapping[str, PrincipalSettings], roles: Mapping[str, RoleSettings], name: str, more: Iterable[str]
) -> list[RoleSettings]:
    """The roles that count for a principal: those of its entry, and those that its token gave it.

    Args:
        principals: By name.
        roles: By name; one that is not there allows nothing.
        name: The principal's.
        more: Names of the roles of its token.
    """
    entry = entry_of(principals, name)
    names = dict.fromkeys([*(() if entry is None else entry.roles), *more])
    return [roles.get(each, RoleSettings()) for each in names]


def profile_of(
    principals: Mapping[str, PrincipalSettings], roles: Mapping[str, RoleSettings], name: str, more: Iterable[str]
) -> Profile | None:
    """The profile that a principal gets, None where nothing is said of it; takes what `roles_of` takes.

    It is the principal's own; else, of those of its roles, the one that shows the fewest tools.
    """
    entry = entry_of(principals, name)
    if entry is not None and entry.profile is not None:
        return entry.profile
    said = {role.profile for role in roles_of(principals, roles, name, more)}
    return next((each for each in _FEWEST_FIRST if each in said), None)
