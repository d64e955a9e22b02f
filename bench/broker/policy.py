"""What a policy of many rules costs: one decision, compared with that of a policy without rules, and the visible set.

The rules are of all kinds, over 50 servers, and half of those of a server look into arguments, so that a decision has
to try some of them. Decisions are timed twice: where a kind of call was decided about before, as in a conversation,
and where each is the first of its kind.
"""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from statistics import median
from typing import Any

from bench.report import Spread, Target
from toolcrib.broker import Access, Call, Caller, ConfiguredPolicy, Effect, Principal
from toolcrib.broker.policy import with_policy_warnings
from toolcrib.catalog import Tool, ToolRegistry
from toolcrib.config import Config, config_from_mapping

_SERVERS = 50
_TOOLS = 200


def add_options(parser: ArgumentParser) -> None:
    """The options of this part."""
    parser.add_argument("--rules", type=int, default=1_000, help="rules of the policy")
    parser.add_argument("--decisions", type=int, default=20_000, help="decisions timed by each policy")


def measure(options: Namespace) -> dict[str, Any]:
    """Milliseconds of a decision, of loading the rules, and of compiling the visible set of 10,000 tools."""
    begun = time.perf_counter()
    config = _config(options.rules)
    loaded = time.perf_counter()
    with_policy_warnings(config)
    checked = time.perf_counter()
    calls = list(_calls())
    plain, many = _policy(_config(0)), _policy(config)
    first = _timed(many, calls)
    rounds = range(max(1, options.decisions // len(calls)))
    without = [each for _ in rounds for each in _timed(plain, calls)]
    warm = [each for _ in rounds for each in _timed(many, calls)]
    registry = _registry()
    return {
        "rules": options.rules,
        "decision_without_rules_ms": asdict(Spread.of(without)),
        "decision_ms": asdict(Spread.of(warm)),
        "first_decision_of_its_kind_ms": asdict(Spread.of(first)),
        "over_no_rules_ms": round(median(warm) - median(without), 5),
        "first_over_no_rules_ms": round(median(first) - median(without), 5),
        "load_ms": round((loaded - begun) * 1_000, 1),
        "check_ms": round((checked - loaded) * 1_000, 1),
        "visible_set_ms": _visible(registry, config),
        "visible_set_by_effect_ms": _visible(registry, _by_effect()),
    }


def targets(figures: Mapping[str, Any]) -> list[Target]:
    """The budgets of the figures."""
    rules = f"{figures['rules']:,} rules"
    return [
        Target(f"{rules}: a decision, over one without rules", figures["over_no_rules_ms"], "ms", 0.1),
        Target(f"{rules}: the first of its kind, over one without", figures["first_over_no_rules_ms"], "ms", 0.1),
    ]


def _config(rules: int) -> Config:
    servers = {
        f"server_{each}": {"command": "x", "toolcrib": {"tags": [f"tag_{each % 7}"]}} for each in range(_SERVERS)
    }
    policy = {"rules": [_rule(number) for number in range(rules)]}
    return config_from_mapping({"mcpServers": servers, "toolcrib": {"policy": policy}})


def _rule(number: int) -> dict[str, Any]:
    server = number % _SERVERS
    tool = f"server_{server}.tool_{number % 13}*"
    conditions: Sequence[dict[str, Any]] = (
        {"tools": [tool], "arguments": [{"at": "/path", "pattern": f"^/data/{number}/"}]},
        {"tools": [tool], "arguments": [{"at": "/count", "minimum": 1_000 + number}], "effects": ["write"]},
        {"servers": [f"server_{server}"], "principals": [f"guest-{number}"]},
        {"tools": [f"*.special_{number}"], "faces": ["http"]},
        {"tags": [f"tag_{number % 7}"], "sources": ["script"], "effects": ["destructive"], "labels": ["private"]},
    )
    return {**conditions[number // _SERVERS % len(conditions)], "then": ("ask", "deny", "allow")[number % 3]}


def _calls() -> list[Call]:
    arguments = {"path": "/home/ada/notes.txt", "count": 7, "text": "The quick brown fox"}
    found: list[Call] = []
    for server in range(_SERVERS):
        for number in range(0, _TOOLS, 10):
            tool = Tool(f"server_{server}.tool_{number}", f"server_{server}", f"tool_{number}", {})
            params = {"name": tool.name, "arguments": arguments}
            found.append(Call("tools/call", tool.id, tool.server, params, Caller(), tool, "write"))
    return found


def _policy(config: Config) -> ConfiguredPolicy:
    return ConfiguredPolicy(config, _effects)


def _effects(source_id: str) -> tuple[Mapping[str, Effect], bool]:
    return {}, False


def _timed(policy: ConfiguredPolicy, calls: Sequence[Call]) -> list[float]:
    """Milliseconds of one decision about each call."""
    times: list[float] = []
    for call in calls:
        begun = time.perf_counter_ns()
        policy.decide(call)
        times.append((time.perf_counter_ns() - begun) / 1e6)
    return times


def _registry() -> ToolRegistry:
    registry = ToolRegistry()
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "Where it is."}}}
    definition = {"description": "Does one of many things, as its name tells.", "inputSchema": schema}
    for server in range(_SERVERS):
        tools = [{"name": f"tool_{number}", **definition} for number in range(_TOOLS)]
        registry.cache_from_maps(tools, server=f"server_{server}")
    return registry


def _by_effect() -> Config:
    rules = [{"effects": ["destructive"], "then": "deny"}]
    return config_from_mapping({"mcpServers": {}, "toolcrib": {"policy": {"rules": rules}}})


def _visible(registry: ToolRegistry, config: Config) -> float:
    """Milliseconds until 10,000 tools are sorted out for a principal who asks for the first time."""
    access = Access(registry, _policy(config))
    ask = partial(access.visible, Principal())
    begun = time.perf_counter()
    ask()
    return round((time.perf_counter() - begun) * 1_000, 1)
