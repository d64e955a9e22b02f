"""Bounds of a grant: what the arguments of a call must be for the grant to hold."""

import json

from pydantic import ValidationError

from toolcrib.broker.policy import passes
from toolcrib.catalog import JsonObject
from toolcrib.config import ArgumentTest
from toolcrib.errors import UsageError, shown
from toolcrib.schema.jsonvalues import NotJsonError, extent

Bounds = tuple[ArgumentTest, ...]
"""Tests of arguments, as in the policy's rules; all of them must pass."""

MOST_BOUNDS = 100
"""Tests of one grant: a person who gives it reads them all."""

_MOST_LEVELS = 64


def typed_test(text: str, where: str) -> ArgumentTest:
    """A test of an argument that somebody typed as JSON, as in `{"at": "/path", "pattern": "^/tmp/"}`.

    Args:
        text: The JSON.
        where: How errors call the place where it was typed.

    Raises:
        UsageError: It is no such test.
    """
    try:
        value = json.loads(text)
        extent(value, _MOST_LEVELS)
        return ArgumentTest.model_validate(value)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        at = ".".join(map(str, problem["loc"]))
        said = f"{at} {problem['msg'].removeprefix('Value error, ')}"
        raise UsageError(f"{where} {shown(text)} can't be used: {said}.") from None
    except NotJsonError as error:
        raise UsageError(f"{where} {shown(text)} can't be used: it {error}.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{where} {shown(text)} is not JSON.") from None


def within(bounds: Bounds, arguments: JsonObject) -> bool:
    """Whether arguments pass all tests."""
    return all(passes(test, arguments) for test in bounds)


def dumped(bounds: Bounds) -> str:
    """Bounds as JSON text."""
    return json.dumps([test.model_dump(mode="json", exclude_unset=True) for test in bounds])


def loaded(text: str) -> Bounds:
    """Bounds from JSON text."""
    return tuple(ArgumentTest.model_validate(each) for each in json.loads(text))
