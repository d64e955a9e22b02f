"""One rule of a configured policy, made ready to be tried."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import cached_property
from typing import NamedTuple, TypeVar

from toolcrib.broker.call import OWN_SOURCE, Effect, Face, Origin
from toolcrib.broker.policy.arguments import failure
from toolcrib.broker.policy.seam import Decision
from toolcrib.catalog import SAVED_SCRIPTS, SKILLS, JsonObject
from toolcrib.config import ArgumentTest, Config, PolicyRule, rule_label
from toolcrib.schema import server_ids

_T = TypeVar("_T")

_WILD = re.compile(r"[*?\[]")

ORIGINS: tuple[Origin, ...] = ("direct", "script", "console")
FACES: tuple[Face, ...] = ("library", "stdio", "http", "cli")
EFFECTS: tuple[Effect, ...] = ("read", "write", "destructive", "unknown")


class Kind(NamedTuple):
    """What calls have in common that the same rules may concern.

    Attributes:
        server: Id of the source.
        tool_id: The tool; empty for a request that is no call of one.
        effect: What the call may do.
        principal: Name of who asks.
        origin: What made the request.
        face: Where it came in.
    """

    server: str
    tool_id: str
    effect: Effect
    principal: str
    origin: Origin
    face: Face


class Globs:
    """Several globs, of which one has to fit; upper and lower case are told apart."""

    def __init__(self, globs: Collection[str]) -> None:
        self.texts = tuple(globs)
        self._exact = frozenset(glob for glob in globs if not is_wild(glob))

    def fit(self, text: str) -> bool:
        """Whether one of them fits."""
        return text in self._exact or (len(self._exact) < len(self.texts) and self._wild(text) is not None)

    @cached_property
    def _wild(self) -> Callable[[str], object]:
        # Compiled when first needed: a thousand of them take a third of a second.
        return re.compile("|".join(translate(glob) for glob in self.texts if glob not in self._exact)).match

    @cached_property
    def servers(self) -> frozenset[str] | None:
        """Of globs over tools, the only servers whose tools may fit; None when that can't be told."""
        return heads(self.texts)

    def take_in(self, server: str) -> bool:
        """Whether every tool that a server may ever have fits."""
        return any(glob == "*.*" or (glob.endswith("*") and f"{server}.".startswith(glob[:-1])) for glob in self.texts)


def is_wild(glob: str) -> bool:
    """Whether a glob has a wildcard, and so may fit more than its own text."""
    return _WILD.search(glob) is not None


def heads(globs: Collection[str]) -> frozenset[str] | None:
    """The only servers whose tools globs over tool ids may fit; None when that can't be told."""
    found = {glob.partition(".")[0] if "." in glob else "*" for glob in globs}
    return None if any(map(is_wild, found)) else frozenset(found)


class Around(NamedTuple):
    """What a rule may ask of a configuration.

    Attributes:
        ids: Server ids by key.
        tags: The configured tags of each server, by id, in lower case.
    """

    ids: Mapping[str, str]
    tags: Mapping[str, frozenset[str]]


def around_of(config: Config) -> Around:
    """What rules may ask of a configuration."""
    ids = server_ids(config.servers)
    tags: dict[str, frozenset[str]] = {OWN_SOURCE: frozenset()} if config.settings.small_model.model else {}
    tags |= {ids[key]: frozenset(tag.casefold() for tag in entry.options.tags) for key, entry in config.servers.items()}
    return Around(ids, {**tags, SAVED_SCRIPTS: frozenset(), SKILLS: frozenset()})


@dataclass(frozen=True, slots=True)
class Facts:
    """What is looked up only for a rule that asks for it.

    Attributes:
        arguments: Of the call.
        labels: Gives the labels of what the caller or its run has read.
        origins: Gives the ids of tools from whose results the arguments hold values.
    """

    arguments: JsonObject
    labels: Callable[[], Collection[str]]
    origins: Callable[[], Sequence[str]]


