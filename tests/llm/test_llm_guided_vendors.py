"""Guided steps over the vendors whose answers are not held to a schema: each step's tool is demanded by its name."""

from typing import Any

import pytest

pytest.importorskip("anthropic")
pytest.importorskip("openai")
pytest.importorskip("google.genai")

from doubles import anthropic_api
from doubles.serving import Refusal
from doubles.vendors import VENDORS, Vendor

from toolcrib import Crib
from toolcrib.llm import LlmConfiguration, Request, ToolSpec
from toolcrib.llm.messages import user
from toolcrib.llm.providers.anthropic import AnthropicProvider

pytestmark = pytest.mark.anyio

LARGE = [vendor for vendor in VENDORS if vendor.name != "openai-chat"]
CALLS = (
    ("search_tools", {"query": "add whole numbers"}),
    ("get_tool_details", {"name": "local.add"}),
    ("call_tool", {"name": "local.add", "arguments": {"a": 1, "b": 2}}),
)


def demanded(vendor: Vendor, body: dict[str, Any]) -> str | None:
    """The tool that a request demands, in the vendor's own words."""
    if vendor.name == "gemini":
        return (body["toolConfig"]["functionCallingConfig"].get("allowedFunctionNames") or [None])[0]
    choice = body["tool_choice"]
    return choice.get("name") if isinstance(choice, dict) else None


@pytest.mark.parametrize("vendor", LARGE, ids=[vendor.name for vendor in LARGE])
async def test_each_step_demands_its_tool(crib: Crib, calls: list[Any], vendor: Vendor) -> None:
    steps = [vendor.answer("", (name, given, f"call_{place}")) for place, (name, given) in enumerate(CALLS)]
    async with vendor.client(crib, *steps, vendor.answer("3"), guided=True, max_tool_rounds=2) as (client, double):
        assert (await client.chat("1 + 2?")).text == "3"
    assert [demanded(vendor, body) for body in double.bodies] == ["search_tools", "get_tool_details", "call_tool", None]
    assert all(body["tools"] == double.bodies[0]["tools"] for body in double.bodies)
    assert calls == [("add", (1, 2))]


def test_none_is_demanded_while_a_model_thinks() -> None:
    """The API refuses it: "Thinking may not be enabled when tool_choice forces tool use"."""
    thinking = {"type": "enabled", "budget_tokens": 1_024}
    provider = AnthropicProvider(LlmConfiguration("claude-sonnet-5", "key"), thinking=thinking)
    tool = ToolSpec("t", "", {"type": "object"})
    body = provider.payload(Request((user("hi"),), tools=(tool,), forced="t"))
    anthropic_api.check(body, {"x-api-key": "key", "anthropic-version": "2023-06-01"})
    assert body["tool_choice"] == {"type": "auto"}
    with pytest.raises(Refusal):
        anthropic_api.check(
            {**body, "tool_choice": {"type": "tool", "name": "t"}},
            {"x-api-key": "key", "anthropic-version": "2023-06-01"},
        )
