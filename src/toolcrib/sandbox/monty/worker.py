"""`Crew`: the worker processes of Monty, each for one script, with one made ready ahead.

Monty's asynchronous pool aborts some interpreters at their exit (measured: 8 of 40 runs), so the synchronous one is
driven from threads of our own. They live as long as the pool: a process that dies with its parent dies with the
thread that started it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from pydantic_monty import ExternalModule, Monty, MontyError, MontySession, ResourceLimits

from toolcrib.sandbox import processes
from toolcrib.sandbox.contract import Finding
from toolcrib.sandbox.limits import DEFAULT_LIMITS, Limits
from toolcrib.sandbox.monty.checking import types_of
from toolcrib.sandbox.monty.modules import ANY_STUBS, MODULES
from toolcrib.sandbox.monty.prelude import PRELUDE

T = TypeVar("T")

_DEPTH = 400
"""Calls inside calls that a script may make."""
_CHECKERS = 2
"""Checks at once."""
_GRACE = 0.5
"""Seconds past its time that a worker is given to say so itself."""


@dataclass(slots=True)
class Worker:
    """A process with a session in it.

    Attributes:
        session: What is spoken to.
        pid: The process; None once it was given back.
        feeds: How much was fed to it: what tells a script's own lines from others.
    """

    session: MontySession
    pid: int | None
    feeds: int = 0


@dataclass(slots=True)
class Crew:
    """The processes of one sandbox.

    Args:
        binary: What is started as the interpreter.
        size: Scripts at once.
    """

    binary: str
    size: int
    _threads: ThreadPoolExecutor = field(init=False)
    _pool: Monty = field(init=False)
    _checkers: Monty = field(init=False)
    _slots: asyncio.Semaphore = field(init=False)
    _checks: asyncio.Semaphore = field(init=False)
    _wanted: ResourceLimits = field(init=False)
    _spare: tuple[ResourceLimits, Worker] | None = None
    _hiring: "asyncio.Task[None] | None" = None
    _is_awaited: bool = False
    _workers: set[int] = field(default_factory=set[int])
    _leaving: "set[asyncio.Task[None]]" = field(default_factory=lambda: set[asyncio.Task[None]]())
    _closed: bool = False

    async def start(self) -> None:
        """Start the pools. Raises MontyError, RuntimeError or OSError where nothing can be started."""
        self._wanted = _engine_limits(DEFAULT_LIMITS)
        self._threads = ThreadPoolExecutor(self.size + 4, thread_name_prefix="toolcrib-monty")
        self._slots = asyncio.Semaphore(self.size)
        self._checks = asyncio.Semaphore(_CHECKERS)
        # one process a script: what one leaves behind, no other can find
        self._pool = Monty(
            binary_path=self.binary,
            min_processes=0,
            max_processes=self.size + 2,
            max_checkouts_per_worker=1,
            feed_duration_limit_grace=_GRACE,
        )
        self._checkers = Monty(
            binary_path=self.binary,
            min_processes=1,
            max_processes=_CHECKERS,
            max_checkouts_per_worker=200,
            request_timeout=10,
        )
        await self.call(self._pool.__enter__)
        await self.call(self._checkers.__enter__)

    async def aclose(self) -> None:
        """End every process."""
        if self._closed:
            return
        self._closed = True
        if self._hiring:
            await asyncio.wait([self._hiring])
        if self._spare:
            await self._dismiss(self._spare[1], slot=False)
        for pid in self._workers:
            processes.end(pid)
        if self._leaving:
            await asyncio.wait(self._leaving)
        for pool in (self._pool, self._checkers):
            with suppress(MontyError, RuntimeError):
                await self.call(pool.__exit__, None, None, None)
        self._threads.shutdown(wait=False)

    async def call(self, function: Callable[..., T], *args: Any) -> T:
        """Call something that blocks, on a thread that lives as long as the pool."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args))

    def begin(self, function: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        """As `call`, but not waited for."""
        return asyncio.get_running_loop().run_in_executor(self._threads, partial(function, *args))

    async def hire(self, limits: Limits, *, prepared: bool = True) -> Worker:
        """A worker for one script; waits while too many run.

        Args:
            limits: What the script may use.
            prepared: Whether it has been fed the prelude; one that takes up a snapshot must not be.
        """
        await self._slots.acquire()
        try:
            wanted = _engine_limits(limits)
            ready = await self._made_ready(wanted) if prepared else None
            worker = ready or await self._hired(wanted, prepared)
        except BaseException:
            self._slots.release()
            raise
        if worker.pid:
            self._workers.add(worker.pid)
        return worker

    async def _made_ready(self, limits: ResourceLimits) -> Worker | None:
        """The worker that was made ready, or is just being made and no other script waits for."""
        if self._spare is None and self._hiring and not self._hiring.done() and not self._is_awaited:
            self._is_awaited = True
            await asyncio.wait([self._hiring])
        if self._spare is None or self._spare[0] != limits:
            return None
        worker, self._spare = self._spare[1], None
        return worker

    async def _hired(self, limits: ResourceLimits, prepared: bool) -> Worker:
        making = self.begin(self._made, limits, prepared)
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            # it comes all the same, and nobody waits for it
            making.add_done_callback(self._unwanted)
            raise

    def _unwanted(self, making: "asyncio.Future[Worker]") -> None:
        if not making.cancelled() and making.exception() is None:
            self._leave(self._dismiss(making.result(), slot=False))

    def prepare(self, limits: Limits | None = None, *, delay: float = 0.0) -> None:
        """Make a worker ready for the next script, in the background.

        Args:
            limits: What that may use, as far as can be told; None for what was said last.
            delay: Seconds to wait before.
        """
        if limits is not None:
            self._wanted = _engine_limits(limits)
        if delay:
            asyncio.get_running_loop().call_later(delay, self.prepare)
        elif self._is_to_make_ready and (self._hiring is None or self._hiring.done()):
            self._is_awaited = False
            self._hiring = asyncio.create_task(self._prepare())

    @property
    def _is_to_make_ready(self) -> bool:
        """One that is ready for scripts with other limits would never be taken, and keep its place."""
        return not self._closed and (self._spare is None or self._spare[0] != self._wanted)

    def dismiss(self, worker: Worker) -> None:
        """Give a worker back in the background: the end of its process is nothing to wait for."""
        self._leave(self._dismiss(worker, slot=True))

    def _leave(self, dismissing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(dismissing)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _dismiss(self, worker: Worker, *, slot: bool) -> None:
        pid, worker.pid = worker.pid, None
        with suppress(MontyError, RuntimeError):
            await self.call(worker.session.__exit__, None, None, None)
        if pid:
            self._workers.discard(pid)
        if slot:
            self._slots.release()

    async def check(self, stubs: str, code: str) -> list[Finding]:
        """What the checker of types says of a script. Raises RuntimeError where its process ends."""
        async with self._checks:
            return await self.call(self._checked, stubs, code)

    def _checked(self, stubs: str, code: str) -> list[Finding]:
        """The whole of a check on one thread, so that a caller that gives up leaves nothing half done."""
        modules = {name: ExternalModule({}, stubs=ANY_STUBS) for name in [*MODULES, "urllib__"]}
        with self._checkers.checkout(
            type_check=True,
            type_check_stubs=stubs,
            type_check_format="json",
            limits=_engine_limits(Limits(cpu=2.0)),
            external_modules=modules,
        ) as session:
            return types_of(session, code)

    def _made(self, limits: ResourceLimits, prepared: bool) -> Worker:
        session = self._pool.checkout(limits=limits)
        session.__enter__()
        worker = Worker(session, session.worker_pid)
        if prepared:
            session.feed_run(PRELUDE, skip_type_check=True, print_callback=_silent)
            worker.feeds = 1
        return worker

    async def _prepare(self) -> None:
        with suppress(MontyError, RuntimeError, OSError, TimeoutError):
            while self._is_to_make_ready:
                if self._spare:
                    useless, self._spare = self._spare[1], None
                    await self._dismiss(useless, slot=False)
                limits = self._wanted
                worker = await self.call(self._made, limits, True)
                self._spare = (limits, worker)


def _silent(_stream: str, _text: str) -> None:
    return None


def _engine_limits(limits: Limits) -> ResourceLimits:
    # Each call costs a suspension, its namespace one and its answer one; names and sleeps count too.
    return ResourceLimits(
        max_feed_duration_secs=limits.cpu,
        max_memory=limits.memory,
        max_recursion_depth=_DEPTH,
        max_suspensions=4 * limits.calls + 2_000,
        max_total_sleep_secs=limits.total,
    )
