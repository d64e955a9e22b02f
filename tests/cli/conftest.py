"""A runner for the command line, in this process and as one of its own, and configurations for it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolcrib.cli import main

HERE = Path(__file__).resolve().parent
WORKSHOP = {"command": sys.executable, "args": [str(HERE / "workshop.py")]}
MISBEHAVE = str(HERE.parent / "stubs" / "misbehave.py")


@pytest.fixture
def misbehaving() -> Callable[..., dict[str, Any]]:
    """The entry of a server that has one bad habit."""

    def entry(mode: str, **more: Any) -> dict[str, Any]:
        return {"command": sys.executable, "args": [MISBEHAVE, mode], **more}

    return entry


@pytest.fixture
def workshop_entry() -> dict[str, Any]:
    """The entry of the workshop."""
    return WORKSHOP


@dataclass(frozen=True)
class Ran:
    """How a run ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document and nothing else."""
        return json.loads(self.out)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs the command line in this process."""

    def run(*words: str | Path) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        written = capsys.readouterr()
        assert "Traceback" not in written.err
        assert "\x1b" not in written.out + written.err
        return Ran(code, written.out, written.err)

    return run


@pytest.fixture
def program() -> Callable[..., Ran]:
    """Runs the command line as a process of its own."""

    def run(*words: str | Path, env: dict[str, str] | None = None, stdin: str | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "toolcrib", *map(str, words)],
            env={**os.environ, **(env or {})},
            input=None if stdin is None else stdin.encode(),
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=30,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in ran.err
        return ran

    return run


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    """Writes a configuration of servers by key."""

    def write(**servers: Any) -> Path:
        path = tmp_path / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def _listed_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A configuration with the workshop, and the state after it was listed."""
    folder = tmp_path_factory.mktemp("listed")
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"workshop": WORKSHOP}}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLCRIB_STATE_DIR", str(folder / "state"))
        assert main(["search", "--config", str(path), "issue"]) == 0
    return path, folder / "state"


@pytest.fixture
def workshop(_listed_once: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration of a server that was listed and indexed before, in a state of this test alone."""
    path, state = _listed_once
    own = shutil.copytree(state, tmp_path / "listed")
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(own))
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it; Toolcrib's folders are the test's own."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(folder / "crib"))
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(folder / "state"))
    monkeypatch.setattr(sys, "platform", "linux")
    return folder
