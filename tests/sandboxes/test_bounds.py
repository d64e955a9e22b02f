"""The parts that keep a script within bounds, and the texts that are made of scripts: each by itself."""

import ast
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as some

from toolcrib.sandbox.deno.forms import forms
from toolcrib.sandbox.monty.modules import NATIVE
from toolcrib.sandbox.monty.rewrite import rewritten
from toolcrib.sandbox.output import Output
from toolcrib.sandbox.values import NotPlainError, plain, plain_arguments

ROOMY: Any = {"nodes": 1_000, "depth": 20, "size": 10_000}


def test_json_values_stay_what_they_are():
    value = {"a": [1, 2.5, None, True, "ü"], "b": {"": []}}
    assert plain(value, **ROOMY).value == value
    assert plain(value, **ROOMY).cut == ""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), "2026-01-31T12:00:00+00:00"),
        (timedelta(hours=1), "1:00:00"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (float("nan"), "nan"),
        (b"ab\xff", "ab\ufffd"),
        ({1: 2, None: 3, False: 4, ("a", 1): 5}, {"1": 2, "null": 3, "false": 4, "a, 1": 5}),
        (object(), "<object>"),
        (print, "<builtin_function_or_method>"),
        ("a\ud800", "a?"),
    ],
)
def test_other_values_become_the_nearest_json(value: Any, expected: Any):
    assert plain(value, **ROOMY).value == expected


def test_what_is_too_much_is_cut_and_said():
    shared: list[Any] = [0]
    for _ in range(40):
        shared = [shared, shared]
    cyclic: list[Any] = [1]
    cyclic.append(cyclic)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert plain(shared, nodes=500, depth=100, size=10**6).cut == "holds more than 500 values"
    assert plain(cyclic, **ROOMY).cut == "is nested deeper than 20 levels"
    assert plain(deep, **ROOMY).cut == "is nested deeper than 20 levels"
    assert plain("ü" * 10_000, **ROOMY).cut == "is larger than 10,000 bytes"
    assert plain(10**2_000, **ROOMY).cut == "holds an integer of more than a thousand digits"
    assert plain({str(n): "a" * 100 for n in range(1_000)}, **ROOMY).cut == "is larger than 10,000 bytes"
    assert plain(list(range(10**6)), nodes=100, depth=5, size=10**9).value == list(range(99))


@given(
    some.recursive(
        some.none() | some.booleans() | some.integers() | some.floats() | some.text() | some.binary(),
        lambda inner: some.lists(inner) | some.dictionaries(some.text() | some.integers(), inner) | some.tuples(inner),
        max_leaves=50,
    )
)
def test_whatever_comes_out_is_json_within_its_size(value: Any):
    made = plain(value, nodes=30, depth=4, size=200)
    text = json.dumps(made.value, ensure_ascii=False, allow_nan=False).encode()
    # quotes and escapes come on top of what is counted: up to six bytes for one
    assert len(text) < 6 * 200 + 200


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("inf"), "holds inf"),
        ({1: 2}, "a key that is no string"),
        (b"ab", "holds bytes"),
        (object(), "holds a object"),
        ("a\ud800", "surrogate"),
        ("a" * 200, "larger than 100 bytes"),
        (["a" * 60, "b" * 60], "larger than 100 bytes"),
    ],
)
def test_arguments_that_are_no_json_are_refused(value: Any, why: str):
    with pytest.raises(NotPlainError, match=why):
        plain_arguments([value], size=100)


def test_arguments_that_are_nearly_json_are_made_json():
    value = [(1, {2}), date(2026, 1, 31), Decimal("1.5")]
    assert plain_arguments(value, size=1_000) == [[1, [2]], "2026-01-31", "1.5"]


def test_output_keeps_head_and_tail_and_counts_what_is_between():
    output = Output(100)
    for number in range(100):
        output.add(f"{number:09}\n")
    assert (output.total, output.cut) == (1_000, 900)
    assert output.text.startswith("000000000\n000000001\n")
    assert output.text.endswith("000000098\n000000099\n")
    assert "900 bytes of output left out" in output.text


