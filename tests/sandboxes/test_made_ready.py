"""The worker of Monty that is made ready ahead: the next script has it, whatever was run before with other limits."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from toolcrib.sandbox import Limits
from toolcrib.sandbox.monty.walls import starts
from toolcrib.sandbox.monty.worker import Crew

pytestmark = [pytest.mark.anyio, pytest.mark.skipif("sys.platform == 'win32'", reason="the log is written by a shell")]

TRIAL = Limits(calls=1)
USUAL = Limits(calls=100)


class Started:
    """The processes that a crew has started: each writes its id down, and becomes the interpreter."""

    def __init__(self, folder: Path) -> None:
        self._start = starts("none")[-1]
        self._log = folder / "started"
        self._log.touch()
        program = folder / "counted"
        program.write_text(f'#!/bin/sh\necho $$ >> {self._log}\nexec {self._start.binary} "$@"\n', encoding="utf-8")
        program.chmod(0o700)
        self.crew = Crew(str(program), 4)

    def remove(self) -> None:
        self._start.remove()

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self._log.read_text(encoding="ascii").split()]

    async def reach(self, count: int) -> None:
        with anyio.fail_after(20):
            while len(self.pids) < count:  # noqa: ASYNC110 - what another process wrote tells no event
                await anyio.sleep(0.01)


@pytest.fixture
async def started() -> AsyncIterator[Started]:
    with tempfile.TemporaryDirectory() as folder:
        started = Started(Path(folder))
        await started.crew.start()
        await started.reach(1)  # that of the checker of types
        yield started
        await started.crew.aclose()
        started.remove()


async def test_one_made_ready_for_other_limits_gives_way(started: Started) -> None:
    crew = started.crew
    crew.prepare(TRIAL)
    await started.reach(2)
    crew.prepare(USUAL)
    await started.reach(3)
    before = started.pids
    worker = await crew.hire(USUAL)
    assert worker.pid == before[-1]
    assert started.pids == before
    crew.dismiss(worker)


async def test_limits_that_the_interpreter_knows_nothing_of_make_no_difference(started: Started) -> None:
    crew = started.crew
    crew.prepare(USUAL)
    await started.reach(2)
    worker = await crew.hire(Limits(calls=100, result_bytes=1_000))
    assert [worker.pid] == started.pids[1:]
    crew.dismiss(worker)


async def test_a_script_waits_for_the_one_that_is_just_being_made(started: Started) -> None:
    crew = started.crew
    crew.prepare(USUAL)
    worker = await crew.hire(USUAL)
    assert [worker.pid] == started.pids[1:]
    crew.dismiss(worker)
