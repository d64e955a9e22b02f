"""What one round of `LlmClient` takes beyond the model and the tools: CPU time of whole conversations, less that of the
same calls made by hand and of the model's double."""

import asyncio
import time
from argparse import Namespace
from collections.abc import AsyncGenerator, Callable
from typing import Any

from bench.llm.tasks import fill
from bench.report import Spread, Target, arguments, emit
from toolcrib import Caller, Crib, LlmClient
from toolcrib.catalog import JsonObject
from toolcrib.llm import Message, ProviderEvent, Request, Text, ToolUse, Traits, Turn
from toolcrib.llm.surfaces import SurfaceName

_ROUNDS = 10
_TOOL = ("weather.current", {"city": "Paris"})


class _Caller:
    """A model that wants the same call made in every round, and then answers; it keeps what itself took."""

    name, model, traits = "double", "double", Traits(window=1_000_000)

    def __init__(self, call: Callable[[int], ToolUse]) -> None:
        self._call = call
        self._asked = 0
        self.took = 0.0

    def payload(self, request: Request) -> JsonObject:
        return {}

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        started = time.process_time()
        self._asked += 1
        if request.tool_choice == "none":
            turn = Turn(Message("assistant", (Text("done"),)), "end")
        else:
            turn = Turn(Message("assistant", (self._call(self._asked),)), "tool_use")
        self.took += time.process_time() - started
        yield turn

    async def close(self) -> None:
        """Nothing is open."""


def _call_of(surface: SurfaceName) -> Callable[[int], ToolUse]:
    name, given = _TOOL
    if surface == "search":
        return lambda number: ToolUse(f"c{number}", "call_tool", {"name": name, "arguments": given})
    return lambda number: ToolUse(f"c{number}", name.replace(".", "__"), dict(given))


async def _by_hand(crib: Crib) -> float:
    """CPU milliseconds of one of the calls, made without a model."""
    name, given = _TOOL
    started = time.process_time()
    for _ in range(_ROUNDS):
        await crib.request("tools/call", name, dict(given), Caller(conversation="by hand"))
    return (time.process_time() - started) * 1_000 / _ROUNDS


async def _round(crib: Crib, surface: SurfaceName) -> float:
    """CPU milliseconds of one round beyond the model's double, the tool's call among them."""
    model = _Caller(_call_of(surface))
    client = LlmClient(model, crib, surface=surface, max_tool_rounds=_ROUNDS)
    await client.chat("hi")  # tells the tools, and counts them, once a conversation
    model.took = 0.0
    started = time.process_time()
    await client.chat("go")
    return (time.process_time() - started - model.took) * 1_000 / _ROUNDS


async def _measure(options: Namespace) -> dict[str, Any]:
    surfaces: tuple[SurfaceName, ...] = ("all", "deferred", "search")
    found: dict[str, list[float]] = {surface: [] for surface in surfaces}
    calls: list[float] = []
    async with Crib.from_clients({}) as crib:
        tools = await fill(crib)
        for surface in surfaces:  # loads what is loaded late
            await _round(crib, surface)
        for _ in range(options.repeats):
            by_hand = await _by_hand(crib)
            calls.append(by_hand)
            for surface in surfaces:
                found[surface].append(await _round(crib, surface) - by_hand)
    spreads = {surface: vars_of(Spread.of(values)) for surface, values in found.items()}
    return {
        "tools": tools,
        "rounds in a conversation": 2 * _ROUNDS,
        "a call by hand, CPU ms": vars_of(Spread.of(calls)),
        "a round beyond its call, CPU ms": spreads,
    }


def vars_of(spread: Spread) -> dict[str, float]:
    """A spread as figures."""
    return {"n": spread.n, "median": spread.median, "p90": spread.p90, "largest": spread.largest}


def _targets(figures: dict[str, Any]) -> list[Target]:
    rows = figures["a round beyond its call, CPU ms"]
    return [Target(f"a round on {surface} beyond its call", row["median"], "ms", 5) for surface, row in rows.items()]


def main() -> None:
    parser = arguments("What one round of LlmClient takes beyond the model and the tools.")
    parser.add_argument("--repeats", type=int, default=20, help="conversations a surface")
    options = parser.parse_args()
    figures = asyncio.run(_measure(options))
    emit("loop", figures, _targets(figures), as_json=options.json)


if __name__ == "__main__":
    main()
