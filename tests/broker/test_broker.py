"""The way of one call: resolved in the visible set, prepared, authorised, recorded, sent, classified."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from toolcrib.broker import (
    ALLOW,
    Access,
    Broker,
    Call,
    Caller,
    Decision,
    Effect,
    Ending,
    InvalidArgumentsError,
    ListedTool,
    NoDataFlow,
    Options,
    Outcome,
    Policy,
    Principal,
    Question,
    ServerLists,
    Trace,
)
from toolcrib.broker.approvals import Asking
from toolcrib.catalog import NO_CONTEXT, JsonObject, ListMethod, RequestContext, RequestMethod, Source, ToolRegistry
from toolcrib.errors import (
    AmbiguousNameError,
    CallTimeoutError,
    DeniedError,
    ProtocolError,
    ServerClosedError,
    ServerError,
    UnknownOutcomeError,
    UnknownToolError,
    UsageError,
)

pytestmark = pytest.mark.anyio

ADD = {
    "name": "add",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "from": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}
DROP = {"name": "drop", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}}
BROKEN = {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": "no such type"}}}}
OK: JsonObject = {"content": [{"type": "text", "text": "ok"}], "unknown": None}


@dataclass
class Scripted:
    """A source that answers what a test says, and keeps what it was sent."""

    id: str = "s"
    description: str = ""
    answer: JsonObject | Exception = field(default_factory=lambda: OK)
    sent: list[tuple[str, JsonObject, RequestContext]] = field(default_factory=list)
    on_ensure: Any = None

    async def ensure(self, context: Any = None) -> None:
        if self.on_ensure is not None:
            self.on_ensure()

    async def list(self, method: ListMethod, context: Any = None) -> list[JsonObject]:
        return []

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        self.sent.append((method, params, context))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Table:
    """Sources by id, some of them trusted."""

    def __init__(self, *sources: Source, trusted: bool = False) -> None:
        self.by_id = {source.id: source for source in sources}
        self.trusted = trusted

    def __iter__(self) -> Iterator[Source]:
        return iter(self.by_id.values())

    def find(self, source_id: str) -> Source | None:
        return self.by_id.get(source_id)

    def effects(self, source_id: str) -> tuple[Mapping[str, Effect], bool]:
        return {}, self.trusted

    def context(self, source_id: str, caller: Caller, client: Any = None) -> RequestContext:
        return RequestContext(connection_key=caller.key, client=client, principal=caller.principal.name)

    def own(self, name: str, caller: Caller) -> None:
        return None

    async def learn(self, name: str, caller: Caller, client: Any = None) -> bool:
        return False


class Record:
    """A journal that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def started(self, call: Call, decision: Decision) -> None:
        self.lines.append(f"started {call.target} {call.effect}")

    async def ended(self, call: Call, ending: Ending, detail: str = "", result: JsonObject | None = None) -> None:
        self.lines.append(f"{ending} {call.target}")

    async def stopped(self, call: Call, ending: Ending, decision: Decision, detail: str = "") -> None:
        self.lines.append(f"{ending} {call.target} {decision.reason}")


class Says:
    """A policy that says the same of every call, and hides nothing."""

    def __init__(self, verdict: Any) -> None:
        self.decision = Decision(verdict, "by rule 1")

    def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
        return False

    def decide(self, call: Call) -> Decision:
        return self.decision


def broker_over(
    source: Scripted,
    tools: Sequence[JsonObject] = (ADD, DROP, BROKEN),
    policy: Policy | None = None,
    trusted: bool = False,
    **parts: Any,
) -> tuple[Broker, ToolRegistry]:
    registry = ToolRegistry()
    registry.cache_from_maps(tools, server=source.id)
    policy = policy or ServerLists({}, {})
    return Broker(Table(source, trusted=trusted), registry, policy, Access(registry, policy), **parts), registry


async def call(broker: Broker, name: str, arguments: JsonObject | None = None, **options: Any) -> Outcome:
    return await broker.request("tools/call", name, arguments, options=Options(**options))


async def test_a_call_reaches_the_source_and_its_result_comes_back_whole() -> None:
    source = Scripted()
    broker, _ = broker_over(source)
    outcome = await call(broker, "s.add", {"a": 1}, timeout=3.0, meta={"traceparent": "00-1"})
    assert outcome.result == OK
    assert (outcome.kind, outcome.is_error, outcome.changes, outcome.unvalidated) == ("result", False, (), None)
    method, params, context = source.sent[0]
    assert (method, params) == ("tools/call", {"name": "add", "arguments": {"a": 1}})
    assert (context.timeout, context.meta) == (3.0, {"traceparent": "00-1"})


