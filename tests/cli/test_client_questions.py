"""What `import` and `install` ask on a terminal, and that nothing is half done where a question is abandoned."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keyring
import keyring.backends.fail
import pytest

Cli = Callable[..., Any]

SECRET = "tok-5f9a8b7c6d5e4f3a"
NOTES = {"command": "notes", "env": {"NOTES_TOKEN": SECRET}}
KEPT = """
import json, os, pathlib
from keyring.backend import KeyringBackend

class Kept(KeyringBackend):
    priority = 1
    place = pathlib.Path(os.environ["KEPT"])
    def get_password(self, service, username):
        return json.loads(self.place.read_text()).get(username) if self.place.exists() else None
    def set_password(self, service, username, password):
        self.place.write_text(json.dumps({username: password}))
"""


@pytest.fixture
def cursor(home: Path) -> Path:
    """Cursor's file, with a secret in it."""
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"notes": NOTES}}))
    return path


@pytest.fixture
def answered(home: Path, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Runs a command on a terminal, with a keyring, and answers its questions; `INT` is Ctrl-C, `EOF` Ctrl-D."""
    (tmp_path / "kept_in_a_file.py").write_text(KEPT)
    env = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "PYTHON_KEYRING_BACKEND": "kept_in_a_file.Kept",
        "KEPT": str(tmp_path / "kept.json"),
    }

    def run(*words: str, answers: list[str]) -> tuple[int, str]:
        master, slave = pty.openpty()
        command = [sys.executable, "-m", "toolcrib", *words]
        child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True)
        os.close(slave)
        shown = ""
        while True:
            try:
                shown += os.read(master, 4096).decode()
            except OSError:  # the other end is closed
                break
            if shown.endswith("[y/N] ") and answers:
                answer = answers.pop(0)
                if answer == "INT":
                    child.send_signal(signal.SIGINT)
                else:
                    os.write(master, b"\x04" if answer == "EOF" else f"{answer}\n".encode())
        os.close(master)
        return child.wait(30), " ".join(shown.split())

    return run


@pytest.mark.parametrize(
    ("answers", "code", "told"),
    [
        (["INT"], 130, "Nothing was imported."),
        (["EOF"], 1, "Nothing was imported: the question has no answer."),
        (["y", "INT"], 130, "Nothing was imported."),
    ],
)
def test_an_abandoned_import_leaves_all_as_it_was(
    answered: Callable[..., tuple[int, str]], cursor: Path, home: Path, answers: list[str], code: int, told: str
) -> None:
    before = cursor.read_bytes()
    ended, shown = answered("import", answers=answers)
    assert (ended, told in shown) == (code, True), shown
    assert "Traceback" not in shown
    assert cursor.read_bytes() == before
    assert not (home / "crib").exists()
    assert not (home.parent / "kept.json").exists()


@pytest.mark.parametrize("answers", [["INT"], ["y", "EOF"]])
def test_an_abandoned_installation_leaves_all_as_it_was(
    answered: Callable[..., tuple[int, str]], cursor: Path, home: Path, answers: list[str]
) -> None:
    before = cursor.read_bytes()
    ended, shown = answered("install", "cursor", answers=answers)
    assert (ended in {1, 130}, "Nothing was changed" in shown) == (True, True), shown
    assert cursor.read_bytes() == before
    assert not (home / "crib").exists()
    assert not list((home / "state").rglob("cursor-*"))


def test_answered_questions_are_done(answered: Callable[..., tuple[int, str]], cursor: Path, home: Path) -> None:
    assert answered("import", answers=["y", "y"])[0] == 0
    assert "${keyring:notes/NOTES_TOKEN}" in (home / "crib" / "servers.json").read_text()
    assert json.loads((home.parent / "kept.json").read_text()) == {"notes/NOTES_TOKEN": SECRET}
    ended, shown = answered("install", "cursor", answers=["y"])
    assert ended == 0, shown
    ended, shown = answered("uninstall", "cursor", answers=["EOF"])
    assert (ended, "Nothing was changed: the question has no answer." in shown) == (1, True)
    assert "toolcrib" in cursor.read_text()


def test_without_a_keyring_it_is_said_where_secrets_stay_and_nobody_is_asked_for_one(
    cli: Cli, cursor: Path, home: Path
) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    try:
        told = " ".join(cli("import", "--dry-run").out.split())
        assert "this machine has no keyring for it, so it stays in Toolcrib's file, which only you can read" in told
        ran = cli("import", "--keyring", "--yes")
        assert ran.code == 1
        assert "This machine has no keyring, so notes/NOTES_TOKEN stays where it is." in ran.err
        assert "--no-keyring" in ran.err
        assert not (home / "crib").exists()
        assert cli("import", "--yes").code == 0
    finally:
        keyring.set_keyring(before)
    assert json.loads((home / "crib" / "servers.json").read_text())["mcpServers"]["notes"] == NOTES


def test_inputs_without_a_value_are_told_with_the_way_to_set_them(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / ".config" / "Code" / "User" / "mcp.json"
    path.parent.mkdir(parents=True)
    inputs = [{"id": "api-key", "password": True}, {"id": "region", "default": "eu"}, {"id": "unused"}]
    entry = {"command": "x", "args": ["${input:region}"], "env": {"K": "${input:api-key}"}}
    path.write_text(json.dumps({"inputs": inputs, "servers": {"x": entry}}))
    [shown] = cli("import", "--dry-run", "--json").json["servers"]
    assert shown["unset"] == [
        "env.K: the input 'api-key' has no value. "
        "Set the environment variable TOOLCRIB_INPUT_API_KEY, or give the input a default."
    ]
    assert "env.K: the input 'api-key' has no value." in cli("import", "--dry-run").out
    monkeypatch.setenv("TOOLCRIB_INPUT_API_KEY", "k")
    assert cli("import", "--dry-run", "--json").json["servers"][0]["unset"] == []
