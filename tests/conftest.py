"""What all tests share: the event loop, the recorded catalogs of real servers, and a PostgreSQL server."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import anyio
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run: a failure is one of the change at hand, and a slow machine is none.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent

try:
    import fcntl
except ImportError:  # Windows: the tests run one after another there
    fcntl = None

_SHARED = pytest.StashKey[Path]()
"""The folder that all processes of one run of the tests share."""


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        # So it is in the background of a shell, and child processes that tests interrupt would never end.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    given = getattr(config, "workerinput", {}).get("toolcrib_shared")
    if given is None:
        folder = TemporaryDirectory(prefix="toolcrib-tests-")
        config.add_cleanup(folder.cleanup)
        given = folder.name
    config.stash[_SHARED] = Path(given)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process that pytest-xdist starts which folder it shares."""
    node.workerinput["toolcrib_shared"] = str(node.config.stash[_SHARED])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Run a test marked `alone` while no other process runs one.

    Whoever waits to be alone holds the gate, so that others end and do not begin, instead of going on for ever.
    """
    folder, is_alone = item.config.stash[_SHARED], item.get_closest_marker("alone") is not None
    with ExitStack() as held:
        with _locked(folder / "gate"):
            held.enter_context(_locked(folder / "tests", shared=not is_alone))
        return (yield)


@contextmanager
def _locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of a file, alone or with others who share it."""
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def once(pytestconfig: pytest.Config) -> Callable[[str], AbstractContextManager[tuple[Path, bool]]]:
    """Makes what is costly once for all processes of a run.

    `with once("name") as (folder, is_first)` gives them all the same folder, one after another: the first fills it, and
    nobody changes it afterwards.
    """

    @contextmanager
    def make(name: str) -> Iterator[tuple[Path, bool]]:
        folder = pytestconfig.stash[_SHARED] / name
        done = folder / ".done"
        with _locked(folder.with_suffix(".lock")):
            is_first = not done.exists()
            if is_first:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(mode=0o700)
            yield folder, is_first
            done.touch()

    return make


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


@pytest.fixture(scope="session")
def listed(once: Any) -> Path:
    """A state folder in which the demo servers were listed and indexed, to copy: listing them starts four processes.

    A fixture of a session is no coroutine: its event loop would last as long, and no later test of this process that
    runs the command line could run one.
    """
    from toolcrib import Crib
    from toolcrib.demo import demo_config

    async def listing(state: Path) -> None:
        config = {**demo_config(), "toolcrib": {"first_listing_wait": 60}}
        async with Crib.open(config, state_dir=state) as crib:
            await crib.refresh()
            await crib.search("warm the index")

    with once("listed") as (state, is_first):
        if is_first:
            with ThreadPoolExecutor(1) as apart:  # the test that asks for it first may have a loop in this thread
                apart.submit(anyio.run, listing, state).result()
    return state


@pytest.fixture(autouse=True)
def _own_directories(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's own configuration and state."""
    home = tmp_path_factory.mktemp("toolcrib-home")
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(home / "state"))


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a PostgreSQL server's database `postgres`: TOOLCRIB_TEST_POSTGRESQL, or a server of its own that is
    reached over a socket in a folder; skipped where there is neither a server nor a driver."""
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    if given := os.environ.get("TOOLCRIB_TEST_POSTGRESQL"):
        yield given
        return
    # Debian keeps the programs of each version outside the path.
    path = os.pathsep.join([os.environ["PATH"], *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))])
    initdb, pg_ctl = shutil.which("initdb", path=path), shutil.which("pg_ctl", path=path)
    if initdb is None or pg_ctl is None:
        pytest.skip("there is no PostgreSQL server; install one, or name one in TOOLCRIB_TEST_POSTGRESQL")
    # The server refuses to run as root, and pytest keeps its own folders to whoever runs it.
    as_user: dict[str, Any] = {"user": "postgres"} if hasattr(os, "geteuid") and os.geteuid() == 0 else {}
    with TemporaryDirectory(prefix="toolcrib-postgresql-") as name:
        folder = Path(name)
        if as_user:
            shutil.chown(folder, "postgres")
        data, settings = folder / "data", f"-k {folder} -c listen_addresses= -F"

        def run(*command: str | Path) -> None:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60, cwd=folder, **as_user)

        run(initdb, "-D", data, "-A", "trust", "-U", "toolcrib", "--no-sync")
        run(pg_ctl, "-D", data, "-w", "-l", folder / "log", "-o", settings, "start")
        try:
            yield f"postgresql+psycopg://toolcrib@/postgres?host={folder}"
        finally:
            run(pg_ctl, "-D", data, "-w", "-m", "immediate", "stop")


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database, for one test."""
    from sqlalchemy import create_engine, make_url, text

    name = f"toolcrib_{uuid4().hex}"
    engine = create_engine(postgresql_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(postgresql_server).set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The URL of the store that instances share: empty, for SQLite in the state folder, unless the test is run with
    the parameter `postgresql` too."""
    return request.getfixturevalue("postgresql") if getattr(request, "param", "") == "postgresql" else ""
