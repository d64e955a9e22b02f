"""Tests of arguments, as rules and grants make them."""

from typing import Any

import pytest

from toolcrib.broker.policy import passes
from toolcrib.config import ArgumentTest

ARGUMENTS: dict[str, Any] = {
    "path": "/etc/passwd",
    "count": 5,
    "ratio": 0.5,
    "flag": True,
    "none": None,
    "to": ["ada@example.org", {"name": "Bob"}],
    "a/b": {"c~d": "deep"},
    "": "unnamed",
}


# Pointers by RFC 6901; equality by JSON Schema 2020-12, 4.2.2: numbers by their value, true is no number.
@pytest.mark.parametrize(
    ("test", "passed"),
    [
        ({"at": "/path", "equals": "/etc/passwd"}, True),
        ({"at": "/path", "equals": "/etc"}, False),
        ({"at": "/nowhere", "equals": None}, False),
        ({"at": "/none", "equals": None}, True),
        ({"at": "/count", "equals": 5.0}, True),
        ({"at": "/flag", "equals": 1}, False),
        ({"at": "/to/1", "equals": {"name": "Bob"}}, True),
        ({"at": "/to", "equals": ["ada@example.org"]}, False),
        ({"at": "/to/0", "pattern": "@example.org$"}, True),
        ({"at": "/to/00", "exists": True}, False),
        ({"at": "/to/-", "exists": True}, False),
        ({"at": "/to/2", "exists": True}, False),
        ({"at": "/to/99999999999999999999", "exists": True}, False),
        ({"at": "/to/name", "exists": True}, False),
        ({"at": "/path/0", "exists": True}, False),
        ({"at": "/a~1b/c~0d", "equals": "deep"}, True),
        ({"at": "/", "equals": "unnamed"}, True),
        ({"at": "", "exists": True}, True),
        ({"at": "", "equals": {}}, False),
        ({"at": "/path", "pattern": "^/etc/"}, True),
        ({"at": "/path", "pattern": "^/ETC/"}, False),
        ({"at": "/count", "pattern": "5"}, False),
        ({"at": "/path", "one_of": ["/a", "/etc/passwd"]}, True),
        ({"at": "/path", "one_of": ["/a", "/b"]}, False),
        ({"at": "/flag", "one_of": [1, "true"]}, False),
        ({"at": "/count", "minimum": 5, "maximum": 5}, True),
        ({"at": "/count", "minimum": 5.1}, False),
        ({"at": "/count", "maximum": 4}, False),
        ({"at": "/flag", "minimum": 0}, False),
        ({"at": "/path", "maximum": 9}, False),
        ({"at": "/none", "exists": True}, True),
        ({"at": "/nowhere", "exists": False}, True),
        ({"at": "/path", "exists": False}, False),
        ({"at": "/path", "exists": True, "pattern": "passwd", "one_of": ["/etc/passwd"]}, True),
        ({"at": "/path", "exists": True, "pattern": "shadow"}, False),
    ],
)
def test_what_passes(test: dict[str, Any], passed: bool) -> None:
    assert passes(ArgumentTest.model_validate(test), ARGUMENTS) is passed


def test_numbers_beyond_what_a_float_can_tell_apart_are_told_apart() -> None:
    test = ArgumentTest.model_validate({"at": "/id", "equals": 2**63 + 1})
    assert passes(test, {"id": 2**63 + 1})
    assert not passes(test, {"id": 2**63})
    assert not passes(ArgumentTest(at="/id", minimum=0), {"id": float("nan")})


def test_a_value_nested_a_hundred_thousand_deep_is_compared() -> None:
    def deep(core: int) -> Any:
        value: Any = core
        for _ in range(100_000):
            value = [value]
        return value

    test = ArgumentTest.model_construct({"at", "equals"}, at="/a", equals=deep(1))
    assert passes(test, {"a": deep(1)})
    assert not passes(test, {"a": deep(2)})


def test_half_a_surrogate_pair_hides_nothing_from_a_pattern() -> None:
    test = ArgumentTest(at="/path", pattern="^/etc/")
    assert passes(test, {"path": "/e\ud83dtc/passwd"})
