"""What one crib remembers of what was read, and the results that it keeps, as its configuration wants it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio.to_thread

from toolcrib.broker import (
    RESULTS_FOLDER,
    Call,
    Caller,
    DataFlow,
    Entry,
    Excerpt,
    Handles,
    Kept,
    KeptResults,
    ListedTool,
    Memory,
    Page,
    Policy,
    UnknownHandleError,
)
from toolcrib.broker.results import read_page, view_of
from toolcrib.catalog import JsonObject, ToolRegistry
from toolcrib.config import ResultSettings, Settings
from toolcrib.errors import ToolcribError

_MEGABYTE = 1 << 20

Labels = Callable[[Call], frozenset[str]]
"""The labels of what a call's result holds."""


def flow_of(config: Settings, labels: Labels) -> Memory:
    """What is remembered of what callers have read."""
    settings = config.data_flow
    return Memory(
        labels,
        fingerprints=settings.fingerprints,
        caller_mb=settings.caller_mb,
        max_mb=settings.max_mb,
        idle_seconds=settings.idle_seconds,
        traced=any(rule.from_ is not None for rule in config.policy.rules),
    )


class StoredResults:
    """The results that were too large to be answered whole.

    Args:
        settings: How they are kept.
        state_dir: Where state is kept.
        labels: The labels of what a call's result holds.
        policy: What may be seen, also of results that were kept before.
        flow: Learns of what is read.
        registry: The catalog, for a policy that asks what a tool is like.

    Attributes:
        handles: Keeps them and reads them.
    """

    def __init__(
        self,
        settings: ResultSettings,
        state_dir: Path,
        *,
        labels: Labels,
        policy: Policy,
        flow: DataFlow,
        registry: ToolRegistry,
    ) -> None:
        kept = KeptResults(
            state_dir / RESULTS_FOLDER,
            seconds=settings.keep_seconds,
            most_bytes=settings.max_mb * _MEGABYTE,
            largest=settings.max_result_mb * _MEGABYTE,
        )
        self.handles = Handles(kept, labels)
        self._policy = policy
        self._flow = flow
        self._registry = registry

    async def read(self, handle: str, wanted: Excerpt, caller: Caller) -> Page:
        """A page of a stored result; it counts as read like the result itself.

        Raises:
            UnknownHandleError: There is no such result for the caller.
            UsageError: The selection or the pattern can't be used, or the offset is beyond the end.
        """
        handle = handle.strip()
        facts = await self.handles.facts(handle, caller.principal)
        if self._is_hidden(facts, caller):
            raise UnknownHandleError(handle)
        page = await self.handles.page(handle, facts, wanted)
        call = Call("tools/call", facts.tool_id, facts.source, {}, caller, None, "read", facts.call_id)
        self._flow.learned(call, {"content": list(page.content)}, facts.labels)
        return page

    async def of_entry(self, entry: Entry, known: JsonObject | None, wanted: Excerpt) -> Page | None:
        """A page of what is kept of a recorded call's result; None where nothing is.

        Args:
            entry: The call.
            known: Its result, where that is kept elsewhere.
            wanted: What of it.
        """
        if known is not None:
            return await anyio.to_thread.run_sync(read_page, view_of(known), entry.id, entry.tool, wanted)
        return await self.handles.of_call(entry.id, entry.started_at, wanted)

    def _is_hidden(self, facts: Kept, caller: Caller) -> bool:
        """Whether the policy has since put the tool out of the caller's sight."""
        tool = (
            ListedTool(facts.tool_id, facts.name, partial(self._registry.tool, facts.tool_id)) if facts.name else None
        )
        try:
            return self._policy.hides(caller.principal, facts.source, tool)
        except (ToolcribError, LookupError):
            # Its definition would decide it and is not at hand.
            return True
