"""Each client that `toolcrib install` knows has a page that says where its file is on each system."""

from pathlib import Path

import pytest

from toolcrib.clients import CLIENTS, Client, Machine
from toolcrib.clients.known import System

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "clients"


def place(client: Client, system: System) -> str:
    """The usual place of a client's file as a person of that system writes it."""
    machine = Machine(system, Path("~"), {"APPDATA": "%APPDATA%"})
    written = next(client.files(machine)).as_posix()
    return written.replace("~", "%USERPROFILE%").replace("/", "\\") if system == "windows" else written


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_a_page_says_where_the_file_is(client: Client) -> None:
    page = (FOLDER / f"{client.id}.md").read_text(encoding="utf-8")
    assert [system for system in ("linux", "macos", "windows") if f"`{place(client, system)}`" not in page] == []
    assert not client.project or f"`{client.project}`" in page


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_a_page_shows_what_install_would_change_and_how_to_go_back(client: Client) -> None:
    page = (FOLDER / f"{client.id}.md").read_text(encoding="utf-8")
    for command in (f"import {client.id} --dry-run", f"install {client.id} --dry-run", f"uninstall {client.id} --yes"):
        assert f"$ toolcrib {command}\n" in page
    assert "\n--- …" in page
    assert f"[{client.title}]({client.id}.md)" in (FOLDER / "index.md").read_text(encoding="utf-8")
