"""Types of scripts of TypeScript, as Deno's language server finds them; it is kept, since its start takes a second.

It speaks the Language Server Protocol (specification 3.17): messages of JSON behind a header with their length. It runs
nothing of a script, but reads what a script imports. So it is walled in like scripts are, and a script with the word
`import` is not shown to it: there is nothing that a script could import anyway.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from toolcrib.sandbox.contract import Finding
from toolcrib.sandbox.deno.forms import HEAD, TAIL
from toolcrib.sandbox.deno.walls import Start
from toolcrib.schema.jsonvalues import is_array, is_object

PATIENCE = 10.0
"""Seconds that one check may take, the start of the server included."""
MOST_CHECKS = 200
"""Checks after which another server is started: this one keeps something of each."""
IDLE = 300.0
"""Seconds without a check after which it is ended."""
_ENDING = 5.0
_MOST_MESSAGE = 16 * 1024 * 1024
_MOST_FINDINGS = 50
_MOST_TEXT = 400
_ERROR = 1
_SURE = frozenset({2304, 2345, 2353, 2551, 2552, 2554, 2555, 2561, 2739, 2740, 2741})
"""Codes of what is surely a mistake: names, members and arguments that there are not, or are missing."""
_NO_MEMBER = 2339
"""No such member; of an object without a type that is everyday JavaScript."""
_OTHER = 2322
"""A value of another type; a mistake only where the type is of a tool's declaration."""
_OF_A_PROMISE = re.compile(r"on type 'Promise<")
_OPEN_TYPES = re.compile(r"on type '(?:\{\}|never|object|unknown)'")
_NAME = "file:///script"


class TypeServer:
    """Deno's language server, started when it is first needed, and again after a while without checks.

    Args:
        start: How Deno is started.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._asked = 0
        self._checks = 0
        self._greeted = False
        self._idle: asyncio.TimerHandle | None = None

    async def check(self, code: str, stubs: str) -> list[Finding]:
        """What contradicts the types; a hint where they can't be looked at.

        Args:
            code: The script.
            stubs: The declarations of what it may call.
        """
        if re.search("import", code, re.IGNORECASE):
            return []
        try:
            async with self._turn:
                process = await self._running()
                async with asyncio.timeout(PATIENCE):
                    found = await self._diagnosed(process, f"{HEAD}{code}{TAIL}\n{stubs}")
                self._stay(process)
        except (TimeoutError, OSError, ValueError, EOFError) as error:
            await self._end()
            why = str(error) or "Deno took too long"
            return [Finding(1, 0, "types", f"Types could not be checked: {why}.", is_error=False)]
        return sorted(_findings(found, code), key=lambda finding: (finding.line, finding.column))

    async def aclose(self) -> None:
        """End the server."""
        await self._end()

    async def _running(self) -> asyncio.subprocess.Process:
        """The server's process. Its start is not cut short: nobody would be left to end it."""
        if self._idle is not None:
            self._idle.cancel()
        if self._process is None or self._process.returncode is not None or self._checks >= MOST_CHECKS:
            await self._end()
            self._checks = 0
            self._greeted = False
            self._process = await asyncio.create_subprocess_exec(
                *self._start.language_server,
                env=self._start.env,
                cwd=self._start.folder / "cache",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        self._checks += 1
        return self._process

    async def _diagnosed(self, process: asyncio.subprocess.Process, text: str) -> list[Any]:
        if not self._greeted:
            options = {"enable": True, "lint": False, "cacheOnSave": False}
            can: dict[str, Any] = {"textDocument": {"diagnostic": {}}}
            given: dict[str, Any] = {
                "processId": None,
                "rootUri": None,
                "capabilities": can,
                "initializationOptions": options,
            }
            await self._request(process, "initialize", given)
            await self._send(process, {"method": "initialized", "params": {}})
            self._greeted = True
        place = {"uri": f"{_NAME}{self._checks}.ts"}
        document = {**place, "languageId": "typescript", "version": 1, "text": text}
        await self._send(process, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
        answer = await self._request(process, "textDocument/diagnostic", {"textDocument": place})
        await self._send(process, {"method": "textDocument/didClose", "params": {"textDocument": place}})
        items = answer.get("items")
        if not is_array(items):
            raise ValueError("Deno answered with something else")
        return items

    async def _request(
        self, process: asyncio.subprocess.Process, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        self._asked += 1
        number = self._asked
        await self._send(process, {"id": number, "method": method, "params": params})
        while True:
            message = await self._receive(process)
            if message.get("id") == number and "method" not in message:
                result = message.get("result")
                if not is_object(result):
                    raise ValueError("Deno refused to look")
                return result
            if "id" in message and "method" in message:
                await self._send(process, {"id": message["id"], "result": None})

    async def _send(self, process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
        assert process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await process.stdin.drain()

    async def _receive(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdout is not None
        length = 0
        while line := (await process.stdout.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not 0 < length <= _MOST_MESSAGE:
            raise EOFError("Deno's language server ended")
        message: Any = json.loads(await process.stdout.readexactly(length))
        return message if is_object(message) else {}

    def _stay(self, process: asyncio.subprocess.Process) -> None:
        """Let it run on for a while: it takes 300 MB for as long as it does."""
        self._idle = asyncio.get_running_loop().call_later(IDLE, _kill, process)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if process is not None:
            if process.stdin is not None:
                # A wall that is killed while it is set up does not take along what it holds, which ends by this.
                process.stdin.close()
            _kill(process)
            with suppress(TimeoutError):
                async with asyncio.timeout(_ENDING):
                    await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()


def _findings(diagnostics: list[Any], code: str) -> Iterator[Finding]:
    last = code.count("\n") + 1
    for each in diagnostics[: 10 * _MOST_FINDINGS]:
        if not is_object(each) or each.get("severity") != _ERROR:
            continue
        line, column = _place(each)
        if line > last:
            continue
        column -= len(HEAD) if line == 1 else 0
        message, number = " ".join(str(each.get("message", "")).split())[:_MOST_TEXT], each.get("code")
        if _OF_A_PROMISE.search(message):
            yield Finding(line, column, "not-awaited", message, hint="Write `await` before the call.")
            continue
        related: object = each.get("relatedInformation")
        told = any(_place(_member(other, "location"))[0] > last for other in (related if is_array(related) else ()))
        if number in _SURE or (number == _NO_MEMBER and not _OPEN_TYPES.search(message)) or (number == _OTHER and told):
            yield Finding(line, column, f"TS{number}", message)


def _place(value: dict[str, Any]) -> tuple[int, int]:
    """Line and column where the range of something begins, from 1."""
    start = _member(_member(value, "range"), "start")
    return int(start.get("line", 0)) + 1, int(start.get("character", 0)) + 1


def _member(value: object, name: str) -> dict[str, Any]:
    found: object = value.get(name) if is_object(value) else None
    return found if is_object(found) else {}
