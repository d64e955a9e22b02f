"""Makes calls until it is killed: for each line `SEED FOLDER` of its input this process forks one that does.

Forking spares each of them the second that loading takes. What is to be killed tells its process id on standard
output, and in the folder's FIFO `progress` a byte for each call that begins, and one for each that ends.
"""

import itertools
import json
import os
import random
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import anyio

from toolcrib import Crib
from toolcrib.errors import ServerError

TASKS = 4
LATE = ("toolcrib.broker.journal.queries", "toolcrib.servers.owner")
"""What is loaded when it is first needed: here before anything is forked."""


async def call_on(seed: int, folder: Path) -> None:
    """Call tools at random, several at a time."""
    chance = random.Random(seed)
    numbers = itertools.count()
    config = json.loads((folder / "config.json").read_text())
    progress = os.open(folder / "progress", os.O_WRONLY)
    async with Crib.open(config, state_dir=folder / "state") as crib, anyio.create_task_group() as tasks:

        async def go_on() -> None:
            while True:
                tool = chance.choice(("writes.echo", "writes.echo", "reads.echo"))
                os.write(progress, b".")
                with suppress(ServerError):
                    await crib.call(tool, {"number": next(numbers)})
                os.write(progress, b".")

        for _ in range(TASKS):
            tasks.start_soon(go_on)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in LATE:
        import_module(name)
    for line in sys.stdin:
        seed, folder = line.rstrip("\n").split(" ", 1)
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                anyio.run(call_on, int(seed), Path(folder))
            finally:
                os._exit(1)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
