"""`toolcrib servers` as a group: what it finds in registries, adds, removes and switches, in pipes and on terminals."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

ITEM: dict[str, Any] = {
    "name": "com.example/weather",
    "description": "Forecasts and warnings for any place.",
    "version": "1.2.0",
    "repository": {"url": "https://code.example/weather"},
    "packages": [
        {
            "registryType": "npm",
            "identifier": "weather-mcp",
            "version": "1.2.0",
            "packageArguments": [{"type": "positional", "value": f"--seed={'x' * 300}"}],
            "environmentVariables": [
                {"name": "API_KEY", "isRequired": True, "isSecret": True, "description": "From \x1b[31myour account"}
            ],
        },
        {"registryType": "pypi", "identifier": "weather-mcp", "version": "1.2.0"},
    ],
}
HOSTILE = {
    "name": "com.example/hostile",
    "description": "Nice\x1b]0;owned\x07 weather.",
    "version": "1",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "a",
            "packageArguments": [{"type": "positional", "value": "a  b\n\u202ec ${env:HOME}"}],
        }
    ],
}


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "registry.json"
    path.write_text(json.dumps([ITEM, HOSTILE, {"name": "com.example/mail", "description": "Send mail."}]))
    return path


@pytest.fixture
def folder() -> Path:
    """The user's own configuration folder."""
    path = Path(os.environ["TOOLCRIB_CONFIG_DIR"])
    path.mkdir(parents=True, exist_ok=True)
    return path


def own(folder: Path, **servers: Any) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


NOTES = {"command": "notes-mcp"}


def test_the_group_lists_servers_as_before(cli: Cli, config: Callable[..., Path]) -> None:
    path = config(notes=NOTES, search=NOTES)
    everything = cli("servers", "-c", path)
    assert everything.code == 0
    assert [line.split()[0] for line in everything.out.splitlines()[1:]] == ["notes", "search"]
    one = cli("servers", "notes", "-c", path, "--json")
    assert [each["id"] for each in one.json["servers"]] == ["notes"]
    both = cli("servers", "notes", "search", "notes", "-c", path, "--json")
    assert [each["id"] for each in both.json["servers"]] == ["notes", "search"]
    assert cli("servers", "notes", "nots", "-c", path).code == 2
    assert cli("servers", "--json", "-c", path).json == cli("servers", "show", "--json", "-c", path).json


@pytest.mark.parametrize("words", [("show", "search"), ("--", "search")])
def test_a_server_that_is_called_like_a_command_can_be_shown(
    cli: Cli, config: Callable[..., Path], words: tuple[str, ...]
) -> None:
    path = config(notes=NOTES, search=NOTES)
    at = words.index("search") if "--" not in words else 0
    ran = cli("servers", *words[:at], "-c", path, "--json", *words[at:])
    assert [each["id"] for each in ran.json["servers"]] == ["search"]


def test_a_registry_is_searched_by_the_words_of_descriptions(cli: Cli, registry: Path) -> None:
    ran = cli("servers", "search", "forecast", "warnings", "-r", registry)
    assert ran.code == 0
    row = ran.out.splitlines()[1]
    assert row.split()[:4] == ["com.example/weather", "1.2.0", "npm,", "pypi"]
    assert "servers add com.example/weather" in ran.err
    found = cli("servers", "search", "forecast", "-r", registry, "--json").json["found"]
    assert found[0]["runs_as"] == ["npm", "pypi"]


def test_nothing_found_and_a_registry_that_fails_are_told(cli: Cli, registry: Path, tmp_path: Path) -> None:
    ran = cli("servers", "search", "teleportation", "-r", registry)
    assert (ran.code, ran.out) == (1, "")
    ran = cli("servers", "search", "forecast", "-r", registry, "-r", tmp_path / "gone.json", "--json")
    assert ran.code == 0
    assert "gone.json" in ran.json["problems"][0]
    assert "gone.json" in ran.err


def test_without_a_registry_it_is_said_how_to_name_one(cli: Cli) -> None:
    ran = cli("servers", "search", "forecast")
    assert ran.code == 2
    assert "--registry" in ran.err


def test_the_registries_of_the_configuration_are_read_from_beside_the_file(
    cli: Cli, tmp_path: Path, registry: Path
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {}, "toolcrib": {"registries": [registry.name]}}))
    assert cli("servers", "search", "forecast", "-c", path).code == 0


