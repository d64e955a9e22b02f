"""What every script finds defined, written in the part of Python that Monty runs.

Names of ours end in `__`, so that no script defines them by chance.
"""

ERROR_INFO = {f"error_{what}__": what for what in ("message", "tool", "data")}
"""The functions behind `error.message` and the like; the engine answers them. They need no quotes: they may stand
in an f-string."""
GATE = "gate__"
"""The name that a script is stopped at when it is only checked."""

PRELUDE = """
import asyncio, collections, functools, itertools, json, math, random, re, time
ToolError = RuntimeError
class Module__: pass
def cast(kind, value):
    return value
def same__(value, **others):
    return value
def nothing__(*values, **others):
    return None
def listed__(values, **others):
    return list(values)
async def timed__(value, timeout=None):
    return await value
async def caught__(value):
    try:
        return await value
    except Exception as error:
        return error
async def gathered__(*values, return_exceptions=False):
    if return_exceptions:
        values = [caught__(value) for value in values]
    return await asyncio.gather(*values)
def substituted__(pattern, make, text, count=0, flags=0):
    parts, at, made = [], 0, 0
    for match in re.finditer(pattern, text):
        if count and made >= count:
            break
        parts.append(text[at:match.start()])
        parts.append(make(match))
        at, made = match.end(), made + 1
    parts.append(text[at:])
    return "".join(parts)
def plain__(value, default):
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, dict):
        return {key: plain__(item, default) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain__(item, default) for item in value]
    return plain__(default(value), default)
def dumped__(value, default=None, **others):
    return json.dumps(plain__(value, default), **others)
"""

STUBS = """
import asyncio as asyncio, collections as collections, functools as functools, itertools as itertools
import json as json, math as math, random as random, re as re, time as time
from typing import TypeVar, cast as cast, TypedDict as TypedDict, NamedTuple as NamedTuple
from typing import Required as Required, NotRequired as NotRequired, TypeAlias as TypeAlias, overload as overload
from typing import AsyncIterator as AsyncIterator, Awaitable as Awaitable, Coroutine as Coroutine
from collections.abc import Callable as Callable, Collection as Collection, Generator as Generator
from collections.abc import Iterable as Iterable, Iterator as Iterator, Mapping as Mapping
from collections.abc import MutableMapping as MutableMapping, Sequence as Sequence
from typing import Any
_T = TypeVar("_T")
gate__: int
gone__: Any
class ToolError(RuntimeError):
    message: str
    tool: str
    data: Any
def error_message__(text: str) -> str: ...
def error_tool__(text: str) -> str: ...
def error_data__(text: str) -> Any: ...
def same__(value: _T, **others: Any) -> _T: ...
def nothing__(*values: Any, **others: Any) -> Any: ...
def listed__(values: Iterable[_T], **others: Any) -> list[_T]: ...
async def timed__(value: Awaitable[_T], timeout: float | None = None) -> _T: ...
async def gathered__(*values: Awaitable[Any], return_exceptions: bool = False) -> list[Any]: ...
def substituted__(pattern: Any, make: Callable[[re.Match[str]], str], text: str, count: int = 0) -> str: ...
def dumped__(value: Any, default: Any = None, **others: Any) -> str: ...
"""
