"""Making a result fit a caller's budget: whole where it does, else stored, and answered with a preview."""

import logging
from collections.abc import Callable, Iterable
from typing import Protocol, cast

import anyio.to_thread

from toolcrib.broker.call import Call, Principal
from toolcrib.broker.results.kept import Kept, KeptResults, UnknownHandleError
from toolcrib.broker.results.measuring import encoded, is_small, media_bytes, text_bytes
from toolcrib.broker.results.pages import Excerpt, Page, read_page
from toolcrib.broker.results.preview import preview
from toolcrib.broker.results.values import content_of, contents_as_blocks
from toolcrib.broker.results.view import from_bytes, view_of
from toolcrib.catalog import JsonObject

logger = logging.getLogger(__name__)

NOT_KEPT_META = "toolcrib/not_kept"
"""Member of a result's `_meta` that tells why it is whole although it is larger than its caller asked for."""


class Fit(Protocol):
    """Makes a result fit a budget."""

    async def fit(self, result: JsonObject, budget: int | None, call: Call) -> tuple[JsonObject, str | None]:
        """The result whole with None, or a preview with the handle under which the whole is kept."""
        ...


class Whole:
    """Hands every result on whole, whatever its size."""

    async def fit(self, result: JsonObject, budget: int | None, call: Call) -> tuple[JsonObject, str | None]:
        """The result, unchanged."""
        return result, None


class Handles:
    """Keeps what exceeds a caller's budget, and reads from it.

    What can't be stored is answered whole and says why: nothing is ever cut or lost in silence.

    Args:
        kept: Where results are stored.
        labels: The labels of what a call's result holds.
    """

    def __init__(self, kept: KeptResults, labels: Callable[[Call], Iterable[str]] = lambda _: ()) -> None:
        self._kept = kept
        self._labels = labels

    async def fit(self, result: JsonObject, budget: int | None, call: Call) -> tuple[JsonObject, str | None]:
        """See `Fit.fit`. Images and sounds count by what a model pays for them (`MEDIA_WEIGHT`); of a text that
        repeats the structured content only one counts, and both are handed on where the result fits."""
        if budget is None:
            return result, None
        told = contents_as_blocks(result) if "contents" in result and "content" not in result else result
        if is_small(told):
            if _fits(told, budget):
                return result, None
        elif await anyio.to_thread.run_sync(_fits, told, budget):
            return result, None
        return await anyio.to_thread.run_sync(self._stored, told, budget, call)

    async def facts(self, handle: str, principal: Principal) -> Kept:
        """What a handle stands for.

        Raises:
            UnknownHandleError: The principal has no such handle, or not any more.
        """
        return await anyio.to_thread.run_sync(self._kept.facts, principal.name, handle)

    async def page(self, handle: str, facts: Kept, wanted: Excerpt) -> Page:
        """A page of what a handle stands for.

        Raises:
            UnknownHandleError: It is not there any more.
            UsageError: See `read_page`.
        """
        return await anyio.to_thread.run_sync(self._page, handle, facts, wanted)

    async def of_call(self, call_id: str, since: float, wanted: Excerpt) -> Page | None:
        """A page of what is kept of a call's result, whoever's it is; None where nothing is.

        Args:
            call_id: The call.
            since: When it began, in seconds since 1970.
            wanted: What of it.
        """
        facts = await anyio.to_thread.run_sync(self._kept.of_call, call_id, since)
        if facts is None:
            return None
        try:
            return await self.page(call_id, facts, wanted)
        except UnknownHandleError:
            return None

    def _page(self, handle: str, facts: Kept, wanted: Excerpt) -> Page:
        content = self._kept.content(handle, facts)
        return read_page(view_of(from_bytes(content)), handle, facts.tool_id, wanted)

    def _stored(self, result: JsonObject, budget: int, call: Call) -> tuple[JsonObject, str | None]:
        name = call.params.get("name")
        facts = Kept(
            tool_id=call.target,
            source=call.source,
            name=name if isinstance(name, str) and call.tool is not None else "",
            call_id=call.id,
            labels=tuple(sorted(self._labels(call))),
            is_error=result.get("isError") is True,
        )
        try:
            content = encoded(result)
            handle, facts = self._kept.put(call.caller.principal.name, content, facts)
        except (OSError, ValueError, TypeError, RecursionError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            logger.warning("The result of %s can't be stored, so it is answered whole: %s", call.target, reason)
            meta = result.get("_meta")
            kept_meta = cast("JsonObject", meta) if isinstance(meta, dict) else {}
            return {**result, "_meta": {**kept_meta, NOT_KEPT_META: reason[:300]}}, None
        return preview(view_of(result), result, handle, facts, text_bytes(result), budget, self._kept.seconds), handle


def _fits(result: JsonObject, budget: int) -> bool:
    try:
        size = len(encoded(result))
        if size > budget:
            size = text_bytes(result) + sum(map(media_bytes, content_of(result)))
    except (ValueError, TypeError, RecursionError):
        # It has no form in JSON, which is for the face to tell; there would be nothing to store.
        return True
    return size <= budget
