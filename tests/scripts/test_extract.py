"""`extract` in scripts: a small model reads data out of a value, by way of the broker."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.broker import LOCAL, Filter
from toolcrib.errors import UnknownToolError
from toolcrib.metatools import MetaTools
from toolcrib.sandbox import Finding
from toolcrib.scripts import RunOutcome, run_result
from toolcrib.scripts.extraction import extractions

pytestmark = pytest.mark.anyio

DENIED = {"policy": {"rules": [{"tools": ["toolcrib.extract"], "then": "deny"}]}}
WRITTEN: list[str] = []


class Reader:
    """A small model that answers what it is told to."""

    name = "test:reader"
    window = 10_000

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, Any]] = []

    async def answer(self, task: str, text: str, shape: dict[str, Any]) -> Any:
        self.asked.append((text, shape))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        """Nothing is open."""


async def write(title: str) -> dict[str, int]:
    """Write something."""
    WRITTEN.append(title)
    return {"id": len(WRITTEN)}


async def flaky(key: str) -> str:
    """Fail."""
    raise ValueError("not now")


@asynccontextmanager
async def crib_with(tmp_path: Path, *answers: Any, **settings: Any) -> AsyncGenerator[tuple[Crib, Reader]]:
    WRITTEN.clear()
    reader = Reader(*answers)
    config = {"mcpServers": {}, "toolcrib": {"small_model": "test:reader", **settings}}
    async with Crib.open(config, state_dir=tmp_path, small_model=reader) as crib:
        crib.add_functions(write, flaky, server="box")
        yield crib, reader


async def ran(tmp_path: Path, code: str, *answers: Any, **settings: Any) -> tuple[RunOutcome, Reader]:
    async with crib_with(tmp_path, *answers, **settings) as (crib, reader):
        return await crib.run_code(code), reader


TYPED = """
from typing import Literal, NotRequired, TypedDict

class Address(TypedDict, total=False):
    city: str

class Person(TypedDict):
    "Somebody."
    name: str
    kind: Literal["guest", "host"]
    age: NotRequired[int | None]
    addresses: list[Address]

