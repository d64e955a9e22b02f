"""The stdio transport: one server as a child process, spoken to in lines of JSON.

The SDK's own `stdio_client` hides the process. Supervision needs it: its id, its exit code, its standard
error, a bound on the size of a line, and lines that are no JSON-RPC told apart from broken ones. Framing,
message models and the ending of process trees are the SDK's.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from toolcrib.errors import ServerStartError
from toolcrib.servers.stderr import StderrTail
from toolcrib.servers.watchdog import MARKER_VARIABLE, Watchdog
from toolcrib.servers.wire import NO_ANSWER

if TYPE_CHECKING:
    from anyio.abc import Process
    from mcp_types import JSONRPCMessage

MAX_LINE = 128 * 1024 * 1024
"""Bytes of one message. Real servers list up to 581 kB and answer 6 MB in a line; beyond this a server is
taken to be broken."""

_MOST_OF_A_LINE = 4_096
"""Characters read of standard error at once: a server may never end its line."""

_MOST_DIGITS = 4_000
"""Python reads no longer integers."""

_EXIT_GRACE = 2.0
_KILL_GRACE = 2.0
_DEATH_GRACE = 0.5
"""A group whose dead nobody collects, as in a container without an init, never is gone."""
_FLUSH_GRACE = 0.5
_LAST_WORDS_GRACE = 1.0
"""For what a server wrote before it closed its input; answers to other calls are among it."""


@dataclass(frozen=True, slots=True)
class StdioCommand:
    """What to start: command, arguments, environment beside the safe one, working directory."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str]
    cwd: Path | None


@dataclass(frozen=True, slots=True)
class StdioStreams:
    """The running process and the two streams that a session reads and writes."""

    process: "Process"
    read: MemoryObjectReceiveStream[SessionMessage | Exception]
    write: MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def stdio_transport(
    server: str, start: StdioCommand, watchdog: Watchdog, tail: StderrTail, junk: StderrTail
) -> AsyncGenerator[StdioStreams]:
    """Start a server as a child process and end its whole process tree on leaving.

    Args:
        server: The server's id, for messages.
        start: What to start.
        watchdog: Ends it should this process end first.
        tail: Takes the lines of its standard error.
        junk: Takes the lines of its standard output that are not JSON-RPC.

    Raises:
        ServerStartError: The process can't be started.
    """
    watchdog.start()
    process, reading = await _spawn(server, start, watchdog.marker, tail)
    watchdog.watch(process.pid)
    to_session, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read_lines, process, to_session, junk)
        tasks.start_soon(_write_lines, process, from_session, to_session, written)
        tasks.start_soon(_watch_input, process, to_session)
        try:
            yield StdioStreams(process, read, write)
        finally:
            with anyio.CancelScope(shield=True):
                read.close()
                write.close()
                with anyio.move_on_after(_FLUSH_GRACE):
                    await written.wait()
                await _end(process)
                watchdog.forget(process.pid)
                # What it said last tells why it ended, and may still be on its way through the pipe.
                await anyio.to_thread.run_sync(reading.join, _FLUSH_GRACE)
                for stream in (to_session, from_session):
                    stream.close()
            tasks.cancel_scope.cancel()


async def _spawn(server: str, start: StdioCommand, marker: str, tail: StderrTail) -> "tuple[Process, threading.Thread]":
    """The process, and the thread that reads its standard error."""
    env = {**get_default_environment(), **start.env, MARKER_VARIABLE: marker}
    if start.cwd is not None and not await anyio.Path(start.cwd).is_dir():
        raise ServerStartError(
            server,
            f"The working directory of {server} does not exist: {start.cwd}.",
            hint="Correct its `cwd`.",
        )
    read_end, write_end = os.pipe()
    errors = os.fdopen(write_end, "w", encoding="utf-8", errors="replace")
    reading = _drain_in_thread(read_end, tail)
    try:
        return await _open_process(start, env, errors), reading
    except FileNotFoundError as error:
        raise ServerStartError(
            server,
            f"The command of {server} was not found: {start.command}.",
            hint="Install it, or give its full path as `command`.",
        ) from error
    except (OSError, ValueError) as error:
        raise ServerStartError(
            server,
            f"The command of {server} can't be started: {start.command}: {error}.",
            hint="Check `command`, `args` and `env`.",
        ) from error
    finally:
        errors.close()