def test_in_a_pipe_nothing_is_added_without_yes(program: Cli, registry: Path, folder: Path) -> None:
    for stdin in (None, "y\n"):
        ran = program("servers", "add", "com.example/weather", "-r", registry, stdin=stdin)
        assert ran.code == 2
        assert "somebody has to agree" in ran.err
        # Whoever wants to add --yes has the whole command before them.
        assert f"--seed={'x' * 300}" in ran.out
    assert list(folder.iterdir()) == []


def test_yes_adds_the_entry_that_was_shown(cli: Cli, registry: Path, folder: Path) -> None:
    ran = cli("servers", "add", "com.example/weather", "-r", registry, "--as", "npm", "--yes")
    assert ran.code == 0
    assert f"npx -y weather-mcp@1.2.0 --seed={'x' * 300}" in ran.out
    assert "API_KEY=${input:weather-API_KEY}" in ran.out
    assert "TOOLCRIB_INPUT_WEATHER_API_KEY" in ran.out
    assert str(registry) in ran.out
    assert "https://code.example/weather" in ran.out
    written = json.loads((folder / "servers.json").read_text())
    assert written["mcpServers"]["weather"]["command"] == "npx"
    assert written["mcpServers"]["weather"]["env"] == {"API_KEY": "${input:weather-API_KEY}"}
    assert written["inputs"][0]["id"] == "weather-API_KEY"
    shown = cli("servers", "--json")
    assert [each["id"] for each in shown.json["servers"]] == ["weather"]
    assert "warning" not in shown.err


def test_what_is_in_the_file_stays_and_is_kept_beside_it(cli: Cli, registry: Path, folder: Path) -> None:
    before = {"mcpServers": {"notes": {"command": "n", "x": 1}}, "toolcrib": {"timeout": 9}, "other": [1, {"a": None}]}
    path = folder / "mine.json"
    path.write_text(json.dumps(before, indent=4))
    path.chmod(0o600)
    ran = cli("servers", "add", "com.example/weather", "-r", registry, "--as", "pypi", "-y", "--to", path, "--json")
    assert ran.json["added"] == "weather"
    assert json.loads(Path(ran.json["backup"]).read_text()) == before
    after = json.loads(path.read_text())
    assert after.pop("mcpServers") == {**before["mcpServers"], "weather": ran.json["entry"]}
    assert after == {name: member for name, member in before.items() if name != "mcpServers"}
    assert '\n    "mcpServers"' in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in folder.iterdir()) == ["mine.json", "mine.json.bak"]


@pytest.mark.parametrize("text", ["[]", "{", '{"mcpServers": []}'])
def test_a_file_that_is_no_configuration_is_left_alone(cli: Cli, registry: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    ran = cli("servers", "add", "com.example/weather", "-r", registry, "-y", "--to", path)
    assert ran.code == 2
    assert path.read_text() == text


def test_comments_and_layout_of_the_file_stay(cli: Cli, registry: Path, tmp_path: Path) -> None:
    path = tmp_path / "commented.json"
    before = '{\n\t// mine\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // first\n\t}\n}\n'
    path.write_text(before)
    assert cli("servers", "add", "com.example/weather", "-r", registry, "-y", "--to", path).code == 0
    added = path.read_text()
    assert added.startswith('{\n\t// mine\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // first\n\t\t"weather": {\n')
    assert cli("servers", "remove", "weather", "-c", path).code == 0
    assert path.read_text() == before.replace("\t}\n}", '\t},\n\t"inputs": []\n}')


def test_a_key_that_is_taken_needs_another(cli: Cli, registry: Path, folder: Path) -> None:
    own(folder, weather=NOTES)
    ran = cli("servers", "add", "com.example/weather", "-r", registry, "-y")
    assert ran.code == 2
    assert "--key" in ran.err
    assert cli("servers", "add", "com.example/weather", "-r", registry, "-y", "--key", "rain").code == 0
    assert {each["id"] for each in cli("servers", "--json").json["servers"]} == {"weather", "rain"}


def test_an_unknown_name_or_one_that_cannot_run_is_misuse(cli: Cli, registry: Path) -> None:
    ran = cli("servers", "add", "com.example/wether", "-r", registry, "-y")
    assert ran.code == 2
    assert "com.example/weather" in ran.err
    assert cli("servers", "add", "com.example/mail", "-r", registry, "-y").code == 2


def test_a_hostile_description_is_shown_harmless_and_whole(cli: Cli, registry: Path, folder: Path) -> None:
    ran = cli("servers", "add", "com.example/hostile", "-r", registry, "-y")
    assert "\x07" not in ran.out
    assert "\u202e" not in ran.out
    assert "npx -y a@1 'a  b\\n⟨U+202E⟩c $${env:HOME}'" in ran.out
    args = json.loads((folder / "servers.json").read_text())["mcpServers"]["hostile"]["args"]
    assert args[-1] == "a  b\n\u202ec $${env:HOME}"


@pytest.mark.parametrize(("answer", "added"), [(b"y\n", True), (b"n\n", False), (b"\n", False), (b"\x04", False)])
@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_on_a_terminal_it_asks(registry: Path, folder: Path, answer: bytes, added: bool) -> None:
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "toolcrib", "servers", "add", "com.example/weather", "-r", str(registry)]
    child = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 4096)
    os.write(master, answer)
    while True:
        try:
            more = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    os.close(master)
    assert child.wait(30) == (0 if added else 1)
    assert (folder / "servers.json").exists() is added
    # Not cut, whatever the width of the terminal.
    assert b"x" * 300 in shown.replace(b"\r\n", b"")


