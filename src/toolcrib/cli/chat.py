"""`toolcrib chat`: talk with a model that has the tools, on the terminal or in a pipe."""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from toolcrib.cli import session
from toolcrib.cli.arguments import why_unread
from toolcrib.cli.asking import terminal_approver
from toolcrib.cli.conversing import account_line, as_document, show
from toolcrib.cli.options import AsJson, AskAll, ConfigFiles, ReadOnly, SkillPaths
from toolcrib.cli.streams import print_json, tell, typed
from toolcrib.cli.troubles import FAILED
from toolcrib.config import Config
from toolcrib.errors import ToolcribError, UsageError, shown
from toolcrib.files import write_whole

if TYPE_CHECKING:
    from toolcrib.llm import ChatResponse, Conversation, LlmClient, Provider

_PROMPT = "you> "
_LEAVING = ("/quit", "/exit")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What the command was asked for."""

    once: str | None
    save: Path | None
    resume: Path | None
    system: str
    as_json: bool


def chat(
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="PROVIDER:MODEL",
            help="The model, such as anthropic:claude-sonnet-5.",
            show_default=False,
        ),
    ],
    once: Annotated[
        str | None, typer.Option("--once", metavar="TEXT", help="Ask this alone, and end.", show_default=False)
    ] = None,
    surface: Annotated[
        str | None,
        typer.Option(
            "--surface", metavar="NAME", help="all, deferred, search or native; else what fits.", show_default=False
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=1, max=10, help="Rounds of calls for one question.")
    ] = 10,
    system: Annotated[
        str, typer.Option("--system", metavar="TEXT", help="Standing instructions.", show_default=False)
    ] = "",
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Where the model's API is.", show_default=False)
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option(
            "--key-env", metavar="NAME", help="The environment variable that holds the key.", show_default=False
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Store the conversation here.", show_default=False)
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            help="Go on with the conversation stored here, and store it here again.",
            show_default=False,
        ),
    ] = None,
    read_only: ReadOnly = False,
    ask_all: AskAll = False,
    skill: SkillPaths = None,
    config: ConfigFiles = None,
    as_json: AsJson = False,
) -> int:
    """Talk with a model that has the tools.

    On a terminal, line by line; in a pipe, each line of standard input is a question. Ctrl-C gives up a question, and
    at the prompt ends the conversation, as Ctrl-D does.

    Example: toolcrib chat -m anthropic:claude-sonnet-5 --once "Which tickets are urgent?"
    """
    name = _surface(surface)
    wanted = _Wanted(None if once is None else typed(once), save or resume, resume, typed(system), as_json)
    chosen = session.stricter(session.read_config(config), read_only=read_only, ask_all=ask_all)
    provider = _provider(typed(model), base_url, key_env)
    spoken = _conversation(wanted)
    return session.run(
        partial(_chat, chosen, provider, spoken, wanted, skill or (), surface=name, max_tool_rounds=rounds)
    )


async def _chat(
    config: Config,
    provider: "Provider",
    spoken: "Conversation",
    wanted: _Wanted,
    skills: Sequence[str],
    **options: Any,
) -> int:
    from toolcrib.llm import LlmClient

    deferred = options.get("surface") == "deferred"
    answers: list[ChatResponse] = []
    failed = False
    async with (
        session.open_crib(config, lists_first=True, approver=terminal_approver()) as crib,
        LlmClient(provider, crib, use_deferred_loading=deferred, face="cli", **options) as client,
    ):
        await session.use_skills(crib, skills)
        async for question in _questions(wanted):
            answer = await _answered(client, spoken, question, wanted)
            if answer is None:
                failed = True
                if not _is_interactive(wanted):
                    break
                continue
            answers.append(answer)
            _store(spoken, wanted.save)
    if wanted.as_json and not failed:
        print_json(as_document(answers, spoken))
    return FAILED if failed and not _is_interactive(wanted) else 0


async def _answered(
    client: "LlmClient", spoken: "Conversation", question: str, wanted: _Wanted
) -> "ChatResponse | None":
    """Ask one question and show how the answer comes about; None where it was given up or failed, which is told."""
    import anyio

    from toolcrib.cli.interrupting import interruptible

    answer: ChatResponse | None = None
    trouble: ToolcribError | None = None
    with interruptible() as given_up:
        async with anyio.create_task_group() as tasks:

            async def ask() -> None:
                nonlocal answer, trouble
                try:
                    answer = await show(client, question, spoken, quiet=wanted.as_json)
                except ToolcribError as error:
                    trouble = error
                tasks.cancel_scope.cancel()

            tasks.start_soon(ask)
            await given_up.wait()
            tasks.cancel_scope.cancel()
    if trouble is not None:
        if not _is_interactive(wanted):
            raise trouble
        tell(f"{trouble.message}\n{trouble.hint}" if trouble.hint else trouble.message)
        return None
    if answer is None:
        tell("Given up.")
        return None
    tell(account_line(answer, spoken))
    return answer


async def _questions(wanted: _Wanted) -> AsyncIterator[str]:
    """What is asked: once, or line by line."""
    import anyio.to_thread

    if wanted.once is not None:
        yield wanted.once
        return
    while True:
        # Abandoned on Ctrl-C: reading from a terminal can't be cancelled.
        line = await anyio.to_thread.run_sync(_line, _is_interactive(wanted), abandon_on_cancel=True)
        if line is None or line.strip() in _LEAVING:
            return
        if line.strip():
            yield line.strip()


def _line(prompts: bool) -> str | None:
    """The next line of standard input; None at its end."""
    if prompts:
        sys.stderr.write(_PROMPT)
        sys.stderr.flush()
    line = sys.stdin.readline() if sys.stdin else ""
    return line or None


def _is_interactive(wanted: _Wanted) -> bool:
    return wanted.once is None and not wanted.as_json and bool(sys.stdin) and sys.stdin.isatty()


def _surface(name: str | None) -> Any:
    from toolcrib.llm.surfaces import SurfaceName

    known = get_args(SurfaceName)
    if name is not None and name not in known:
        raise UsageError(f"There is no surface {shown(name)}.", hint=f"Use {', '.join(known)}.")
    return name


def _provider(name: str, base_url: str | None, key_env: str | None) -> "Provider":
    """The model.

    Raises:
        UsageError: There is none of that name, what it needs is not installed, or it has no key.
    """
    from toolcrib.llm.naming import LlmConfiguration, provider_by_name

    key = None if key_env is None else os.environ.get(key_env)
    if key_env is not None and not key:
        raise UsageError(f"The environment variable {shown(key_env)} holds no key.")
    try:
        return provider_by_name(name, LlmConfiguration(api_key=key, base_url=base_url))
    except ToolcribError:
        raise
    except Exception as error:  # each vendor's SDK has its own word for a key that is missing
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"The model {shown(name)} can't be used: {reason}",
            hint="Put its key into the environment variable that the table of providers names.",
        ) from None


def _conversation(wanted: _Wanted) -> "Conversation":
    from toolcrib.llm import Conversation

    if wanted.resume is None:
        return Conversation(wanted.system)
    if wanted.system:
        raise UsageError("A conversation that goes on keeps its instructions.", hint="Leave --system out.")
    try:
        return Conversation.load(wanted.resume.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise UsageError(f"The conversation {shown(str(wanted.resume))} can't be read: {why_unread(error)}.") from None


def _store(spoken: "Conversation", file: Path | None) -> None:
    if file is None:
        return
    write_whole(file, [spoken.save().encode("utf-8", "backslashreplace")])  # half a surrogate pair as JSON escapes it
