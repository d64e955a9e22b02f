"""`MetaTools`: answers calls of the constant tools, alike for the gateway, LLM clients and the command line."""

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from toolcrib.broker import (
    LOCAL,
    Caller,
    Excerpt,
    Options,
    Outcome,
    PageNeededError,
    Principal,
    UnknownTokenError,
    content_of,
    contents_as_blocks,
    text_of,
)
from toolcrib.catalog import SKILL_HEAD, JsonObject, Tool
from toolcrib.crib import DEFAULT_LIMIT, Crib
from toolcrib.errors import ToolcribError, UsageError, shown
from toolcrib.metatools.code import RUN_CODE
from toolcrib.metatools.definitions import (
    CALL_TOOL,
    DETAILS,
    DISABLE_SERVER,
    ENABLE_SERVER,
    GET_TOOL_DETAILS,
    MOST_HITS,
    READ_RESULT,
    READ_TOOL,
    SEARCH_SERVERS,
    SEARCH_TOOLS,
    meta_tools,
)
from toolcrib.metatools.forgiving import flag, text, tool_call, whole_number
from toolcrib.metatools.formatting import (
    available_text,
    compact,
    details_text,
    enabled_text,
    error_text,
    search_text,
    text_result,
    tool_signature,
    unsettled_text,
)
from toolcrib.metatools.remarks import CHANGED_META, HIDDEN_META, hidden_in_result, hidden_remark
from toolcrib.metatools.resources import LIST_RESOURCES, READ_RESOURCE, resources_text
from toolcrib.metatools.skills import skill_file, skill_text
from toolcrib.search import decode_cursor, encode_cursor

if TYPE_CHECKING:
    from toolcrib.sandbox import Language

_LANGUAGES: "dict[str, Language]" = {"python": "python", "typescript": "typescript", "javascript": "javascript"}

CHANGES_META = "toolcrib/changes"
"""Member of a result's `_meta` that tells what was mended in the arguments."""

UNSETTLED_META = "toolcrib/unsettled"
"""Member of a result's `_meta` that names an earlier call like it whose outcome is unknown."""

_MOST_PRINCIPALS = 500
"""Principals whose definitions are kept; made anew they are the same."""

_MOST_DEFINITIONS = 500
"""Names in one request for details: more than any server that was recorded has tools."""

MOST_UNITS = 1_000_000_000
"""Lines or items that a page of a stored result may begin after, or have."""

UNVALIDATED_META = "toolcrib/unvalidated"
"""Member of a result's `_meta` that tells why the arguments could not be checked."""


