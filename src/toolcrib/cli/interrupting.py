"""Ctrl-C while a question is being answered: it gives up the question, and not the program."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio


@contextmanager
def interruptible() -> "Generator[anyio.Event]":
    """While the block runs, an interrupt sets the event in place of ending the program; a second one ends it."""
    import asyncio

    import anyio

    given_up = anyio.Event()
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        given_up.set()
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (NotImplementedError, RuntimeError, ValueError):  # not on Windows, and only in the main thread
        yield given_up
        return
    try:
        yield given_up
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
