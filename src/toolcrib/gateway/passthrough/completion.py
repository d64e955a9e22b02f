"""Completion of arguments, asked of the server whose prompt or template it is."""

from typing import Any, cast

from toolcrib.broker import Caller, Options, Outcome
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.gateway.passthrough.prompts import PassedPrompts


class PassedCompletion:
    """Completes arguments of the prompts and resource templates of all servers that a caller may know of.

    Args:
        crib: An open crib.
        prompts: Knows whose prompts are whose.
    """

    def __init__(self, crib: Crib, prompts: PassedPrompts) -> None:
        self._crib = crib
        self._prompts = prompts

    async def complete(self, params: JsonObject, caller: Caller, options: Options) -> Outcome:
        """Ask the server that has what is completed.

        Raises:
            UsageError: Nothing of that name is there.
            ServerError: Its server can't be reached, or refused.
        """
        ref: Any = params.get("ref")
        about = cast("JsonObject", ref) if isinstance(ref, dict) else {}
        if about.get("type") == "ref/prompt":
            server, own = await self._prompts.find(str(about.get("name")), caller)
            about = {**about, "name": own}
        else:
            server, own = await self._crib.find_template(str(about.get("uri")), caller=caller)
            about = {**about, "uri": own}
        return await self._crib.request("completion/complete", server, {**params, "ref": about}, caller, options)
