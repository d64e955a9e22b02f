"""JMESPath over values of any size, with bounded work.

A few characters of JMESPath can ask for copies of copies of copies (`[@,@]|[@,@]|…`), and with them for any amount
of time and memory. JMESPath has no loops and no way back to the root, so work and result are at most the size of the
value times the number of copies, which the expression itself tells before it is run. A deadline ends what is merely
slow.
"""

import time
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, cast

from toolcrib.errors import UsageError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

LONGEST_EXPRESSION = 1_000
"""Characters that an expression may have."""

MOST_COPIES = 16
"""How many times the size of the value a result may be."""

SECONDS = 10.0
"""How long a selection may take."""

_STEPS_A_LOOK = 1_000
_MOST_JOINED = 16_000_000

_PRODUCTS = {"subexpression", "pipe", "index_expression", "projection", "value_projection", "filter_projection"}
_SUMS = {"multi_select_list", "multi_select_dict", "function_expression"}


def select(expression: str, value: Any, seconds: float = SECONDS) -> Any:
    """What a JMESPath expression selects of a value.

    Args:
        expression: The expression (jmespath.org).
        value: Any JSON value.
        seconds: How long it may take.

    Raises:
        UsageError: It is malformed, does not fit the value, asks for too many copies or takes too long.
    """
    from jmespath.exceptions import JMESPathError

    if len(expression) > LONGEST_EXPRESSION:
        raise _unusable(expression, f"it is longer than {LONGEST_EXPRESSION:,} characters")
    try:
        compiled = _compiled(expression)
        if _copies(compiled.parsed) > MOST_COPIES:
            raise _unusable(expression, f"it asks for more than {MOST_COPIES} copies of its parts")
        return _interpreter()(time.monotonic() + seconds).visit(compiled.parsed, value)
    except _TooLongError:
        raise _unusable(expression, "it takes too long") from None
    except RecursionError:
        raise _unusable(expression, "it nests too deep, or what it compares does") from None
    except JMESPathError as error:
        reason = " ".join(str(error).split())[:300]
        raise _unusable(expression, reason) from None
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        # What the library lets through: `ceil` of infinity, an order over mixed types, a literal that is no JSON.
        raise _unusable(expression, f"it does not fit the value: {error}") from None


class _TooLongError(Exception):
    """The time is up."""


def _compiled(expression: str) -> Any:
    import jmespath

    return jmespath.compile(expression)


def _copies(node: "Mapping[str, Any]") -> int:
    """How many times the size of its input the result of a node may be, and no step on the way there more."""
    children = _children(node)
    inner = [_copies(each) for each in children]
    kind = node["type"]
    if kind in _PRODUCTS or any(each["type"] == "expref" for each in children):
        copies = prod(inner)
    elif kind in _SUMS:
        # Members of different names have nothing in common: together they are no more than the whole.
        by_member: dict[str | None, int] = {}
        for child, count in zip(children, inner, strict=True):
            member = _member(child)
            by_member[member] = by_member.get(member, 0) + count
        anything = by_member.pop(None, 0)
        copies = max(1, anything + max(by_member.values(), default=0))
        # A value as text has a backslash more before each of its own.
        copies *= 2 if node.get("value") == "to_string" else 1
    else:
        copies = max(inner, default=1)
    return min(copies, MOST_COPIES + 1)


def _children(node: "Mapping[str, Any]") -> "list[Mapping[str, Any]]":
    # Those of a slice are numbers.
    return [cast("Mapping[str, Any]", each) for each in node.get("children", ()) if isinstance(each, dict)]


def _member(node: "Mapping[str, Any]") -> str | None:
    """The member of its input that all of an expression is about, or None."""
    while node["type"] in _PRODUCTS or node["type"] in ("flatten", "key_val_pair"):
        node = _children(node)[0]
    return str(node["value"]) if node["type"] == "field" else None


@cache
def _interpreter() -> Any:
    """The library's interpreter, with an eye on the clock; made when it is first needed."""
    from jmespath import Options
    from jmespath.functions import Functions
    from jmespath.visitor import TreeInterpreter

    class _Functions(Functions):
        def call_function(self, function_name: str, resolved_args: "Iterable[Any]") -> Any:
            given = list(resolved_args)
            if function_name == "join" and len(given) == 2 and isinstance(given[1], list):
                # What stands between is repeated as often as there are texts.
                between, texts = given[0], cast("list[Any]", given[1])
                if isinstance(between, str) and len(between) * len(texts) > _MOST_JOINED:
                    raise ValueError("it joins too much")
            return super().call_function(function_name, given)

    class _Interpreter(TreeInterpreter):
        def __init__(self, deadline: float) -> None:
            super().__init__(Options(custom_functions=_Functions()))
            self._deadline = deadline
            self._left = _STEPS_A_LOOK
            self._visitors: dict[str, Callable[..., Any]] = {}

        def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if not self._left:
                self._left = _STEPS_A_LOOK
                if time.monotonic() > self._deadline:
                    raise _TooLongError
            kind = node["type"]
            if kind not in self._visitors:
                self._visitors[kind] = getattr(self, f"visit_{kind}")
            return self._visitors[kind](node, *args, **kwargs)

    return _Interpreter


def _unusable(expression: str, reason: str) -> UsageError:
    return UsageError(
        f"The selection {shown(expression)} can't be used: {reason.rstrip('.')}.",
        hint="Write a simpler one, such as items[*].name, or read pages by offset and limit.",
    )
