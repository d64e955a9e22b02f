"""What a crib offers as a whole: all that is there for one caller, in order."""

from collections.abc import Callable, Coroutine, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolcrib.broker import LOCAL, Caller, Entry, Excerpt, Options, Outcome, Page, Principal
from toolcrib.catalog import CAPABILITIES, SKILLS, Claiming, ListMethod, RequestContext, Source, Tool
from toolcrib.crib.following import FollowedResources
from toolcrib.crib.narrowing import groups_of
from toolcrib.crib.offers import Offered, may_offer, offered
from toolcrib.crib.work import CribWork
from toolcrib.errors import UsageError
from toolcrib.events import OffersChanged
from toolcrib.schema import UnknownServerError
from toolcrib.servers import McpServer

if TYPE_CHECKING:
    from toolcrib.crib.resources import Resources
    from toolcrib.scripts import RunReader


class CribExposing(CribWork):
    """A crib as what shows all that it has needs it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._resources: dict[Principal, Resources] = {}
        self._followed = FollowedResources()

    async def list_first(self, *, caller: Caller = LOCAL) -> list[str]:
        """List the servers that never were, wait a little, and name those that are still to come."""
        tasks = self._follow_switches()
        return await self._first_listings(tasks, None, caller) if self._lists_first else []

    def known_sources(self, *, caller: Caller = LOCAL) -> list[Source]:
        """The sources that are on and that the caller may know of, in the order of the configuration."""
        return [each for each in self._sources if not self._is_hidden(each.id, caller) and not self._is_off(each.id)]

    def known_keys(self, *, caller: Caller = LOCAL) -> list[str]:
        """What all tools go by in the catalog that the caller may know of and that are listed already."""
        visible = self._access.visible(caller.principal)
        return [key for part in self._parts_of(caller) for key in self.registry.keys(part) if key in visible]

    def known_tools(self, *, caller: Caller = LOCAL) -> list[Tool]:
        """All tools that the caller may know of and that are listed already; nothing is started.

        Raises:
            LostListingError: A stored listing can't be read.
        """
        visible = self._access.visible(caller.principal)
        return [tool for part in self._parts_of(caller) for tool in self.registry.tools(part) if tool.key in visible]

    def tags(self, *, caller: Caller = LOCAL) -> list[str]:
        """What a search may be kept to: the tags of servers and the groups of listed tools that the caller may know
        of, each once."""
        known = [each for each in self._sources.servers if not self._is_hidden(each.id, caller)]
        found = [tag for each in known for tag in each.config.options.tags]
        found += [group for tool in self.known_tools(caller=caller) for group in groups_of(tool)]
        return [*{each.casefold(): each for each in reversed(found)}.values()][::-1]

    @property
    def prefixes(self) -> dict[str, str]:
        """What stands before the names of directly exposed tools and prompts in place of the server's id, by that
        id. None at all is for a server that stands alone."""
        having_tools = [each for each in self._sources if each.id != SKILLS]
        usable = [each for each in having_tools if not isinstance(each, McpServer) or not each.config.disabled]
        prefixes = {each.id: each.config.options.prefix for each in usable if isinstance(each, McpServer)}
        return {key: prefix for key, prefix in prefixes.items() if prefix or (prefix == "" and len(usable) == 1)}

    async def offered(self, method: ListMethod, *, caller: Caller = LOCAL) -> Offered:
        """What all sources list of one kind; those that take long are told of by `OffersChanged` when they have.

        Args:
            method: What to list.
            caller: Who asks; sources that are hidden from it are not asked.
        """
        tasks = self._follow_switches()

        def late(source: str) -> None:
            self.events.publish(OffersChanged(source, "prompts" if CAPABILITIES[method] == "prompts" else "resources"))

        return await offered(
            self.known_sources(caller=caller),
            method,
            self._context_of(caller),
            tasks=tasks,
            patience=self.config.settings.first_listing_wait,
            on_late=late,
        )

    async def resources(self, *, server: str | None = None, caller: Caller = LOCAL) -> "Resources":
        """What the servers offer to read, templates included; those that were never listed are started for it.

        Args:
            server: Only of this one.
            caller: Who asks; servers that are hidden from it are not asked.

        Raises:
            UsageError: There is no such server.
        """
        from toolcrib.crib.resources import listed

        self._follow_switches()
        wanted = None if server is None else self._source_id(server, caller)
        sources = [each for each in self.known_sources(caller=caller) if wanted is None or each.id == wanted]
        found, _ = await listed(sources, self._context_of(caller))
        if server is None:
            self._resources[caller.principal] = found
        return found

    async def offers_resources(self, *, caller: Caller = LOCAL) -> bool:
        """Whether a server that the caller may know of claims to have something to read.

        Servers that were never listed are, as for a search; no other is started for it.
        """
        await self.list_first(caller=caller)
        return any(
            isinstance(each, Claiming) and each.offers("resources") for each in self.known_sources(caller=caller)
        )

    async def read_resource(
        self,
        uri: str,
        *,
        server: str | None = None,
        caller: Caller = LOCAL,
        options: Options | None = None,
        by_name: bool = True,
    ) -> Outcome:
        """Read a resource by its URI or name, through the broker.

        Args:
            uri: Its URI, also one that a template stands for, or a qualified one; else its name.
            server: The server that has it, where several do.
            caller: Who asks.
            options: See `Broker.request`.
            by_name: Whether a name is taken too.

        Raises:
            NoResourceError: There is none.
            UsageError: It could be several, or there is no such server.
            ServerError: Its server can't be reached, or refused.
        """
        source, found = await self.find_resource(uri, server=server, caller=caller, by_name=by_name)
        return await self._broker.request("resources/read", source, {"uri": found}, caller, options or Options())

    async def find_resource(
        self, uri: str, *, server: str | None = None, caller: Caller = LOCAL, by_name: bool = True
    ) -> tuple[str, str]:
        """The source that has a resource, and the URI by which it knows it; see `read_resource`."""
        from toolcrib.crib.resources import unqualified

        self._follow_switches()
        if server is None and not by_name:
            able = [
                each.id for each in self.known_sources(caller=caller) if may_offer(each, "resources/list") is not False
            ]
            parts = unqualified(uri)
            if parts is not None and parts[0] in able:
                return parts
            if len(able) == 1:
                return able[0], uri
            known = self._resources.get(caller.principal)
            if known is not None:
                try:
                    return known.one(uri, by_name=False)
                except UsageError:
                    pass  # it may have come since
        known = await self.resources(server=server, caller=caller)
        return known.one(uri, by_name=by_name)

    async def find_template(self, template: str, *, caller: Caller = LOCAL) -> tuple[str, str]:
        """The source that has a template of resources, and the template or URI by which it knows it.

        Args:
            template: A template, a qualified one, or a URI that one stands for.
            caller: Who asks.

        Raises:
            NoResourceError: There is none.
            UsageError: It could be several.
        """
        known = self._resources.get(caller.principal)
        if known is not None and (found := known.template(template)) is not None:
            return found
        known = await self.resources(caller=caller)
        return known.template(template) or known.one(template, by_name=False)

    async def follow_resource(self, source_id: str, uri: str, *, caller: Caller = LOCAL) -> Callable[[], None]:
        """Publish from now on when a resource changes. Returns what ends that.

        Args:
            source_id: The source that has it, from `find_resource`.
            uri: The URI by which the source knows it.
            caller: Who wants to be told.

        Raises:
            ServerError: Its server refuses, or can't be reached.
            UsageError: It tells of no changes.
        """
        tasks = self._follow_switches()
        known = self.known_sources(caller=caller)
        source = next((each for each in known if each.id == source_id), None)
        if source is None:
            raise UnknownServerError(source_id, [each.id for each in known])
        key = await self._followed.want(source, uri, self._sources.context(source_id, caller), tasks)
        return lambda: self._followed.leave(key)

    @cached_property
    def runs(self) -> "RunReader":
        """The runs of scripts that are on record, of every instance with the same state directory."""
        # Sandboxes and all that belongs to them are loaded with it.
        from toolcrib.scripts import RunReader

        async def flush() -> None:
            if self._scripts is not None:
                await self._scripts.written()

        return RunReader(self._shared.opened, self._shared.exists, flush)

    async def result_of(self, entry: Entry, wanted: Excerpt | None = None) -> Page | None:
        """A page of what is kept of a recorded call's result, whoever made it: what was too large to be answered
        whole, and what calls with effects of scripts came to. None where nothing is kept. It is for people who may see
        the call, and does not count as read by anybody.

        Args:
            entry: The call, as the journal has it.
            wanted: What of the result; None takes all that fits a page.

        Raises:
            UsageError: As `read_result`.
            StoreError: The store can't be read.
        """
        known = await self.runs.result(entry.run, entry.id) if entry.run and entry.effect != "read" else None
        return await self._results.of_entry(entry, known, wanted or Excerpt())

    def spawn(self, task: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run something for as long as the crib is open, unless it ends before; it must not raise."""
        self._follow_switches().start_soon(task)

    def tools_freshness(self, *, caller: Caller = LOCAL) -> tuple[float | None, bool]:
        """Seconds for which all sources together promise their tools to be fresh, None where one promises nothing;
        and whether a part of them is listed to the caller alone."""
        principal = caller.principal.name
        kept = [
            each.freshness_for(principal) for each in self.known_sources(caller=caller) if isinstance(each, McpServer)
        ]
        times = [each.ttl for each in kept if each.ttl is not None]
        return (min(times) if times and len(times) == len(kept) else None), any(each.private for each in kept)

    def _context_of(self, caller: Caller) -> "Callable[[str], RequestContext]":
        return lambda source_id: self._sources.context(source_id, caller)

    def _parts_of(self, caller: Caller) -> Iterator[str]:
        """The parts of the catalog that the caller sees, without those of servers that are off."""
        for server in self.registry.servers:
            part = self.registry.part_for(server, caller.principal.name)
            if part is not None and not self._is_off(server):
                yield part