@given(some.lists(some.text(max_size=40)), some.integers(0, 60))
def test_output_loses_nothing_that_fits_and_keeps_no_more_than_its_limit(pieces: list[str], limit: int):
    pieces = [piece.encode("utf-8", "replace").decode() for piece in pieces]
    output = Output(limit)
    for piece in pieces:
        output.add(piece)
    whole = "".join(pieces)
    assert output.total == len(whole.encode())
    if output.cut == 0:
        assert output.text == whole
    else:
        kept = output.text.partition("\n… ")[0] + output.text.rpartition(" …\n")[2]
        assert len(kept.encode()) <= limit


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("del d[k]", "gone__ = d.pop(k)"),
        ("del d[k], e['x']", "gone__ = d.pop(k), e.pop('x')"),
        ("del numbers[1:]", "numbers[1:] = []"),
        ("del name", "name = None"),
        ("next((x for x in y), None)", "next(iter((x for x in y)), None)"),
        ("sorted(x, key=str.lower)", "sorted(x, key=lambda v__, *a__: v__.lower(*a__))"),
        ("max(d, key=d.get)", "max(d, key=lambda *a__: (d.get)(*a__))"),
        ("f(gh.get)", "f(gh.get)"),
        ("import gh as x", "x = gh"),
        ("from gh import a as b", "b = gh.a"),
        ("from collections.abc import Iterable", "pass"),
        ("from typing import Any, TypedDict", "from typing import Any"),
        ("import re\nre.sub('a', lambda m: 'ü', t)", "import re\nsubstituted__('a', lambda m: 'ü', t)"),
        (
            "try:\n  f()\nexcept E as ä:\n  print(ä.data)",
            "try:\n  f()\nexcept E as ä:\n  print(error_data__(str(ä)))",
        ),
        (
            'try:\n  f()\nexcept E as e:\n  print("ü" + f"ä {e.message}" f"{e.tool!r:>9} {{}}")',
            "try:\n  f()\nexcept E as e:\n"
            '  print("ü" + f"ä {error_message__(str(e))}" f"{error_tool__(str(e))!r:>9} {{}}")',
        ),
        ("if __name__ == '__main__':\n    main()", "if __name__ == '__main__':\n    return main()"),
        ("print('del d[k]')  # del d[k]", "print('del d[k]')  # del d[k]"),
    ],
)
def test_a_script_is_said_otherwise_on_the_same_lines(code: str, expected: str):
    assert rewritten(code, ["gh"], NATIVE).code == expected


@pytest.mark.parametrize(
    "code",
    [
        "import asyncio\ns = asyncio.Semaphore(\n  3\n)\nasync with (\n  s\n):\n  pass\nx = 1",
        "from gh import (\n  a,\n  b,\n)\nx = 1",
        "del d[\n  k\n], e[1]\nx = 1",
        "from typing import (\n  TypedDict,\n)\nclass A(\n  TypedDict\n):\n  x: int\ny = 1",
    ],
)
def test_lines_stay_where_they_are(code: str):
    changed = rewritten(code, ["gh"], NATIVE).code
    assert changed != code
    assert changed.count("\n") == code.count("\n")
    assert changed.splitlines()[-1] == code.splitlines()[-1]
    ast.parse(changed)


def test_modules_are_made_where_they_are_needed_and_missed_where_nobody_has_them():
    script = rewritten("import io, numpy.linalg\nfrom urllib.parse import quote\nimport json", [], NATIVE)
    assert (script.modules, script.missing) == (["io", "urllib_parse__"], [("numpy.linalg", 1)])


@pytest.mark.parametrize(
    ("code", "returned"),
    [
        ("1 + 1", "return 1 + 1"),
        ("const x = 1;\nx", "const x = 1;\nreturn x"),
        ("const r = await a.b({q: 1})\nr.n", "const r = await a.b({q: 1})\nreturn r.n"),
        ("function f() {}\nf()", "function f() {}\nreturn f()"),
        ("let x = 1; x // the end", "let x = 1; return x // the end"),
        ("await Promise.all([\n 1,\n 2\n])", "return await Promise.all([\n 1,\n 2\n])"),
        ("const s = 'a;\\'b'\ns", "const s = 'a;\\'b'\nreturn s"),
    ],
)
def test_the_last_expression_of_a_script_is_returned(code: str, returned: str):
    head = "export default async function () { "
    assert forms(code) == [f"{head}{returned}\n}}", f"{head}{code}\n}}"]


@pytest.mark.parametrize(
    "code", ["for (const a of b) {\n  c(a);\n}", "const a = b\n  .c()\n  .d()", "return 5", "", "type A = 1"]
)
def test_a_script_without_a_last_expression_stays_as_it_is(code: str):
    assert len(forms(code)) == 1