class MetaTools:
    """The constant tools over one crib.

    Args:
        crib: An open crib.
    """

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._definitions: dict[Principal, list[JsonObject]] = {}

    def definitions(self, caller: Caller = LOCAL) -> list[JsonObject]:
        """The definitions that a model sees: for one principal the same in every answer."""
        found = self._definitions.get(caller.principal)
        if found is None:
            if len(self._definitions) >= _MOST_PRINCIPALS:
                del self._definitions[next(iter(self._definitions))]
            settings = self._crib.config.settings
            found = self._definitions[caller.principal] = meta_tools(
                self._crib.configured(caller),
                token_budget=settings.servers_description,
                dynamic=settings.dynamic.enabled,
                split=settings.split_by_effect,
                languages=self._languages,
                extract=self._crib.can_extract,
                resources=settings.resources,
            )
        return found

    @property
    def _languages(self) -> tuple["Language", ...]:
        """What scripts may be written in, the default first."""
        scripts = self._crib.config.settings.scripts
        if not scripts.enabled:
            return ()
        return tuple(_LANGUAGES.values()) if scripts.typescript else ("python",)

    def knows(self, name: str) -> bool:
        """Whether that is one of the constant tools."""
        if name in {SEARCH_SERVERS, ENABLE_SERVER, DISABLE_SERVER}:
            return self._crib.config.settings.dynamic.enabled
        if name == READ_TOOL:
            return self._crib.config.settings.split_by_effect
        if name == RUN_CODE:
            return self._crib.config.settings.scripts.enabled
        if name in {LIST_RESOURCES, READ_RESOURCE}:
            return self._crib.config.settings.resources
        return name in {SEARCH_TOOLS, GET_TOOL_DETAILS, CALL_TOOL, READ_RESULT}

    async def call(
        self, name: str, arguments: JsonObject, caller: Caller = LOCAL, options: Options | None = None
    ) -> JsonObject:
        """Answer a call with a tool result as JSON; what went wrong is a result marked as an error.

        Raises:
            UsageError: It is none of the constant tools.
            UnknownTokenError: It came with a token that leads to no call.
            PageNeededError: The caller's client takes this error itself.
        """
        if not self.knows(name):
            raise UsageError(f"There is no tool {shown(name)} here.", hint=f"Call other tools by {CALL_TOOL}.")
        try:
            return await self.answer(name, arguments, caller, options)
        except UnknownTokenError:
            raise
        except ToolcribError as error:
            if isinstance(error, PageNeededError) and options is not None and options.relays_errors:
                raise
            return text_result(error_text(error), is_error=True)

    async def answer(
        self, name: str, arguments: JsonObject, caller: Caller = LOCAL, options: Options | None = None
    ) -> JsonObject:
        """Answer a call of one of the constant tools; as `call`, but what went wrong is raised.

        Raises:
            ToolcribError: Whatever is wrong with the call, or went wrong with it.
        """
        if name in {SEARCH_TOOLS, GET_TOOL_DETAILS}:
            if name == SEARCH_TOOLS:
                answer = await self.search(arguments, caller)
            else:
                answer = await self._details(arguments, caller, self._within_budget(options or Options()))
            self._crib.note_discovery(text_of(answer), compact(self.definitions(caller)), caller)
            return answer
        if name in {CALL_TOOL, READ_TOOL}:
            chosen = replace(self._within_budget(options or Options()), only_reads=name == READ_TOOL)
            return await self._call(name, arguments, caller, chosen)
        if name == RUN_CODE:
            return await self._run(arguments, caller, options or Options())
        if name in {LIST_RESOURCES, READ_RESOURCE}:
            if name == LIST_RESOURCES:
                return await self._list_resources(arguments, caller)
            return await self._read_resource(arguments, caller, self._within_budget(options or Options()))
        if name == READ_RESULT:
            return await self._read(arguments, caller, self._within_budget(options or Options()))
        return text_result(await self._servers(name, arguments, caller))

    async def search(self, arguments: JsonObject, caller: Caller = LOCAL) -> JsonObject:
        """What a call of `search_tools` is answered, without its being counted as one: for whoever shows what a model
        would see.

        Raises:
            ToolcribError: Whatever is wrong with the call.
        """
        query = text(arguments, "query", "queries", "q") or ""
        server = text(arguments, "server") or None
        detail = text(arguments, "detail") or "signature"
        if detail not in DETAILS:
            raise UsageError(f"`detail` must be one of {', '.join(DETAILS)}.")
        limit = whole_number(arguments, "limit", DEFAULT_LIMIT, MOST_HITS)
        cursor = text(arguments, "cursor")
        tag = text(arguments, "tag") or None
        read_only = flag(arguments, "read_only")
        key = repr((query, server, tag, read_only))
        offset = decode_cursor(cursor, key) if cursor else 0
        answer = await self._crib.search(
            query, limit=limit, offset=offset, server=server, tag=tag, read_only=read_only, caller=caller
        )
        reached = answer.offset + len(answer.found)
        following = encode_cursor(key, reached) if answer.found and reached < answer.total else None
        return text_result(search_text(answer, detail, following, self._crib.changes.is_changed))

    async def _details(self, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        names = text(arguments, "name", "names", "tool", "id", "ids") or ""
        wanted = list(dict.fromkeys(name.strip() for name in names.replace("\n", ",").split(",") if name.strip()))
        if not wanted:
            raise UsageError("get_tool_details needs a tool's id as `name`.", hint="search_tools finds it.")
        if len(wanted) > _MOST_DEFINITIONS:
            raise UsageError(
                f"get_tool_details was asked for {len(wanted)} tools.", hint=f"Ask for at most {_MOST_DEFINITIONS}."
            )
        blocks: list[JsonObject] = []
        failed = 0
        for name in wanted:
            try:
                if name.startswith(SKILL_HEAD) and self._crib.has_skills:
                    blocks += await self._skill(name, caller, options)
                    continue
                tool = await self._crib.tool(name, caller=caller)
                effect, changed = self._crib.effect(tool), self._crib.changes.is_changed(tool)
                seen = self._crib.seen.of(tool.id, caller.principal)
                blocks.append({"type": "text", "text": details_text(tool, effect, changed=changed, seen=seen)})
            except ToolcribError as error:
                failed += 1
                blocks.append({"type": "text", "text": error_text(error)})
        return {"content": blocks, "isError": failed == len(wanted)}

    async def _skill(self, name: str, caller: Caller, options: Options) -> list[JsonObject]:
        """What a skill says, or one of its files, which is named behind it: `skill:NAME/PATH`."""
        # The URI by which the file is a resource does as well.
        bare, _, path = name.removeprefix(SKILL_HEAD).removeprefix("//").partition("/")
        skills = self._crib.skills
        skill = skills.get(bare, caller)
        if path:
            outcome = await skills.read(skill, path, caller=caller, options=options)
            return content_of(outcome.result if outcome.handle is not None else contents_as_blocks(outcome.result))

        def told(tool: Tool) -> str:
            effect = self._crib.effect(tool)
            return tool_signature(tool) if effect == "unknown" else f"{tool_signature(tool)} [{effect}]"

        needs, files = await skills.needs(skill, caller), skills.files(skill)
        written = skill_text(skill, needs, files, told=told, reader=GET_TOOL_DETAILS, address=skill_file(skill))
        return [{"type": "text", "text": written}]

    async def _servers(self, name: str, arguments: JsonObject, caller: Caller) -> str:
        """Answer a call of the tools that find, enable and disable servers; they take a name, and nothing to run."""
        if name == SEARCH_SERVERS:
            return available_text(await self._crib.available(text(arguments, "query", "q") or "", caller=caller))
        server = text(arguments, "name", "server", "id")
        if not server:
            raise UsageError(f"{name} needs a server's `name`.", hint=f"{SEARCH_SERVERS} finds it.")
        if name == ENABLE_SERVER:
            return enabled_text(await self._crib.enable(server, caller=caller))
        return f"{await self._crib.disable(server, caller=caller)} is off; its tools are in no search any more."

    def _within_budget(self, options: Options) -> Options:
        """The options with the configured budget, where they set none."""
        if options.budget is not None:
            return options
        return replace(options, budget=self._crib.config.settings.result_budget)

    async def _run(self, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        code = text(arguments, "code", "script", "source") or ""
        retry_of = text(arguments, "retry_of") or ""
        if not code and not retry_of:
            raise UsageError(f"{RUN_CODE} needs the script as `code`.")
        wanted = text(arguments, "language") or self._languages[0]
        language = _LANGUAGES.get(wanted.lower())
        if language not in self._languages:
            raise UsageError(f"Scripts can't be written in {shown(wanted)}.", hint=f"Use {', '.join(self._languages)}.")

        async def run(options: Options) -> JsonObject:
            outcome = await self._crib.run_code(
                code,
                language=language,
                retry_of=retry_of,
                caller=caller,
                on_progress=options.on_progress,
                client=options.client,
            )
            from toolcrib.scripts import run_result

            return _noted(run_result(outcome), {}, [])

        outcome = await self._crib.run_midway(RUN_CODE, arguments, caller, options, run)
        if outcome.kind == "input_required":
            return {**outcome.result, "requestState": outcome.token}
        return outcome.result

    async def _list_resources(self, arguments: JsonObject, caller: Caller) -> JsonObject:
        offset = whole_number(arguments, "offset", 0, MOST_UNITS, least=0)
        known = await self._crib.resources(server=text(arguments, "server") or None, caller=caller)
        return text_result(resources_text(known, offset))

    async def _read_resource(self, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        uri = text(arguments, "uri", "name", "resourceName", "resource_name", "id")
        if not uri:
            raise UsageError(
                f"{READ_RESOURCE} needs a resource's `uri` or `name`.", hint=f"{LIST_RESOURCES} lists them."
            )
        server = text(arguments, "server") or None
        outcome = await self._crib.read_resource(uri, server=server, caller=caller, options=options)
        return outcome.result if outcome.handle is not None else contents_as_blocks(outcome.result)

    async def _read(self, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        handle = text(arguments, "handle", "id", "name")
        if not handle:
            raise UsageError(f"{READ_RESULT} needs the `handle` that {CALL_TOOL} answered with.")
        limit = arguments.get("limit")
        wanted = Excerpt(
            offset=whole_number(arguments, "offset", 0, MOST_UNITS, least=0),
            limit=None if limit is None else whole_number(arguments, "limit", MOST_UNITS, MOST_UNITS),
            select=text(arguments, "select", "query") or "",
            grep=text(arguments, "grep", "pattern") or "",
            budget=options.budget,
        )
        page = await self._crib.read_result(handle, wanted, caller=caller)
        return _noted({"content": list(page.content), "isError": False}, {}, [])

    async def _call(self, called: str, arguments: JsonObject, caller: Caller, options: Options) -> JsonObject:
        name, inner = tool_call(called, arguments)
        outcome = await self._crib.request("tools/call", name, inner, caller, options)
        if outcome.kind == "input_required":
            return {**outcome.result, "requestState": outcome.token}
        remarks = [] if outcome.unsettled is None else [unsettled_text(outcome.unsettled)]
        return _noted(outcome.result, _of_call(self._crib, outcome), remarks)


def call_notes(crib: Crib, outcome: Outcome) -> JsonObject:
    """What there is to say of a call in the `_meta` of its result; empty where there is nothing."""
    notes = _of_call(crib, outcome)
    if places := hidden_in_result(outcome.result):
        notes[HIDDEN_META] = [each.to_json() for each in places]
    return notes


def _of_call(crib: Crib, outcome: Outcome) -> JsonObject:
    notes: JsonObject = {}
    if outcome.changes:
        notes[CHANGES_META] = list(outcome.changes)
    if outcome.unvalidated is not None:
        notes[UNVALIDATED_META] = outcome.unvalidated
    if outcome.unsettled is not None:
        notes[UNSETTLED_META] = outcome.unsettled.id
    tool = outcome.call.tool
    if tool is not None and crib.changes.is_changed(tool):
        notes[CHANGED_META] = True
    return notes


def _noted(result: JsonObject, notes: JsonObject, remarks: list[str]) -> JsonObject:
    """A result with notes in its `_meta` and remarks behind its content; also those on what is hidden in it."""
    if places := hidden_in_result(result):
        notes = {**notes, HIDDEN_META: [each.to_json() for each in places]}
        remarks = [*remarks, hidden_remark(places)]
    if not notes:
        return result
    meta = result.get("_meta")
    kept = cast("JsonObject", meta) if isinstance(meta, dict) else {}
    noted = {**result, "_meta": {**kept, **notes}}
    if remarks:
        noted["content"] = [*content_of(result), *({"type": "text", "text": each} for each in remarks)]
    return noted
