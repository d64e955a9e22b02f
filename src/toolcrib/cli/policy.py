"""`toolcrib policy`: which rules decide about calls, what one of them would say, and what is odd about them."""

import json
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolcrib.cli import completing
from toolcrib.cli.arguments import read_arguments
from toolcrib.cli.groups import UnlessTold
from toolcrib.cli.options import AsJson, ConfigFiles
from toolcrib.cli.session import find_tool, open_crib, read_config, run
from toolcrib.cli.streams import print_json, print_text, tell, typed
from toolcrib.cli.tables import print_styled, print_table
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config, PolicyRule, rule_label
from toolcrib.errors import UnknownToolError

if TYPE_CHECKING:
    from toolcrib.broker import Caller, Explanation
    from toolcrib.crib import Crib

_ABOUT = """Look at the rules that decide about calls: what they say of one, and what is odd about them.

Without a command, it is `list`.

Example: toolcrib policy explain files.delete_file path=/etc/hosts
"""


class _ListUnlessTold(UnlessTold):
    """Takes `policy` and its options for `policy list`."""

    meant = "list"


class Source(StrEnum):
    """What would make the call."""

    DIRECT = "direct"
    SCRIPT = "script"
    CONSOLE = "console"


class Face(StrEnum):
    """Where the call would come in."""

    LIBRARY = "library"
    STDIO = "stdio"
    HTTP = "http"
    CLI = "cli"


policy = typer.Typer(cls=_ListUnlessTold, rich_markup_mode=None, help=_ABOUT)


