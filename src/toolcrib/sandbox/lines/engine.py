"""`LineEngine`: a script in a child that speaks in lines of JSON."""

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from toolcrib.sandbox import processes
from toolcrib.sandbox.contract import CallError, Fault, Names, Status
from toolcrib.sandbox.engine import Answer, Broken, Engine, Event, Finished, Reading
from toolcrib.sandbox.limits import KIB, Limits
from toolcrib.sandbox.lines.crew import LineCrew
from toolcrib.sandbox.lines.messages import BrokenMessageError, read
from toolcrib.sandbox.lines.pipes import Child, LineTooLongError


class LineEngine(Engine):
    """One script in one child, which serves no other.

    Args:
        crew: Whose child it is; it is ended at the end.
        child: A child that said that it is ready.
        code: The script.
        names: What it may call.
        limits: Told to the child, which keeps to them while it is what it was.
        more: Told to the child beside.
        baseline: Bytes that the child takes without any script.
    """

    def __init__(
        self,
        crew: LineCrew,
        child: Child,
        code: str,
        names: Names,
        limits: Limits,
        *,
        more: Mapping[str, Any] | None = None,
        baseline: int = 0,
    ) -> None:
        self._more = more or {}
        self.baseline = baseline
        self._crew = crew
        self._child = child
        self._code = code
        self._names = names
        self._limits = limits
        self._calls = 0
        self._is_over = False

    async def events(self) -> AsyncGenerator[Event]:
        """As `Engine.events`."""
        limits = self._limits
        # an honest child sends no longer line; JSON may write a character in up to six
        self._child.allow(6 * max(limits.argument_bytes, limits.result_bytes) + 64 * KIB)
        self._send(
            {
                "t": "run",
                "code": self._code,
                "namespaces": sorted(self._names.namespaces),
                "functions": sorted(self._names.functions),
                **self._more,
                "cpu": limits.cpu,
                "limits": {
                    "memory": limits.memory,
                    "nodes": limits.result_nodes,
                    "depth": limits.result_depth,
                    "result": limits.result_bytes,
                    "arguments": limits.argument_bytes,
                },
            }
        )
        try:
            while not self._is_over:
                line = await self._child.line()
                if line is None:
                    yield Broken("crashed", Fault("Crash", "The script's process ended in the middle of it."))
                    return
                event = read(line, self._calls + 1)
                self._calls = getattr(event, "key", self._calls)
                self._is_over = isinstance(event, (Finished, Broken))
                yield event
        except LineTooLongError:
            yield _violation("a line that is too long")
        except BrokenMessageError as error:
            yield _violation(str(error))

    def answer(self, key: int, answer: Answer) -> None:
        """As `Engine.answer`."""
        if isinstance(answer, CallError):
            error = {"kind": answer.kind, "message": answer.message, "tool": answer.tool, "data": answer.data}
            self._send({"t": "answer", "id": key, "error": error})
        else:
            self._send({"t": "answer", "id": key, "value": answer[0]})

    def kill(self) -> None:
        """As `Engine.kill`."""
        self._child.kill()

    async def aclose(self) -> None:
        """As `Engine.aclose`."""
        self._crew.dismiss(self._child)

    def reading(self) -> Reading | None:
        """As `Engine.reading`."""
        return processes.reading(self._child.pid)

    def _send(self, message: dict[str, Any]) -> None:
        self._child.send(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))


def _violation(what: str) -> Broken:
    status: Status = "protocol_violation"
    return Broken(status, Fault("ProtocolViolation", f"The script's process sent {what}."))
