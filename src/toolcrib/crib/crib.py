"""`Crib`: opens a configuration and wires the floors together; the library's front door."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.broker import (
    LOCAL,
    Approver,
    Caller,
    Options,
    Outcome,
    Policy,
)
from toolcrib.catalog import (
    SAVED_SCRIPTS,
    SKILL_HEAD,
    SKILLS,
    JsonObject,
    OnProgress,
    RequestMethod,
    Tool,
    VisibleSet,
)
from toolcrib.config import Variables, config_from_mapping
from toolcrib.crib.adding import CribAdding
from toolcrib.crib.availability import Availability, Enabled
from toolcrib.crib.finder import DEFAULT_LIMIT, SearchAnswer, SourceSummary
from toolcrib.crib.narrowing import Only
from toolcrib.crib.opening import ConfigLike, loaded
from toolcrib.crib.operating import CribOperating
from toolcrib.crib.saved import SCRIPTS_FOLDER, Scripts
from toolcrib.errors import UnknownToolError
from toolcrib.search import Searcher
from toolcrib.servers import McpServer
from toolcrib.smallmodel import SmallModel

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from mcp import Client
    from mcp.client.session import ClientSession

    from toolcrib.crib.skillneeds import UsedSkill
    from toolcrib.crib.skills import Skills
    from toolcrib.scripts import ScriptRunner


class Crib(CribAdding, CribOperating):
    """Every tool of every configured server, behind one door.

    Use `Crib.open(...)` or `Crib.from_clients(...)` as an async context manager; nothing is started before it
    is needed, and everything that was started is ended on leaving. It may be entered and left in different
    tasks.

    Attributes:
        config: The configuration.
        registry: The catalog: all tools known, by id.
        events: Changes of the catalog and of servers.
        journal: The record of all calls, of every instance with the same state directory.
        observers: Told of all requests and searches; add your own.
        tokens: The bearer tokens that were made for this state directory.
        state_dir: The state directory.
        instance: The id of this running instance, which no other has.
    """

    @classmethod
    def open(
        cls,
        config: ConfigLike = None,
        *,
        searcher: Searcher | None = None,
        approver: Approver | None = None,
        policy: Policy | None = None,
        variables: Variables | None = None,
        state_dir: str | Path | None = None,
        lists_first: bool = True,
        small_model: SmallModel | None = None,
    ) -> "Crib":
        """A crib over a configuration.

        Args:
            config: A file, several files (later ones win), a parsed mapping, or None for the user's own
                configuration directory.
            searcher: The search strategy; None takes the configured one.
            approver: Asked where the policy wants to be asked; without one such calls are refused.
            policy: What may be seen and called; None takes the `allow` and `deny` lists of the servers.
            variables: Resolves `${…}`; None takes the environment and the keyring.
            state_dir: Where snapshots and the index are kept; None takes the user's state directory.
            lists_first: Whether a search starts servers that were never listed.
            small_model: Chooses for the search strategy `delegate` and extracts for scripts; closed with the crib.

        Raises:
            ConfigError: The configuration can't be used as a whole.
        """
        return cls(
            loaded(config),
            searcher=searcher,
            approver=approver,
            policy=policy,
            variables=variables,
            state_dir=state_dir,
            lists_first=lists_first,
            small_model=small_model,
        )

    @classmethod
    def from_clients(
        cls,
        clients: "Mapping[str, Client | ClientSession]",
        *,
        searcher: Searcher | None = None,
        approver: Approver | None = None,
        policy: Policy | None = None,
        state_dir: str | Path | None = None,
        small_model: SmallModel | None = None,
    ) -> "Crib":
        """A crib over SDK clients that are connected already; it neither owns nor closes them.

        Args:
            clients: Connected clients by the id that heads their tool ids.
            searcher: See `open`.
            approver: See `open`.
            policy: See `open`; None hides nothing.
            state_dir: See `open`.
            small_model: See `open`.
        """
        return cls(
            config_from_mapping({"mcpServers": {}}),
            clients=clients,
            searcher=searcher,
            approver=approver,
            policy=policy,
            state_dir=state_dir,
            small_model=small_model,
        )

    async def search(
        self,
        query: str | None,
        *,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        server: str | None = None,
        tag: str | None = None,
        read_only: bool = False,
        caller: Caller = LOCAL,
    ) -> SearchAnswer:
        """Find tools by what they do.

        Args:
            query: Words; several needs on several lines; `select:id,id`; empty for the servers.
            limit: Hits in this page.
            offset: Hits of earlier pages.
            server: Only tools of this server, by its id or its key in the configuration.
            tag: Only tools of servers with this tag, or in a group of this name.
            read_only: Only tools that read and change nothing, by the configuration or by their own word.
            caller: Sees nothing outside its visible set.

        Raises:
            UsageError: There is no such server, or the query is malformed.
        """
        if server is not None:
            server = self._source_id(server, caller)
        tasks = self._follow_switches()
        missing = await self._first_listings(tasks, server, caller) if self._lists_first else []
        begun = time.perf_counter()
        answer = await self._listings.answered(
            lambda: self._finder.search(
                query,
                caller=caller,
                limit=limit,
                offset=offset,
                only=Only(server, tag, read_only, self._switchboard.aside),
                missing=[each for each in missing if not self._is_hidden(each, caller)],
            )
        )
        for observer in self.observers:
            observer.searched(time.perf_counter() - begun)
        if offset or tag is not None:
            return answer
        if self.has_skills and server in {None, SKILLS}:
            skills, unknown = await self.skills.found(answer.query, caller=caller)
            answer = replace(answer, skills=skills, unknown=[*answer.unknown, *unknown])
        if answer.sources is None and (answer.nothing_fits or not answer.found):
            again = self._listings.tried_again
            failed = [each.id for each in self.servers if each.tools is None and (each.in_trouble or each.id in again)]
            failed = [each for each in failed if server in {None, each} and not self._is_hidden(each, caller)]
            answer = replace(answer, failed=failed)
        return replace(answer, off=await self._dynamic.fitting(answer.query, caller, server))

    async def tools(self, *, caller: Caller = LOCAL) -> list[Tool]:
        """All tools that the caller may know of, with their full definitions, server by server.

        Servers that were never listed are, as for a search; one that can't be costs only its own tools.
        """
        await self.list_first(caller=caller)

        async def ask() -> list[Tool]:
            return self.known_tools(caller=caller)

        return await self._listings.answered(ask)

    async def tool(self, name: str, *, caller: Caller = LOCAL) -> Tool:
        """One tool with its full definition, by its id or another spelling of it.

        Raises:
            UnknownToolError, AmbiguousNameError: No visible tool, or several, have that name.
            ServerError: Its server was never listed and can't be reached.
        """

        self._follow_switches()

        async def ask() -> Tool:
            try:
                tool_id = self._access.resolve(name, caller.principal)
            except UnknownToolError as error:
                if not await self._sources.learn(name, caller):
                    raise self._explained(error, caller) from None
                tool_id = self._access.resolve(name, caller.principal)
            return self.registry.tool(tool_id)

        return await self._listings.answered(ask)

    async def call(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        caller: Caller = LOCAL,
    ) -> Outcome:
        """Call a tool; see `Broker.request` for what it raises.

        Args:
            name: The tool's id, or another spelling of it.
            arguments: Its arguments; safe mismatches are mended, others are not sent.
            timeout: Seconds; None takes the server's own limit.
            on_progress: Receives progress.
            caller: Who asks.
        """
        return await self.request(
            "tools/call", name, arguments, caller, Options(timeout=timeout, on_progress=on_progress)
        )

    async def request(
        self,
        method: RequestMethod,
        target: str,
        arguments: JsonObject | None = None,
        caller: Caller = LOCAL,
        options: Options | None = None,
    ) -> Outcome:
        """Make any request through the broker; see `Broker.request`."""
        self._follow_switches()
        try:
            return await self._listings.answered(
                lambda: self._broker.request(method, target, arguments, caller, options or Options())
            )
        except UnknownToolError as error:
            raise self._explained(error, caller) from None

    async def available(self, query: str = "", *, caller: Caller = LOCAL) -> Availability:
        """Find servers that are on, off, or only known from a registry, by what they are for.

        Args:
            query: Words; empty for all configured servers.
            caller: Who asks.
        """
        return await self._dynamic.available(query, caller, self._follow_switches())

    async def enable(self, name: str, *, caller: Caller = LOCAL) -> Enabled:
        """Turn on a server that is off: connect it, so that its tools can be found at once, in this whole crib.

        Args:
            name: Its id or key; or its name in a registry, where the allow-list of the configuration has it.
            caller: Who asks.

        Raises:
            UsageError: There is no such server.
            DeniedError: The configuration does not leave it to whoever is not the user.
            ServerError: It can't be reached; it stays off.
        """
        self._follow_switches()
        return await self._dynamic.enable(name, caller)

    async def disable(self, name: str, *, caller: Caller = LOCAL) -> str:
        """Take a server's tools out of searches at once and let it stop; calls that are under way, and later ones
        of conversations that know its tools, still work. Returns its id.

        Raises:
            UsageError: There is no such server.
            DeniedError: It is not one that starts on request or that the allow-list names.
        """
        self._follow_switches()
        return await self._dynamic.disable(name, caller)

    def visible(self, caller: Caller = LOCAL) -> VisibleSet:
        """The ids that the caller may know of."""
        return self._access.visible(caller.principal)

    def configured(self, caller: Caller = LOCAL) -> list[tuple[str, str]]:
        """Id and configured description of each source that is on from the start and that the caller may know of:
        nothing that a server said."""
        rows: list[tuple[str, str]] = []
        for source in self._sources:
            if self._is_hidden(source.id, caller) or source.id in {SAVED_SCRIPTS, SKILLS}:
                continue  # whether there are scripts or skills is nothing that the configuration says
            if isinstance(source, McpServer):
                if not self._switchboard.starts_off(source):
                    rows.append((source.id, source.config.options.description))
            else:
                rows.append((source.id, source.description))
        return rows

    def overview(self, caller: Caller = LOCAL) -> list[SourceSummary]:
        """The servers and other sources that have something for the caller."""
        return self._finder.overview(caller)

    @cached_property
    def scripts(self) -> Scripts:
        """The saved scripts."""
        return Scripts(self, self.state_dir / SCRIPTS_FOLDER, self._sources)

    @cached_property
    def skills(self) -> "Skills":
        """The skills: those of the configured folders, and those that were used."""
        # What belongs to skills is loaded by those alone who have some.
        from toolcrib.crib.skillneeds import NeedsOf
        from toolcrib.crib.skills import Skills

        needs = NeedsOf(
            self, self._sources, self._source_id, lambda each: self._is_off(each) or each in self._switchboard.aside
        )
        return Skills(self, self.config.settings.skills, self._sources, self._policy, needs)

    @property
    def has_skills(self) -> bool:
        """Whether there may be skills: folders of some are configured, or some were used."""
        return bool(self.config.settings.skills) or "skills" in self.__dict__

    async def use_skill(self, path: str | Path, *, caller: Caller = LOCAL) -> "UsedSkill":
        """Use a skill: turn on the servers that it names, where `enable` may, and tell which of its servers and tools
        are there now, and why others are not. It can be found and read from then on.

        Args:
            path: Its folder, its `SKILL.md`, or the id of a skill that is known already, `skill:NAME`.
            caller: Who asks.

        Raises:
            SkillError: There is none, or it can't be used.
            DeniedError: The policy hides it from the caller.
        """
        self._follow_switches()
        return await self.skills.use(path, caller=caller)

    def _follow_switches(self) -> "TaskGroup":
        tasks = super()._follow_switches()
        if self.config.settings.skills:
            _ = self.skills  # a source from the first request on
        if self.config.settings.scripts.enabled:
            self.scripts.follow()
        return tasks

    def _explained(self, error: UnknownToolError, caller: Caller) -> UnknownToolError:
        """The same error, with what the name is where it is a skill's, or what enabling would take."""
        if error.name.startswith(SKILL_HEAD) and self.has_skills:
            hint = "A skill is no tool, and can't be called; get_tool_details reads it, and names its tools."
            return UnknownToolError(error.name, hint=hint)
        return self._dynamic.explained(error, caller)

    def script_runner(self) -> "ScriptRunner":
        """What runs scripts over this crib."""
        if self._scripts is None:
            # Interpreters are loaded by those alone who run scripts.
            from toolcrib.crib.scripting import runner_of

            settings = self.config.settings.scripts
            self._scripts = runner_of(
                self, settings, self._shared, self._ledger, self._flow, self.instance, self._extract
            )
        return self._scripts
