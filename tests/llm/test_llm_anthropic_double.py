"""The double of Anthropic's API refuses what the API refuses: one request for each rule."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from doubles import anthropic_api as api
from doubles import anthropic_rules
from doubles.serving import Refusal

HEADERS = {"authorization": "Bearer key", "anthropic-version": "2023-06-01"}
TOOL: dict[str, Any] = {"name": "t", "input_schema": {"type": "object"}}
USE = api.call("t", {}, "toolu_1")
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1"}
BODY: dict[str, Any] = {
    "model": "claude",
    "max_tokens": 10,
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [RESULT]},
    ],
}


def test_a_right_request_is_accepted() -> None:
    api.check(copy.deepcopy(BODY), HEADERS)


def _tool(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["tools"][0].update(changes)


def _content(place: int, *blocks: Any) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["messages"][place].update(content=list(blocks))


SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
GONE = {"name": "gone", "input_schema": {"type": "object"}, "defer_loading": True}
SEARCHED = api.searched({"tools": [SEARCH, GONE]}, "gone")
MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}
TEXT = {"type": "string"}
BY_CODE = {**USE, "caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_1"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


def _strict(*schemas: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    tools = [{"name": f"s{place}", "input_schema": each, "strict": True} for place, each in enumerate(schemas)]
    return lambda body: body["tools"].extend(tools)


def _by_code(*blocks: Any, **members: Any) -> Callable[[dict[str, Any]], None]:
    def change(body: dict[str, Any]) -> None:
        _content(1, BY_CODE)(body)
        _content(2, *blocks)(body)
        body.update(members)

    return change


def _thought(body: dict[str, Any]) -> None:
    asked = {**body, "messages": body["messages"][:1]}
    signed = {"type": "thinking", "thinking": "hm", "signature": anthropic_rules.signature(asked, "hm")}
    _content(1, signed, USE)(body)


def _thought_then(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], None]:
    return lambda body: (_thought(body), change(body))[0]


RULES: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda body: body.update(store=True), "Extra inputs"),
    (lambda body: body.pop("max_tokens"), "max_tokens: Field required"),
    (_tool(name="a.b"), "should match pattern"),
    (_tool(name="a" * 129), "should match pattern"),
    (lambda body: body["tools"].append(TOOL), "must be unique"),
    (lambda body: body["tools"][0].pop("input_schema"), "input_schema: Field required"),
    (_tool(input_schema={"type": "object", "anyOf": []}), "at the top level"),
    (_tool(input_schema={}), "Input should be 'object'"),
    (_tool(input_schema={"type": "object", "properties": {"a b": {}}}), "Property keys"),
    (_tool(parameters={}), "Extra inputs"),
    (_tool(defer_loading=True), "All tools cannot be deferred"),
    (_tool(defer_loading=True, **MARK), "go together"),
    (lambda body: body.pop("tools"), "must define tools"),
    (lambda body: (body.pop("tools"), body.update(tool_choice={"type": "auto"})), "tool_choice"),
    (lambda body: body["messages"].pop(), "prefill"),
    (lambda body: body["messages"].pop(0), "first message"),
    (lambda body: body["messages"].pop(1), "unexpected `tool_use_id`"),
    (_content(2, api.text("never mind")), "without `tool_result` blocks"),
    (_content(2, api.text("here"), RESULT), "without `tool_result` blocks"),
    (_content(2, RESULT, RESULT), "single result"),
    (_content(1, USE, USE), "ids must be unique"),
    (_content(1, {**USE, "name": "a.b"}), "should match pattern"),
    (_content(1, {**USE, "id": "a b"}), "should match pattern"),
    (_content(1, {**USE, "input": "{}"}), "valid dictionary"),
    (_content(1, RESULT), "only be in user messages"),
    (_content(0, USE), "only be in assistant messages"),
    (_content(0, api.text(" ")), "must be non-empty"),
    (_content(0), "non-empty content"),
    (_content(2, {**RESULT, "content": [api.text("")]}), "must be non-empty"),
    (_content(2, {**RESULT, "content": [{"type": "tool_reference", "tool_name": "x"}]}), "not found in available"),
    (_content(2, {**RESULT, "content": [{"type": "audio"}]}), "does not match"),
    (_content(0, *({**api.text("x"), **MARK} for _ in range(5))), "maximum of 4 blocks"),
    (_content(0, {"type": "thinking", "thinking": "", "signature": "s", **MARK}), "thinking blocks"),
    (_content(0, api.text("x" * 1_000_000)), "prompt is too long"),
    (lambda body: body["tools"].append({**SEARCH, "defer_loading": True}), "can't be deferred"),
    (lambda body: body["tools"].append({**SEARCH, "name": "search"}), "Input should be"),
    (_content(1, {**SEARCHED[0], "name": "x"}, SEARCHED[1], USE), "no `x` tool was provided"),
    (lambda body: (body["tools"].append(SEARCH), _content(1, SEARCHED[0], USE)(body)), "without a corresponding"),
    (lambda body: (body["tools"].append(SEARCH), _content(1, *SEARCHED, USE)(body)), "not found in available"),
    (_content(0, SEARCHED[1]), "only be in assistant messages"),
    (_content(2, {**RESULT, "tool_use_id": "srvtoolu_1"}), "for a server tool"),
    (
        lambda body: (_tool(**MARK)(body), _content(0, {**api.text("x"), **LONG})(body)),
        "must not come after a ttl='5m'",
    ),
    (_strict({"type": "object"}), "explicitly set to false"),
    (_strict({**CLOSED, "properties": {"a": {"$ref": "#"}}}), "Circular reference"),
    (_strict(*(CLOSED for _ in range(21))), "too complex"),
    (_strict({**CLOSED, "properties": {f"p{n}": TEXT for n in range(25)}}), "too complex"),
    (
        _strict(
            {
                **CLOSED,
                "properties": {f"p{n}": {"anyOf": [TEXT]} for n in range(17)},
                "required": [f"p{n}" for n in range(17)],
            }
        ),
        "too complex",
    ),
    (_by_code(RESULT), "container_id is required"),
    (_by_code(RESULT, api.text("and?"), container="c1"), "Only tool_result blocks"),
    (_by_code({**RESULT, "content": [IMAGE]}, container="c1"), "must be text"),
    (_thought_then(lambda body: body["messages"][1]["content"][0].update(thinking="ha")), "cannot be modified"),
    (_thought_then(lambda body: body.update(system="Be long.")), "bound to a different conversation"),
    (_thought_then(lambda body: body["tools"].append({**TOOL, "name": "u"})), "bound to a different conversation"),
    (_thought_then(_content(0, api.text("ho"))), "bound to a different conversation"),
]


@pytest.mark.parametrize(
    "change",
    [
        _thought,
        _thought_then(lambda body: body["tools"].append(GONE)),
        _thought_then(lambda body: body["tools"][0].update(MARK)),
        _by_code(RESULT, container="c1"),
        _strict({**CLOSED, "properties": {f"p{n}": TEXT for n in range(24)}}),
        lambda body: (_tool(**LONG)(body), _content(0, {**api.text("x"), **MARK})(body)),
    ],
    ids=["thought", "a deferred tool more", "a mark more", "in a container", "24 optional", "the longer life first"],
)
def test_what_stays_within_the_rules_is_accepted(change: Callable[[dict[str, Any]], Any]) -> None:
    body = copy.deepcopy(BODY)
    change(body)
    api.check(body, HEADERS)


@pytest.mark.parametrize(
    ("change", "message"), RULES, ids=[f"{place}-{rule[1][:30]}" for place, rule in enumerate(RULES)]
)
def test_a_wrong_request_is_refused(change: Callable[[dict[str, Any]], Any], message: str) -> None:
    body = copy.deepcopy(BODY)
    change(body)
    with pytest.raises(Refusal) as caught:
        api.check(body, HEADERS)
    assert message in caught.value.body["error"]["message"]
    assert caught.value.status == 400


def test_requests_without_a_key_or_a_version_are_refused() -> None:
    for headers, status in (({**HEADERS, "authorization": "Bearer x"}, 401), ({"x-api-key": "key"}, 400)):
        with pytest.raises(Refusal) as caught:
            api.check(copy.deepcopy(BODY), headers)
        assert caught.value.status == status
