"""The policy that a configuration describes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from toolcrib.broker.call import Call, Effect, Principal
from toolcrib.broker.dataflow import DataFlow, NoDataFlow
from toolcrib.broker.effects import judged, judged_by_name
from toolcrib.broker.policy.lists import ServerLists
from toolcrib.broker.policy.principals import PrincipalLists
from toolcrib.broker.policy.rules import Facts, Kind, Rule, around_of
from toolcrib.broker.policy.seam import ALLOW, Decision, ListedTool
from toolcrib.config import Config, PolicySettings

_MOST_KINDS = 8_192
"""Kinds of calls whose rules are kept: some hundred bytes each."""

EffectsOf = Callable[[str], tuple[Mapping[str, Effect], bool]]
"""The configured effects of a source by glob over tool names, and whether it is trusted."""


class Step(NamedTuple):
    """One thing that a policy looked at.

    Attributes:
        rule: What it is called.
        verdict: What it says of calls that it holds for.
        why: Why it did not decide; empty for the one that did.
    """

    rule: str
    verdict: str
    why: str

    @property
    def applies(self) -> str:
        """Whether it decided, in words, with why not."""
        return f"no: {self.why}" if self.why else "yes, it decides"


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a decision came about.

    Attributes:
        call: What was decided about.
        decision: What was decided.
        steps: What was looked at, in order; the last one decided.
        hidden: Whether the tool does not exist for the principal.
    """

    call: Call
    decision: Decision
    steps: Sequence[Step]
    hidden: bool


