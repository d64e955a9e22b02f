"""`toolcrib chat` as a process: against a vendor's double, in a pipe, and on a terminal."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("openai")

from doubles import openai_chat_api as api
from doubles.serving import Double, served

pytestmark = pytest.mark.anyio

WORKSHOP = str(Path(__file__).resolve().parents[1] / "cli" / "workshop.py")
SAY = ("workshop__say", {"text": "said"}, "call_1")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder that all tests share, so that the server is listed once."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a configuration of one server."""
    config = {
        "mcpServers": {"workshop": {"command": sys.executable, "args": [WORKSHOP]}},
        "toolcrib": {"first_listing_wait": 60, "prices": {"m": {"input": 1_000, "output": 0}}},
    }
    (tmp_path / "mcp.json").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


@pytest.fixture
def environment(state: Path) -> dict[str, str]:
    """The environment of a process, without anybody's keys."""
    kept = {name: value for name, value in os.environ.items() if name not in KEYS}
    return {**kept, "TOOLCRIB_STATE_DIR": str(state)}


def command(folder: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "toolcrib", "chat", "--config", str(folder / "mcp.json"), *words]


@asynccontextmanager
async def vendor(*script: Any) -> AsyncGenerator[tuple[Double, list[str]]]:
    """A vendor's double, and the words that lead a command to it."""
    double = Double(api.check, list(script))
    async with served(double, "/v1/chat/completions"):
        yield double, ["--model", "openai-chat:m", "--base-url", f"{double.url}/v1", "--key-env", "DOUBLE_KEY"]


async def ran(words: list[str], environment: dict[str, str], stdin: str = "") -> subprocess.CompletedProcess[bytes]:
    with anyio.fail_after(60):
        env = {**environment, "DOUBLE_KEY": "key"}
        done = await anyio.run_process(words, input=stdin.encode(), env=env, check=False)
    assert b"Traceback" not in done.stderr
    return done


async def test_one_question_shows_calls_as_they_happen_and_what_it_took(
    folder: Path, environment: dict[str, str]
) -> None:
    async with vendor(api.answer("", SAY), api.answer("It was said.")) as (double, words):
        done = await ran(command(folder, *words, "--once", "Say it.", "--surface", "all"), environment)
    assert (done.returncode, done.stdout.decode()) == (0, "It was said.\n")
    told = done.stderr.decode().splitlines()
    assert told[0] == 'toolcrib: → workshop__say {"text": "said"}'
    assert told[1] == "toolcrib: ← workshop.say done: said"
    # two requests of 10 tokens, 4 of them from the cache, by the double's count; a thousand a million
    assert told[2].startswith(
        "toolcrib: [1 call; 20 tokens in (8 from the cache); 14 out; last request: system 0, tools"
    )
    assert told[2].endswith("; cost 0.0200, so far 0.0200]")
    assert double.bodies[1]["messages"][-1]["content"] == "said"


async def test_calls_come_in_by_the_command_line(folder: Path, environment: dict[str, str]) -> None:
    config = json.loads((folder / "mcp.json").read_text(encoding="utf-8"))
    rule = {"faces": ["cli"], "then": "deny", "reason": "not from a terminal"}
    config["toolcrib"]["policy"] = {"rules": [rule]}
    (folder / "mcp.json").write_text(json.dumps(config), encoding="utf-8")
    async with vendor(api.answer("", SAY), api.answer("I may not.")) as (double, words):
        await ran(command(folder, *words, "--once", "Say it.", "--surface", "all"), environment)
    assert "not from a terminal" in double.bodies[1]["messages"][-1]["content"]


async def test_in_a_pipe_each_line_is_a_question_and_json_is_one_document(
    folder: Path, environment: dict[str, str]
) -> None:
    async with vendor(api.answer("one"), api.answer("two")) as (double, words):
        done = await ran(command(folder, *words, "--json", "--surface", "all"), environment, "first\n\nsecond\n")
    document = json.loads(done.stdout)
    assert [answer["text"] for answer in document["answers"]] == ["one", "two"]
    assert (document["surface"], document["spent"]["requests"]) == ("all", 2)
    roles = [(message["role"], message["content"]) for message in double.bodies[1]["messages"]]
    assert roles == [("user", "first"), ("assistant", "one"), ("user", "second")]


