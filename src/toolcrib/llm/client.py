"""`LlmClient`: any model, with the tools of a crib."""

import warnings
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict

import anyio

from toolcrib.broker import Caller, Face
from toolcrib.catalog import Tool
from toolcrib.crib import Crib
from toolcrib.errors import UsageError
from toolcrib.llm.account import Accountant, Price
from toolcrib.llm.choice import DEFAULT_SHARE, chosen_surface
from toolcrib.llm.conversation import Conversation
from toolcrib.llm.deferred import DeferredToolManager, crib_of
from toolcrib.llm.events import ChatResponse, ClientEvent
from toolcrib.llm.exchange import MOST_SIDE_ROUNDS, Exchange, Limits
from toolcrib.llm.guide import Guide, StepAccountant
from toolcrib.llm.naming import provider_by_name
from toolcrib.llm.provider import Provider
from toolcrib.llm.skills import ConversationSkills
from toolcrib.llm.surfaces import (
    AllTools,
    DeferredTools,
    Descriptions,
    GuidedTools,
    NativeSearch,
    NativeTools,
    SearchTools,
    Surface,
    SurfaceName,
)
from toolcrib.llm.surfaces.base import AtHand

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client.session import ClientSession

    from toolcrib.crib import UsedSkill

MOST_ROUNDS = 10
"""Rounds of calls for one question at most."""


