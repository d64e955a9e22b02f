"""Change control: a tool is what it was when it was first used, until a change is accepted."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, Protocol

from toolcrib.broker.call import Call
from toolcrib.broker.changes.definitions import Difference, Hashes, differences, pinned_part
from toolcrib.broker.changes.pin import Pin, PinKey
from toolcrib.broker.changes.pins import Pins
from toolcrib.broker.policy import Decision
from toolcrib.catalog import Tool, ToolRegistry
from toolcrib.errors import StoreError
from toolcrib.hidden import hidden_texts

logger = logging.getLogger(__name__)

Mode = Literal["warn", "ask", "block"]
"""What comes of a call of a tool that has changed: it goes on, is asked about, or is refused."""

CHANGED_RULE = "changed definition"
"""What decided where a change did, for the journal."""

_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
_NAMED = 3

_OWNED = "\n"
"""Stands, in the name that a tool is pinned under, behind the principal that it is listed to alone."""


@dataclass(frozen=True, slots=True)
class Watch:
    """How one source is watched.

    Attributes:
        mode: What comes of a changed tool.
        name: The server's id with the hash of its configuration; None where pins end with this process.
    """

    mode: Mode
    name: str | None


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A tool that is no longer what it was when it was first used or last accepted.

    Attributes:
        server: Id of its server.
        name: The tool's own name.
        tool: Its id; None where the server no longer lists it.
        pinned_at: When it was pinned, in seconds since 1970.
        mode: What comes of a call of it.
        differences: How it has changed; empty where it is gone.
        hides: Whether the change has brought hidden text.
        before: The pinned part of the definition that it had; empty where it is gone.
        after: The same of the one that it has.
    """

    server: str
    name: str
    tool: str | None
    pinned_at: float
    mode: Mode
    differences: Sequence[Difference] = ()
    hides: bool = False
    before: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    after: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    def to_json(self) -> dict[str, object]:
        """All members but the definitions, by name."""
        return {
            "server": self.server,
            "name": self.name,
            "tool": self.tool,
            "pinned_at": self.pinned_at,
            "mode": self.mode,
            "removed": self.tool is None,
            "hides": self.hides,
            "differences": [each.to_json() for each in self.differences],
        }


class Watcher(Protocol):
    """Sees every call of a tool before it is decided on, and before it is sent."""

    async def decided(self, call: Call, decision: Decision) -> Decision:
        """The decision, or a stricter one where the tool has changed.

        Raises:
            StoreError: That can't be told, and such a call must not go on without.
        """
        ...

    def sent(self, call: Call, decision: Decision) -> None:
        """Take note that a call is sent: a tool that was never used is pinned, and a change that was asked about
        is accepted.

        Args:
            call: The call.
            decision: What let it go on.
        """
        ...


class NoWatcher:
    """Watches nothing."""

    async def decided(self, call: Call, decision: Decision) -> Decision:
        """The decision."""
        return decision

    def sent(self, call: Call, decision: Decision) -> None:
        """Take no note."""


