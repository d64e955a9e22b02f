"""Processes that a bench starts and measures: what they print, the memory that they hold, their children."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import LATEST_MODERN_VERSION

ROOT = Path(__file__).resolve().parent.parent
BARE = [sys.executable, "-m", "bench.upstream"]
TOOLCRIB = [sys.executable, "-m", "toolcrib"]

VERSION = LATEST_MODERN_VERSION

_SECONDS = 60.0
_POLL_SECONDS = 0.02
META = {
    PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
    CLIENT_INFO_META_KEY: {"name": "bench", "version": "1"},
    CLIENT_CAPABILITIES_META_KEY: {},
}


def environment(**more: str) -> dict[str, str]:
    """The environment of a measured process: this one's, with the repository where modules are looked for.

    Compiled modules may be kept, as an installation has them: where that is switched off, each start of a checkout
    would compile what has changed since it was installed, and that would be measured.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**own, "PYTHONPATH": str(ROOT), **more}


class Spoken:
    """A stdio server spoken to in bare lines of JSON, so that nothing of a client is in the measured time.

    Args:
        command: What to start.
        env: Its environment.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._last_id = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one request.

        Raises:
            RuntimeError: It ended, or answered with an error.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._last_id += 1
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": {**params, "_meta": META}}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._last_id:
                if "result" not in answer:
                    raise RuntimeError(f"{method} was refused: {answer.get('error')}")
                return answer["result"]
        raise RuntimeError(f"{self._process.args!r} ended before it answered {method}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


@asynccontextmanager
async def serving(command: Sequence[str], env: Mapping[str, str]) -> AsyncGenerator[str]:
    """Run a server until the block ends, and give the URL that it prints in a JSON document once it serves."""
    async with running(command, env) as process:
        yield await url_of(process)


async def url_of(process: asyncio.subprocess.Process) -> str:
    """The URL that a server prints in a JSON document once it serves."""
    assert process.stdout is not None
    printed, document = "", None
    async with asyncio.timeout(_SECONDS):
        while document is None:
            line = await process.stdout.readline()
            if not line:
                raise RuntimeError("the server ended before it served")
            printed += line.decode()
            with suppress(ValueError):  # the document is not whole yet
                document = json.loads(printed)
    return document["url"]


@asynccontextmanager
async def listening(command: Sequence[str], env: Mapping[str, str], port: int) -> AsyncGenerator[None]:
    """Run a server until the block ends; it is ready when something listens on the port."""
    async with running(command, env, asyncio.subprocess.DEVNULL) as process:
        async with asyncio.timeout(_SECONDS):
            while not _answers(port):
                if process.returncode is not None:
                    raise RuntimeError(f"{command} ended before it served")
                await asyncio.sleep(_POLL_SECONDS)
        yield


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def resident_mb(pid: int) -> float:
    """The memory that a process holds, in MB (10^6 bytes)."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
        kib = int(line.split()[1])
    else:
        kib = int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(pid)]))
    return round(kib * 1024 / 1e6, 1)


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has taken; 0 where the system does not say."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> int:
    """How many processes a process has started that still run."""
    tasks = Path(f"/proc/{pid}/task")
    if tasks.exists():
        return sum(len((task / "children").read_text().split()) for task in tasks.iterdir())
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return len(found.stdout.split())


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@asynccontextmanager
async def running(
    command: Sequence[str], env: Mapping[str, str], stdout: int = asyncio.subprocess.PIPE
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A process until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *command, env=env, cwd=ROOT, stdin=asyncio.subprocess.DEVNULL, stdout=stdout, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_SECONDS):
                await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