person = await extract(
    "Ann lives in Bonn",
    Person,
)
(person["name"], person.get("age"), [each["city"] for each in person["addresses"]])
"""
ADDRESS = {"type": "object", "properties": {"city": {"type": "string"}}, "additionalProperties": False}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "kind": {"enum": ["guest", "host"]},
        "age": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "addresses": {"type": "array", "items": {"$ref": "#/$defs/Address"}},
    },
    "additionalProperties": False,
    "description": "Somebody.",
    "required": ["name", "kind", "addresses"],
    "$defs": {"Address": ADDRESS},
}
ANN = {"name": "Ann", "kind": "guest", "addresses": [{"city": "Bonn"}]}


@pytest.mark.parametrize("full", [False, True], ids=["python", "python-full"])
async def test_a_typed_dict_is_the_shape(tmp_path: Path, full: bool) -> None:
    code = TYPED
    if full:
        if shutil.which("bwrap") is None:
            pytest.skip("no wall for full Python is known to hold here")
        code += "\nclass Own(dict): pass\n(person['name'], None, ['Bonn'])"  # inheritance, which Monty lacks
    outcome, reader = await ran(tmp_path, code, ANN, scripts={"full_python": full})
    assert (outcome.status, outcome.value) == ("ok", ["Ann", None, ["Bonn"]]), outcome
    assert outcome.sandbox == ("python-full" if full else "python")
    assert reader.asked == [("Ann lives in Bonn", PERSON)]
    assert [(call.name, call.effect, call.state) for call in outcome.calls] == [("toolcrib.extract", "read", "done")]


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        ("int", {"type": "integer"}),
        ("shape=str", {"type": "string"}),
        ("list[float]", {"type": "array", "items": {"type": "number"}}),
        ("dict[str, bool]", {"type": "object", "additionalProperties": {"type": "boolean"}}),
        ("str | None", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("Optional[int]", {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ("Union[int, str, None]", {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        ("Literal['a', 2]", {"enum": ["a", 2]}),
        ("typing.Literal['a']", {"enum": ["a"]}),
        ("list", {"type": "array"}),
        ("Any", {}),
        ("{'type': 'string', 'minLength': 2}", None),
        ("somewhere", None),
    ],
)
def test_a_type_is_told_as_a_schema(shape: str, schema: Any) -> None:
    found = extractions(f"x = await extract(value, {shape})  # é\ny = 1", "python", is_there=True)
    told = shape if schema is None else ("shape=" if shape.startswith("shape=") else "") + repr(schema)
    assert found.run == f"x = await extract(value, {told})  # é\ny = 1"
    assert found.checked == f"x = await extract(value, {shape})  # é\ny = 1"


def test_a_type_that_names_itself() -> None:
    code = "class Node(TypedDict):\n    below: 'list[Node]'\nTree = Node\nawait extract(text, Tree)"
    node = {
        "type": "object",
        "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        "additionalProperties": False,
        "required": ["below"],
    }
    told = {"$ref": "#/$defs/Node", "$defs": {"Node": node}}
    assert extractions(code, "python", is_there=True).run == code.replace("text, Tree", f"text, {told!r}")


@pytest.mark.parametrize(
    ("code", "line", "told"),
    [
        ("extract('a', int)", 1, "not awaited"),
        ("x = await extract('a', int)\nx + 'a'\nextract('b', int)", 3, "not awaited"),
        ("class P(TypedDict):\n    a: int\nx = await extract('a', P)\nx['b']", 4, 'Unknown key "b"'),
    ],
)
async def test_what_is_wrong_is_told_before_the_model_is_asked(tmp_path: Path, code: str, line: int, told: str) -> None:
    outcome, reader = await ran(tmp_path, code)
    assert (outcome.status, reader.asked) == ("rejected", [])
    assert any(finding.line == line and told in finding.message for finding in outcome.findings), outcome.findings


async def test_an_answer_of_another_shape_is_asked_for_once_more_with_what_is_wrong(tmp_path: Path) -> None:
    outcome, reader = await ran(tmp_path, "await extract('Ann is 30', int)", "thirty", 30)
    assert outcome.value == 30
    assert reader.asked[0][0] == "Ann is 30"
    assert reader.asked[1][0].startswith("Ann is 30\n")
    assert 'must be an integer, not the string "thirty"' in reader.asked[1][0]


CAUGHT = "try:\n    await extract({value}, {shape})\nexcept ToolError as error:\n    print(error.tool, error.message)"


@pytest.mark.parametrize(
    ("value", "shape", "answers", "told"),
    [
        ("'x'", "int", ("a", "b"), 'does not have that shape: /: must be an integer, not the string "b".'),
        ("'x'", "int", (ValueError("odd"),), "test:reader failed: ValueError: odd"),
        ("'x'", "{'type': 'strange'}", (), "The shape can't be used"),
        ("'x'", "'a text'", (), "shape"),
        ("'word ' * 9000", "str", (), "reads at most 8,000"),
    ],
)
async def test_what_goes_wrong_is_a_tool_error(
    tmp_path: Path, value: str, shape: str, answers: tuple[Any, ...], told: str
) -> None:
    outcome, reader = await ran(tmp_path, CAUGHT.format(value=value, shape=shape), *answers)
    assert outcome.status == "ok", outcome
    assert told in outcome.output
    assert "toolcrib.extract" in outcome.output
    assert len(reader.asked) == len(answers)


async def test_without_a_model_the_name_is_told_with_what_to_configure(tmp_path: Path) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        outcome = await crib.run_code("x = 1\nawait extract('a', int)")
        own = await crib.run_code("def extract(text, kind):\n    return kind(text)\nextract('3', int)")
        (definition,) = (tool for tool in MetaTools(crib).definitions() if tool["name"] == "run_code")
    (finding,) = outcome.findings
    assert (outcome.status, finding.line, finding.rule) == ("rejected", 2, "no-small-model")
    assert "toolcrib.small_model" in finding.hint
    assert (own.status, own.value) == ("ok", 3)
    assert "extract" not in definition["description"]


async def test_the_model_is_told_of_it_in_a_few_words_where_it_is_there(tmp_path: Path) -> None:
    async with crib_with(tmp_path) as (crib, _):
        tools = MetaTools(crib)
        (told,) = (tool["description"] for tool in tools.definitions() if tool["name"] == "run_code")
        assert tools.definitions() is tools.definitions()
    assert "extract(value, shape)" in told


IN_LOOPS = [
    ("for x in 'ab':\n    await extract(x, int)", 2),
    ("while True:\n    await extract('a', int)\n    break", 2),
    ("[await extract(x, int) for x in 'ab']", 1),
    ("import asyncio\nawait asyncio.gather(*[extract(x, int) for x in 'ab'])", 2),
    ("async def one(x):\n    return await extract(x, int)\nawait one('a')", 0),
    ("for x in await extract('ab', list[int]):\n    pass", 0),
]


@pytest.mark.parametrize(("code", "line"), IN_LOOPS)
async def test_a_use_in_a_loop_is_warned_of(tmp_path: Path, code: str, line: int) -> None:
    answer = [1] if "list[int]" in code else 1
    async with crib_with(tmp_path, answer, answer) as (crib, _):
        warned = [each for each in await crib.check_code(code) if each.rule == "extract-in-loop"]
        outcome = await crib.run_code(code)
    assert [(each.line, each.is_error) for each in warned] == ([(line, False)] if line else [])
    assert outcome.status == "ok", outcome
    account = run_result(outcome)["content"][-1]["text"]
    assert ("asks a model each time" in account) is bool(line)


TYPESCRIPT_LOOPS = [
    ("for (const x of xs) {\n  await extract(x, {})\n}", 2),
    ("while (true) await extract(1, {})", 1),
    ("await Promise.all(xs.map((x) => extract(x, {})))", 1),
    ("do { await extract(1, {}) } while (f())", 1),
    ("const a = await extract(1, {})\nfor (const b of a) { f(b) }\nawait extract(2, {})", 0),
    ("// for (;;) {\nawait extract('for (;;) {', {})", 0),
    ("f(); xs.forEach(g); await extract(1, {})", 0),
]


@pytest.mark.parametrize(("code", "line"), TYPESCRIPT_LOOPS)
def test_a_use_in_a_loop_of_typescript_is_warned_of(code: str, line: int) -> None:
    found = extractions(code, "typescript", is_there=True)
    assert (found.is_used, found.run) == (True, code)
    assert [finding.line for finding in found.findings] == ([line] if line else [])


@pytest.mark.parametrize("own", ["function extract(x) { return x }", "const extract = (x) => x", "let extract = f"])
def test_a_function_of_the_scripts_own_is_no_use_of_it(own: str) -> None:
    for is_there in (True, False):
        assert not extractions(f"{own}\nextract(1)", "typescript", is_there=is_there).is_used


async def test_it_is_there_in_typescript(tmp_path: Path) -> None:
    pytest.importorskip("deno")
    async with crib_with(tmp_path, ANN, scripts={"typescript": True}) as (crib, reader):
        code = 'const p: any = await extract("Ann", {type: "object"});\np.name'
        outcome = await crib.run_code(code, language="typescript")
    assert (outcome.status, outcome.value) == ("ok", "Ann"), outcome
    assert reader.asked == [("Ann", {"type": "object"})]


async def test_it_counts_as_a_call(tmp_path: Path) -> None:
    outcome, reader = await ran(
        tmp_path, "for n in range(9):\n    await extract(str(n), int)", *range(9), scripts={"calls": 3}
    )
    assert (outcome.status, len(reader.asked)) == ("call_limit", 3)


async def test_it_is_on_record_and_what_it_gives_is_external(tmp_path: Path) -> None:
    async with crib_with(tmp_path, {"password": "x"}, redact=["EMP-[0-9]+"]) as (crib, reader):
        outcome = await crib.run_code("await extract('I am EMP-123', dict)")
        (entry,) = await crib.journal.entries(Filter(run=outcome.run))
        labels = crib._flow.labels(LOCAL)  # pyright: ignore[reportPrivateUsage]
    assert (entry.tool, entry.effect, entry.state, entry.origin) == ("toolcrib.extract", "read", "done", "script")
    assert "EMP-123" not in str(entry.arguments)
    assert labels == {"external"}
    assert "EMP-123" not in reader.asked[0][0]


async def test_no_secret_goes_to_the_model_in_a_shape_or_with_what_did_not_fit_it(tmp_path: Path) -> None:
    """A script may make the shape of what it has read."""
    code = "await extract('Ann', {'enum': ['EMP-' + str(123), 'b'], 'description': 'one of EMP-' + str(456)})"
    outcome, reader = await ran(tmp_path, code, "c", "b", redact=["EMP-[0-9]+"])
    assert (outcome.value, len(reader.asked)) == ("b", 2)
    assert "EMP-" not in str(reader.asked)


async def test_the_policy_may_deny_it(tmp_path: Path) -> None:
    code = "try:\n    await extract('a', int)\nexcept Exception:\n    print('went on')"
    outcome, reader = await ran(tmp_path, code, **DENIED)
    assert (outcome.status, outcome.output, reader.asked) == ("stopped", "", [])
    assert [(call.name, call.state) for call in outcome.calls] == [("toolcrib.extract", "denied")]


async def test_rules_about_it_are_not_odd(tmp_path: Path) -> None:
    async with crib_with(tmp_path, **DENIED) as (crib, _):
        assert crib.config.warnings == ()


async def test_the_policy_may_ask_about_it_and_the_run_sleeps_meanwhile(tmp_path: Path) -> None:
    rule = {"tools": ["toolcrib.extract"], "then": "ask"}
    settings = {"policy": {"rules": [rule]}, "approvals": {"patience": 0.05}}
    async with crib_with(tmp_path, 30, **settings) as (crib, reader):
        slept = await crib.run_code("await extract('Ann is 30', int)")
        assert (slept.status, reader.asked) == ("suspended", [])
        (pending,) = await crib.approvals.list()
        await crib.approvals.decide(pending.id, approved=True, by="a test")
        woke = await crib.run_code("x", retry_of=slept.run)
    assert (woke.status, woke.value) == ("ok", 30), woke


async def test_only_scripts_reach_it_and_no_list_has_it(tmp_path: Path) -> None:
    async with crib_with(tmp_path) as (crib, _):
        with pytest.raises(UnknownToolError):
            await crib.call("toolcrib.extract", {"value": "a", "shape": {}})
        assert [tool.id for tool in await crib.tools()] == ["box.write", "box.flaky"]
        assert [each.tool.id for each in (await crib.search("extract")).found] == []


async def test_what_it_said_is_not_asked_for_again_when_a_run_is_repeated(tmp_path: Path) -> None:
    code = "title = await extract('a', str)\nawait box.write(title=title)\nawait box.flaky(key='k')"
    async with crib_with(tmp_path, "one", "another") as (crib, reader):
        first = await crib.run_code(code)
        again = await crib.run_code(code, retry_of=first.run)
    assert [(call.name, call.state) for call in again.calls] == [
        ("toolcrib.extract", "repeated"),
        ("box.write", "repeated"),
        ("box.flaky", "failed"),
    ]
    assert (len(reader.asked), WRITTEN) == (1, ["one"])


async def test_an_error_shows_the_line_as_it_was_written(tmp_path: Path) -> None:
    outcome, _ = await ran(tmp_path, "\nx = (await extract('a', list[int]))[3]", [1])
    assert outcome.fault is not None
    assert (outcome.fault.line, outcome.fault.source) == (2, "x = (await extract('a', list[int]))[3]")


def test_findings_are_told_by_place() -> None:
    code = "for x in y:\n  await extract(x, int)"
    assert extractions(code, "python", is_there=True).findings == (
        Finding(
            2,
            9,
            "extract-in-loop",
            "extract asks a model each time, here in a loop.",
            False,
            "Extract from many values at once, as a list.",
        ),
    )
