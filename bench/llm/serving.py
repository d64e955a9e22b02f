"""Serves the installed model on loopback, for as long as it is needed."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2

from bench.llm.install import FOLDER, MODEL

WINDOW = 8_192
"""Tokens that the served model has room for."""

_LOADS_WITHIN = 180.0


@contextmanager
def served(threads: int) -> Generator[str]:
    """The address of the served model.

    Raises:
        SystemExit: It is not installed, or does not start.
    """
    node = shutil.which("node")
    if not MODEL.is_file() or node is None:
        sys.stderr.write("The small model is not installed; run: make llm\n")
        raise SystemExit(2)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = Path(__file__).with_name("serve.mjs")
    with (FOLDER / "serve.log").open("wb") as log:
        command = [node, str(script), str(FOLDER), str(MODEL), str(port), str(threads), str(WINDOW)]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait(url, process)
            yield url
        finally:
            process.kill()
            process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the weights are loaded."""
    ends = time.monotonic() + _LOADS_WITHIN
    while time.monotonic() < ends and process.poll() is None:
        try:
            if httpx2.get(f"{url}/models").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.2)
    sys.stderr.write(f"The small model does not start; see {FOLDER / 'serve.log'}\n")
    raise SystemExit(1)
