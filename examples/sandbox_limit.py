"""Limits of your own for scripts: of all that models write, by the configuration; of one run, by the sandbox.

Run it with: python examples/sandbox_limit.py
"""

import asyncio

from toolcrib import Crib
from toolcrib.sandbox import CallError, Limits, Names, ScriptCall, create_sandbox

ENDLESS = "while True:\n    pass\n"
GREEDY = "[await local.look(number=n) for n in range(100)]\n"
CHATTY = "for n in range(100):\n    print('line', n)\n"


def look(number: int) -> int:
    """Look at a number."""
    return number


async def by_configuration() -> None:
    """What a model's scripts may use up, such as three calls and half a second."""
    scripts = {"calls": 3, "seconds": 0.5, "memory_mb": 64}
    async with Crib.open({"mcpServers": {}, "toolcrib": {"scripts": scripts}}) as crib:
        crib.add_functions(look)
        for code in (GREEDY, ENDLESS):
            outcome = await crib.run_code(code)
            print(f"{outcome.status}: {outcome.fault.message if outcome.fault else ''}")
            print(f"  calls made: {len(outcome.calls)}")


async def by_sandbox() -> None:
    """One run with limits that no configuration has: here, of what is printed."""

    async def nothing(call: ScriptCall) -> None:
        raise CallError(f"{call.name} is not there.")

    async with create_sandbox("python") as sandbox:
        outcome = await sandbox.run(CHATTY, Names(), nothing, limits=Limits(output=200))
        print(f"{outcome.status}: {len(outcome.output)} bytes were kept, {outcome.output_cut} left out")


async def main() -> None:
    await by_configuration()
    await by_sandbox()


if __name__ == "__main__":
    asyncio.run(main())