def test_remove_takes_the_entry_and_its_inputs_out(cli: Cli, registry: Path, folder: Path) -> None:
    cli("servers", "add", "com.example/weather", "-r", registry, "--as", "npm", "--yes")
    cli("servers", "add", "com.example/weather", "-r", registry, "--as", "npm", "--yes", "--key", "rain")
    ran = cli("servers", "remove", "weather", "--json")
    assert ran.json["removed"] == "weather"
    written = json.loads((folder / "servers.json").read_text())
    assert list(written["mcpServers"]) == ["rain"]
    assert [each["id"] for each in written["inputs"]] == ["rain-API_KEY"]
    assert "weather" in json.loads(Path(ran.json["backup"]).read_text())["mcpServers"]
    assert cli("servers", "remove", "weather").code == 2


def test_a_bare_map_is_changed_as_one(cli: Cli, registry: Path, folder: Path) -> None:
    path = folder / "bare.json"
    path.write_text(json.dumps({"notes": NOTES}))
    assert cli("servers", "add", "com.example/weather", "-r", registry, "--as", "pypi", "-y", "--to", path).code == 0
    assert list(json.loads(path.read_text())) == ["notes", "weather"]
    assert cli("servers", "remove", "weather").code == 0
    assert json.loads(path.read_text()) == {"notes": NOTES}


def test_disable_and_enable_hold_for_good_and_leave_the_configuration_alone(cli: Cli, folder: Path) -> None:
    path = own(folder, notes=NOTES, crm={**NOTES, "disabled": True}, **{"my-erp": {**NOTES, "toolcrib": {}}})
    text = path.read_text()

    def states() -> dict[str, str]:
        return {each["id"]: each["state"] for each in cli("servers", "--json").json["servers"]}

    assert states() == {"notes": "dormant", "crm": "disabled", "my_erp": "dormant"}
    assert cli("servers", "disable", "my-erp").out == "my_erp is off.\n"
    assert cli("servers", "enable", "crm", "--json").json["state"] == "on"
    assert states() == {"notes": "dormant", "crm": "dormant", "my_erp": "disabled"}
    cli("servers", "enable", "my_erp")
    cli("servers", "disable", "crm")
    assert states() == {"notes": "dormant", "crm": "disabled", "my_erp": "dormant"}
    assert path.read_text() == text
    assert cli("servers", "disable", "nobody").code == 2


def test_a_switch_belongs_to_the_entry_of_one_file(cli: Cli, folder: Path, config: Callable[..., Path]) -> None:
    own(folder, notes=NOTES)
    cli("servers", "disable", "notes")
    assert cli("servers", "--json").json["servers"][0]["state"] == "disabled"
    assert cli("servers", "--json", "-c", config(notes=NOTES)).json["servers"][0]["state"] == "dormant"


def test_what_starts_on_request_is_there_for_the_user(
    cli: Cli, config: Callable[..., Path], workshop_entry: dict[str, Any]
) -> None:
    path = config(workshop={**workshop_entry, "toolcrib": {"start": "on_request"}})
    assert cli("call", "workshop.say", "text=hello", "-c", path).out == "hello\n"
    assert cli("search", "create an issue", "-c", path).code == 0
