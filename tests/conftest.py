"""What all tests share: the event loop, and the recorded catalogs of real servers."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run: a failure is one of the change at hand, and a slow machine is none.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent


def missing(reason: str) -> None:
    """Skip on a user's machine; fail where everything must run (TOOLCRIB_CI=1)."""
    if os.environ.get("TOOLCRIB_CI") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of recorded data: TOOLCRIB_DATA, or `shared/data` beside the checkout."""
    folder = Path(os.environ.get("TOOLCRIB_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "catalogs" / "index.json").is_file():
        missing(f"no recorded catalogs in {folder}; set TOOLCRIB_DATA")
    return folder


@pytest.fixture(scope="session")
def catalogs(data_dir: Path) -> dict[str, dict[str, Any]]:
    """What real servers list, by server: `tools`, `resources`, `serverInfo` and more, as recorded."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((data_dir / "catalogs").glob("*.json")):
        if path.stem not in {"index", "failures"}:
            found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(autouse=True)
def _own_directories(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own configuration and state."""
    home = tmp_path_factory.mktemp("toolcrib-home")
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(home / "state"))
