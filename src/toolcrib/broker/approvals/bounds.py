"""Bounds of a grant: what the arguments of a call must be for the grant to hold."""

import json

from toolcrib.broker.policy import passes
from toolcrib.catalog import JsonObject
from toolcrib.config import ArgumentTest

Bounds = tuple[ArgumentTest, ...]
"""Tests of arguments, as in the policy's rules; all of them must pass."""


def within(bounds: Bounds, arguments: JsonObject) -> bool:
    """Whether arguments pass all tests."""
    return all(passes(test, arguments) for test in bounds)


def dumped(bounds: Bounds) -> str:
    """Bounds as JSON text."""
    return json.dumps([test.model_dump(mode="json", exclude_unset=True) for test in bounds])


def loaded(text: str) -> Bounds:
    """Bounds from JSON text."""
    return tuple(ArgumentTest.model_validate(each) for each in json.loads(text))
