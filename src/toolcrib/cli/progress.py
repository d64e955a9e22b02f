"""Progress of long work: on a terminal only, and gone when the work is done."""

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolcrib.cli.streams import one_line

if TYPE_CHECKING:
    from rich.progress import Progress

    from toolcrib.catalog import OnProgress
    from toolcrib.crib import Crib
    from toolcrib.servers import ServerStatus

_shown: "list[Progress]" = []
"""What is on the terminal now."""

Report = Callable[[float, float | None, str], None]
"""Shows how far the work is: done, of how much (None: nobody knows), and what is being done."""


@contextmanager
def progress(about: str) -> Generator[Report]:
    """Show progress on standard error while the block runs, if that is a terminal.

    Args:
        about: What is being done.
    """
    if not sys.stderr.isatty():
        yield lambda done, total, message: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
    from rich.text import Text

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as bar:
        _shown.append(bar)
        task = bar.add_task(about, total=None)

        def report(done: float, total: float | None, message: str) -> None:
            text = Text(one_line(message or about)).plain[:60]
            bar.update(task, completed=done, total=total, description=text)

        try:
            yield report
        finally:
            _shown.remove(bar)


@contextmanager
def paused() -> Generator[None]:
    """Leave the terminal to somebody else while the block runs."""
    bars = list(_shown)
    for bar in bars:
        bar.stop()
    try:
        yield
    finally:
        for bar in bars:
            bar.start()


@contextmanager
def call_progress(about: str) -> "Generator[OnProgress | None]":
    """As `progress`, for what a tool reports during its call; None when nobody sees it."""
    if not sys.stderr.isatty():
        yield None
        return
    with progress(about) as report:

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            report(progress, total, message or "")

        yield on_progress


async def list_anew(crib: "Crib", servers: Iterable[str]) -> "list[ServerStatus]":
    """List servers anew, all at once as far as the configuration lets them start, and return their states."""
    wanted = list(servers)
    if not wanted:
        return []
    import anyio

    found: dict[str, ServerStatus] = {}
    with progress("Listing servers") as report:

        async def one(server: str) -> None:
            found[server] = (await crib.refresh(server))[0]
            waiting = [each for each in wanted if each not in found]
            report(len(found), len(wanted), f"Listing {', '.join(waiting)}" if waiting else "")

        report(0, len(wanted), f"Listing {', '.join(wanted)}")
        async with anyio.create_task_group() as tasks:
            for server in wanted:
                tasks.start_soon(one, server)
    return [found[server] for server in wanted]
