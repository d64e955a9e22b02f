"""*Servers*: how each configured server is, what it lists, what of its definitions has changed.

A viewer and an approver see the servers that they may know of; an admin sees all, also how each is started and what it
wrote, and starts, stops, enables, disables, logs in and accepts changes.
"""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolcrib.broker import LOCAL, Caller, Judged, ToolChange
from toolcrib.catalog import Tool
from toolcrib.config import ServerConfig
from toolcrib.console.access import Visitor
from toolcrib.console.app import Desk, back_to, form_of, visitor_of
from toolcrib.console.diffs import DiffLine, diff_of
from toolcrib.console.logins import Login, Logins
from toolcrib.console.pages.tools import ROWS
from toolcrib.errors import LostListingError, StoreError, ToolcribError, UsageError
from toolcrib.schema import UnknownServerError, first_sentence
from toolcrib.servers import ServerStatus
from toolcrib.store import ServerState

logger = logging.getLogger(__name__)

_PATIENCE = 4.0
"""Seconds that a form waits for a server to start."""

GROUPS = ("in trouble", "running", "not running", "off")
"""What servers are told apart by, where there are many."""

_MOST_TOOLS = 300
_SENTENCE = 160
_LOCAL_NAMES = {"127.0.0.1", "::1", "localhost"}


@dataclass(frozen=True, slots=True)
class Row:
    """What is told of a server.

    Attributes:
        status: What is known of it here.
        off: Whether its tools are not there until it is enabled.
        seen: How many of its tools the visitor sees; None while it is not listed, or off.
        elsewhere: How it is in another Toolcrib that runs it.
        login: The login to it that was begun here.
        takes_login: Whether one can log in to it.
    """

    status: ServerStatus
    off: bool
    seen: int | None
    elsewhere: ServerState | None
    login: Login | None
    takes_login: bool

    @property
    def hidden(self) -> int:
        """How many of its tools the configuration hides from the visitor."""
        return 0 if self.seen is None else max(0, (self.status.tools or 0) - self.seen)

    @property
    def tone(self) -> str:
        """The tone of its state."""
        if self.status.in_trouble:
            return "bad"
        return {"ready": "good", "idle": "good", "starting": "wait"}.get(self.status.state, "off")

    @property
    def group(self) -> str:
        """Which of `GROUPS` it belongs to."""
        if self.off or self.status.state == "disabled":
            return "off"
        if self.status.in_trouble:
            return "in trouble"
        return "running" if self.may_stop else "not running"

    @property
    def may_start(self) -> bool:
        """Whether it can be connected to, or connected to anew."""
        return self.status.state not in {"disabled", "starting"}

    @property
    def may_stop(self) -> bool:
        """Whether there is something to stop."""
        return self.status.state in {"starting", "ready", "idle"}


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed tool, how its definition differs, and what tells that it is this change which was looked at."""

    change: ToolChange
    lines: Sequence[DiffLine]
    digest: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool of a server.

    Attributes:
        tool: The tool.
        about: The first sentence of what it says of itself.
        judged: What a call may do, and what tells so.
        tokens: The tokens of its definition; None where it could not be counted.
        changed: Whether it is known to have changed since it was first used.
    """

    tool: Tool
    about: str
    judged: Judged
    tokens: int | None
    changed: bool


def routes(desk: Desk) -> list[Route]:
    """The list of all servers and a page a server, for viewers; what changes something, for admins."""
    pages = _Pages(desk)
    acts: Mapping[str, Callable[[Request], Awaitable[Response]]] = {
        "start": pages.start,
        "stop": pages.stop,
        "enable": pages.enable,
        "disable": pages.disable,
        "accept": pages.accept,
        "login": pages.log_in,
        "login/finish": pages.finish_login,
        "login/cancel": pages.cancel_login,
        "logout": pages.log_out,
    }
    return [
        desk.get("/servers", pages.list),
        desk.get("/servers/{server}", pages.one),
        desk.post("/servers", pages.list_anew, "admin"),
        *(desk.post(f"/servers/{{server}}/{name}", act, "admin") for name, act in acts.items()),
    ]


