"""`LineCrew`: the children of one sandbox, each for one script, with one started ahead."""

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from toolcrib.errors import SandboxError
from toolcrib.sandbox.lines.pipes import Child, LineTooLongError


def _tasks() -> "set[asyncio.Task[None]]":
    return set()


@dataclass(slots=True)
class LineCrew:
    """The children of one sandbox.

    Args:
        argv: What is started.
        env: All that it finds in its environment.
        size: Scripts at once.
        cwd: Where it is started; None is wherever this process is.
        start_timeout: Seconds until it must have said that it is ready.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    size: int
    cwd: str | None = None
    start_timeout: float = 20.0
    _slots: asyncio.Semaphore = field(init=False)
    _spare: Child | None = None
    _hiring: "asyncio.Task[None] | None" = None
    _children: set[Child] = field(default_factory=set[Child])
    _leaving: "set[asyncio.Task[None]]" = field(default_factory=_tasks)
    _closed: bool = False

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.size)

    async def hire(self) -> Child:
        """A child that is ready for a script; waits while too many run.

        Raises:
            SandboxError: None can be started.
        """
        await self._slots.acquire()
        try:
            child, self._spare = self._spare, None
            if child is None:
                child = await self._hired()
        except BaseException:
            self._slots.release()
            raise
        self._children.add(child)
        return child

    async def _hired(self) -> Child:
        starting = asyncio.create_task(self._started())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # it comes all the same, and nobody waits for it
            starting.add_done_callback(self._unwanted)
            raise

    def _unwanted(self, starting: "asyncio.Task[Child]") -> None:
        if not starting.cancelled() and starting.exception() is None:
            self._leave(starting.result().aclose())

    def prepare(self, *, delay: float = 0.0) -> None:
        """Start the next child ahead, after a while."""
        if delay:
            asyncio.get_running_loop().call_later(delay, self.prepare)
        elif not self._closed and self._spare is None and (self._hiring is None or self._hiring.done()):
            self._hiring = asyncio.create_task(self._prepare())

    def dismiss(self, child: Child) -> None:
        """End a child in the background."""
        self._leave(self._dismiss(child))

    def _leave(self, dismissing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(dismissing)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def aclose(self) -> None:
        """End every child."""
        self._closed = True
        if self._hiring:
            await asyncio.wait([self._hiring])
        for child in [*self._children, *([self._spare] if self._spare else [])]:
            child.kill()
        if self._spare:
            await self._spare.aclose()
            self._spare = None
        if self._leaving:
            await asyncio.wait(self._leaving)

    async def _dismiss(self, child: Child) -> None:
        try:
            await child.aclose()
        finally:
            self._children.discard(child)
            self._slots.release()

    async def _prepare(self) -> None:
        with suppress(SandboxError):
            child = await self._started()
            if self._closed or self._spare is not None:
                await child.aclose()
            else:
                self._spare = child

    async def _started(self) -> Child:
        try:
            child = await Child.start(self.argv, self.env, self.cwd)
        except OSError as error:
            raise SandboxError(f"{self.argv[0]} can't be started: {error}") from error
        said: bytes | None = None
        try:
            with suppress(TimeoutError, LineTooLongError):
                said = await asyncio.wait_for(child.line(), self.start_timeout)
            if said is None or not _is_ready(said):
                words = "" if said is None else f": {said[:300].decode('utf-8', 'replace')}"
                raise SandboxError(f"{self.argv[0]} ended before it was ready{words}")
        except BaseException:
            await child.aclose()
            raise
        return child


def _is_ready(line: bytes) -> bool:
    try:
        return json.loads(line)["t"] == "ready"
    except (ValueError, KeyError, TypeError):
        return False
