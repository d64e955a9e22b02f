"""Standard input and output as the wire, in a way that never holds up the end of the process.

The SDK's own stdio transport reads and writes in worker threads that can't be cancelled, so a process told to
stop would wait for its client. Here daemon threads do it: the SDK frames the messages, these carry the bytes.
"""

import asyncio
import os
import queue
import sys
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress

from toolcrib.errors import UsageError

_LINES_AHEAD = 64
"""Lines read before the server has taken them."""


@contextmanager
def standard_streams() -> Generator[tuple["Lines", "Writer"], None, None]:
    """Take standard input and output for the wire.

    Meanwhile descriptor 0 is the null device and descriptor 1 is standard error, so that what other code reads
    or prints does not touch the wire.

    Raises:
        UsageError: The process has no standard input or output.
    """
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None:  # the descriptor was closed at the start, and may be something else by now
            raise UsageError(
                f"There is no standard {name} to serve on.",
                hint="An MCP client starts this program with both connected; serve over HTTP to do without.",
            )
    sys.stdout.flush()  # what was printed before belongs to the old place
    with open(os.devnull, "rb") as nothing, _moved(0, nothing.fileno()) as source, _moved(1, 2) as sink:
        yield Lines(source), Writer(sink)


class Lines:
    """The lines of a descriptor, read in a thread of their own.

    Args:
        descriptor: Open for reading. It stays open: the thread may be waiting on it when the process ends.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._ahead = threading.Semaphore(_LINES_AHEAD)
        threading.Thread(target=self._read, args=(descriptor,), name="toolcrib-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._lines.get()) is not None:
            self._ahead.release()
            yield line

    def _read(self, descriptor: int) -> None:
        with suppress(RuntimeError):  # the loop has ended before the input
            with suppress(OSError), os.fdopen(descriptor, "rb", closefd=False) as file:
                for line in file:
                    self._ahead.acquire()
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line.decode("utf-8", "replace"))
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)


class Writer:
    """Writes to a descriptor in a thread of its own.

    Args:
        descriptor: Open for writing. It stays open, as that of `Lines`.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._texts: queue.SimpleQueue[tuple[str, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="toolcrib-stdout", daemon=True).start()

    async def write(self, text: str) -> None:
        """Write a text whole.

        Raises:
            OSError: Whoever reads it is gone.
        """
        done: asyncio.Future[None] = self._loop.create_future()
        self._texts.put((text, done))
        await done

    async def flush(self) -> None:
        """Nothing to do: `write` returns when all is written."""

    def _write(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            while True:
                text, done = self._texts.get()
                failure: OSError | None = None
                try:
                    _write_all(self._descriptor, text.encode("utf-8"))
                except OSError as error:
                    failure = error
                self._loop.call_soon_threadsafe(_settle, done, failure)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _settle(done: "asyncio.Future[None]", failure: OSError | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)


@contextmanager
def _moved(descriptor: int, substitute: int) -> Generator[int, None, None]:
    """Another descriptor for what `descriptor` is, while `descriptor` stands for something else."""
    private = os.dup(descriptor)
    os.dup2(substitute, descriptor)
    try:
        yield private
    finally:
        os.dup2(private, descriptor)