class ConfiguredPolicy:
    """Decides by a configuration: the servers' lists, those of the principals, `read_only`, the rules in their order,
    and where none of them holds, the default: destructive calls that a script makes, or that come in over HTTP, ask;
    all others are allowed.

    Args:
        config: The configuration.
        effects: Tells what is configured of a source's effects.
        flow: Remembers what callers have read.
    """

    def __init__(self, config: Config, effects: EffectsOf, flow: DataFlow | None = None) -> None:
        around = around_of(config)
        self._lists = ServerLists.of({around.ids[key]: entry.options for key, entry in config.servers.items()})
        self._principals = PrincipalLists(config.settings.principals, config.settings.roles)
        self._settings: PolicySettings = config.settings.policy
        self._rules = tuple(Rule(rule, number, around) for number, rule in enumerate(self._settings.rules, 1))
        self._effects = effects
        self._flow: DataFlow = flow or NoDataFlow()
        self._by_server: dict[str, tuple[Rule, ...]] = {}
        self._by_kind: dict[Kind, tuple[Rule, ...]] = {}
        self._by_principal: dict[tuple[str, str], tuple[Rule, ...]] = {}

    def hides(self, principal: Principal, server: str, tool: ListedTool | None) -> bool:
        """See `Policy.hides`: a tool is hidden where a rule that always holds for it denies it, before any that
        could allow it or ask."""
        if self._principals.hides(principal, server, None if tool is None else tool.id):
            return True
        if tool is not None:
            if self._lists.reason(server, tool.name) is not None:
                return True
            if self._settings.read_only and not self._only_reads(server, tool):
                return True
        effect: Effect | None = None
        for rule in self._hiding(server, principal):
            if tool is None:
                always = rule.is_sure and not rule.asks_effect and rule.is_for_tool(server, "")
            elif not rule.is_for_tool(server, tool.id):
                continue
            else:
                if rule.asks_effect:
                    effect = effect or self._effect(server, tool)
                    if not rule.is_for_effect(effect):
                        continue
                always = rule.is_sure
            # What may allow some calls leaves the tool visible.
            if always or rule.decision.verdict != "deny":
                return rule.decision.verdict == "deny"
        return False

    def decide(self, call: Call) -> Decision:
        """See `Policy.decide`."""
        denied = self._denied_before(call)
        if denied is not None:
            return denied
        return self._asked_if_all(call, self._by_rules(call) or _default(call))

    def explain(self, call: Call) -> Explanation:
        """How `decide` comes to what it says of a call."""
        steps: list[Step] = []
        decision = self._explained(call, steps)
        if self._asked_if_all(call, decision) is not decision:
            decision = self._asked_if_all(call, decision)
            steps[-1] = steps[-1]._replace(why="ask_all asks about it all the same")
            steps.append(Step("ask_all", "ask", ""))
        tool = call.tool
        listed = None if tool is None else ListedTool(tool.id, tool.name, lambda: tool)
        return Explanation(call, decision, steps, self.hides(call.caller.principal, call.source, listed))

    def _explained(self, call: Call, steps: list[Step]) -> Decision:
        reason = None if call.tool is None else self._lists.reason(call.source, call.tool.name)
        if reason is not None:
            return _end(steps, Decision("deny", reason, "lists"))
        steps.append(Step("lists", "deny", "the lists of its server leave it in"))
        denied = self._principals.denied(call)
        if denied is not None:
            return _end(steps, denied)
        if self._principals.concern(call.caller.principal):
            steps.append(Step("principals", "deny", "the lists of its principal leave it in"))
        if self._settings.read_only:
            if call.effect != "read":
                return _end(steps, _not_read(call))
            steps.append(Step("read_only", "deny", "it only reads"))
        kind, facts = _kind(call), self._facts(call)
        for rule in self._rules:
            why = rule.mismatch(kind, facts)
            if why is None:
                return _end(steps, rule.decision)
            steps.append(Step(rule.label, rule.decision.verdict, why))
        return _end(steps, _default(call), "default")

    def _denied_before(self, call: Call) -> Decision | None:
        """What the lists and `read_only` say, which no rule can change."""
        reason = None if call.tool is None else self._lists.reason(call.source, call.tool.name)
        if reason is not None:
            return Decision("deny", reason, "lists")
        denied = self._principals.denied(call)
        if denied is not None:
            return denied
        return _not_read(call) if self._settings.read_only and call.effect != "read" else None

    def _by_rules(self, call: Call) -> Decision | None:
        if not self._rules:
            return None
        kind = _kind(call)
        rules = self._by_kind.get(kind)
        if rules is None:
            if len(self._by_kind) >= _MOST_KINDS:
                self._by_kind.clear()
            rules = self._by_kind[kind] = self._fitting(kind)
        facts: Facts | None = None
        for rule in rules:
            if not rule.looks_inside:
                return rule.decision
            facts = facts or self._facts(call)
            if rule.holds(facts):
                return rule.decision
        return None

    def _fitting(self, kind: Kind) -> tuple[Rule, ...]:
        """The rules that may decide about calls of a kind, in order; none after one that always does."""
        found: list[Rule] = []
        for rule in self._concerning(kind.server):
            if rule.fits(kind):
                found.append(rule)
                if not rule.looks_inside:
                    break
        return tuple(found)

    def _concerning(self, server: str) -> tuple[Rule, ...]:
        if not self._rules:
            return ()
        found = self._by_server.get(server)
        if found is None:
            found = self._by_server[server] = tuple(rule for rule in self._rules if rule.may_concern(server))
        return found

    def _hiding(self, server: str, principal: Principal) -> tuple[Rule, ...]:
        """The rules that matter to what is hidden: those that may hide or show, up to the last that may hide."""
        if not self._rules:
            return ()
        key = (server, principal.name)
        found = self._by_principal.get(key)
        if found is None:
            if len(self._by_principal) >= _MOST_KINDS:
                self._by_principal.clear()
            rules = [rule for rule in self._concerning(server) if rule.is_for(principal.name) and rule.may_hide_or_show]
            while rules and rules[-1].decision.verdict != "deny":
                rules.pop()
            found = self._by_principal[key] = tuple(rules)
        return found

    def _facts(self, call: Call) -> Facts:
        def origins() -> Sequence[str]:
            nonlocal traced
            if traced is None:
                traced = [trace.tool_id for trace in self._flow.traces(call)]
            return traced

        traced: Sequence[str] | None = None
        return Facts(call.arguments, lambda: self._flow.labels(call.caller), origins)

    def _asked_if_all(self, call: Call, decision: Decision) -> Decision:
        if self._settings.ask_all and decision.verdict == "allow" and call.tool is not None:
            return Decision("ask", "every call is asked about", "ask_all")
        return decision

    def _effect(self, server: str, tool: ListedTool) -> Effect:
        overrides, trusted = self._effects(server)
        told = judged_by_name(tool.name, overrides, trusted=trusted) or judged(tool.read(), overrides, trusted=trusted)
        return told.effect

    def _only_reads(self, server: str, tool: ListedTool) -> bool:
        overrides, trusted = self._effects(server)
        told = judged_by_name(tool.name, overrides, trusted=trusted)
        if told is None and not trusted:
            return False  # its own word does not count, so it need not be read
        return (told or judged(tool.read(), overrides, trusted=trusted)).effect == "read"


def _kind(call: Call) -> Kind:
    caller = call.caller
    tool_id = "" if call.tool is None else call.tool.id
    return Kind(call.source, tool_id, call.effect, caller.principal.name, caller.origin, caller.face)


def _default(call: Call) -> Decision:
    if call.effect == "destructive":
        if call.caller.origin == "script":
            return Decision("ask", "a script may not destroy anything unasked", "default")
        if call.caller.face == "http":
            return Decision("ask", "nothing is destroyed over HTTP unasked", "default")
    return ALLOW


def _not_read(call: Call) -> Decision:
    return Decision("deny", f"only what is known to read may be used, and its effect is {call.effect}", "read_only")


def _end(steps: list[Step], decision: Decision, name: str = "") -> Decision:
    steps.append(Step(name or decision.rule, decision.verdict, ""))
    return decision
