"""Calls that were made from a page, kept for the page that shows what they came to.

A call is made once, however often its form is sent: the form carries a name that the call is kept under. It goes on
when its visitor turns to another page.
"""

import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import anyio

from toolcrib.broker import Caller, Options, Outcome
from toolcrib.catalog import JsonObject
from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError
from toolcrib.events import ApprovalChanged, Event

logger = logging.getLogger(__name__)

BUDGET = 100_000
"""Bytes of JSON of a result that a page shows whole, images aside; a larger one is kept and read by pages."""

_MOST_KEPT = 50


@dataclass(eq=False, slots=True)
class Try:
    """A call of a tool, made from a page.

    Attributes:
        tool_id: The tool.
        arguments: Its arguments, as they were given.
        caller: Whose call it is.
        began: When, in seconds since 1970.
        seconds: How long it took; None while it is under way.
        outcome: What it came to.
        error: Why it came to nothing.
        asked: Whether somebody is asked about a call of the tool meanwhile.
        news: Set when somebody is asked, or the call has ended.
        following: The name of the same call made once more; empty where it was not.
    """

    tool_id: str
    arguments: JsonObject
    caller: Caller
    began: float = field(default_factory=time.time)
    seconds: float | None = None
    outcome: Outcome | None = None
    error: ToolcribError | None = None
    asked: bool = False
    news: anyio.Event = field(default_factory=anyio.Event)
    following: str = ""


class Tries:
    """The calls that were made last.

    Args:
        crib: Makes them.
    """

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._kept: OrderedDict[str, Try] = OrderedDict()

    @staticmethod
    def new_name() -> str:
        """A name for a call that is still to be made."""
        return secrets.token_hex(12)

    def find(self, name: str, caller: Caller) -> Try | None:
        """The call of a name, if it is the caller's and still known."""
        found = self._kept.get(name)
        return found if found is not None and found.caller.key == caller.key else None

    def make(self, name: str, tool_id: str, arguments: JsonObject, caller: Caller, *, only_reads: bool) -> Try:
        """Begin a call, unless one of that name was made.

        Args:
            name: From `new_name`.
            tool_id: What to call.
            arguments: Its arguments.
            caller: Who calls.
            only_reads: Whether the call is refused where it may do more than read.
        """
        found = self._kept.get(name)
        if found is None:
            found = self._kept[name] = Try(tool_id, arguments, caller)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            options = Options(budget=BUDGET, only_reads=only_reads)
            made = found

            async def call() -> None:
                await self._call(made, options)

            self._crib.spawn(call)
        return found

    def again(self, found: Try) -> tuple[str, Try]:
        """The same call once more, as one that waits for an approval goes on; once, however often that is asked."""
        name = found.following = found.following or self.new_name()
        return name, self.make(name, found.tool_id, found.arguments, found.caller, only_reads=False)

    async def _call(self, made: Try, options: Options) -> None:
        begun = time.perf_counter()
        with self._crib.events.subscribe() as events:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_notice, made, events)
                await self._send(made, options)
                tasks.cancel_scope.cancel()
        made.seconds = time.perf_counter() - begun
        made.news.set()

    async def _send(self, made: Try, options: Options) -> None:
        try:
            made.outcome = await self._crib.request("tools/call", made.tool_id, made.arguments, made.caller, options)
        except ToolcribError as error:
            made.error = error
        except Exception:  # it would end all that the crib has under way
            logger.exception("A call of %s from the console failed.", made.tool_id)
            made.error = ToolcribError(
                f"Something went wrong inside Toolcrib in the call of {made.tool_id}.", hint="The log says more."
            )


async def _notice(made: Try, events: AsyncIterator[Event]) -> None:
    """Notice when somebody is asked about the call."""
    async for event in events:
        if isinstance(event, ApprovalChanged) and event.tool == made.tool_id and event.status == "waiting":
            made.asked = True
            made.news.set()