class _Pages:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._crib = desk.crib
        self._logins = Logins(desk.crib)

    async def list(self, request: Request) -> Response:
        """All servers."""
        visitor = visitor_of(request)
        elsewhere, problem = await self._elsewhere()
        changes, changes_problem = await self._changes(None, visitor)
        rows = [self._row(each, visitor, elsewhere) for each in self._crib.servers_for(_seen_by(visitor))]
        counts = {group: sum(row.group == group for row in rows) for group in GROUPS}
        words = request.query_params.get("q", "").strip()
        asked = request.query_params.get("show", "")
        shown_group = asked if asked in counts else "all"
        return self._desk.page(
            request,
            "servers.html",
            "servers",
            rows=[each for each in rows if shown_group in ("all", each.group) and _has(each, words)],
            total=len(rows),
            groups={each: count for each, count in (("all", len(rows)), *counts.items()) if count},
            group=shown_group,
            words=words,
            changes=changes,
            problem=problem or changes_problem,
            admin=visitor.may("admin"),
        )

    async def one(self, request: Request) -> Response:
        """One server, its tools and what of them has changed."""
        visitor = visitor_of(request)
        status = self._status(request)
        elsewhere, problem = await self._elsewhere()
        changes, changes_problem = await self._changes(status.id, visitor)
        row = self._row(status, visitor, elsewhere)
        tools, tools_problem = await self._tools(status.id, visitor)
        admin = visitor.may("admin")
        return self._desk.page(
            request,
            "server.html",
            "servers",
            row=row,
            server=status,
            tools=tools[:_MOST_TOOLS],
            more_tools=max(0, len(tools) - _MOST_TOOLS),
            more_on_page=_MOST_TOOLS // ROWS + 1,
            changes=[Changed(each, diff_of(each), _digest(each)) for each in changes],
            changes_digest=_digest(*changes),
            problem=problem or changes_problem or tools_problem,
            admin=admin,
            output=self._crib.output_of(status.id) if admin else (),
            started=self._started(status) if admin else "",
            entry=self._entry(status),
            nearby=request.url.hostname in _LOCAL_NAMES,
        )

    async def list_anew(self, request: Request) -> Response:
        """Start all servers and list their tools."""
        self._begin(None)
        return back_to(request, "/servers", "All servers are being listed anew.")

    async def start(self, request: Request) -> Response:
        """Start a server anew."""
        server = self._status(request).id
        done = self._begin(server)
        with anyio.move_on_after(_PATIENCE):
            await done.wait()
        status = self._status(request)
        if status.in_trouble:
            return _back(request, server, f"{server} could not be started.")
        if not done.is_set():
            return _back(request, server, f"{server} is being started.")
        row = self._row(status, visitor_of(request), {})
        hidden = f", and {row.hidden} hidden" if row.hidden else ""
        return _back(request, server, f"{server} is {status.state}: {_counted(row.seen or 0)}{hidden}.")

    async def stop(self, request: Request) -> Response:
        """End a server."""
        server = self._status(request).id
        await self._crib.stop(server)
        return _back(request, server, f"{server} was stopped; it starts when it is next needed.")

    async def enable(self, request: Request) -> Response:
        """Switch a server on for good."""
        server = self._status(request).id
        await self._crib.switch(server, on=True)
        return _back(request, server, f"{server} is on.")

    async def disable(self, request: Request) -> Response:
        """Switch a server off for good."""
        server = self._status(request).id
        self._logins.cancel(server)
        await self._crib.switch(server, on=False)
        return _back(request, server, f"{server} is off.")

    async def accept(self, request: Request) -> Response:
        """Accept a server's changed definitions, or that of one tool, where they are still those that were shown."""
        server = self._status(request).id
        form = form_of(request)
        tool = form.get("tool") or None
        changes = [each for each in await self._crib.changes.list(server) if tool in (None, each.tool)]
        if changes and form.get("seen") != _digest(*changes):
            return _back(
                request, server, "It has changed once more meanwhile, so nothing was accepted: look at it anew."
            )
        accepted = await self._crib.changes.accept(server, tool)
        told = f"Accepted: {', '.join(accepted)}." if accepted else "Nothing has changed, so nothing was accepted."
        return _back(request, server, told)

    async def log_in(self, request: Request) -> Response:
        """Begin a login."""
        server = self._status(request).id
        if not self._crib.takes_login(server):
            raise UsageError(
                f"{server} takes no login.", hint="It is started here, or its entry has a header for that."
            )
        await self._logins.begin(server)
        return _back(request, server)

    async def finish_login(self, request: Request) -> Response:
        """Take the address that a browser ended at."""
        server = self._status(request).id
        login = await self._logins.finish(server, form_of(request).get("address", ""))
        return _back(request, server, "" if login.problem else f"Logged in to {server}.")

    async def cancel_login(self, request: Request) -> Response:
        """Give up a login."""
        server = self._status(request).id
        self._logins.cancel(server)
        return _back(request, server)

    async def log_out(self, request: Request) -> Response:
        """Forget the login to a server."""
        server = self._status(request).id
        existed = await self._crib.log_out(server)
        await self._crib.stop(server)
        return _back(request, server, "The login is forgotten." if existed else f"There was no login to {server}.")

    def _begin(self, server: str | None) -> anyio.Event:
        """List a server anew, or all of them, also where nobody waits for it; gives what is set when it is done."""
        done = anyio.Event()

        async def refresh() -> None:
            try:
                await self._crib.refresh(server)
            except Exception:
                logger.exception("Servers could not be listed anew")
            done.set()

        self._crib.spawn(refresh)
        return done

    def _status(self, request: Request) -> ServerStatus:
        """The server of a request's path, where the visitor may know of it."""
        name = request.path_params["server"]
        known = self._crib.servers_for(_seen_by(visitor_of(request)))
        for each in known:
            if each.id == name:
                return each
        raise UnknownServerError(name, [each.id for each in known])

    def _row(self, status: ServerStatus, visitor: Visitor, elsewhere: Mapping[str, ServerState]) -> Row:
        off = self._crib.is_off(status.id)
        part = self._crib.registry.part_for(status.id, _seen_by(visitor).principal.name)
        visible = self._crib.visible(_seen_by(visitor))
        return Row(
            status,
            off,
            None if off or part is None else sum(key in visible for key in self._crib.registry.keys(part)),
            None if (other := elsewhere.get(status.id)) is None or other.state == "dormant" else other,
            self._logins.of(status.id) if visitor.may("admin") else None,
            self._crib.takes_login(status.id),
        )

    def _entry(self, status: ServerStatus) -> ServerConfig | None:
        """A server's entry in the configuration; None for one that came from a registry."""
        return self._crib.config.servers.get(status.key)

    def _started(self, status: ServerStatus) -> str:
        """How a server is started or where it is, without secrets."""
        entry = self._entry(status)
        if entry is None:
            return ""
        return self._crib.secrets.text(entry.url or " ".join([entry.command or "", *entry.args]))

    async def _tools(self, server: str, visitor: Visitor) -> tuple[Sequence[Listed], str]:
        """The tools of a server that the visitor sees, and why they can't be told."""
        caller = _seen_by(visitor)
        part = self._crib.registry.part_for(server, caller.principal.name)
        if part is None or self._crib.is_off(server):
            return [], ""
        visible = self._crib.visible(caller)
        try:
            tools = [each for each in self._crib.registry.tools(part) if each.key in visible]
        except LostListingError as error:
            return [], str(error)
        weights = await self._crib.weights(caller=caller)
        return [
            Listed(
                each,
                first_sentence(each.description, _SENTENCE),
                self._crib.judged(each),
                weights.get(each.id),
                self._crib.changes.is_changed(each),
            )
            for each in tools
        ], ""

    async def _changes(self, server: str | None, visitor: Visitor) -> tuple[Sequence[ToolChange], str]:
        """What has changed, for those who decide about calls; and why it can't be told."""
        if not visitor.may("approver"):
            return [], ""
        try:
            return await self._crib.changes.list(server), ""
        except ToolcribError as error:
            return [], str(error)

    async def _elsewhere(self) -> tuple[Mapping[str, ServerState], str]:
        """The states of servers in other instances; and why they can't be told."""
        try:
            return await self._crib.states_elsewhere(), ""
        except StoreError as error:
            return {}, str(error)


def _digest(*changes: ToolChange) -> str:
    """What tells changes from others of the same tools."""
    text = json.dumps([[each.name, each.tool, each.after] for each in changes], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _counted(tools: int) -> str:
    return f"{tools} tool" if tools == 1 else f"{tools} tools"


def _has(row: Row, words: str) -> bool:
    """Whether a server's id or description has all words."""
    text = f"{row.status.id} {row.status.description}".casefold()
    return all(word in text for word in words.casefold().split())


def _seen_by(visitor: Visitor) -> Caller:
    """With whose eyes servers and tools are looked at: an admin sees what the local user does."""
    return LOCAL if visitor.may("admin") else visitor.caller


def _back(request: Request, server: str, notice: str = "") -> Response:
    return back_to(request, f"/servers/{server}", notice)
