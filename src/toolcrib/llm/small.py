"""A provider as the small model of a crib: it chooses among hits for searches, and extracts for scripts."""

import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import anyio

from toolcrib.catalog import JsonObject
from toolcrib.config import Config, Variables
from toolcrib.config.variables import Expander
from toolcrib.errors import ToolcribError
from toolcrib.llm.messages import user
from toolcrib.llm.naming import LlmConfiguration, check_provider, provider_by_name
from toolcrib.llm.provider import Provider, ProviderError, Request, ToolSpec, Turn
from toolcrib.redact import Secrets
from toolcrib.schema.jsonvalues import is_object
from toolcrib.smallmodel import SmallModel

TIMEOUT = 20.0
"""Seconds that one answer may take."""
MOST_OUTPUT = 8_000
"""Tokens of one answer at most."""

_ANSWER = "answer"
_AT_ONCE = 8
_ASKED_WINDOW = 100_000
"""Tokens taken for the window of a model that was never asked, and so not made yet."""


def small_model_of(config: Config, variables: Variables | None = None) -> SmallModel | None:
    """The small model that a configuration names, or None. Nothing is loaded or sent before it is asked.

    Args:
        config: The configuration.
        variables: What `${...}` in its key and address stands for; None takes the environment and the keyring.

    Raises:
        UsageError: There is no provider of that name.
    """
    settings = config.settings.small_model
    if not settings.model:
        return None
    check_provider(settings.model)
    expander = Expander(variables or Variables(inputs=config.inputs))

    def filled(name: str, text: str) -> str | None:
        return expander.expand(text, f"toolcrib.small_model.{name}") if text else None

    secrets = Secrets()

    def made() -> Provider:
        given = LlmConfiguration("", filled("key", settings.key), filled("base_url", settings.base_url))
        for name, value in (("api_key", given.api_key), ("base_url", given.base_url)):
            secrets.add(value or "", name=name)
        return provider_by_name(settings.model, given)

    return ProviderModel(made, settings.model, timeout=settings.timeout, secrets=secrets)


class ProviderModel:
    """A provider as a `SmallModel`. The model is made to answer by a call of one tool, whose parameters are the shape:
    all vendors have that, and the weakest models keep to it best.

    Args:
        provider: The provider, or what makes it when it is first asked.
        name: What it is called; empty takes the provider's own name.
        timeout: Seconds that one answer may take.
        secrets: What no error tells, whatever a vendor says in it.
    """

    def __init__(
        self,
        provider: Provider | Callable[[], Provider],
        name: str = "",
        *,
        timeout: float = TIMEOUT,
        secrets: Secrets | None = None,
    ) -> None:
        self._make: Callable[[], Provider] | None = provider if callable(provider) else None
        self._provider: Provider | None = None if callable(provider) else provider
        self._name = name
        self._timeout = timeout
        self._secrets = Secrets() if secrets is None else secrets  # an empty one is false
        self._slots = anyio.Semaphore(_AT_ONCE)

    @property
    def name(self) -> str:
        """See `SmallModel.name`."""
        if self._name or self._provider is None:
            return self._name
        return f"{self._provider.name}:{self._provider.model}"

    @property
    def window(self) -> int:
        """See `SmallModel.window`."""
        return _ASKED_WINDOW if self._provider is None else self._provider.traits.window

    async def answer(self, task: str, text: str, shape: JsonObject) -> Any:
        """See `SmallModel.answer`; what is no call of the tool is read as JSON, and given as text where it is none."""
        schema, is_wrapped = _parameters(shape)
        tool = ToolSpec(_ANSWER, "Give the answer.", schema)
        request = Request((user(text),), task, (tool,), "required", MOST_OUTPUT)
        async with self._slots:
            try:
                turn = await self._turn(request)
            except ToolcribError as error:
                self._secrets.clean(error)
                raise
        for use in turn.message.uses:
            if use.unreadable is not None:
                return use.unreadable
            return use.arguments.get("value") if is_wrapped else use.arguments
        return _read(turn.message.text, is_wrapped=is_wrapped)

    async def close(self) -> None:
        """See `SmallModel.close`."""
        if self._provider is not None:
            await self._provider.close()

    async def _turn(self, request: Request) -> Turn:
        turn: Turn | None = None
        try:
            with anyio.fail_after(self._timeout):
                provider = await self._ready()
                async with aclosing(provider.stream(request)) as events:
                    async for event in events:
                        turn = event if isinstance(event, Turn) else turn
        except TimeoutError:
            raise ProviderError(
                self.name,
                f"{self.name} did not answer within {self._timeout:g} seconds.",
                hint="Set `small_model.timeout` higher, or take a quicker model.",
            ) from None
        if turn is None or turn.stop == "refused":
            said = f": {turn.detail}" if turn is not None and turn.detail else ""
            raise ProviderError(self.name, f"{self.name} declined to answer{said}.")
        if turn.stop == "length":
            raise ProviderError(self.name, f"{self.name} ran out of room for its answer.", hint="Ask for less.")
        return turn

    async def _ready(self) -> Provider:
        if self._provider is None:
            assert self._make is not None
            # A vendor's SDK takes long to load; whatever else is under way need not wait for that.
            self._provider = await anyio.to_thread.run_sync(self._make)
        return self._provider


def _parameters(shape: JsonObject) -> tuple[JsonObject, bool]:
    """The parameters of the tool for a shape, whose root has to be an object, and whether the answer is its `value`."""
    if shape.get("type") == "object":
        return shape, False
    inner = {name: value for name, value in shape.items() if name != "$defs"}
    schema: JsonObject = {"type": "object", "properties": {"value": inner}, "required": ["value"]}
    return ({**schema, "$defs": shape["$defs"]} if "$defs" in shape else schema), True


def _read(text: str, *, is_wrapped: bool) -> Any:
    bare = text.strip()
    if bare.startswith("```"):
        bare = bare.partition("\n")[2].rpartition("```")[0]
    try:
        value: Any = json.loads(bare)
    except (ValueError, RecursionError):
        return text
    if is_object(value) and is_wrapped and len(value) == 1:
        return value.get("value", value)
    return value
