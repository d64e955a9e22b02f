"""`toolcrib search`: find tools by what they do."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolcrib.cli import completing
from toolcrib.cli.definition import ABOUT_CHARACTERS, about, print_definition
from toolcrib.cli.options import AsJson, ConfigFiles, SkillPaths
from toolcrib.cli.progress import list_anew
from toolcrib.cli.session import open_crib, read_config, run, tell_left_out, use_skills
from toolcrib.cli.streams import print_json, print_text, tell, typed
from toolcrib.cli.tables import print_styled, print_table
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config
from toolcrib.errors import UsageError, probably_meant, shown

if TYPE_CHECKING:
    from toolcrib.catalog import Tool
    from toolcrib.crib import Crib, FoundTool, SearchAnswer
    from toolcrib.servers import ServerStatus

_MOST_HITS = 200
_MOST_TAGS = 20


class Detail(StrEnum):
    """How much to say of each tool found."""

    NAME = "name"
    BRIEF = "brief"
    SIGNATURE = "signature"
    FULL = "full"


def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS",
            help="What the tool must do, in any words; or select:ID,ID or /regex/. Without any, the servers.",
            show_default=False,
        ),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server", "-s", metavar="NAME", help="Only tools of this server.", autocompletion=completing.servers
        ),
    ] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", "-t", metavar="TAG", help="Only tools with this tag or group.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Only tools that change nothing.")] = False,
    detail: Annotated[Detail, typer.Option("--detail", "-d", help="How much to say of each.")] = Detail.BRIEF,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=_MOST_HITS, help="The most to list.")
    ] = 8,
    why: Annotated[bool, typer.Option("--explain", "--why", help="Show what each score is made of.")] = False,
    skill: SkillPaths = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Find tools by what they do, best first; skills too.

    The answer comes from what the servers listed last; nothing is started, unless none of them was ever
    listed.

    Example: toolcrib search create a ticket --server tickets --detail signature
    """
    query = typed(" ".join(words or ()))
    search_for = partial(_search, read_config(config), query, server, tag, read_only, skill or ())
    return run(partial(search_for, detail=detail, limit=limit, why=why, as_json=as_json))


async def _search(
    config: Config,
    query: str,
    server: str | None,
    tag: str | None,
    read_only: bool,
    skills: Sequence[str],
    *,
    detail: Detail,
    limit: int,
    why: bool,
    as_json: bool,
) -> int:
    async with open_crib(config, lists=True) as crib:
        await use_skills(crib, skills)
        await _list_first(crib, server)
        answer = await crib.search(query, limit=limit, server=server, tag=tag, read_only=read_only)
        if tag is not None and not answer.found:
            _known(crib, tag)
        left_out = [each for each in _meant(crib, server) if each.tools is None and each.state != "disabled"]
    if as_json:
        print_json(_as_json(answer, detail, query, left_out))
    else:
        _print(answer, detail, why=why)
    if _searched(query, answer):
        tell_left_out(left_out, "searched")
    return 0 if answer.found or answer.skills or answer.sources is not None else FAILED


def _searched(query: str, answer: "SearchAnswer") -> bool:
    """Whether what is in other servers might have been meant: not by a list of them, nor by ids that are there."""
    return answer.sources is None and (bool(answer.unknown) or not query.lstrip().lower().startswith("select:"))


async def _list_first(crib: "Crib", server: str | None) -> None:
    """List the servers if none of them was ever listed; the one that is asked for, if that was not."""
    meant = _meant(crib, server)
    if all(each.tools is None for each in meant):
        await list_anew(crib, [each.id for each in meant if each.state != "disabled"])


def _known(crib: "Crib", tag: str) -> None:
    """Tell a tag that nothing has from one whose tools do something else.

    Raises:
        UsageError: No server has the tag, and no tool that was listed is in a group of that name.
    """
    tags = crib.tags()
    by_fold = {each.casefold(): each for each in tags}
    if tag.casefold() in by_fold:
        return
    near = [by_fold[each] for each in probably_meant(tag.casefold(), by_fold)]
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(tags[:_MOST_TAGS]) or 'none'}."
    raise UsageError(f"No server has the tag {shown(tag)}, and no tool is in a group of that name.", hint=hint)


def _meant(crib: "Crib", server: str | None) -> "list[ServerStatus]":
    return [each for each in crib.servers if server is None or server in {each.id, each.key}]


