"""What every call pays for change control and what every result pays for finding hidden text."""

import asyncio
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.report import Target
from toolcrib.broker import ALLOW, Call, Caller, ChangeControl, Pins, Watch
from toolcrib.catalog import ToolRegistry
from toolcrib.crib.shared import SharedStore
from toolcrib.hidden import hidden_places
from toolcrib.redact import Secrets

_TOOLS = 2_000
_ROUNDS = 15
_TEXT = "The quick brown fox jumps over the lazy dog, and nothing in it is hidden. "


def add_options(parser: ArgumentParser) -> None:
    """The options of this part."""
    parser.add_argument("--checks", type=int, default=10_000, help="calls that are checked against their pins")


def measure(options: Namespace) -> dict[str, Any]:
    """Medians of a check against the pins, of looking through a result, and of redacting arguments."""
    with TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        pins = asyncio.run(_pins(Path(folder), options.checks))
    text = _TEXT * (10_000 // len(_TEXT))
    result = {"content": [{"type": "text", "text": text}]}
    secrets = Secrets([r"EMP-\d{6}"])
    for number in range(300):
        secrets.add(f"s3cret/{number:06}")
    arguments = {"title": "A title", "body": text, "labels": ["one", "two"]}
    return {
        **pins,
        "look_through_10_kb_ms": _median_ms(lambda: hidden_places(result), 100),
        "redact_10_kb_among_300_secrets_ms": _median_ms(lambda: secrets.value(arguments), 20),
    }


def targets(figures: Mapping[str, Any]) -> list[Target]:
    """The budgets of the figures: what is left of the broker's for these parts."""
    return [
        Target("one call checked against its pin", figures["check_ms"], "ms", 0.03),
        Target("a result of 10 kB looked through for hidden text", figures["look_through_10_kb_ms"], "ms", 0.1),
    ]


async def _pins(folder: Path, checks: int) -> dict[str, Any]:
    registry = ToolRegistry()
    properties = {f"parameter_{number}": {"type": "string", "description": "One of them."} for number in range(8)}
    schema = {"type": "object", "properties": properties}
    tools = [{"name": f"tool_{each}", "description": _TEXT, "inputSchema": schema} for each in range(_TOOLS)]
    registry.cache_from_maps(tools, server="s")
    calls = [
        Call("tools/call", key, "s", {"name": key, "arguments": {}}, Caller(), registry.tool(key), "read")
        for key in registry.keys("s")[:100]
    ]
    shared = SharedStore(folder, "bench")
    control, pins = _control(shared, registry)
    for call in calls:
        await control.decided(call, ALLOW)
        control.sent(call, ALLOW)
    await pins.flush()
    rounds: list[float] = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        for number in range(max(1, checks // _ROUNDS)):
            call = calls[number % len(calls)]
            await control.decided(call, ALLOW)
            control.sent(call, ALLOW)
        rounds.append((time.perf_counter() - begun) / max(1, checks // _ROUNDS) * 1e3)
    await shared.close()
    return {"pinned": len(calls), "check_ms": round(statistics.median(rounds), 5)}


def _control(shared: SharedStore, registry: ToolRegistry) -> tuple[ChangeControl, Pins]:
    pins = Pins(shared.opened, shared.exists)
    return ChangeControl(pins, registry, lambda _: Watch("warn", "s-bench")), pins


def _median_ms(run: Any, times: int) -> float:
    spent: list[float] = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        for _ in range(times):
            run()
        spent.append((time.perf_counter() - begun) / times * 1e3)
    return round(statistics.median(spent), 5)
