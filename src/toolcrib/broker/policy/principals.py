"""The lists of principals and roles: what each principal may know of and use."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from toolcrib.broker.call import Call, Principal
from toolcrib.broker.policy.rules import Globs, is_wild
from toolcrib.broker.policy.seam import Decision
from toolcrib.config import PrincipalSettings, RoleSettings, Settings, entry_of, roles_of

_MOST_KEPT = 1_000
"""Principals whose lists are kept ready; an authorization server may know any number."""


class _Lists(NamedTuple):
    """What counts for one principal.

    Attributes:
        allow: What may be used; None for all.
        deny: What of it may not.
    """

    allow: Globs | None
    deny: Globs

    def has(self, tool_id: str) -> bool:
        return (self.allow is None or self.allow.fit(tool_id)) and not self.deny.fit(tool_id)

    def may_have_of(self, server: str) -> bool:
        """Whether a tool of a server could be allowed."""
        some = self.allow is None or any(_may_begin(glob, f"{server}.") for glob in self.allow.texts)
        return some and not self.deny.take_in(server)

    def has_all_of(self, server: str) -> bool:
        """Whether every tool that a server may ever have is allowed, but for some that are denied by name."""
        return (self.allow is None or self.allow.take_in(server)) and not self.deny.take_in(server)


class PrincipalLists:
    """The configured lists, made ready a principal at a time.

    A principal's own `allow` list and those of its roles add up; what one of the `deny` lists has is not allowed. A
    role that is not configured allows nothing.

    Args:
        principals: By name.
        roles: By name.
    """

    def __init__(self, principals: Mapping[str, PrincipalSettings], roles: Mapping[str, RoleSettings]) -> None:
        self._principals = principals
        self._roles = roles
        self._is_empty = not principals and not roles
        self._ready: dict[Principal, _Lists] = {}

    def concern(self, principal: Principal) -> bool:
        """Whether there is anything to look at for a principal."""
        return bool(principal.roles) or not self._is_empty

    def hides(self, principal: Principal, server: str, tool_id: str | None) -> bool:
        """Whether a tool is outside of what a principal may know of; without one, whether all of the server is."""
        if not self.concern(principal):
            return False
        lists = self._of(principal)
        return not (lists.may_have_of(server) if tool_id is None else lists.has(tool_id))

    def denied(self, call: Call) -> Decision | None:
        """The decision to deny a call that the lists of its principal leave out. What is no call of a tool needs the
        whole server."""
        principal = call.caller.principal
        if not self.concern(principal):
            return None
        lists = self._of(principal)
        if lists.has_all_of(call.source) if call.tool is None else lists.has(call.tool.id):
            return None
        what = f"all of {call.source}" if call.tool is None else call.tool.id
        return Decision("deny", f"the lists of {principal.name} don't allow {what}", "principals")

    def _of(self, principal: Principal) -> _Lists:
        found = self._ready.get(principal)
        if found is None:
            if len(self._ready) >= _MOST_KEPT:
                self._ready.clear()
            found = self._ready[principal] = self._lists(principal)
        return found

    def _lists(self, principal: Principal) -> _Lists:
        entry = entry_of(self._principals, principal.name)
        roles = roles_of(self._principals, self._roles, principal.name, principal.roles)
        own = None if entry is None else entry.allow
        allow = None if own is None and not roles else [*(own or ()), *_each(role.allow for role in roles)]
        deny = [*(() if entry is None else entry.deny), *_each(role.deny for role in roles)]
        return _Lists(None if allow is None else Globs(allow), Globs(deny))


def role_warnings(settings: Settings) -> Iterable[str]:
    """What is odd about the roles, one sentence each: names that are not configured, and so allow nothing."""
    places = [
        *((f"principals.{name}", entry.roles) for name, entry in settings.principals.items()),
        *((f"http.tokens.{number}", token.roles) for number, token in enumerate(settings.http.tokens)),
        *((f"http.oauth.roles.{scope}", roles) for scope, roles in settings.http.oauth.roles.items()),
    ]
    for place, roles in places:
        for role in roles:
            if role not in settings.roles:
                yield f"toolcrib.{place}: there is no role {role!r}, so it allows nothing."


def _may_begin(glob: str, head: str) -> bool:
    """Whether a glob could fit a text with this beginning; said of some that it can't."""
    literal = glob[: min((glob.find(mark) for mark in "*?[" if mark in glob), default=len(glob))]
    return literal.startswith(head) or (is_wild(glob) and head.startswith(literal))


def _each(lists: Iterable[Iterable[str]]) -> list[str]:
    return [glob for each in lists for glob in each]