def _print(answer: "SearchAnswer", detail: Detail, *, why: bool) -> None:
    if answer.sources is not None:
        rows = [(each.id, "-" if each.tools is None else str(each.tools), each.description) for each in answer.sources]
        print_table(("server", "tools", "about"), rows, numbers=(1,), prose=(2,))
        if answer.skills:
            print_text()
            skills = [(skill.id, _first_of(skill.description)) for skill in answer.skills]
            print_table(("skill", "about"), skills, prose=(1,))
        return
    for problem in answer.unknown:
        tell(problem)
    if answer.problem:
        tell(answer.problem)
    skills = [(skill.id, "skill", _first_of(skill.description)) for skill in answer.skills]
    if not answer.found and not answer.unknown and not answer.skills:
        tell("Nothing found. Try other words for the action and its object; toolcrib search alone lists the servers.")
    elif answer.found and answer.nothing_fits:
        tell(f"Probably {'no tool' if skills else 'nothing'} here does this. The nearest:")
    if detail is Detail.BRIEF and not why:
        rows = [(each.tool.id, each.effect, _about(each.tool)) for each in answer.found]
        print_table(("tool", "effect", "about"), [*skills, *rows], prose=(2,))
    else:
        for name, kind, description in skills:
            print_styled((name, "bold"), "" if detail is Detail.NAME else f"  [{kind}]")
            if detail is not Detail.NAME:
                print_styled((description, "dim"), indent=2)
        for each in answer.found:
            _print_hit(each, detail)
            if why:
                print_styled((_why(each), "dim"), indent=2)
    if (left := answer.total - answer.offset - len(answer.found)) > 0:
        tell(f"{'at least ' if answer.at_least else ''}{left} more; --limit shows them.")


def _print_hit(found: "FoundTool", detail: Detail) -> None:
    from toolcrib.metatools import tool_signature

    tool = found.tool
    if detail is Detail.NAME:
        print_text(tool.id)
    elif detail is Detail.FULL:
        print_definition(tool, found.effect)
        print_text()
    else:
        rest = tool_signature(tool).removeprefix(tool.id) if detail is Detail.SIGNATURE else ""
        print_styled((tool.id, "bold"), rest, f"  [{found.effect}]")
        if text := _about(tool):
            print_styled((text, "dim"), indent=2)


def _about(tool: "Tool") -> str:
    from toolcrib.metatools import tool_remarks

    return " ".join([about(tool), *(f"[{each}]" for each in tool_remarks(tool, changed=False))])


def _first_of(description: str) -> str:
    from toolcrib.schema import first_sentence

    return first_sentence(description, ABOUT_CHARACTERS)


def _why(found: "FoundTool") -> str:
    parts = sorted(found.hit.why.items(), key=lambda part: -abs(part[1]))
    told = " + ".join(f"{name} {score:.2f}" for name, score in parts)
    weak = ", weak" if found.hit.weak else ""
    return f"score {found.hit.score:.2f}{weak}{f' = {told}' if told else ''}"


def _as_json(answer: "SearchAnswer", detail: Detail, query: str, left_out: "Iterable[ServerStatus]") -> dict[str, Any]:
    return {
        "query": query,
        "found": [_hit_json(each, detail) for each in answer.found],
        "skills": [{"id": each.id, "description": each.description} for each in answer.skills],
        "total": answer.total,
        "at_least": answer.at_least,
        "nothing_fits": answer.nothing_fits,
        "unknown": list(answer.unknown),
        "problem": answer.problem,
        "not_searched": {each.id: each.reason for each in left_out},
        "servers": [
            {"id": each.id, "description": each.description, "tools": each.tools} for each in answer.sources or ()
        ],
    }


def _hit_json(found: "FoundTool", detail: Detail) -> dict[str, Any]:
    from toolcrib.metatools import tool_remarks, tool_signature

    tool, hit = found.tool, found.hit
    body: dict[str, Any] = {"id": tool.id, "server": tool.server, "score": hit.score, "weak": hit.weak}
    body["why"] = dict(hit.why)
    if detail is not Detail.NAME:
        body["effect"] = found.effect
        body["about"] = about(tool)
        body["remarks"] = tool_remarks(tool, changed=False)
    if detail is Detail.SIGNATURE:
        body["signature"] = tool_signature(tool)
    if detail is Detail.FULL:
        body["definition"] = tool.definition
    return body
