"""Which surface a conversation gets when nobody said: the plainest that costs little."""

from toolcrib.broker import LOCAL, Caller
from toolcrib.crib import Crib
from toolcrib.llm.account import tool_tokens
from toolcrib.llm.provider import Provider
from toolcrib.llm.surfaces import AllTools, SurfaceName

DEFAULT_SHARE = 0.02
"""Share of the model's window that definitions may take before they are held back; the protocol's guide for clients
recommends 0.01 to 0.05."""


async def chosen_surface(
    crib: Crib, provider: Provider, share: float = DEFAULT_SHARE, caller: Caller = LOCAL
) -> SurfaceName:
    """`all` while the definitions stay under a share of the model's window, else `native` where it can, else `search`.

    Args:
        crib: The tools.
        provider: The model.
        share: The share, 0.01 to 0.05.
        caller: Who will call.
    """
    room = provider.traits.window * share
    spent = 0
    for tool in await AllTools(crib).tools(caller):
        spent += tool_tokens(tool)
        if spent > room:
            return "native" if provider.traits.references else "search"
    return "all"
