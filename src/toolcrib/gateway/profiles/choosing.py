"""Which profile a caller gets: by its principal, and settled once."""

from typing import TYPE_CHECKING

import anyio

from toolcrib.broker import Caller, Principal
from toolcrib.config import profile_of
from toolcrib.crib import Crib
from toolcrib.gateway.profiles.direct import DirectTools
from toolcrib.gateway.profiles.discover import DiscoverTools
from toolcrib.gateway.profiles.surface import Surface
from toolcrib.tokens import count_tokens

if TYPE_CHECKING:
    from toolcrib.config import Profile


class Surfaces:
    """The surface of a profile; that of `auto` is settled for each principal when it first asks, and stays.

    Args:
        crib: An open crib.
        profile: What everybody is shown; None shows each principal the configured one that is its own, or everybody's.
    """

    def __init__(self, crib: Crib, profile: "Profile | None") -> None:
        self._crib = crib
        self._profile: Profile | None = profile
        self.discover = DiscoverTools(crib)
        self.direct = DirectTools(crib)
        self._settled: dict[Principal, Surface] = {}
        self._settling = anyio.Lock()

    async def of(self, caller: Caller) -> Surface:
        """The surface that a caller gets."""
        profile = self._of_principal(caller.principal)
        if profile != "auto":
            return self.direct if profile == "all" else self.discover
        found = self._settled.get(caller.principal)
        if found is None:
            async with self._settling:
                found = self._settled.get(caller.principal)
                if found is None:
                    found = self._settled[caller.principal] = await self._settle(caller)
        return found

    def known(self, caller: Caller) -> Surface:
        """The same without waiting: `discover`, where it is not settled yet."""
        profile = self._of_principal(caller.principal)
        if profile != "auto":
            return self.direct if profile == "all" else self.discover
        return self._settled.get(caller.principal, self.discover)

    def _of_principal(self, principal: Principal) -> "Profile":
        if self._profile is not None:
            return self._profile
        settings = self._crib.config.settings
        own = profile_of(settings.principals, settings.roles, principal.name, principal.roles)
        return own or settings.profile

    async def _settle(self, caller: Caller) -> Surface:
        """`all` while all definitions together stay within the limit; what can't be measured in time is too much."""
        if await self._crib.list_first(caller=caller):
            return self.discover
        left = self._crib.config.settings.direct.auto_tokens
        for tool in self._crib.known_tools(caller=caller):
            left -= count_tokens(self.direct.text_of(tool))
            if left < 0:
                return self.discover
        return self.direct
