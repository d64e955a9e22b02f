"""The policy through the library: what is decided, what is hidden, what may go on, and what it costs to know."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.broker import ALLOW, Access, Call, Caller, ConfiguredPolicy, Decision, ListedTool, Options, Principal
from toolcrib.catalog import NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod, ToolRegistry
from toolcrib.config import config_from_mapping
from toolcrib.errors import DeniedError, UnknownToolError, UsageError

pytestmark = pytest.mark.anyio

READ = {"name": "look", "description": "Look.", "annotations": {"readOnlyHint": True}}
DROP = {"name": "drop", "description": "Drop.", "annotations": {"destructiveHint": True}}


@dataclass
class Lab:
    """A source that a program adds, and that answers what a test says."""

    id: str = "lab"
    description: str = ""
    answer: JsonObject = field(default_factory=lambda: {"content": []})
    sent: list[RequestMethod] = field(default_factory=list)

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None: ...

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        return [READ, DROP]

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        self.sent.append(method)
        return self.answer


def config(*rules: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return {"mcpServers": {}, "toolcrib": {"policy": {"rules": list(rules)}, "approvals": {"inbox": False}, **settings}}


async def test_rules_decide_about_whatever_a_program_adds(tmp_path: Path) -> None:
    rules = ({"tools": ["lab.look"], "faces": ["http"], "then": "deny", "reason": "not from there"},)
    async with Crib.open(config(*rules), state_dir=tmp_path) as crib:
        await crib.add_source(Lab())
        await crib.call("lab.look")
        with pytest.raises(DeniedError, match="not from there"):
            await crib.call("lab.look", caller=Caller(face="http"))
        explained = await crib.explain("lab.look", caller=Caller(face="http"))
        assert (explained.decision.verdict, explained.hidden) == ("deny", False)
        assert {each.tool.id: each.effect for each in (await crib.search("look\ndrop")).found} == {
            "lab.look": "unknown",
            "lab.drop": "destructive",
        }


async def test_a_resource_of_a_denied_source_is_one_of_no_source(tmp_path: Path) -> None:
    async with Crib.open(config({"servers": ["lab"], "then": "deny"}), state_dir=tmp_path) as crib:
        lab = Lab()
        await crib.add_source(lab)
        messages: list[str] = []
        for server in ("lab", "nobody"):
            with pytest.raises(UsageError) as caught:
                await crib.request("resources/read", server, {"uri": "x://y"})
            messages.append(str(caught.value).replace(server, "S"))
        assert messages[0] == messages[1]
        with pytest.raises(UsageError) as caught:
            await crib.request("resources/read", "labb", {"uri": "x://y"})
        assert "Did you mean" not in str(caught.value)  # what is denied is not named as what was meant either
        assert lab.sent == []
        assert crib.overview() == []
        assert crib.configured() == []


async def test_a_parked_call_that_is_no_read_can_not_be_gone_on_with_as_one(tmp_path: Path) -> None:
    asks = {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create", "params": {}}}}
    async with Crib.open(config(), state_dir=tmp_path) as crib:
        lab = Lab(answer=asks)
        await crib.add_source(lab)
        waiting = await crib.request("tools/call", "lab.drop", {})
        assert waiting.token is not None
        answers = {"a": {"action": "accept", "content": {}}}
        again = Options(token=waiting.token, input_responses=answers, only_reads=True)
        with pytest.raises(DeniedError, match="not known only to read"):
            await crib.request("tools/call", "lab.drop", {}, options=again)
        assert len(lab.sent) == 1
        lab.answer = {"content": []}
        done = await crib.request(
            "tools/call", "lab.drop", {}, options=Options(token=waiting.token, input_responses=answers)
        )
        assert done.kind == "result"


async def test_a_policy_of_ones_own_takes_the_place_of_all_rules(tmp_path: Path) -> None:
    class Own:
        def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
            return tool is not None and tool.name == "look"

        def decide(self, call: Call) -> Decision:
            return ALLOW

    async with Crib.open(config({"then": "deny"}), policy=Own(), state_dir=tmp_path) as crib:
        await crib.add_source(Lab())
        await crib.call("lab.drop")
        with pytest.raises(UnknownToolError):
            await crib.call("lab.look")
        with pytest.raises(UsageError, match="the program's own"):
            await crib.explain("lab.drop")


class Counted:
    """Definitions that count how often one is read, as from a disk."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.reads = 0

    def read(self, index: int) -> JsonObject:
        self.reads += 1
        return {"name": self.names[index], "annotations": {"destructiveHint": index % 2 == 0}}


def test_definitions_are_read_once_a_listing_and_only_for_rules_about_effects() -> None:
    def access(*rules: dict[str, Any]) -> Access:
        return Access(registry, ConfiguredPolicy(config_from_mapping(config(*rules)), lambda _: ({}, False)))

    registry = ToolRegistry()
    parts = {server: Counted([f"t{number}" for number in range(100)]) for server in ("one", "other")}
    for server, part in parts.items():
        registry.put(part, server=server)
    by_name = access({"tools": ["one.t7"], "then": "deny"}, {"faces": ["http"], "effects": ["write"], "then": "deny"})
    assert len(by_name.visible(Principal())) == 199
    assert [part.reads for part in parts.values()] == [0, 0]
    by_effect = access({"effects": ["destructive"], "then": "deny"})
    for _ in range(3):
        assert len(by_effect.visible(Principal())) == 100
    assert [part.reads for part in parts.values()] == [100, 100]
    registry.put(Counted(["new"]), server="third")
    assert len(by_effect.visible(Principal())) == 100
    assert [part.reads for part in parts.values()] == [100, 100]


async def test_warnings_of_rules_stand_with_those_of_the_configuration(tmp_path: Path) -> None:
    async with Crib.open(config({"servers": ["nobody"], "then": "deny"}), state_dir=tmp_path) as crib:
        assert crib.config.warnings == ("toolcrib.policy.rules.0 (rule 1): servers: no server is called 'nobody'.",)