async def test_a_conversation_is_saved_and_gone_on_with(folder: Path, environment: dict[str, str]) -> None:
    file = str(folder / "kept" / "talk.json")
    async with vendor(api.answer("one"), api.answer("two")) as (double, words):
        await ran(command(folder, *words, "--once", "first", "--save", file, "--system", "Be brief."), environment)
        await ran(command(folder, *words, "--once", "second", "--resume", file), environment)
    assert double.bodies[1]["messages"][: len(double.bodies[0]["messages"])] == double.bodies[0]["messages"]
    assert double.bodies[1]["tools"] == double.bodies[0]["tools"]
    assert [each["role"] for each in json.loads(Path(file).read_text(encoding="utf-8"))["messages"]] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--model", "anthropic:m"], "There is no key for Anthropic's API."),
        (["--model", "openai:m"], "can't be used: Missing credentials"),
        (["--model", "gemini:m"], "can't be used: No API key"),
        (["--model", "openai-chat:m", "--key-env", "NO_SUCH_KEY"], "holds no key"),
        (["--model", "nonsense:m"], "There is no provider 'nonsense'."),
        (["--model", "script:no-such-file.json"], "can't be read: No such file or directory."),
        (["--model", "script:object.json"], "can't be read: it is no list."),
        (["--model", "script:number.json"], "its item 2 is neither a text nor a call."),
        (["--model", "script:half.json"], "it is not JSON: "),
        (["--model", "script:s.json", "--surface", "magic"], "There is no surface 'magic'."),
        (["--model", "script:s.json", "--resume", "no-such-file.json"], "can't be read: No such file or directory."),
        (["--model", "script:s.json", "--resume", "s.json"], "no stored conversation"),
        (["--model", "script:s.json", "--rounds", "11"], "--rounds"),
        ([], "--model"),
    ],
)
def test_what_is_asked_wrongly_exits_with_2(
    folder: Path, environment: dict[str, str], words: list[str], told: str, capsys: Any, monkeypatch: Any
) -> None:
    from toolcrib.cli import main

    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    (folder / "s.json").write_text('["hello"]', encoding="utf-8")
    (folder / "object.json").write_text('{"a": 1}', encoding="utf-8")
    (folder / "number.json").write_text('["hello", 1]', encoding="utf-8")
    (folder / "half.json").write_text('["hello"', encoding="utf-8")
    code = main(["chat", "--config", "mcp.json", "--once", "hi", *words])
    written = capsys.readouterr()
    assert (code, written.out) == (2, "")
    assert told in written.err
    assert "Traceback" not in written.err


async def test_a_failure_of_the_vendor_exits_with_1_and_says_why(folder: Path, environment: dict[str, str]) -> None:
    from doubles.openai_rules import refuse

    async with vendor(refuse("No such model", "model_not_found", status=404)) as (_, words):
        done = await ran(command(folder, *words, "--once", "hi", "--json"), environment)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "provider_failed"
    assert "No such model" in done.stderr.decode()


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: Path) -> None:
        self._here, there = pty.openpty()
        self.process = subprocess.Popen(
            words, stdin=there, stdout=there, stderr=there, env=environment, cwd=folder, start_new_session=True
        )
        os.close(there)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._here, text.encode())

    async def until(self, text: str) -> None:
        """Read until a text was shown."""
        with anyio.fail_after(60):
            while text not in self.seen:
                self.seen += (await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)).decode()
        self.seen = self.seen.partition(text)[2]

    def _read(self) -> bytes:
        try:
            return os.read(self._here, 65_536)
        except OSError:  # the other side is closed
            raise EOFError(self.seen) from None

    async def ended(self) -> int:
        with anyio.fail_after(60):
            return await anyio.to_thread.run_sync(self.process.wait)


@pytest.fixture
def terminal(folder: Path, environment: dict[str, str]) -> Any:
    """Starts the command on a terminal with a model that follows a script."""
    begun: list[Terminal] = []

    def start(script: list[Any], *words: str) -> Terminal:
        (folder / "s.json").write_text(json.dumps(script), encoding="utf-8")
        begun.append(Terminal(command(folder, "--model", "script:s.json", *words), environment, folder))
        return begun[-1]

    yield start
    for each in begun:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


Starts = Callable[..., Terminal]


async def test_on_a_terminal_calls_are_asked_about_inline(terminal: Starts) -> None:
    script = [{"name": "workshop__say", "arguments": {"text": "loud"}}, "Said."]
    screen = terminal([*script, *script], "--ask-all", "--surface", "all")
    for answer, told in (("y\n", "workshop.say done: loud"), ("n\n", "workshop.say failed")):
        await screen.until("you> ")
        screen.type("Say loud.\n")
        await screen.until("Allow it? [y/N] ")
        screen.type(answer)
        await screen.until(told)
        await screen.until("Said.")
    await screen.until("you> ")
    screen.type("/quit\n")
    assert await screen.ended() == 0


async def test_ctrl_c_gives_up_the_question_and_not_the_conversation(terminal: Starts) -> None:
    screen = terminal([{"name": "workshop__hang", "arguments": {}}, "I was interrupted."], "--surface", "all")
    await screen.until("you> ")
    screen.type("Hang.\n")
    await screen.until("→ workshop__hang")
    screen.process.send_signal(signal.SIGINT)
    await screen.until("Given up.")
    await screen.until("you> ")
    screen.type("And now?\n")
    await screen.until("I was interrupted.")
    await screen.until("you> ")
    screen.type("\x04")
    assert await screen.ended() == 0
