"""What it takes to know again what was read: a check of 10 kB of arguments against 10 MB of earlier results, the taking
in of those results, and how often ordinary arguments are taken for copies."""

import asyncio
import random
import time
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from bench.report import Spread, Target
from toolcrib.broker import LOCAL, Call, Memory
from toolcrib.catalog import Tool
from toolcrib.crib import Crib
from toolcrib.demo import demo_config
from toolcrib.schema import example_call

RESULTS = 100
RESULT_CHARACTERS = 100_000
ARGUMENT_CHARACTERS = 10_000
CHECKS = 100
WORDS = 20_000


def measure(options: Namespace) -> dict[str, Any]:
    return {**_checks(), "ordinary": asyncio.run(_ordinary())}


def targets(figures: dict[str, Any]) -> list[Target]:
    slowest = max(figures["check_ms"].values(), key=lambda spread: spread["median"])
    return [Target("fingerprint check, 10 kB against 10 MB, p50", slowest["median"], "ms", 10)]


def _checks() -> dict[str, Any]:
    words = _Words(random.Random(1))
    results = [words.text(RESULT_CHARACTERS) for _ in range(RESULTS)]
    memory = Memory(lambda _: ())
    begun = time.perf_counter()
    for number, text in enumerate(results):
        memory.learned(_reading(number), {"content": [{"type": "text", "text": text}]})
    noted = time.perf_counter() - begun
    memory.traces(_sending(""))
    taken_in = time.perf_counter() - begun
    half = ARGUMENT_CHARACTERS // 2
    kinds = {
        "nothing copied": words.text(ARGUMENT_CHARACTERS),
        "half copied": words.text(half) + results[RESULTS // 2][:half],
        "copied from all results": " ".join(text[: ARGUMENT_CHARACTERS // RESULTS] for text in results),
    }
    spreads = {name: _check(memory, argument) for name, argument in kinds.items()}
    memory.close()
    return {
        "megabytes_read": RESULTS * RESULT_CHARACTERS / 1e6,
        "noted_ms_in_all": round(noted * 1000, 2),
        "taken_in_seconds": round(taken_in, 2),
        "check_ms": {name: asdict(taken) for name, (taken, _, _) in spreads.items()},
        "check_processor_ms": {name: asdict(worked) for name, (_, worked, _) in spreads.items()},
        "traces": {name: found for name, (_, _, found) in spreads.items()},
    }


def _check(memory: Memory, argument: str) -> tuple[Spread, Spread, int]:
    """Milliseconds of a check, those of them that it had a processor for, and how many traces it finds."""
    taken: list[float] = []
    worked: list[float] = []
    found = 0
    for _ in range(CHECKS):
        call = _sending(argument)
        begun, began = time.perf_counter(), time.thread_time()
        found = len(memory.traces(call))
        taken.append((time.perf_counter() - begun) * 1000)
        worked.append((time.thread_time() - began) * 1000)
    return Spread.of(taken), Spread.of(worked), found


async def _ordinary() -> dict[str, int]:
    """How many of the demo tools' own example arguments are taken for copies, when everything that reads was called
    with them before."""
    memory = Memory(lambda _: ())
    async with Crib.open({**demo_config(), "toolcrib": {"first_listing_wait": 60}}) as crib:
        await crib.refresh()
        tools = list(crib.registry.tools())
        read = 0
        for tool in tools:
            if tool.annotations.get("readOnlyHint") is not True:
                continue
            outcome = await crib.call(tool.id, example_call(tool.input_schema))
            read += 1
            # As if another call had given it: what a call gets back of its own arguments would not count.
            memory.learned(Call("tools/call", tool.id, tool.server, {}, LOCAL, tool, "read"), outcome.result)
    taken_for_copies = [tool.id for tool in tools if memory.traces(_calling(tool))]
    memory.close()
    return {"results_read": read, "calls_checked": len(tools), "taken_for_copies": len(taken_for_copies)}


def _reading(number: int) -> Call:
    return Call("tools/call", f"files.read{number}", "files", {"arguments": {}}, LOCAL, None, "read")


def _sending(text: str) -> Call:
    return Call("tools/call", "mail.send", "mail", {"arguments": {"body": text}}, LOCAL, None, "write")


def _calling(tool: Tool) -> Call:
    params = {"name": tool.name, "arguments": example_call(tool.input_schema)}
    return Call("tools/call", tool.id, tool.server, params, LOCAL, tool, "write")


class _Words:
    """Texts of made-up words, with a number now and then."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(WORDS)]

    def text(self, characters: int) -> str:
        parts: list[str] = []
        length = 0
        while length < characters:
            is_number = self._chance.random() < 0.03
            parts.append(str(self._chance.randrange(10**8)) if is_number else self._chance.choice(self._words))
            length += len(parts[-1]) + 1
        return " ".join(parts)[:characters]