async def _open_process(start: StdioCommand, env: dict[str, str], errors: TextIO) -> "Process":
    if sys.platform == "win32":  # pragma: no cover - written with care, not verified here
        from mcp.os.win32.utilities import create_windows_process, get_windows_executable_command

        command = get_windows_executable_command(start.command)
        process: Any = await create_windows_process(command, list(start.args), env, errors, start.cwd)
        return process
    return await anyio.open_process(
        [start.command, *start.args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=env,
        cwd=start.cwd,
        start_new_session=True,
    )


def _drain_in_thread(descriptor: int, tail: StderrTail) -> threading.Thread:
    """Collect standard error to its end in a thread: it works alike on every system and never blocks the loop.

    A descendant that keeps the pipe open keeps the thread; it is a daemon and ends with the process.
    """

    def drain() -> None:
        with os.fdopen(descriptor, "r", encoding="utf-8", errors="replace") as stream:
            begins = True
            while piece := stream.readline(_MOST_OF_A_LINE):
                if begins:
                    tail.add(piece)
                begins = piece.endswith("\n")

    thread = threading.Thread(target=drain, name="toolcrib-stderr", daemon=True)
    thread.start()
    return thread


async def _read_lines(
    process: "Process", to_session: MemoryObjectSendStream[SessionMessage | Exception], junk: StderrTail
) -> None:
    assert process.stdout is not None
    buffer = bytearray()
    searched = 0
    async with to_session:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
            while True:
                buffer += await process.stdout.receive()
                while (end := buffer.find(b"\n", searched)) >= 0:
                    line = bytes(buffer[:end])
                    del buffer[: end + 1]
                    searched = 0
                    await _deliver(line, to_session, junk)
                searched = len(buffer)
                if searched > MAX_LINE:
                    junk.add(f"a line of more than {MAX_LINE} bytes")
                    return


async def _deliver(
    line: bytes, to_session: MemoryObjectSendStream[SessionMessage | Exception], junk: StderrTail
) -> None:
    if not line.strip():
        return
    message = _parsed(line)
    if message is None:
        junk.add(line[:600].decode("utf-8", "replace"))
        return
    await to_session.send(SessionMessage(message))


def _parsed(line: bytes) -> "JSONRPCMessage | None":
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        pass
    text = line.decode("utf-8", "replace")
    try:
        # The quick parser refuses lone surrogates, which JavaScript writes, great depths, and what is not UTF-8.
        return jsonrpc_message_adapter.validate_python(json.loads(text), by_name=False)
    except RecursionError:
        return None
    except ValueError:
        return _unusable_answer(text)


def _unusable_answer(text: str) -> "JSONRPCMessage | None":
    """An error in place of an answer that is none of the protocol's, so that nobody waits for a better one."""
    try:
        value: Any = json.loads(text, parse_int=_whole)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    answer = cast("dict[str, Any]", value)
    answered = answer.get("id")
    if "method" in answer or not answer.keys() & {"result", "error"}:
        return None
    if not isinstance(answered, int | str) or isinstance(answered, bool):
        return None
    return JSONRPCError(jsonrpc="2.0", id=answered, error=ErrorData(code=INTERNAL_ERROR, message=NO_ANSWER))


def _whole(digits: str) -> int:
    """An integer; 0 in place of one with more digits than Python reads."""
    return int(digits) if len(digits) <= _MOST_DIGITS else 0


def _line_of(message: "JSONRPCMessage") -> bytes:
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:  # lone surrogates, which only an escape can carry
        return json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode() + b"\n"


async def _write_lines(
    process: "Process",
    from_session: MemoryObjectReceiveStream[SessionMessage],
    to_session: MemoryObjectSendStream[SessionMessage | Exception],
    written: anyio.Event,
) -> None:
    assert process.stdin is not None
    try:
        async with from_session:
            async for item in from_session:
                await process.stdin.send(_line_of(item.message))
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        # The server no longer reads: the session must see the end, not wait for an answer.
        written.set()
        await anyio.sleep(_LAST_WORDS_GRACE)
        to_session.close()
    finally:
        written.set()


async def _watch_input(process: "Process", to_session: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """End the session when nobody reads the input any more, though somebody may hold the output open for long.

    So it is when a wrapper was killed and the server that it started lives on.
    """
    stream: Any = getattr(process.stdin, "_stream", None)  # asyncio's own, which alone tells of its end
    if not isinstance(stream, asyncio.StreamWriter):
        return
    with suppress(OSError):
        # Shielded: cancelling the wait would cancel a future of the transport's.
        await asyncio.shield(stream.wait_closed())
    await anyio.sleep(_LAST_WORDS_GRACE)
    to_session.close()


async def _end(process: "Process") -> None:
    """Close stdin, wait, then end the whole group: the order that the protocol asks for (lifecycle, shutdown)."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_EXIT_GRACE):
        await process.wait()
    if sys.platform == "win32":  # pragma: no cover - written with care, not verified here
        from mcp.os.win32.utilities import close_process_job, terminate_windows_process_tree

        await terminate_windows_process_tree(process)
        close_process_job(process)
    else:
        from mcp.os.posix.utilities import terminate_posix_process_tree

        # Also after a clean exit of the leader: descendants may have stayed behind.
        await terminate_posix_process_tree(process, _KILL_GRACE)
        with anyio.move_on_after(_DEATH_GRACE):
            await _until_group_is_gone(process.pid)
    with anyio.move_on_after(_KILL_GRACE):
        await process.wait()
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdout.aclose()
    _close_transport(process)


async def _until_group_is_gone(group: int) -> None:
    """A kill takes effect a moment after it was sent."""
    with suppress(ProcessLookupError):
        while True:
            with suppress(PermissionError):
                os.killpg(group, 0)
            await anyio.sleep(0.01)


def _close_transport(process: "Process") -> None:
    """Close asyncio's transport, which stays open while a surviving descendant holds a pipe; it has no public
    handle, hence the walk."""
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    close = getattr(transport, "close", None)
    if callable(close):
        with suppress(PermissionError):
            close()