class Cuts:
    """Keeps all but a note of every result."""

    async def fit(self, result: JsonObject, budget: int | None, call: Call) -> tuple[JsonObject, str | None]:
        return {"content": [], "budget": budget}, "r1"


async def test_a_result_is_fitted_to_the_budget_and_a_question_comes_whole() -> None:
    source = Scripted()
    broker, _ = broker_over(source, fit=Cuts())
    outcome = await call(broker, "s.add", {"a": 1}, budget=500)
    assert (outcome.result, outcome.handle) == ({"content": [], "budget": 500}, "r1")
    source.answer = {"resultType": "input_required", "inputRequests": {}, "requestState": "s" * 1000}
    outcome = await call(broker, "s.add", {"a": 1}, budget=500)
    assert (outcome.kind, outcome.handle) == ("input_required", None)
    assert {"inputRequests", "requestState"} <= outcome.result.keys()


@pytest.mark.parametrize("spelling", ["s.add", "add", "s/add", "s__add", "s_add"])
async def test_other_spellings_reach_the_same_tool(spelling: str) -> None:
    source = Scripted()
    broker, _ = broker_over(source)
    assert (await call(broker, spelling, {"a": 1})).call.target == "s.add"


async def test_safe_mismatches_are_mended_and_told() -> None:
    source = Scripted()
    broker, _ = broker_over(source)
    outcome = await call(broker, "s.add", {"a": "5", "from_": "x"})
    assert source.sent[0][1]["arguments"] == {"a": 5, "from": "x"}
    assert len(outcome.changes) >= 1


async def test_an_identifier_spelling_is_mended_even_where_the_schema_takes_any_member() -> None:
    source = Scripted()
    open_schema = {"name": "t", "inputSchema": {"type": "object", "properties": {"from": {"type": "string"}}}}
    broker, _ = broker_over(source, [open_schema])
    await call(broker, "s.t", {"from_": "x", "free": 1})
    assert source.sent[0][1]["arguments"] == {"from": "x", "free": 1}


async def test_wrong_arguments_are_not_sent() -> None:
    source, record = Scripted(), Record()
    broker, _ = broker_over(source, journal=record)
    with pytest.raises(InvalidArgumentsError) as caught:
        await call(broker, "s.add", {"a": "many", "b": 1})
    assert caught.value.tool.id == "s.add"
    assert len(caught.value.result.errors) == 2
    assert str(caught.value).endswith(". Nothing was called; correct them and call again.")
    assert (source.sent, record.lines) == ([], [])


async def test_a_schema_that_cannot_be_used_leaves_the_tool_callable_and_says_so() -> None:
    source = Scripted()
    broker, _ = broker_over(source)
    outcome = await call(broker, "s.broken", {"a": 1})
    assert outcome.unvalidated
    assert source.sent[0][1]["arguments"] == {"a": 1}


async def test_an_unknown_tool_gets_near_misses_from_the_visible_set_only() -> None:
    source = Scripted()
    broker, _ = broker_over(source, policy=ServerLists({}, {"s": ["drop"]}))
    with pytest.raises(UnknownToolError) as caught:
        await call(broker, "s.dropp")
    assert "s.drop" not in caught.value.candidates
    with pytest.raises(UnknownToolError):
        await call(broker, "s.drop")
    with pytest.raises(UnknownToolError) as caught:
        await call(broker, "s.ad")
    assert caught.value.candidates[0] == "s.add"


async def test_an_ambiguous_name_lists_its_candidates() -> None:
    registry = ToolRegistry()
    registry.cache_from_maps([ADD], server="one")
    registry.cache_from_maps([ADD], server="two")
    policy = ServerLists({}, {})
    broker = Broker(Table(Scripted("one"), Scripted("two")), registry, policy, Access(registry, policy))
    with pytest.raises(AmbiguousNameError) as caught:
        await call(broker, "add", {"a": 1})
    assert set(caught.value.candidates) == {"one.add", "two.add"}


async def test_what_was_read_is_taken_in_before_a_question_tells_where_values_come_from() -> None:
    order: list[tuple[str, bool]] = []

    class Asks(ServerLists):
        def decide(self, call: Call) -> Decision:
            return Decision("ask", "to be sure")

    class Flow(NoDataFlow):
        async def settle(self, caller: Caller, *, now: bool = False, call: Call | None = None) -> None:
            order.append(("settle", now))

        def traces(self, call: Call) -> Sequence[Trace]:
            order.append(("traces", True))
            return ()

    async def approver(question: Question) -> bool:
        return True

    flow = Flow()
    broker, _ = broker_over(Scripted(), policy=Asks({}, {}), flow=flow, asking=Asking(approver=approver, flow=flow))
    await call(broker, "s.add", {"a": 1})
    assert order == [("settle", False), ("settle", True), ("traces", True)]


