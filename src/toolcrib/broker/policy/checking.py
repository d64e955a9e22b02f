"""What is odd about the rules of a configuration, though each of them can be read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from toolcrib.broker.policy.principals import role_warnings
from toolcrib.broker.policy.rules import Around, Globs, Rule, around_of, heads, is_wild
from toolcrib.config import Config, PolicyRule, rule_label
from toolcrib.errors import shown
from toolcrib.schema import nearest

MOST_COMPARED = 2_000
"""Rules that are compared with each other: two million pairs, a second."""

_CONDITIONS = (
    "effects", "sources", "faces", "tags", "labels", "principals", "servers", "tools", "from_", "arguments",
)  # fmt: skip
_SETS = ("effects", "sources", "faces", "labels")
_GLOBS = ("principals", "from_")


def with_policy_warnings(config: Config) -> Config:
    """The configuration, with what is odd about its rules and roles among its warnings."""
    odd = [*role_warnings(config.settings)]
    if config.settings.policy.rules:
        odd += policy_warnings(config)
    return replace(config, warnings=(*config.warnings, *odd)) if odd else config


def policy_warnings(config: Config) -> Iterator[str]:
    """What is odd about the rules, one sentence or two each: names that nothing has, rules that can never hold, and
    rules before which another one always decides. Only the first 2,000 are compared with each other."""
    policy = config.settings.policy
    around = around_of(config)
    names: dict[str, int] = {}
    for number, rule in enumerate(policy.rules, 1):
        place = _place(number)
        strange = [f"{place}: {each}" for each in _strangers(rule, around)]
        yield from strange
        if not strange and (rule.servers or rule.tags or rule.tools) and not _concerns_any(rule, number, around):
            yield f"{place}: no configured server fits all of its conditions, so it never holds."
        if policy.read_only and rule.then != "deny" and rule.effects and "read" not in rule.effects:
            yield f"{place}: read_only denies whatever it is about, so it never decides."
        if rule.name is not None and names.setdefault(rule.name, number) != number:
            yield f"{place}: {shown(rule.name)} is the name of rule {names[rule.name]} too."
    yield from _shadowed([_Sketch.of(rule, around) for rule in policy.rules[:MOST_COMPARED]])


def _strangers(rule: PolicyRule, around: Around) -> Iterator[str]:
    """The names in a rule that nothing configured has."""
    known = around.tags.keys()
    for server in rule.servers or ():
        server_id = around.ids.get(server, server)
        if not any(fnmatchcase(each, server_id) for each in known):
            yield f"servers: no server is called {shown(server)}.{_near(server, known)}"
    tags = {tag for given in around.tags.values() for tag in given}
    for tag in rule.tags or ():
        if tag.casefold() not in tags:
            yield f"tags: no server has the tag {shown(tag)}.{_near(tag, tags)}"
    for name, globs in (("tools", rule.tools), ("from", rule.from_)):
        for glob in globs or ():
            head, dot, _ = glob.partition(".")
            if not dot and not is_wild(glob):
                yield f"{name}: {shown(glob)} is no tool id, which is server.tool.{_near(glob, known, '.*')}"
            elif dot and not is_wild(head) and head not in known:
                near = _near(head, known)
                yield f"{name}: {shown(glob)} names a tool of {head}, which is no configured server.{near}"


def _place(number: int) -> str:
    return f"toolcrib.policy.rules.{number - 1} (rule {number})"


def _near(name: str, known: Iterable[str], tail: str = "") -> str:
    near = nearest(name, known)
    return f" Did you mean {near}{tail}?" if near else ""


def _concerns_any(rule: PolicyRule, number: int, around: Around) -> bool:
    ready = Rule(rule, number, around)
    return any(ready.may_concern(server) for server in around.tags)


@dataclass(frozen=True, slots=True)
class _Sketch:
    """A rule as it is compared with others.

    Attributes:
        rule: The rule.
        servers: Its globs over servers, by id; of a rule without any, the servers that its tools are of.
        tools: Its globs over tools; of a rule without any, all tools of its servers.
        asks: A bit for each condition that it has.
        gives: A bit for each that it could be compared by.
        begins: How its globs over tools begin, until the first wildcard.
        tests: Its tests of arguments as JSON, in which true is not 1.
    """

    rule: PolicyRule
    servers: tuple[str, ...] | None
    tools: tuple[str, ...] | None
    asks: int
    gives: int
    begins: tuple[str, ...]
    tests: frozenset[str]

    @classmethod
    def of(cls, rule: PolicyRule, around: Around) -> "_Sketch":
        servers = None if rule.servers is None else tuple(around.ids.get(each, each) for each in rule.servers)
        tools = rule.tools
        of_tools = None if tools is None else heads(tools)
        asks = sum(1 << place for place, name in enumerate(_CONDITIONS) if getattr(rule, name) is not None)
        begins = tuple(_beginning(glob) for glob in tools or ())
        servers = servers if servers is not None or of_tools is None else tuple(of_tools)
        tools = tools if tools is not None or servers is None else tuple(f"{each}.*" for each in servers)
        gives = asks | (servers is not None) << _CONDITIONS.index("servers")
        gives |= (tools is not None) << _CONDITIONS.index("tools")
        tests = frozenset(test.model_dump_json(exclude_unset=True) for test in rule.arguments or ())
        return cls(rule, servers, tools, asks, gives, begins, tests)

    def covers(self, other: "_Sketch") -> bool:
        """Whether this rule, but for its tests of arguments, certainly holds whenever the other one does. Globs are
        compared as texts, so some that cover each other are missed."""
        mine, theirs = self.rule, other.rule
        for name in _SETS:
            wanted = getattr(mine, name)
            if wanted is not None and not set(getattr(theirs, name)) <= set(wanted):
                return False
        if mine.tags is not None and not _folded(theirs.tags) <= _folded(mine.tags):
            return False
        if not all(_covered(getattr(mine, name), getattr(theirs, name)) for name in _GLOBS):
            return False
        if mine.servers is not None and not _covered(self.servers, other.servers):
            return False
        return mine.tools is None or _covered(mine.tools, other.tools)


def _shadowed(sketches: Sequence[_Sketch]) -> Iterator[str]:
    """The rules that never decide, since an earlier one always does."""
    for number, later in enumerate(sketches, 1):
        beginning = later.tools[0] if later.tools else ""
        for before, earlier in enumerate(sketches[: number - 1], 1):
            # What most pairs fail at comes first, and is quick: of a thousand rules there are half a million.
            if earlier.asks & ~later.gives or (earlier.begins and not beginning.startswith(earlier.begins)):
                continue
            if earlier.tests <= later.tests and earlier.covers(later):
                yield _told(number, later.rule, before, earlier.rule)
                break


def _told(number: int, later: PolicyRule, before: int, earlier: PolicyRule) -> str:
    first = rule_label(earlier, before)
    if later.then == earlier.then:
        return f"{_place(number)}: it never decides, since {first} comes first and holds whenever it does."
    return (
        f"{_place(number)}: it contradicts {first}, which comes first and holds whenever it does: "
        f"it would {later.then}, and never decides."
    )


def _covered(globs: Sequence[str] | None, by: Sequence[str] | None) -> bool:
    """Whether whatever one of the second globs fits, one of the first does; None fits everything."""
    return globs is None or (by is not None and all(any(_takes_in(glob, each) for glob in globs) for each in by))


def _takes_in(glob: str, other: str) -> bool:
    # The wildcards of the other are letters to this one, which only its `*` fits; `?` and sets would be misled.
    return glob == other or ("?" not in glob and "[" not in glob and fnmatchcase(other, glob))


def _beginning(glob: str) -> str:
    return glob[: min((glob.find(mark) for mark in "*?[" if mark in glob), default=len(glob))]


def _folded(tags: Sequence[str] | None) -> set[str]:
    return {tag.casefold() for tag in tags or ()}


def unfitting(config: Config, tool_ids: Sequence[str], listed: Mapping[str, bool]) -> Iterator[str]:
    """Globs over tools that fit no known tool, one sentence each.

    Args:
        config: The configuration.
        tool_ids: All tools known.
        listed: Whether the tools of each configured server are known, by id. What may fit tools of one that are
            not is not told.
    """
    for number, rule in enumerate(config.settings.policy.rules, 1):
        for name, globs in (("tools", rule.tools), ("from", rule.from_)):
            for glob in globs or ():
                of = heads([glob])
                if not all(listed.get(server, False) for server in (listed if of is None else of)):
                    continue
                if not any(map(Globs([glob]).fit, tool_ids)):
                    near = "" if is_wild(glob) else _near(glob, tool_ids)
                    yield f"{_place(number)}: {name}: {shown(glob)} fits no tool that is known.{near}"