class LlmClient:
    """Asks a model, and makes the calls that it wants made, through the broker of a crib.

    Use it as an async context manager, or `close` it; a crib that was given stays open.

    Args:
        llm_provider: The model: a provider, or its name, such as `anthropic:claude-sonnet-5`.
        crib: The tools, open.
        mcp_client: In place of a crib: one connected client of the MCP SDK, or several by id.
        use_deferred_loading: Tell the model names and descriptions alone, and a schema when a call does not fit it.
        surface: How the model is told of tools; None decides at the start of a conversation (see
            `chosen_surface`).
        max_tool_rounds: Rounds of calls for one question, 1 to 10. Looking things up and mending calls don't count.
        system: Standing instructions of new conversations.
        descriptions: With deferred loading, `line` sends the first sentence of each description alone.
        max_parallel_calls: Calls of one turn that are made at the same time.
        max_repairs: How often one tool's call may be mended before the mistake counts as a round.
        max_output: Most tokens of one answer; None leaves it to the provider.
        result_budget: Most bytes of JSON in one result; a larger one is kept, and read by `read_result`. None takes
            what the configuration says on the surface `search`, and everything on the others.
        threshold: Share of the model's window up to which all definitions are told, 0.01 to 0.05.
        native_search: On the surface `native`, whose search finds tools: `ours`, or the vendor's own, `platform`.
        resources: Give the model two tools that list and read what the servers offer to read, where one offers any.
        prices: What tokens cost, by the model's name or by `provider:model`; None takes those of the configuration.
        trim: Drop the oldest exchanges of a conversation that grows too long, which is told, rather than fail.
        guided: On the surface `search`, for small models: the order of steps is fixed, and the model is held to the
            names that were found and to the schema of the tool that it chose.
        skills: Skills to use (see `Crib.use_skill`): the model has their tools from the start, as far as `threshold`
            lets it, and is given the text of one with the first question that its description fits. None takes those
            that the crib uses.
        face: Where the questions come in, for the policy and the journal.

    Raises:
        UsageError: What is given does not go together, or the provider's name is not known.
    """

    def __init__(
        self,
        llm_provider: Provider | str,
        crib: Crib | None = None,
        *,
        mcp_client: "Client | ClientSession | Mapping[str, Client | ClientSession] | None" = None,
        use_deferred_loading: bool = False,
        surface: SurfaceName | None = None,
        max_tool_rounds: int = 1,
        system: str = "",
        descriptions: Descriptions = "full",
        max_parallel_calls: int = 8,
        max_repairs: int = 1,
        max_output: int | None = None,
        result_budget: int | None = None,
        threshold: float = DEFAULT_SHARE,
        native_search: NativeSearch = "ours",
        resources: bool = True,
        prices: Mapping[str, Price] | None = None,
        trim: bool = False,
        guided: bool = False,
        skills: Sequence[str | Path] | None = None,
        face: Face = "library",
    ) -> None:
        if crib is not None and mcp_client is not None:
            raise UsageError("An LlmClient takes a crib or an mcp_client, not both.")
        if use_deferred_loading and surface not in (None, "deferred"):
            raise UsageError(
                f'use_deferred_loading selects the surface "deferred", not "{surface}".', hint="Leave one of them out."
            )
        if guided and (use_deferred_loading or surface not in (None, "search")):
            raise UsageError('Guided steps are those of the surface "search".', hint="Leave the other surface out.")
        self.provider = provider_by_name(llm_provider) if isinstance(llm_provider, str) else llm_provider
        self.deferred = DeferredToolManager() if use_deferred_loading else None
        self.conversation = Conversation(system)
        self._crib = crib
        self._owns_crib = crib is None
        self._clients = mcp_client
        self._wanted: SurfaceName | None = "deferred" if use_deferred_loading else "search" if guided else surface
        self._descriptions: Descriptions = descriptions
        self._budget = result_budget
        self._threshold = threshold
        self._resources = resources
        self._native_search: NativeSearch = native_search
        self._prices = prices
        self._system = system
        self._face: Face = face
        self._skills = ConversationSkills(skills)
        self._is_ready = False
        self._surfaces: dict[SurfaceName, Surface] = {}
        self._gates: dict[str, anyio.Semaphore] = {}
        self._opening = anyio.Lock()
        rounds = _clamped(max_tool_rounds)
        # Each call of a guided model takes two steps before it.
        side = MOST_SIDE_ROUNDS + 2 * rounds if guided else MOST_SIDE_ROUNDS
        self._limits = Limits(rounds, max(1, max_parallel_calls), max_repairs, max_output, trim, side)
        self._guide = Guide(self.provider) if guided else None
        self._accountant = StepAccountant(self._guide) if self._guide else Accountant(media=self.provider.traits.media)
        if surface == "native" and not self.provider.traits.references:
            self._wanted = "search"

    async def __aenter__(self) -> Self:
        try:
            await self._open_crib()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def crib(self) -> Crib:
        """The tools.

        Raises:
            UsageError: The client makes its own, and was not entered yet.
        """
        if self._crib is None:
            raise UsageError("The client's crib is not open yet.", hint="Enter the client with `async with` first.")
        return self._crib

    @property
    def skills(self) -> "list[UsedSkill]":
        """The skills in use, with what of their servers and tools is there.

        Raises:
            UsageError: See `crib`.
        """
        return self._skills.used(self.crib)

    @property
    def max_tool_rounds(self) -> int:
        """Rounds of calls for one question."""
        return self._limits.rounds

    def new_conversation(self, system: str | None = None) -> Conversation:
        """Begin another conversation, which does not replace the client's own."""
        return Conversation(self._system if system is None else system)

    async def chat(self, text: str, *, conversation: Conversation | None = None) -> ChatResponse:
        """Ask, and wait for the answer.

        Args:
            text: The question.
            conversation: Which conversation it belongs to; None takes the client's own. One question at a time is
                answered in each.

        Raises:
            ProviderError: The model failed; see its subclasses.
            UsageError: There are no words.
        """
        response: ChatResponse | None = None
        async with aclosing(self.stream(text, conversation=conversation)) as events:
            async for event in events:
                if isinstance(event, ChatResponse):
                    response = event
        assert response is not None
        return response

    async def stream(self, text: str, *, conversation: Conversation | None = None) -> AsyncGenerator[ClientEvent]:
        """Ask, and follow how the answer comes about; a `ChatResponse` comes last.

        Args:
            text: See `chat`.
            conversation: See `chat`.

        Raises:
            ProviderError: See `chat`.
            UsageError: See `chat`.
        """
        if not text.strip():
            raise UsageError("There is nothing to ask: the text is empty.")
        spoken = self.conversation if conversation is None else conversation
        # A lock would have to be released by the task that took it, which may not be the one that ends a stream.
        async with self._gates.setdefault(spoken.id, anyio.Semaphore(1)):
            surface = await self._surface(spoken)
            price = self._price(surface.crib)
            model = self._guide or self.provider
            exchange = Exchange(model, surface, spoken, self._limits, self._accountant, price, self._face, self._skills)
            async with aclosing(exchange.run(text)) as events:
                async for event in events:
                    yield event

    async def close(self) -> None:
        """Close the provider, and the crib if it is the client's own."""
        await self.provider.close()
        if self._owns_crib and self._crib is not None:
            crib, self._crib = self._crib, None
            await crib.__aexit__(None, None, None)

    async def _open_crib(self) -> Crib:
        async with self._opening:
            if self._crib is None:
                crib = Crib.from_clients({}) if self._clients is None else crib_of(self._clients)
                self._crib = await crib.__aenter__()
            if not self._is_ready:
                await self._skills.open(self._crib)
                self._is_ready = True
            return self._crib

    async def _surface(self, conversation: Conversation) -> Surface:
        """The surface of a conversation: what it began with, as long as it goes on."""
        crib = await self._open_crib()
        name = _known(conversation.surface) or self._wanted
        if name is None:
            name = await chosen_surface(crib, self.provider, self._threshold)
        if self.deferred is not None and not self.deferred.is_initialized:
            await self.deferred.initialize(crib)
        if name not in self._surfaces:
            self._surfaces[name] = self._made(name, crib)
        return self._surfaces[name]

    def _price(self, crib: Crib) -> Price | None:
        """What the model's tokens cost, as the program or the configuration says."""
        prices = self._prices
        if prices is None:
            configured = crib.config.settings.prices
            prices = {name: Price(**each.model_dump()) for name, each in configured.items()}
        name = self.provider.model
        return prices.get(f"{self.provider.name}:{name}", prices.get(name))

    def _made(self, name: SurfaceName, crib: Crib) -> Surface:
        async def at_hand(caller: Caller) -> Sequence[Tool]:
            return await self._skills.at_hand(crib, caller, self.provider.traits.window * self._threshold)

        shared: _Shared = {"budget": self._budget, "resources": self._resources, "at_hand": at_hand}
        match name:
            case "all":
                return AllTools(crib, **shared)
            case "deferred":
                return DeferredTools(crib, **shared, descriptions=self._descriptions)
            case "native":
                return NativeTools(crib, **shared, search=self._native_search)
            case "search":
                return (GuidedTools if self._guide else SearchTools)(crib, **shared)


class _Shared(TypedDict):
    budget: int | None
    resources: bool
    at_hand: AtHand


def _known(name: str) -> SurfaceName | None:
    return name if name in ("all", "deferred", "search", "native") else None


def _clamped(rounds: int) -> int:
    within = min(max(rounds, 1), MOST_ROUNDS)
    if within != rounds:
        warnings.warn(f"max_tool_rounds={rounds} was taken as {within}; it goes from 1 to {MOST_ROUNDS}.", stacklevel=3)
    return within
