"""The signals that ask a serving process to end."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_stop_signal(stop: Callable[[], None]) -> Generator[None, None, None]:
    """Call `stop` in the event loop at SIGINT and SIGTERM while the block runs, in place of ending the process.

    It may be called several times: launchers pass on a signal that the terminal has sent already.
    """
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    previous = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
