"""*Tools*: all tools that a visitor may see, and a page for each: what it is, what it may do, and a form to try it.

Every route is for viewers. A viewer tries tools that are known to read; others are called only after a page that shows
what will be sent, and by approvers and admins. How the policy decides is told to admins.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import Caller, Explanation, InvalidArgumentsError, Judged, Principal
from toolcrib.broker.prepare import Preparer
from toolcrib.catalog import JsonObject, Tool, definition_tokens, public_name
from toolcrib.console.app import Desk, back_to, form_of, visitor_of
from toolcrib.console.forms import (
    MOST_PLACES,
    Values,
    changed,
    count_fields,
    count_places,
    fill,
    form_for,
    placed,
    read_form,
    show,
)
from toolcrib.console.forms.reading import ROOT
from toolcrib.console.rendering import exact
from toolcrib.console.results import blocks_of
from toolcrib.console.tries import Tries
from toolcrib.errors import DeniedError, UsageError
from toolcrib.hidden import HiddenText, hidden_places, hidden_texts
from toolcrib.metatools import tool_remarks, tool_signature
from toolcrib.schema import example_call, first_sentence
from toolcrib.schema.jsonvalues import is_object
from toolcrib.schema.stubs import StubTool, python_stubs, typescript_stubs
from toolcrib.tokens import counter_name

ROWS = 100
"""Tools on one page of the list."""
_PART = 60_000
"""Characters of a definition on one page."""
_ABOUT = 160
_LEAST_ABOUT = 200
_ALL_ABOUT = 60_000
"""Characters of the descriptions of parameters on one page; each may take its part of it. The definition has all."""
_PATIENCE = 4.0
"""Seconds that a form waits for its call, before the page of the outcome says that it is under way."""


@dataclass(frozen=True, slots=True)
class Row:
    """A tool in the list."""

    tool: Tool
    about: str
    effect: str
    tokens: int
    remarks: Sequence[str]


def routes(desk: Desk) -> list[Route]:
    """The list, the page of a tool, and what its form is sent to."""
    pages = _Pages(desk)
    return [
        desk.get("/tools", pages.listed),
        desk.get("/tools/{name}", pages.tool),
        desk.post("/tools/{name}", pages.filled, "viewer"),
        desk.get("/tools/{name}/definition", pages.definition),
        desk.post("/tools/{name}/call", pages.confirmed, "approver"),
        desk.get("/tools/{name}/outcome/{call}", pages.outcome),
        desk.post("/tools/{name}/outcome/{call}", pages.repeated, "approver"),
    ]


class _Pages:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._tries = Tries(desk.crib)
        self._preparer = Preparer()

    async def listed(self, request: Request) -> Response:
        """The tools, kept to a server and to what is in their ids, a page at a time."""
        crib, caller = self._desk.crib, visitor_of(request).caller
        await crib.list_first(caller=caller)
        asked = request.query_params
        words, server = asked.get("q", "").strip(), asked.get("server", "")
        keys = sorted(crib.known_keys(caller=caller), key=_server_of)  # each one's as it lists them
        servers = Counter(map(_server_of, keys))
        chosen = [key for key in keys if _fits(public_name(key), words, server)]
        page, pages = _page_of(request, len(chosen), ROWS)
        rows = [self._row(key) for key in chosen[(page - 1) * ROWS : page * ROWS]]
        groups: dict[str, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.tool.server, []).append(row)
        return self._desk.page(
            request,
            "tools.html",
            "tools",
            groups=groups,
            servers=servers,
            total=len(keys),
            found=len(chosen),
            words=words,
            server=server,
            number=page,
            pages=pages,
            first=(page - 1) * ROWS + 1,
            counter=counter_name(),
        )

    async def tool(self, request: Request) -> Response:
        """The page of a tool, with an empty form, or one filled in like a call that was made here."""
        tool = await self._asked(request)
        like = self._tries.find(request.query_params.get("like", ""), visitor_of(request).caller)
        return await self._page(request, tool, {} if like is None else _like(tool, like.arguments))

    async def definition(self, request: Request) -> Response:
        """The whole definition as the server sent it, in parts where it is long."""
        tool = await self._asked(request)
        text = exact(tool.definition)
        number, pages = _page_of(request, len(text), _PART)
        part = text[(number - 1) * _PART : number * _PART]
        return self._desk.page(
            request,
            "tool_definition.html",
            "tools",
            tool=tool,
            text=part,
            size=len(text),
            number=number,
            pages=pages,
        )

    async def filled(self, request: Request) -> Response:
        """What became of a form: another form, the problems in it, a page to confirm, or a call."""
        tool = await self._asked(request)
        fields = form_of(request)
        form = form_for(tool.input_schema)
        values: Values = {name: text for name, text in fields.items() if name.startswith(ROOT)}
        if count_places(form, values) > MOST_PLACES:
            raise UsageError(
                "This form has too many rows.", hint="Go back, and give the arguments as JSON: the form has a button."
            )
        action = fields.get("do", "call")
        if action == "example":
            return await self._page(request, tool, fill(form, example_call(tool.input_schema)))
        if action != "call":
            return await self._page(request, tool, changed(form, values, action))
        read = read_form(form, values)
        problems = {place: [problem] for place, problem in read.problems.items()}
        if not problems and not is_object(read.value):
            problems = {ROOT: ["must be a JSON object"]}
        if problems:
            return await self._page(request, tool, values, problems)
        prepared = self._preparer.prepare(tool, self._desk.crib.registry.version, read.value)
        if not prepared.validation.is_valid:
            return await self._page(request, tool, values, placed(prepared.validation.errors, read.places))
        if self._desk.crib.effect(tool) == "read":
            return await self._called(request, tool, prepared.arguments, Tries.new_name(), only_reads=True)
        if not visitor_of(request).may("approver"):
            raise DeniedError(
                f"{tool.id} is not known to only read, and {visitor_of(request).name} is viewer here.",
                hint="Approvers and admins may try what changes things.",
            )
        return self._desk.page(
            request,
            "tool_confirm.html",
            "tools",
            tool=tool,
            judged=self._desk.crib.judged(tool),
            arguments=prepared.arguments,
            sent=json.dumps(prepared.arguments),
            changes=prepared.changes,
            unvalidated=prepared.unvalidated,
            values=values,
            call=Tries.new_name(),
            definition=_digest(tool),
            policy=await self._policy(request, tool, prepared.arguments),
        )

    async def confirmed(self, request: Request) -> Response:
        """Call a tool with what the page before has shown."""
        tool = await self._asked(request)
        fields = form_of(request)
        if fields.get("definition") != _digest(tool):
            return back_to(request, f"/tools/{tool.id}", "The definition has changed meanwhile, so nothing was called.")
        try:
            arguments = json.loads(fields.get("arguments", ""))
        except (ValueError, RecursionError):
            arguments = None
        if not is_object(arguments) or not fields.get("call", "").isalnum():
            raise UsageError("This form is not complete, so nothing was called.", hint="Go back to the tool's page.")
        return await self._called(request, tool, arguments, fields["call"], only_reads=False)

    async def outcome(self, request: Request) -> Response:
        """What a call came to."""
        name = request.path_params["call"]
        found = self._tries.find(name, visitor_of(request).caller)
        if found is None:
            raise UsageError(
                "What this call came to is not kept here any more.",
                hint="The page of calls has what is on record of it.",
            )
        outcome, error = found.outcome, found.error
        invalid = error if isinstance(error, InvalidArgumentsError) else None
        return self._desk.page(
            request,
            "tool_outcome.html",
            "tools",
            made=found,
            name=name,
            blocks=[] if outcome is None else blocks_of(outcome.result),
            hidden=[] if outcome is None else hidden_places(outcome.result),
            problems=() if invalid is None else invalid.result.errors,
            waiting=getattr(error, "approval", ""),
        )

    async def repeated(self, request: Request) -> Response:
        """Make a call that waits for an approval once more: the same call comes back to the same question."""
        found = self._tries.find(request.path_params["call"], visitor_of(request).caller)
        if found is None or not getattr(found.error, "approval", ""):
            raise UsageError("No call of that name waits here.", hint="Go back to the tool's page.")
        name, made = self._tries.again(found)
        return await self._followed(request, made.tool_id, name)

    async def _called(
        self, request: Request, tool: Tool, arguments: JsonObject, name: str, *, only_reads: bool
    ) -> Response:
        self._tries.make(name, tool.id, arguments, visitor_of(request).caller, only_reads=only_reads)
        return await self._followed(request, tool.id, name)

    async def _followed(self, request: Request, tool_id: str, name: str) -> Response:
        """The page of a call's outcome, after a little waiting for it."""
        found = self._tries.find(name, visitor_of(request).caller)
        if found is not None:
            with anyio.move_on_after(_PATIENCE):
                await found.news.wait()
        return back_to(request, f"/tools/{tool_id}/outcome/{name}")

    async def _asked(self, request: Request) -> Tool:
        return await self._desk.crib.tool(request.path_params["name"], caller=visitor_of(request).caller)

    async def _page(
        self, request: Request, tool: Tool, values: Values, problems: dict[str, list[str]] | None = None
    ) -> Response:
        crib, visitor = self._desk.crib, visitor_of(request)
        judged = crib.judged(tool)
        form = form_for(tool.input_schema)
        stub = StubTool(
            tool.id,
            tool.input_schema,
            tool.output_schema,
            tool.description,
            crib.seen.of(tool.id, visitor.caller.principal),
        )
        return self._desk.page(
            request,
            "tool.html",
            "tools",
            422 if problems else 200,
            tool=tool,
            judged=judged,
            changed=crib.changes.is_changed(tool),
            signature=tool_signature(tool),
            python=python_stubs([stub]),
            typescript=typescript_stubs([stub]),
            tokens=definition_tokens(tool),
            counter=counter_name(),
            hidden=hidden_places(tool.definition),
            spelled=_spelled(hidden_texts(tool.definition)),
            policy=await self._policy(request, tool),
            principals=sorted(crib.config.settings.principals),
            asked_for=request.query_params.get("principal", ""),
            form=show(form, values, problems),
            about_limit=max(_LEAST_ABOUT, _ALL_ABOUT // count_fields(form)),
            failed=bool(problems),
            may_call=judged.effect == "read" or visitor.may("approver"),
        )

    async def _policy(self, request: Request, tool: Tool, arguments: JsonObject | None = None) -> Explanation | None:
        """How the policy decides about a call, for whom may know; None where it can't be told."""
        visitor = visitor_of(request)
        if not visitor.may("admin"):
            return None
        caller = visitor.caller
        name = request.query_params.get("principal", "")
        entry = self._desk.crib.config.settings.principals.get(name)
        if entry is not None:
            caller = Caller(Principal(name, tuple(entry.roles)), face="http")
        try:
            return await self._desk.crib.explain(tool.id, arguments, caller=caller)
        except UsageError:
            return None  # the policy is the program's own

    def _row(self, key: str) -> Row:
        tool = self._desk.crib.registry.tool(key)
        judged: Judged = self._desk.crib.judged(tool)
        remarks = tool_remarks(tool, changed=self._desk.crib.changes.is_changed(tool))
        about = first_sentence(tool.description, _ABOUT) or tool.title
        return Row(tool, about, judged.effect, definition_tokens(tool), remarks)


def _like(tool: Tool, arguments: JsonObject) -> Values:
    """What a form of a tool is filled in with to make some arguments."""
    form = form_for(tool.input_schema)
    values = fill(form, arguments)
    return values if count_places(form, values) <= MOST_PLACES else {f"{ROOT}~json": json.dumps(arguments, indent=2)}


def _server_of(key: str) -> str:
    return public_name(key).partition(".")[0]


def _fits(tool_id: str, words: str, server: str) -> bool:
    """Whether a tool is of a server, and has all words in its id."""
    if server and tool_id.partition(".")[0] != server:
        return False
    folded = tool_id.casefold()
    return all(word in folded for word in words.casefold().split())


def _page_of(request: Request, count: int, size: int) -> tuple[int, int]:
    """The page that is asked for, from 1 on, and how many there are."""
    text = request.query_params.get("page", "")
    asked = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 1
    pages = max(1, ceil(count / size))
    return min(max(asked, 1), pages), pages


def _digest(tool: Tool) -> str:
    """What tells whether a definition is still the one that a page has shown."""
    text = json.dumps(tool.definition, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _spelled(texts: Iterable[HiddenText]) -> list[str]:
    """What hidden characters spell."""
    return list(dict.fromkeys(each.spelled for each in texts if each.spelled))[:20]
