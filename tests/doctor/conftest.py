"""Examinations of configurations with planted faults; the servers are those of `tests/stubs`."""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.config import Config, Variables, config_from_mapping
from toolcrib.crib import Crib
from toolcrib.doctor import Diagnosis, Finding, examine

STUBS = Path(__file__).resolve().parent.parent / "stubs"
LIMIT = 30.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: the doctor looks for the configurations of clients there."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setenv("APPDATA", str(folder / "AppData"))
    return folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The state directory of the examinations of one test."""
    return tmp_path / "state"


@pytest.fixture
def stub(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Makes the entry of a server with a bad habit; it writes down its starts in `NAME.log`."""

    def make(mode: str, log: str = "stub", **more: Any) -> dict[str, Any]:
        words = ["-S", str(STUBS / "misbehave.py"), mode, "--log", str(tmp_path / f"{log}.log")]
        return {"command": sys.executable, "args": words, **more}

    return make


@pytest.fixture
def lists(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Makes the entry of a server that lists the given definitions; the same name lists others from then on."""

    def make(*tools: dict[str, Any], name: str = "listed", **more: Any) -> dict[str, Any]:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"tools": tools}))
        words = ["-S", str(STUBS / "replay.py"), str(path), "--log", str(tmp_path / f"{name}.log")]
        return {"command": sys.executable, "args": words, **more}

    return make


@pytest.fixture
def starts(tmp_path: Path) -> Callable[[str], int]:
    """How often the server that writes `NAME.log` was started."""

    def count(name: str) -> int:
        log = tmp_path / f"{name}.log"
        return log.read_text().count('"event": "start"') if log.exists() else 0

    return count


@pytest.fixture
def diagnose(state: Path) -> Callable[..., Any]:
    """Examines a configuration: `await diagnose({name: entry, …})`, or a whole one as `config`.

    Without one of its own, scripts are off: trying out their walls takes most of a second, and has tests of its own.
    """

    async def run(
        servers: dict[str, Any] | None = None,
        *,
        config: Config | None = None,
        environ: dict[str, str] | None = None,
        **options: Any,
    ) -> Diagnosis:
        known = config or config_from_mapping(
            {"mcpServers": servers or {}, "toolcrib": {"scripts": {"enabled": False}}}
        )
        variables = Variables(environ=environ or {}, inputs=known.inputs, keyring=lambda name: None)

        async def refresh(crib: Crib, names: Sequence[str]) -> list[Any]:
            return [(await crib.refresh(name))[0] for name in names]

        open_crib = partial(Crib.open, known, state_dir=state, variables=variables)
        with anyio.fail_after(LIMIT):
            return await examine(known, open_crib, state, refresh, variables=variables, **options)

    return run


@pytest.fixture
def found() -> Callable[..., list[Finding]]:
    """The findings of one check that are more than well."""

    def pick(diagnosis: Diagnosis, check: str) -> list[Finding]:
        return [each for each in diagnosis.findings if each.check == check and each.level != "ok"]

    return pick