async def test_allow_lists_leave_the_rest_out() -> None:
    broker, _ = broker_over(Scripted(), policy=ServerLists({"s": ["a*"]}, {}))
    await call(broker, "s.add", {"a": 1})
    with pytest.raises(UnknownToolError):
        await call(broker, "s.drop")


async def test_the_definition_that_counts_is_the_one_listed_after_connecting() -> None:
    source = Scripted()
    broker, registry = broker_over(source)
    newer = {**ADD, "inputSchema": {"type": "object", "required": ["b"]}}
    source.on_ensure = lambda: registry.cache_from_maps([newer], server="s")
    with pytest.raises(InvalidArgumentsError, match="b"):
        await call(broker, "s.add", {"a": 1})


async def test_a_tool_that_went_away_while_connecting_is_unknown() -> None:
    source = Scripted()
    broker, registry = broker_over(source)
    source.on_ensure = lambda: registry.cache_from_maps([DROP], server="s")
    with pytest.raises(UnknownToolError):
        await call(broker, "s.add", {"a": 1})
    assert source.sent == []


async def test_effects_are_on_record_before_they_leave_and_after_they_return() -> None:
    source, record = Scripted(), Record()
    broker, _ = broker_over(source, journal=record)
    await call(broker, "s.drop")
    source.answer = {"content": [], "isError": True}
    assert (await call(broker, "s.drop")).is_error
    source.answer = {"resultType": "input_required", "inputRequests": {}}
    assert (await call(broker, "s.drop")).kind == "input_required"
    started = "started s.drop destructive"
    assert record.lines == [started, "done s.drop", started, "failed s.drop", started, "waiting s.drop"]


async def test_that_a_tool_only_reads_is_believed_of_a_trusted_server_alone() -> None:
    record = Record()
    trusted, _ = broker_over(Scripted(), trusted=True, journal=record)
    await call(trusted, "s.add", {"a": 1})
    untrusted, _ = broker_over(Scripted(), journal=record)
    await call(untrusted, "s.add", {"a": 1})
    assert record.lines == ["started s.add read", "done s.add", "started s.add unknown", "done s.add"]


@pytest.mark.parametrize(
    ("failure", "raised", "ending"),
    [
        (CallTimeoutError("s", "s did not answer."), UnknownOutcomeError, "unknown"),
        (UnknownOutcomeError("s", "s ended its connection."), UnknownOutcomeError, "unknown"),
        (ServerClosedError("s", "closed"), ServerClosedError, "failed"),
        (ProtocolError("s", "no", rpc_code=-32603), ProtocolError, "failed"),
    ],
)
async def test_a_failed_effect_tells_whether_it_may_have_happened(
    failure: ServerError, raised: type[ServerError], ending: str
) -> None:
    record = Record()
    broker, _ = broker_over(Scripted(answer=failure), journal=record)
    with pytest.raises(raised) as caught:
        await call(broker, "s.drop")
    assert record.lines[-1] == f"{ending} s.drop"
    assert ("not known" in str(caught.value)) is (ending == "unknown")


async def test_a_timed_out_read_is_a_timeout() -> None:
    broker, _ = broker_over(Scripted(answer=CallTimeoutError("s", "slow")), trusted=True)
    with pytest.raises(CallTimeoutError):
        await call(broker, "s.add", {"a": 1})


async def test_what_the_policy_denies_is_not_sent() -> None:
    source = Scripted()
    broker, _ = broker_over(source, policy=Says("deny"))
    with pytest.raises(DeniedError, match="by rule 1"):
        await call(broker, "s.drop")
    assert source.sent == []


async def test_a_token_that_nobody_gave_leads_nowhere() -> None:
    broker, _ = broker_over(Scripted())
    with pytest.raises(UsageError, match="no waiting call"):
        await call(broker, "s.drop", token="forged")


async def test_other_requests_go_to_their_source() -> None:
    source = Scripted(answer={"contents": []})
    broker, _ = broker_over(source)
    outcome = await broker.request("resources/read", "s", {"uri": "x://y"})
    assert outcome.result == {"contents": []}
    assert source.sent[0][:2] == ("resources/read", {"uri": "x://y"})
    with pytest.raises(UsageError, match="no server"):
        await broker.request("resources/read", "nobody", {"uri": "x://y"})


async def test_principals_have_visible_sets_of_their_own() -> None:
    class ByName:
        def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
            return principal.name == "guest" and tool is not None and tool.name == "drop"

        def decide(self, call: Call) -> Decision:
            return ALLOW

    broker, _ = broker_over(Scripted(), policy=ByName())
    await broker.request("tools/call", "s.drop", {}, Caller(Principal("owner")))
    with pytest.raises(UnknownToolError):
        await broker.request("tools/call", "s.drop", {}, Caller(Principal("guest")))
