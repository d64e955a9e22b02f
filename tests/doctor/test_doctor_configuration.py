"""What the doctor says of configuration files and of what stands in them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib.config import config_from_mapping
from toolcrib.doctor import read_configuration
from toolcrib.errors import UsageError

pytestmark = pytest.mark.anyio

NOWHERE = {"command": "true-enough"}


def test_a_file_that_is_no_json_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps({"mcpServers": {"one": NOWHERE}}))
    bad.write_text('{"mcpServers": {')
    config, findings = read_configuration([bad, good])
    assert list(config.servers) == ["one"]
    assert [(each.check, each.level) for each in findings] == [("configuration", "problem")]
    assert "bad.json is not JSON" in findings[0].message


def test_a_file_that_is_not_there_was_named_wrongly(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no file"):
        read_configuration([tmp_path / "typo.json"])


def test_without_files_those_of_the_users_folder_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_CONFIG_DIR", str(tmp_path / "own"))
    assert read_configuration([])[0].paths == ()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.json").write_text(json.dumps({"mcpServers": {"one": NOWHERE}}))
    config, findings = read_configuration([])
    assert (list(config.servers), findings) == (["one"], [])


def test_toolcrib_on_its_own_configuration_is_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    itself = {"command": "toolcrib", "args": ["serve", "--config", str(path)]}
    path.write_text(json.dumps({"mcpServers": {"again": itself, "one": NOWHERE}}))
    config, findings = read_configuration([path])
    assert list(config.servers) == ["one"]
    assert [each.level for each in findings] == ["warning"]
    assert "'again' is Toolcrib itself" in findings[0].message


async def test_unknown_keys_and_keys_given_twice_are_warnings(
    tmp_path: Path, diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"one": {"command": "x"}, "one": {"command": "true-enough", "comand": "y"}},'
        ' "toolcrib": {"tmeout": 3}}'
    )
    config, _ = read_configuration([path])
    warnings = found(await diagnose(config=config, offline=True), "configuration")
    assert {each.level for each in warnings} == {"warning"}
    text = "\n".join(each.message for each in warnings)
    assert "given twice" in text
    assert "'comand'" in text
    assert "'toolcrib.tmeout'" in text


async def test_an_entry_that_can_not_be_used_is_a_problem_of_that_server(
    diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    servers = {"both": {"command": "x", "url": "https://example.com"}, "odd": {"url": "ftp://example.com"}}
    findings = found(await diagnose(servers, offline=True), "configuration")
    assert [(each.server, each.level) for each in findings] == [("both", "problem"), ("odd", "problem")]
    assert "both a command and a url" in findings[0].message
    assert "not the URL of an HTTP server" in findings[1].message


async def test_no_server_at_all_is_a_warning(diagnose: Callable[..., Any], found: Callable[..., Any]) -> None:
    diagnosis = await diagnose({})
    assert [each.message for each in found(diagnosis, "configuration")] == ["No servers are configured."]
    assert diagnosis.is_clean()
    assert not diagnosis.is_clean(strict=True)


async def test_a_disabled_server_is_not_looked_into(diagnose: Callable[..., Any]) -> None:
    diagnosis = await diagnose({"off": {"command": "no-such-command-here", "disabled": True}})
    assert diagnosis.is_clean(strict=True)
    assert any("off is disabled" in each.message for each in diagnosis.findings)


async def test_an_unknown_name_is_refused_with_what_it_may_mean(diagnose: Callable[..., Any]) -> None:
    with pytest.raises(UsageError) as refused:
        await diagnose({"github": NOWHERE}, name="gihtub")
    assert refused.value.hint == "Did you mean github?"


async def test_a_name_that_may_stand_in_an_unreadable_file_is_not_refused(
    tmp_path: Path, diagnose: Callable[..., Any]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    config, findings = read_configuration([bad])
    diagnosis = await diagnose(config=config, name="github", found=findings)
    assert not diagnosis.is_clean()


async def test_one_server_is_found_by_its_key_or_id_and_the_others_are_left_alone(
    diagnose: Callable[..., Any],
) -> None:
    servers = {"My Server": NOWHERE, "other": {"command": "no-such-command-here"}}
    for name in ("My Server", "my_server"):
        diagnosis = await diagnose(servers, name=name, offline=True)
        assert diagnosis.servers == ("my_server",)
        assert not any(each.server == "other" for each in diagnosis.findings)


async def test_a_server_that_always_runs_is_noted(
    diagnose: Callable[..., Any], found: Callable[..., Any], stub: Callable[..., Any]
) -> None:
    servers = {"eager": stub("Normal", toolcrib={"start": "always"}), "lazy": stub("Normal")}
    assert [(each.server, each.level) for each in found(await diagnose(servers), "upfront")] == [("eager", "note")]


def _client(home: Path, *servers: str) -> Path:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir(exist_ok=True)
    toolcrib = {"command": "/opt/bin/toolcrib", "args": ["serve"]}
    entries = {name: toolcrib if name == "toolcrib" else NOWHERE for name in servers}
    path.write_text(json.dumps({"mcpServers": entries}))
    return path


@pytest.mark.parametrize(
    ("servers", "level"),
    [(["toolcrib"], None), ([], None), (["git", "time"], "note"), (["toolcrib", "git", "time"], "warning")],
)
async def test_a_client_that_lists_servers_itself_is_named_and_its_file_left_alone(
    home: Path, diagnose: Callable[..., Any], found: Callable[..., Any], servers: list[str], level: str | None
) -> None:
    path = _client(home, *servers)
    before = path.read_bytes(), path.stat().st_mtime_ns
    findings = found(await diagnose({}), "upfront")
    assert [each.level for each in findings] == ([level] if level else [])
    if level:
        assert "Cursor" in findings[0].message
        assert str(path) in findings[0].message
        assert "git, time" in findings[0].message
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


async def test_a_client_file_that_can_not_be_read_is_the_client_s_own_matter(
    home: Path, diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    _client(home).write_text("{ not json")
    assert found(await diagnose({}), "upfront") == []


async def test_constant_tools_beyond_a_thousand_tokens_are_a_warning(
    diagnose: Callable[..., Any], found: Callable[..., Any]
) -> None:
    servers = {f"server_{number}": {**NOWHERE, "description": f"does thing {number} " * 5} for number in range(60)}
    data = {"mcpServers": servers, "toolcrib": {"servers_description": 5000}}
    findings = found(await diagnose(config=config_from_mapping(data), offline=True), "surface")
    assert [each.level for each in findings] == ["warning"]
    assert found(await diagnose({"one": NOWHERE}, offline=True), "surface") == []
