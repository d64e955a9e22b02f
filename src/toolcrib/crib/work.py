"""What a caller does with a crib beside single requests: it runs scripts, reads results that were kept, and ends."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from toolcrib.broker import LOCAL, Call, Caller, Excerpt, Options, Outcome, Page, asked_digest
from toolcrib.catalog import ClientSide, JsonObject, OnProgress
from toolcrib.crib.base import CribBase
from toolcrib.servers.asking import declared

if TYPE_CHECKING:
    from toolcrib.sandbox import Finding, Language
    from toolcrib.scripts import RunOutcome, ScriptRunner


_NAMESPACE = re.compile(r"\b([a-z][a-z0-9_]*)\s*\.")


class CribWork(CribBase):
    """A crib as what works over several requests needs it."""

    async def run_code(
        self,
        code: str,
        *,
        language: "Language" = "python",
        retry_of: str = "",
        caller: Caller = LOCAL,
        on_progress: OnProgress | None = None,
        client: ClientSide | None = None,
    ) -> "RunOutcome":
        """Run a script over the tools, behind a wall; its calls go through the broker, each by itself.

        Args:
            code: The script; `server.tool(name=value)` calls a tool.
            language: What it is written in.
            retry_of: An earlier run that failed: calls with effects that it made are not made again, where tool and
                arguments are equal. One that waits for an approval is taken up where it stands.
            caller: Who runs it.
            on_progress: Is told of each call that ended, and of what calls report.
            client: What stands behind the caller and can be asked while a call waits.

        Raises:
            UsageError: There is nothing to run, the language is not there, or there is no such run.
            SandboxError: Nothing on this machine can run it safely.
            StoreError: The run can't be recorded.
        """
        runner = await self._ready_for(caller, code)
        return await runner.run(code, language, caller, retry_of=retry_of, on_progress=on_progress, client=client)

    @property
    def can_extract(self) -> bool:
        """Whether scripts have the function `extract`: there is a small model."""
        return self._extract is not None

    async def run_midway(
        self,
        name: str,
        arguments: JsonObject,
        caller: Caller,
        options: Options,
        work: Callable[[Options], Awaitable[JsonObject]],
    ) -> Outcome:
        """Do something of several calls, in the middle of which the client may be asked; see `Parking.run`.

        Args:
            name: What it is.
            arguments: Of it, as the caller gave them.
            caller: Who wants it.
            options: Of the caller; a token leads back to what was asked.
            work: Does it, with the client and the progress of the options that it is given.

        Raises:
            UnknownTokenError: The token leads to no call.
        """
        asked = asked_digest("tools/call", name, arguments)
        if options.token is not None:
            parked = self._parking.opened(options.token, caller, asked)
            return await self._parking.go_on(parked, options)
        call = Call("tools/call", name, "toolcrib", {"name": name, "arguments": arguments}, caller, None, "unknown")

        async def send(options: Options) -> Outcome:
            return Outcome("result", await work(replace(options, returns=False)), call)

        if options.returns and declared(options.client):
            return await self._parking.run(call, asked, send, self.config.settings.approvals.timeout, options)
        return await send(options)

    async def check_code(
        self, code: str, *, language: "Language" = "python", caller: Caller = LOCAL
    ) -> "list[Finding]":
        """What is wrong with a script, as far as can be told before it runs; nothing is called.

        Raises:
            UsageError, SandboxError: See `run_code`.
        """
        runner = await self._ready_for(caller, code)
        return await runner.check(code, language, caller)

    async def _ready_for(self, caller: Caller, code: str) -> "ScriptRunner":
        """What runs scripts, once the tools that a script may name are listed.

        Raises:
            ServerError: A server that it names was never listed, and can't be.
        """
        tasks = self._follow_switches()
        if self._lists_first:
            await self._first_listings(tasks, None, caller)
        else:
            for name in dict.fromkeys(_NAMESPACE.findall(code)):
                if self._sources.find(name) is not None:
                    await self._sources.learn(f"{name}.", caller)
        return self.script_runner()

    async def read_result(self, handle: str, wanted: Excerpt | None = None, *, caller: Caller = LOCAL) -> Page:
        """Read a part of a result that was kept because it was larger than the budget of its call.

        Args:
            handle: Its handle, from `Outcome.handle`.
            wanted: Which part, and how much of it; None takes the whole.
            caller: Who asks; a handle is its principal's, in every conversation and process.

        Raises:
            UnknownHandleError: There is no such result for the caller, or not any more.
            UsageError: The selection or the pattern can't be used, or the offset is beyond the end.
        """
        return await self._results.read(handle, wanted or Excerpt(), caller)

    async def roots_changed(self, caller: Caller) -> None:
        """Tell the servers of this caller's own connections that its client has other roots now."""
        if self._pool is not None:
            await self._pool.roots_changed(caller.key)

    def release(self, caller: Caller) -> None:
        """End the connections that are this caller's own, or its run's, as soon as no request uses them.

        Without it they end when they have been idle for long enough.
        """
        if self._pool is not None:
            self._pool.release(caller.run_key)

    def note_discovery(self, answer: str, surface: str, caller: Caller) -> None:
        """Let the journal account for what finding tools has cost a conversation.

        Args:
            answer: What the model was told.
            surface: The definitions of the constant tools, which it was sent before.
            caller: Who asked.
        """
        if self._journal is not None:
            self._journal.discovered(caller, answer, surface)

    def script_runner(self) -> "ScriptRunner":
        """What runs scripts over this crib."""
        raise NotImplementedError
