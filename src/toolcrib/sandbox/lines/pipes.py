"""`Child`: a process with two pipes, spoken to in lines of bounded length."""

import asyncio
import os
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from toolcrib.sandbox import processes

_MOST_HELD = 4 * 1024 * 1024
"""Bytes of lines that are held before the child is made to wait."""
_END_TIMEOUT = 5.0


class LineTooLongError(Exception):
    """The child sent a line longer than it may."""


class _Lines(asyncio.Protocol):
    """Cuts what a child writes into lines."""

    def __init__(self) -> None:
        self.limit = 1024 * 1024
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._held = 0
        self._transport: asyncio.ReadTransport | None = None
        self._news = asyncio.Event()
        self._is_paused = False
        self._is_over = False
        self._is_too_long = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport if isinstance(transport, asyncio.ReadTransport) else None

    def data_received(self, data: bytes) -> None:
        if self._is_too_long:
            return
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = bytes(self._rest) + lines[0]
            self._rest = bytearray(rest)
        else:
            self._rest += rest
        if len(self._rest) > self.limit or any(len(line) > self.limit for line in lines):
            self._is_too_long = True
            self._rest.clear()
        self._lines.extend(lines)
        self._held += sum(map(len, lines))
        if self._held > _MOST_HELD and self._transport and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._news.set()

    async def line(self) -> bytes | None:
        """The next line; None at the end. Raises LineTooLongError."""
        while not self._lines:
            if self._is_too_long:
                raise LineTooLongError
            if self._is_over:
                return None
            self._news.clear()
            await self._news.wait()
        line = self._lines.popleft()
        self._held -= len(line)
        if self._is_paused and self._held < _MOST_HELD // 2 and self._transport:
            self._is_paused = False
            self._transport.resume_reading()
        return line


def _spawn(argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> "tuple[subprocess.Popen[bytes], int, int]":
    """A process, and our ends of its standard output and input.

    It is started on the event loop's thread: a process that dies with its parent dies with the thread that made it.
    """
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=their_in,
            stdout=their_out,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    except BaseException:
        os.close(our_in)
        os.close(our_out)
        raise
    finally:
        os.close(their_in)
        os.close(their_out)
    return process, our_in, our_out


class Child:
    """A process that leads its own group, with nothing of ours open but two pipes."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        lines: _Lines,
        read: asyncio.BaseTransport,
        write: asyncio.WriteTransport,
    ) -> None:
        self._process = process
        self._lines = lines
        self._read = read
        self._write = write
        self._is_dead = False

    @classmethod
    async def start(cls, argv: Sequence[str], env: Mapping[str, str], cwd: str | None = None) -> "Child":
        """Start a process. Raises OSError where it can't be."""
        loop = asyncio.get_running_loop()
        process, our_in, our_out = _spawn(argv, env, cwd)
        lines = _Lines()
        read, _ = await loop.connect_read_pipe(lambda: lines, os.fdopen(our_in, "rb", 0))
        write, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(our_out, "wb", 0))
        return cls(process, lines, read, write)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def allow(self, length: int) -> None:
        """Bytes that one of its lines may have from now on."""
        self._lines.limit = length

    async def line(self) -> bytes | None:
        """Its next line; None when there will be none. Raises LineTooLongError."""
        return await self._lines.line()

    def send(self, line: bytes) -> None:
        """Send it a line. What it does not read is dropped with it."""
        if not self._is_dead:
            self._write.write(line + b"\n")

    def kill(self) -> None:
        """End it and its group at once."""
        if not self._is_dead and self._process.returncode is None:
            self._is_dead = True
            processes.end(self._process.pid, group=True)

    async def aclose(self) -> None:
        """End it, and wait until it is gone."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            if self._process.poll() is None:
                await asyncio.to_thread(self._process.wait, _END_TIMEOUT)
        if not self._read.is_closing():
            self._read.close()
        if not self._write.is_closing():
            # what it did not read is of no use to anybody
            self._write.abort()