class ChangeControl:
    """Finds tools whose definition has changed since they were first used.

    Args:
        pins: What was pinned.
        registry: The catalog.
        watch: How a source is watched; None for one that is not.
    """

    def __init__(self, pins: Pins, registry: ToolRegistry, watch: Callable[[str], Watch | None]) -> None:
        self._pins = pins
        self._registry = registry
        self._watch = watch
        self._hashes = Hashes()
        self._told: set[tuple[PinKey, str]] = set()

    async def decided(self, call: Call, decision: Decision) -> Decision:
        """See `Watcher.decided`."""
        watch = None if call.tool is None else self._watch(call.source)
        if call.tool is None or watch is None or decision.verdict == "deny":
            return decision
        try:
            await self._pins.load()
            if not self._differs(call.tool, watch):
                return decision
            change = await self._change(call.tool, watch)
        except StoreError as error:
            if watch.mode == "warn" or call.effect == "read":
                self._tell((watch.name or call.source, call.tool.name), "", f"{error} Changes of tools go unseen.")
                return decision
            message = f"Whether {call.target} has changed since it was first used can't be told: {error.message}"
            raise StoreError(message, hint=error.hint) from error
        if change is None:
            return decision
        self._tell(_key(call.tool, watch), self._hashes.of(call.tool), reason_of(change))
        mode = "ask" if change.mode == "warn" and change.hides else change.mode
        if mode == "warn":
            return decision
        return _stricter(decision, Decision("ask" if mode == "ask" else "deny", reason_of(change), CHANGED_RULE))

    def sent(self, call: Call, decision: Decision) -> None:
        """See `Watcher.sent`."""
        tool = call.tool
        watch = None if tool is None else self._watch(call.source)
        if tool is None or watch is None:
            return
        if self._pins.digest(_key(tool, watch)) is None:
            # While the store can't be read, nothing is pinned in it that it may hold otherwise.
            self._pins.put(self._pin(tool, watch), stored=watch.name is not None and self._pins.loaded)
        elif CHANGED_RULE in decision.rule and self._differs(tool, watch):
            self._pins.put(self._pin(tool, watch), stored=watch.name is not None, anew=True)

    def is_changed(self, tool: Tool) -> bool:
        """Whether a tool is known to have changed; what is not read yet does not show."""
        watch = self._watch(tool.server)
        return watch is not None and self._differs(tool, watch)

    async def list(self, server: str | None = None) -> "list[ToolChange]":
        """The tools that have changed or are gone since they were first used or last accepted, of those that are
        listed to the local user.

        Args:
            server: Id of a source; None for all.

        Raises:
            StoreError: The store can't be read.
        """
        await self._pins.load()
        found: list[ToolChange] = []
        for each in self._registry.servers if server is None else [server]:
            watch = self._watch(each)
            if watch is None:
                continue
            tools = {_key(tool, watch): tool for tool in self._registry.tools(each)}
            for key in self._pins.keys:
                if key[0] != (watch.name or each) or _OWNED in key[1]:
                    continue
                tool = tools.get(key)
                if tool is not None and self._differs(tool, watch):
                    change = await self._change(tool, watch)
                    found += [change] if change is not None else []
                elif tool is None and (pin := await self._pins.pin(key)) is not None:
                    found.append(ToolChange(each, key[1], None, pin.pinned_at, watch.mode))
        return found

    async def accept(self, server: str, tool: str | None = None) -> "list[str]":
        """Accept a server's tools as they are listed now, and return the ids of those that had changed.

        Args:
            server: Id of the source.
            tool: Only this tool, by its id.

        Raises:
            StoreError: It can't be stored; nothing was accepted.
        """
        watch = self._watch(server)
        changes = [each for each in await self.list(server) if each.tool is not None and tool in {None, each.tool}]
        if watch is None or not changes:
            return []
        ids = [each.tool for each in changes if each.tool is not None]
        pins = [self._pin(self._registry.tool(each), watch) for each in ids]
        await self._pins.accept(pins, stored=watch.name is not None)
        return ids

    async def look(self, server: str) -> None:
        """Tell the log which tools of a source have changed, after it has listed anew.

        Raises:
            StoreError: The store can't be read.
        """
        watch = self._watch(server)
        for change in await self.list(server):
            if change.tool is not None and watch is not None:
                tool = self._registry.tool(change.tool)
                self._tell(_key(tool, watch), self._hashes.of(tool), reason_of(change))

    def _differs(self, tool: Tool, watch: Watch) -> bool:
        pinned = self._pins.digest(_key(tool, watch))
        return pinned is not None and pinned != self._hashes.of(tool)

    async def _change(self, tool: Tool, watch: Watch) -> ToolChange | None:
        """How a tool has changed; None where the change was accepted meanwhile."""
        pin = await self._pins.pin(_key(tool, watch))
        if pin is None or pin.digest == self._hashes.of(tool):
            return None
        return ToolChange(
            tool.server,
            tool.name,
            tool.id,
            pin.pinned_at,
            watch.mode,
            differences(pin.definition, tool.definition),
            hides=_hidden(tool.definition) - _hidden(pin.definition) > set(),
            before=pin.definition,
            after=pinned_part(tool.definition),
        )

    def _pin(self, tool: Tool, watch: Watch) -> Pin:
        server, name = _key(tool, watch)
        return Pin(server, name, self._hashes.of(tool), pinned_part(tool.definition), self._pins.clock())

    def _tell(self, key: PinKey, digest: str, text: str) -> None:
        """Log once for each change."""
        if (key, digest) not in self._told:
            self._told.add((key, digest))
            logger.warning("%s", text)


def reason_of(change: ToolChange) -> str:
    """A change in a sentence, with the commands that show and accept it."""
    places = [each.path.lstrip("/") for each in change.differences]
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    what = f" ({', '.join(places[:_NAMED])}{more})" if places else ""
    hides = ", and now holds hidden text" if change.hides else ""
    return (
        f"the definition of {change.tool} has changed since it was first used{what}{hides}; "
        f"`toolcrib servers changes {change.server}` shows how, `toolcrib servers accept {change.server}` accepts it"
    )


def _key(tool: Tool, watch: Watch) -> PinKey:
    return watch.name or tool.server, _pinned_name(tool.name, tool.owner)


@lru_cache(4_096)
def _pinned_name(name: str, owner: str) -> str:
    # Names may hold anything that JSON can carry; a database can't.
    written = json.dumps(name)[1:-1]
    return f"{json.dumps(owner)}{_OWNED}{written}" if owner else written


def _hidden(definition: Mapping[str, Any]) -> set[str]:
    return {each.text for each in hidden_texts(pinned_part(definition))}


def _stricter(decision: Decision, found: Decision) -> Decision:
    """The stricter of two decisions, with the reasons of both where they say the same."""
    if _STRICTNESS[decision.verdict] > _STRICTNESS[found.verdict]:
        return decision
    if decision.verdict == found.verdict:
        reason = "; ".join(filter(None, (decision.reason, found.reason)))
        rule = " + ".join(filter(None, (decision.rule, found.rule)))
        return replace(found, reason=reason, rule=rule)
    return found
