"""Whatever the documentation shows is what happens: its code, commands, configurations and calls, page by page."""

import ast
import inspect
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import AsyncExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from ruamel.yaml import YAML

from toolcrib import Crib
from toolcrib.cli import main
from toolcrib.config import config_from_mapping
from toolcrib.config.jsonc import parse_document
from toolcrib.demo import demo_config
from toolcrib.gateway import Gateway
from toolcrib.metatools import CALL_TOOL, GET_TOOL_DETAILS, READ_RESULT, RUN_CODE, SEARCH_TOOLS
from toolcrib.servers.wire import raw_request

pytestmark = pytest.mark.anyio

META_TOOLS = {SEARCH_TOOLS, GET_TOOL_DETAILS, CALL_TOOL, READ_RESULT, RUN_CODE}
CONFIG_KEYS = {"mcpServers", "servers", "toolcrib"}
NOTHING_CONFIGURED = "<!-- nothing is configured at first -->"


def patient_config() -> dict[str, Any]:
    """The demo servers, waited for however busy the machine is."""
    return {**demo_config(), "toolcrib": {"first_listing_wait": 60}}


@pytest.fixture
def folder(page: Path, listed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a page's commands run in; the demo servers are configured, in the user's folder too."""
    home, work = tmp_path / "home", tmp_path / "work"
    config, state = home / ".config" / "toolcrib", home / ".local" / "state" / "toolcrib"
    work.mkdir()
    if NOTHING_CONFIGURED in page.read_text(encoding="utf-8"):
        home.mkdir()
    else:
        config.mkdir(parents=True)
        shutil.copytree(listed, state)
        for each in (work, config):
            (each / "mcp.json").write_text(
                json.dumps({**demo_config(), "toolcrib": {"first_listing_wait": 60}}), encoding="utf-8"
            )
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, place in (("TOOLCRIB_CONFIG_DIR", config), ("TOOLCRIB_STATE_DIR", state)):
        if sys.platform == "linux":  # these are the user's own folders there, as for somebody who has set neither
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, str(place))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(work)
    return work


async def test_what_a_page_shows_is_what_happens(blocks: list[Any], folder: Path, like: Any, holds: Any) -> None:
    async with AsyncExitStack() as stack:
        reader = _Reader(folder, like, holds, stack)
        for place, block in enumerate(blocks):
            following = blocks[place + 1] if place + 1 < len(blocks) and blocks[place + 1].follows else None
            await reader.take(block, following)
    if reader.faults:
        pytest.fail("\n\n".join(reader.faults), pytrace=False)


class _Reader:
    """Does what a page says, block by block, and notes where something else happens than it shows."""

    def __init__(self, folder: Path, like: Any, holds: Any, stack: AsyncExitStack) -> None:
        self.faults: list[str] = []
        self._folder = folder
        self._like = like
        self._holds = holds
        self._stack = stack
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._crib: Crib | None = None
        self._client: Client | None = None

    async def take(self, block: Any, following: Any) -> None:
        if block.file:
            path = self._folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        if block.language == "json":
            await self._take_json(block, following)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "yaml":
            YAML(typ="safe").load(block.text)
        elif block.language == "python" and block.file:
            compile(block.text, block.where, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        elif block.language == "python" and block.is_run:
            await self._take_python(block, following)
        elif block.language == "console" and block.is_run:
            await anyio.to_thread.run_sync(self._take_console, block)

    def _expect(self, block: Any, shown: str, printed: str, what: str = "") -> None:
        if not self._like(shown, printed):
            self.faults.append(f"{block.where}: {what}\n--- shown\n{shown.rstrip()}\n--- happens\n{printed.rstrip()}")

    async def _take_json(self, block: Any, following: Any) -> None:
        value = parse_document(block.text, block.where).value
        if isinstance(value, dict) and CONFIG_KEYS & value.keys() and block.is_to_load:
            config = config_from_mapping(value)
            self.faults += [f"{block.where}: {each.error}" for each in config.servers.values() if each.error]
            self.faults += [f"{block.where}: {each}" for each in config.warnings]
        if following is not None and isinstance(value, dict) and value.get("name") in META_TOOLS:
            result = await raw_request((await self._gateway()).session, "tools/call", value)
            if following.language == "text":
                texts = [str(each.get("text")) for each in result["content"]]
                self._expect(following, following.text, "\n".join(texts), block.text)
            elif not self._holds(result, json.loads(following.text)):
                self.faults.append(f"{following.where}: happens is\n{json.dumps(result, indent=2, ensure_ascii=False)}")

    async def _take_python(self, block: Any, following: Any) -> None:
        self._names["crib"] = await self._open_crib()
        code = compile(block.text, block.where, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        printed = io.StringIO()
        try:
            with redirect_stdout(printed), anyio.fail_after(30):
                if code.co_flags & inspect.CO_COROUTINE:
                    await eval(code, self._names)
                else:  # in a thread, since it may start an event loop of its own
                    await anyio.to_thread.run_sync(exec, code, self._names)
        except Exception as error:
            self.faults.append(f"{block.where}: {type(error).__name__}: {error}\n{block.text}")
        if following is not None and following.language == "text":
            self._expect(following, following.text, printed.getvalue())

    def _take_console(self, block: Any) -> None:
        steps = list(_steps(block.text))
        code = 0
        for place, (command, shown) in enumerate(steps):
            if command == "echo $?":
                self._expect(block, shown, str(code), command)
                continue
            code, printed = _run(command)
            self._expect(block, shown, printed, f"$ {command}")
            if code and [each[0] for each in steps[place + 1 : place + 2]] != ["echo $?"]:
                self.faults.append(f"{block.where}: $ {command} exits with {code}")

    async def _open_crib(self) -> Crib:
        if self._crib is None:
            self._crib = await self._stack.enter_async_context(Crib.open(patient_config()))
        return self._crib

    async def _gateway(self) -> Client:
        if self._client is None:
            client = Client(Gateway(await self._open_crib()).server)
            self._client = await self._stack.enter_async_context(client)
        return self._client


def _steps(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what is shown after it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.replace("\\\n", " ").partition("\n")
        yield command.strip(), shown


def _run(command: str) -> tuple[int, str]:
    """Exit code, and what a command prints: `toolcrib` in this process, for speed, save `serve`, which takes over
    signals and streams; all else in a shell."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()$`")
    words.whitespace_split = True
    parsed = list(words)
    if parsed[0] != "toolcrib" or parsed[1] == "serve" or any(set(each) <= set("|&;<>()$`") for each in parsed):
        done = subprocess.run(
            command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False
        )
        return done.returncode, done.stdout
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        code = main(parsed[1:])
    return code, printed.getvalue()