@policy.command("list")
def list_rules(config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """List what decides about calls, in the order in which it is looked at.

    Example: toolcrib policy list
    """
    return _list(read_config(config), as_json=as_json)


@policy.command()
def explain(
    tool: Annotated[
        str,
        typer.Argument(metavar="ID", help="The tool, by the id that search prints.", autocompletion=completing.tools),
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="The arguments of the call; or one JSON object.", show_default=False),
    ] = None,
    source: Annotated[Source, typer.Option("--source", help="What makes the call.")] = Source.DIRECT,
    over: Annotated[Face, typer.Option("--over", help="Where it comes in.")] = Face.STDIO,
    principal: Annotated[str, typer.Option("--principal", metavar="NAME", help="Who calls.")] = "local",
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="ROLE", help="A role of its token; may be repeated.", show_default=False),
    ] = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Say what becomes of a call, which rule decides it, and why none before it does. Nothing is called.

    It knows of no earlier calls: rules about labels, or about where a value came from, don't hold.

    Example: toolcrib policy explain files.delete_file path=/etc/hosts --source script
    """
    given = [typed(each) for each in arguments or ()]
    asked = partial(_explain, read_config(config), typed(tool), given, source, over, principal, role or ())
    return run(partial(asked, as_json=as_json))


@policy.command()
def check(config: ConfigFiles = None, as_json: AsJson = False) -> int:
    """Look for rules that never decide, contradict each other, or name what is not there. Exits with 1 if any does.

    Tools are known by what their servers listed last.

    Example: toolcrib policy check
    """
    return run(partial(_check, read_config(config, with_rules=False), as_json=as_json))


def _list(config: Config, *, as_json: bool) -> int:
    settings = config.settings.policy
    lists = {
        server.key: {"allow": list(server.options.allow), "deny": list(server.options.deny)}
        for server in config.servers.values()
        if server.options.allow != ("*",) or server.options.deny
    }
    if as_json:
        rules = [rule.model_dump(mode="json", by_alias=True, exclude_unset=True) for rule in settings.rules]
        print_json({"lists": lists, "read_only": settings.read_only, "rules": rules, "ask_all": settings.ask_all})
        return 0
    rows = [
        *(
            (f"lists of {key}", "deny", "what `deny` has" if each["deny"] else "what `allow` does not have")
            for key, each in lists.items()
        ),
        *([("read_only", "deny", "what is not known to read")] if settings.read_only else []),
        *((rule_label(rule, number), rule.then, _conditions(rule)) for number, rule in enumerate(settings.rules, 1)),
        ("default", "ask", "what destroys, from a script or over http"),
        ("default", "allow", "everything else"),
        *([("ask_all", "ask", "every call that is allowed so far")] if settings.ask_all else []),
    ]
    print_table(("rule", "then", "when"), rows, prose=(2,))
    return 0


def _conditions(rule: PolicyRule) -> str:
    """The conditions of a rule on one line."""
    given = rule.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"name", "then", "reason"})
    parts = [f"{name} {', '.join(map(_text, values))}" for name, values in given.items()]
    return "; ".join(parts) or "always"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


async def _explain(
    config: Config,
    name: str,
    items: list[str],
    source: Source,
    over: Face,
    principal: str,
    roles: Sequence[str],
    *,
    as_json: bool,
) -> int:
    from toolcrib.broker import Caller, Principal

    caller = Caller(Principal(principal, tuple(sorted({*roles}))), origin=source.value, face=over.value)
    async with open_crib(config) as crib:
        explained = await _explained(crib, name, items, caller)
        assert explained.call.tool is not None
        effect, why = crib.judged(explained.call.tool)
    if as_json:
        print_json(_as_json(explained, why))
        return 0
    verdict = {"allow": "allowed", "ask": "asked about", "deny": "denied"}[explained.decision.verdict]
    reason = f": {explained.decision.reason}" if explained.decision.reason else "."
    print_styled((explained.call.target, "bold"), f" is {verdict}{reason}")
    if explained.hidden:
        print_text(f"It is hidden from {principal}, and answered as if it did not exist.")
    print_text(f"Its effect is {effect}: {why}.")
    print_text()
    rows = [(step.rule, step.verdict, step.applies) for step in explained.steps]
    print_table(("rule", "then", "applies"), rows, prose=(2,))
    return 0


async def _explained(crib: "Crib", name: str, items: list[str], caller: "Caller") -> "Explanation":
    """The explanation, also of a tool whose server was never listed."""
    try:
        first = await crib.explain(name, caller=caller)
    except UnknownToolError:
        tool = await find_tool(crib, name)
        first = await crib.explain(tool.id, caller=caller)
    if not items:
        return first
    assert first.call.tool is not None
    return await crib.explain(first.call.target, read_arguments(first.call.tool, items, None), caller=caller)


def _as_json(explained: "Explanation", why: str) -> dict[str, Any]:
    decision, call = explained.decision, explained.call
    return {
        "tool": call.target,
        "verdict": decision.verdict,
        "reason": decision.reason,
        "rule": explained.steps[-1].rule,
        "hidden": explained.hidden,
        "effect": call.effect,
        "effect_told_by": why,
        "arguments": call.arguments,
        "source": call.caller.origin,
        "over": call.caller.face,
        "principal": call.caller.principal.name,
        "steps": [{"rule": step.rule, "then": step.verdict, "why": step.why} for step in explained.steps],
    }


async def _check(config: Config, *, as_json: bool) -> int:
    from toolcrib.broker.policy.checking import policy_warnings, unfitting

    async with open_crib(config) as crib:
        listed = {each.id: each.tools is not None for each in crib.servers}
        found = [*policy_warnings(config), *unfitting(config, crib.registry.tool_names, listed)]
    count = len(config.settings.policy.rules)
    if as_json:
        print_json({"rules": count, "warnings": found})
    elif found:
        for warning in found:
            print_text(warning)
    else:
        print_text(f"{'1 rule' if count == 1 else f'{count} rules'}, nothing odd.")
    unlisted = [server for server, known in listed.items() if not known]
    if unlisted and count:
        tell(f"Never listed, so their tools are not known: {', '.join(unlisted)}.")
    return FAILED if found else 0