class Rule:
    """A rule, ready to be tried.

    Args:
        rule: As configured.
        number: Its place, from 1.
        around: The configuration.
    """

    def __init__(self, rule: PolicyRule, number: int, around: Around) -> None:
        self.label = rule_label(rule, number)
        self.decision = Decision(rule.then, rule.reason or f"{self.label} of the policy", self.label)
        self._around = around
        self._tools = None if rule.tools is None else Globs(rule.tools)
        self._servers = (
            None if rule.servers is None else Globs([around.ids.get(server, server) for server in rule.servers])
        )
        self._tags = None if rule.tags is None else frozenset(tag.casefold() for tag in rule.tags)
        self._principals = None if rule.principals is None else Globs(rule.principals)
        self._effects = _part(rule.effects, EFFECTS)
        self._origins = _part(rule.sources, ORIGINS)
        self._faces = _part(rule.faces, FACES)
        self._arguments: tuple[ArgumentTest, ...] = rule.arguments or ()
        self._labels = None if rule.labels is None else frozenset(rule.labels)
        self._from = None if rule.from_ is None else Globs(rule.from_)

    @property
    def asks_effect(self) -> bool:
        """Whether it matters to the rule what a call may do."""
        return self._effects is not None

    @property
    def looks_inside(self) -> bool:
        """Whether calls of one kind may differ to the rule."""
        return bool(self._arguments) or self._labels is not None or self._from is not None

    @property
    def is_sure(self) -> bool:
        """Whether the rule holds for a principal's every call of a tool with some effect, or for none."""
        return not self.looks_inside and self._origins is None and self._faces is None

    @property
    def may_hide_or_show(self) -> bool:
        """Whether it matters to what exists for a principal: what denies only some calls leaves that to later rules."""
        return self.is_sure or self.decision.verdict != "deny"

    def may_concern(self, server: str) -> bool:
        """Whether it could hold for anything of a server."""
        if self._servers is not None and not self._servers.fit(server):
            return False
        if self._tags is not None and self._tags.isdisjoint(self._around.tags.get(server, ())):
            return False
        return self._tools is None or self._tools.servers is None or server in self._tools.servers

    def is_for(self, principal: str) -> bool:
        """Whether it could hold for a principal."""
        return self._principals is None or self._principals.fit(principal)

    def is_for_tool(self, server: str, tool_id: str) -> bool:
        """Whether it could hold for a tool of a server that it may concern; for no tool, whether it could for all
        that the server has."""
        if self._tools is None:
            return True
        return self._tools.fit(tool_id) if tool_id else self._tools.take_in(server)

    def is_for_effect(self, effect: Effect) -> bool:
        """Whether it could hold for calls that may do this."""
        return self._effects is None or effect in self._effects

    def fits(self, kind: Kind) -> bool:
        """Whether it may hold for calls of a kind."""
        return (
            self.is_for_effect(kind.effect)
            and (self._origins is None or kind.origin in self._origins)
            and (self._faces is None or kind.face in self._faces)
            and self.may_concern(kind.server)
            and self.is_for_tool(kind.server, kind.tool_id)
            and self.is_for(kind.principal)
        )

    def holds(self, facts: Facts) -> bool:
        """Whether it holds for one call of a kind that it fits."""
        return (
            all(failure(test, facts.arguments) is None for test in self._arguments)
            and (self._labels is None or not self._labels.isdisjoint(facts.labels()))
            and (self._from is None or any(map(self._from.fit, facts.origins())))
        )

    def mismatch(self, kind: Kind, facts: Facts) -> str | None:
        """Which condition does not hold for a call, as a person is told it; None when all do."""
        if self._tools is not None and not self.is_for_tool(kind.server, kind.tool_id):
            return f"tools: {_told(self._tools.texts)} is not {kind.tool_id or f'all of {kind.server}'}"
        if self._servers is not None and not self._servers.fit(kind.server):
            return f"servers: {_told(self._servers.texts)} is not {kind.server}"
        tags = self._around.tags.get(kind.server, frozenset())
        if self._tags is not None and self._tags.isdisjoint(tags):
            return f"tags: {kind.server} has none of {_told(sorted(self._tags))}"
        if self._effects is not None and kind.effect not in self._effects:
            return f"effects: {_told(sorted(self._effects))} is not {kind.effect}"
        if self._principals is not None and not self._principals.fit(kind.principal):
            return f"principals: {_told(self._principals.texts)} is not {kind.principal}"
        if self._origins is not None and kind.origin not in self._origins:
            return f"sources: {_told(sorted(self._origins))} is not {kind.origin}"
        if self._faces is not None and kind.face not in self._faces:
            return f"faces: {_told(sorted(self._faces))} is not {kind.face}"
        return self._mismatch_inside(facts)

    def _mismatch_inside(self, facts: Facts) -> str | None:
        for test in self._arguments:
            if why := failure(test, facts.arguments):
                return f"arguments: {test.at or 'the whole'} {why}"
        if self._labels is not None and self._labels.isdisjoint(facts.labels()):
            return f"labels: nothing was read that is {_told(sorted(self._labels))}"
        if self._from is not None and not any(map(self._from.fit, facts.origins())):
            return f"from: no argument holds a value from {_told(self._from.texts)}"
        return None


def _part(given: Collection[_T] | None, everything: Collection[_T]) -> frozenset[_T] | None:
    """The values that a condition names; None where it names all, and so is none."""
    return None if given is None or set(given) >= set(everything) else frozenset(given)


def _told(texts: Sequence[str]) -> str:
    return " or ".join(texts)
