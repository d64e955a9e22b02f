"""A provider as the small model of a crib, played by a script and over a vendor's wire."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib import Crib
from toolcrib.config import Variables, config_from_mapping
from toolcrib.errors import ConfigError, ToolcribError, UsageError
from toolcrib.llm import (
    LlmConfiguration,
    ProviderError,
    ProviderEvent,
    ProviderModel,
    Request,
    ScriptedProvider,
    Text,
    ToolUse,
    Traits,
    Turn,
    register_provider,
    small_model_of,
    use,
)
from toolcrib.llm.messages import Message
from toolcrib.llm.scripted import Step

pytestmark = pytest.mark.anyio

PERSON: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
IDS = {"type": "array", "items": {"$ref": "#/$defs/id"}, "$defs": {"id": {"type": "string"}}}


def model(*script: Step, **options: Any) -> tuple[ProviderModel, ScriptedProvider]:
    provider = ScriptedProvider(script)
    return ProviderModel(provider, **options), provider


async def test_it_answers_by_the_parameters_of_one_tool_that_it_must_call() -> None:
    small, provider = model(use("answer", {"name": "Ann"}))
    assert await small.answer("Extract.", "Ann is here", PERSON) == {"name": "Ann"}
    (request,) = provider.requests
    assert (request.system, request.messages[0].text, request.tool_choice) == ("Extract.", "Ann is here", "required")
    assert [tool.input_schema for tool in request.tools] == [PERSON]
    assert small.name == "scripted:script"


async def test_a_shape_that_is_no_object_is_wrapped_with_its_definitions_at_the_root() -> None:
    small, provider = model(use("answer", {"value": ["a"]}))
    assert await small.answer("", "text", IDS) == ["a"]
    assert provider.requests[0].tools[0].input_schema == {
        "type": "object",
        "properties": {"value": {"type": "array", "items": {"$ref": "#/$defs/id"}}},
        "required": ["value"],
        "$defs": {"id": {"type": "string"}},
    }


@pytest.mark.parametrize(
    ("said", "shape", "answer"),
    [
        ('{"name": "Ann"}', PERSON, {"name": "Ann"}),
        ('```json\n{"name": "Ann"}\n```', PERSON, {"name": "Ann"}),
        ('{"value": ["a"]}', IDS, ["a"]),
        ('["a"]', IDS, ["a"]),
        ("Ann, I think.", PERSON, "Ann, I think."),
        (ToolUse("1", "answer", {}, unreadable='{"name":'), PERSON, '{"name":'),
        ("", PERSON, ""),
    ],
)
async def test_an_answer_in_words_is_read_where_it_is_json(said: Step, shape: Any, answer: Any) -> None:
    assert await model(said)[0].answer("", "text", shape) == answer


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (Turn(Message("assistant", ()), "refused", detail="no such thing"), "declined to answer: no such thing"),
        (Turn(Message("assistant", (Text("{"),)), "length"), "ran out of room"),
        (ProviderError("scripted", "The vendor is down."), "The vendor is down."),
    ],
)
async def test_a_model_that_fails_says_why(step: Step, told: str) -> None:
    with pytest.raises(ToolcribError, match=told):
        await model(step)[0].answer("", "text", PERSON)


class Silent(ScriptedProvider):
    """Never answers."""

    async def stream(self, request: Request) -> AsyncGenerator[ProviderEvent]:
        await anyio.sleep_forever()
        yield Turn(Message("assistant", ()), "end")


async def test_a_model_that_is_slow_is_given_up() -> None:
    with pytest.raises(ProviderError, match=r"slow:one did not answer within 0\.01 seconds"):
        await ProviderModel(Silent([]), "slow:one", timeout=0.01).answer("", "text", PERSON)


async def test_a_configuration_names_it_with_key_and_address() -> None:
    made: list[LlmConfiguration] = []

    def make(given: LlmConfiguration) -> ScriptedProvider:
        made.append(given)
        return ScriptedProvider(['"x"'])

    register_provider("small-test", make)
    settings = {"model": "small-test:tiny", "key": "${keyring:tiny}", "base_url": "http://${HOST}/v1", "timeout": 3}
    config = config_from_mapping({"mcpServers": {}, "toolcrib": {"small_model": settings}})
    variables = Variables(environ={"HOST": "box"}, keyring={"tiny": "s3cret"}.get)
    small = small_model_of(config, variables)
    assert small is not None
    assert (small.name, made) == ("small-test:tiny", [])  # nothing is made, and no keyring read, before it is asked
    assert await small.answer("", "text", {"type": "string"}) == "x"
    assert made == [LlmConfiguration("tiny", "s3cret", "http://box/v1")]
    assert "s3cret" not in repr(config)


async def test_no_error_tells_the_key_whatever_the_vendor_says() -> None:
    def make(given: LlmConfiguration) -> ScriptedProvider:
        return ScriptedProvider([ProviderError("wordy", f"No such key: {given.api_key}.")])

    register_provider("wordy", make)
    settings = {"model": "wordy:m", "key": "${KEY}"}
    config = config_from_mapping({"mcpServers": {}, "toolcrib": {"small_model": settings}})
    small = small_model_of(config, Variables(environ={"KEY": "k-5f9a8b7c6d5e"}))
    assert small is not None
    with pytest.raises(ProviderError) as caught:
        await small.answer("", "text", PERSON)
    assert "No such key" in str(caught.value)
    assert "k-5f9a8b7c6d5e" not in str(caught.value)


async def test_a_text_is_short_for_the_model_alone_and_without_one_there_is_none() -> None:
    named = small_model_of(config_from_mapping({"toolcrib": {"small_model": "anthropic:claude"}}))
    assert named is not None
    assert named.name == "anthropic:claude"
    assert small_model_of(config_from_mapping({"mcpServers": {}})) is None


@pytest.mark.parametrize("given", ["claude", "anthropic:", 5, None, {"model": 7}, {"model": "a:b", "timeout": 0}, []])
def test_what_names_no_model_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="small_model"):
        config_from_mapping({"toolcrib": {"small_model": given}})


def test_a_provider_that_there_is_not_is_told_at_once() -> None:
    with pytest.raises(UsageError, match="no provider 'anthropik'"):
        small_model_of(config_from_mapping({"toolcrib": {"small_model": "anthropik:claude"}}))


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def add_label(ticket: str, label: str) -> str:
    """Add a label to a ticket."""
    return ticket + label


DELEGATE = {"mcpServers": {}, "toolcrib": {"search": {"strategy": "delegate", "embedder_patience": 60}}}


async def found(tmp_path: Path, *script: Step, **options: Any) -> tuple[list[str], str, ScriptedProvider]:
    """What a search for `add` finds, and what is said of the model."""
    small, provider = model(*script, **options)
    async with Crib.open(DELEGATE, state_dir=tmp_path, small_model=small) as crib:
        crib.add_functions(add, add_label)
        answer = await crib.search("add")
    return [each.tool.id for each in answer.found], answer.problem, provider


async def test_it_chooses_for_the_search_strategy_delegate(tmp_path: Path) -> None:
    ids, problem, provider = await found(tmp_path, use("answer", {"ids": ["local.add_label", "local.none", 5]}))
    assert (ids, problem) == (["local.add_label", "local.add"], "")
    asked = provider.requests[0].messages[0].text
    assert asked.splitlines()[0] == 'Need: "add"'
    assert "local.add: Add two numbers." in asked


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (ProviderError("scripted", "The vendor is down."), "The chooser is not used: The vendor is down."),
        ("I like them all.", "The chooser is not used: scripted:script named no tools."),
        (use("answer", {"names": []}), "The chooser is not used: scripted:script named no tools."),
        (ValueError("odd"), "The chooser is not used: odd."),
    ],
)
async def test_a_search_falls_back_and_says_so(tmp_path: Path, step: Step, told: str) -> None:
    ids, problem, _ = await found(tmp_path, step)
    assert ids == ["local.add", "local.add_label"]
    assert problem.startswith(told)


def test_delegate_without_a_model_says_what_to_configure(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no model to choose with") as caught:
        Crib.open(DELEGATE, state_dir=tmp_path)
    assert "small_model" in caught.value.hint


async def test_it_is_closed_with_the_crib(tmp_path: Path) -> None:
    closed: list[bool] = []

    class Closing(ScriptedProvider):
        async def close(self) -> None:
            closed.append(True)

    async with Crib.from_clients({}, state_dir=tmp_path, small_model=ProviderModel(Closing([]))):
        assert closed == []
    assert closed == [True]


async def test_over_the_wire_of_a_vendor(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    from doubles import openai_chat_api as api
    from doubles.serving import Double, served

    double = Double(api.check, [api.answer("", ("answer", {"value": 30}, "call_1"))])
    async with served(double, "/v1/chat/completions"):
        settings = {"model": "openai-chat:m", "key": "key", "base_url": f"{double.url}/v1"}
        config = config_from_mapping({"mcpServers": {}, "toolcrib": {"small_model": settings}})
        async with Crib.open(config, state_dir=tmp_path, small_model=small_model_of(config)) as crib:
            outcome = await crib.run_code("await extract('Ann is 30 years old', int) + 1")
    assert (outcome.status, outcome.value) == ("ok", 31), outcome
    (body,) = double.bodies
    assert body["tool_choice"] == "required"
    assert body["messages"][-1] == {"role": "user", "content": "Ann is 30 years old"}
    assert json.dumps(body["tools"][0]["function"]["parameters"]["properties"]) == '{"value": {"type": "integer"}}'


async def test_a_window_that_a_value_does_not_fit_into(tmp_path: Path) -> None:
    provider = ScriptedProvider([], traits=Traits(window=1_000))
    async with Crib.from_clients({}, state_dir=tmp_path, small_model=ProviderModel(provider)) as crib:
        outcome = await crib.run_code("await extract('word ' * 2000, str)")
    assert outcome.fault is not None
    assert "reads at most 800" in outcome.fault.message
    assert provider.requests == []
