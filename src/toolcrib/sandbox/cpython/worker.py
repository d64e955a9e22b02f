"""The child of `python-full`: runs one script and speaks with its host in lines of JSON.

Its text is sent to the child, which can read no file of ours; it needs nothing but the standard library and
`seal`. Nothing here is a wall: a script can reach all of it. What it gains is what it could say to the host anyway.
"""

import ast
import asyncio
import builtins
import inspect
import io
import json
import os
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, cast

from toolcrib.sandbox.cpython import seal

SCRIPT = "<script>"
_MOST_TRACE = 12
_PRINTED = 4_096
_PACKET = 1 << 16
_READY_MADE = "asyncio collections functools itertools json math random re time"


class ToolError(RuntimeError):
    """A call of a tool failed."""

    def __init__(self, message: str = "", tool: str = "", data: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.tool = tool
        self.data = data


class _Returned(BaseException):
    """Carries the value of a `return` outside of functions."""


class _Stream(io.TextIOBase):
    """Standard output and error of the script."""

    def __init__(self, name: str, host: "Host") -> None:
        self._name = name
        self._host = host

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._host.printed(self._name, str(text))
        return len(text)


class _Namespace:
    """The tools of a server: any attribute is one; the host knows which there are."""

    def __init__(self, host: "Host", name: str) -> None:
        self.__dict__["_toolcrib"] = (host, name)

    def __getattr__(self, tool: str) -> Any:
        if tool.startswith("__"):
            raise AttributeError(tool)
        host, name = self.__dict__["_toolcrib"]
        return host.function(f"{name}.{tool}")


class Host:
    """The other side of the two pipes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._calls = 0
        self._text: list[tuple[str, str]] = []
        self._held = 0
        self._rest = b""
        self._limits: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None  # a loop alone keeps no task alive

    def send(self, message: dict[str, Any]) -> None:
        """Write a message, with what was printed before it."""
        self.flush()
        self._write(message)

    def printed(self, stream: str, text: str) -> None:
        """Take what the script prints; it is sent when there is enough of it, or something else is sent."""
        if self._text and self._text[-1][0] == stream:
            self._text[-1] = (stream, self._text[-1][1] + text)
        else:
            self._text.append((stream, text))
        self._held += len(text)
        if self._held > _PRINTED:
            self.flush()

    def flush(self) -> None:
        """Send what was printed."""
        text, self._text, self._held = self._text, [], 0
        for stream, piece in text:
            for at in range(0, len(piece), _PACKET):
                self._write({"t": "print", "stream": stream, "text": piece[at : at + _PACKET]})

    def _write(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        while data:
            data = data[os.write(1, data) :]

    def function(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        """What a script calls: the call is under way before it is awaited."""

        def call(*args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
            return _result(self._call(name, args, kwargs))

        call.__name__ = call.__qualname__ = name
        return call

    def _call(self, name: str, args: Any, kwargs: Any) -> "asyncio.Future[Any]":
        self._calls += 1
        try:
            text = json.dumps([args, kwargs], default=_argument)
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"An argument of {name} can't be sent: {error}.") from None
        if len(text) > self._limits["arguments"]:
            raise ValueError(f"The arguments of {name} are larger than {self._limits['arguments']:,} bytes.")
        future = self._waiting[self._calls] = self._loop.create_future()
        args, kwargs = json.loads(text)
        self.send({"t": "call", "id": self._calls, "name": name, "args": args, "kwargs": kwargs, "line": _line()})
        return future

    def readable(self) -> None:
        """Take in all that has come: a line left lying would be an answer that nobody waits for."""
        while True:
            try:
                data = os.read(0, _PACKET)
            except BlockingIOError:
                return
            if not data:
                os._exit(0)
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if message["t"] == "run":
            self._limits = message["limits"]
            seal.limit(memory=self._limits["memory"], cpu=message["cpu"])
            seal.seccomp()
            self._task = self._loop.create_task(_run(self, message))
            return
        future = self._waiting.pop(message["id"], None)
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(_exception(message["error"]))
        else:
            future.set_result(message["value"])


async def _result(future: "asyncio.Future[Any]") -> Any:
    """A coroutine, so that a script can make a task of it."""
    return await future


def _line() -> int | None:
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code.co_filename == SCRIPT:
            return frame.f_lineno
        frame = frame.f_back
    return None


def _argument(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return list(value)  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if inspect.iscoroutine(value):
        raise TypeError("a call that was never awaited: write `await` before it")
    if type(value).__name__ in ("Decimal", "UUID"):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def _exception(error: dict[str, Any]) -> BaseException:
    kind = getattr(builtins, str(error["kind"]), None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(error["message"])
        except TypeError:
            pass
    return ToolError(error["message"], error["tool"], error["data"])


async def _run(host: Host, message: dict[str, Any]) -> None:
    names: dict[str, Any] = {name: __import__(name) for name in _READY_MADE.split()}
    names.update({"__name__": "__main__", "__builtins__": builtins, "ToolError": ToolError})
    names.update({name: host.function(name) for name in message["functions"]})
    for name in message["namespaces"]:
        namespace: Any = _Namespace(host, name)
        names[name] = sys.modules[name] = namespace
    try:
        code = _compiled(message["code"])
        names["__returned__"] = _Returned
        result = eval(code, names)
        if code.co_flags & inspect.CO_COROUTINE:
            await result
        value = names.get("__value__")
    except _Returned as returned:
        value = returned.args[0]
    except SystemExit:
        value = None
    except BaseException as error:
        host.send(_fault(error))
        return
    try:
        host.send({"t": "done", "value": Bounded(message["limits"]).of(value, 0)})
    except BaseException as error:
        host.send(_fault(error))


def _compiled(code: str) -> types.CodeType:
    """The script, with `await` allowed outside of functions and the value of its last expression kept."""
    tree = ast.parse(code, SCRIPT)
    _Outermost().visit(tree)
    ast.fix_missing_locations(tree)
    body = tree.body
    if body and isinstance(body[-1], ast.If) and not body[-1].orelse and "__name__" in ast.unparse(body[-1].test):
        body = body[-1].body
    if body and isinstance(body[-1], ast.Expr):
        last = body[-1]
        kept = ast.Assign([ast.Name("__value__", ast.Store())], last.value)
        body[-1] = ast.fix_missing_locations(ast.copy_location(kept, last))
    return compile(tree, SCRIPT, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


class _Outermost(ast.NodeTransformer):
    """Statements outside of functions: `return` ends the script, `asyncio.run(x)` is `await x`."""

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            return node
        return super().visit(node)  # pyright: ignore[reportUnknownMemberType]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        value = self.visit(node.value) if node.value else ast.Constant(None)
        call = ast.Call(ast.Name("__returned__", ast.Load()), [value], [])
        return ast.copy_location(ast.Raise(call, None), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if len(node.args) == 1 and ast.unparse(node.func) == "asyncio.run":
            return ast.copy_location(ast.Await(node.args[0]), node)
        return node


class Bounded:
    """Makes the final value small enough to be sent; the host looks at it again."""

    def __init__(self, limits: dict[str, int]) -> None:
        self._nodes = limits["nodes"]
        self._depth = limits["depth"]
        self._size = limits["result"]

    def of(self, value: Any, level: int) -> Any:
        """A value as JSON, cut where it is too large."""
        self._nodes -= 1
        self._size -= 2
        if value is None or isinstance(value, (bool, float)):
            return value if not isinstance(value, float) or value - value == 0 else str(value)
        if isinstance(value, int):
            return int(value) if value.bit_length() < 3_322 else "an integer of more than a thousand digits"
        if isinstance(value, str):
            kept = value[: max(self._size, 0) + 1]
            self._size -= len(kept)
            return kept
        if level > self._depth or self._nodes < -1 or self._size < -1:
            return "…"
        if isinstance(value, dict):
            items: Any = value.items()  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
            return {self._key(key): self.of(item, level + 1) for key, item in self._some(items)}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.of(item, level + 1) for item in self._some(value)]  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        if isinstance(value, (bytes, bytearray)):
            return self.of(value[: max(self._size, 0)].decode("utf-8", "replace"), level)
        if hasattr(value, "isoformat") or type(value).__name__ in ("Decimal", "UUID", "Fraction", "timedelta"):
            return str(value.isoformat() if hasattr(value, "isoformat") else value)[:200]
        if hasattr(value, "__dict__") and not isinstance(value, (type, types.FunctionType, types.ModuleType)):
            return self.of(_public(value), level)
        return f"<{type(value).__name__[:200]}>"

    def _some(self, values: Any) -> Any:
        for value in values:
            if self._nodes < -1 or self._size < -1:
                return
            yield value

    def _key(self, key: Any) -> str:
        if isinstance(key, str):
            return str(self.of(key, 0))
        if isinstance(key, bool) or key is None:
            return {True: "true", False: "false", None: "null"}[key]
        if isinstance(key, tuple):
            return ", ".join(self._key(part) for part in key[:8])[:200]  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        return str(self.of(key, self._depth))[:200]


def _public(value: Any) -> dict[str, Any]:
    attributes = cast("dict[str, Any]", vars(value))
    return {key: item for key, item in attributes.items() if not key.startswith("_")}


def _fault(error: BaseException) -> dict[str, Any]:
    if isinstance(error, SyntaxError) and error.filename == SCRIPT:
        lines = [error.lineno or 1]
        text = error.msg
    else:
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == SCRIPT]
        try:
            text = str(error)[:4_000]
        except Exception:
            text = "an error that can't be shown"
    if len(lines) > _MOST_TRACE:
        lines = [*lines[: _MOST_TRACE // 2], *lines[-_MOST_TRACE // 2 :]]
    return {"t": "error", "kind": type(error).__name__[:200], "message": text, "trace": lines}


def main() -> None:
    """Shut this process in, say so, and wait for a script."""
    setting = json.loads(sys.argv[1])
    sys.argv[:] = ["script"]
    warnings.simplefilter("ignore")
    for name in setting["modules"]:
        try:
            __import__(name)
        except ImportError:
            continue
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    host = Host(loop)
    seal.die_with_parent()
    said = {"t": "ready", "landlock": seal.landlock(setting["readable"]) if setting["landlock"] else 0}
    sys.stdout, sys.stderr = _Stream("stdout", host), _Stream("stderr", host)
    sys.stdin = io.StringIO()
    os.set_blocking(0, False)
    loop.add_reader(0, host.readable)
    host.send(said)
    try:
        loop.run_forever()
    except BaseException as error:
        host.send(_fault(error))
    os._exit(0)
