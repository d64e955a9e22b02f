"""Subscriptions of clients from 2026-07-28 on: a request whose answer is a stream of changes."""

from functools import partial

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import INTERNAL_ERROR, SubscriptionsListenRequestParams, SubscriptionsListenResult

from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.gateway.callers import Callers
from toolcrib.gateway.channels import own_channel
from toolcrib.gateway.telling.telling import Telling, Wanted, followed

_MOST = 1_024
"""Subscriptions at one time, of all clients."""


class Subscriptions:
    """Serves `subscriptions/listen`: each is told of what its own caller may know of.

    Args:
        crib: An open crib.
        callers: Tells who asks.
        telling: Tells of changes.
    """

    def __init__(self, crib: Crib, callers: Callers, telling: Telling) -> None:
        self._crib = crib
        self._callers = callers
        self._telling = telling
        self._open = 0
        self._ending = anyio.Event()

    def end(self) -> None:
        """Answer all subscriptions, by which their clients know that they end on purpose (specification 2026-07-28,
        `subscriptions/listen`)."""
        self._ending.set()

    async def listen(
        self, ctx: "ServerRequestContext[object, object]", params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one subscription until its client has gone, or this server ends; a client that reads nothing makes
        nothing pile up.

        Resources that can't be followed are left out of what is acknowledged.
        """
        if self._open >= _MOST:
            raise MCPError(INTERNAL_ERROR, f"There are {_MOST} subscriptions already.")
        caller = self._callers.caller(ctx)
        asked = params.notifications
        wanted = Wanted(
            tools=asked.tools_list_changed is True,
            resources=asked.resources_list_changed is True,
            prompts=asked.prompts_list_changed is True,
        )
        stamp: JsonObject = {SUBSCRIPTION_ID_META_KEY: ctx.request_id}

        async def send(method: str, words: JsonObject) -> None:
            await own_channel(ctx).notify(method, {**words, "_meta": {**words.get("_meta", {}), **stamp}})

        self._open += 1
        try:
            with self._crib.events.subscribe() as heard:
                uris = await followed(self._telling, list(asked.resource_subscriptions or ()), caller, wanted)
                kinds = {"tools": wanted.tools, "resources": wanted.resources, "prompts": wanted.prompts}
                honored: JsonObject = {f"{kind}ListChanged": True for kind, is_wanted in kinds.items() if is_wanted}
                if uris:
                    honored["resourceSubscriptions"] = uris

                async def acknowledge() -> None:
                    await send("notifications/subscriptions/acknowledged", {"notifications": honored})

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(partial(self._telling.tell, heard, caller, wanted, send, acknowledge))
                    await self._ending.wait()
                    tasks.cancel_scope.cancel()
                return SubscriptionsListenResult(_meta=stamp)
        finally:
            self._open -= 1
            wanted.leave_all()
