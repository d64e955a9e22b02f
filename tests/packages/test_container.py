"""The container files: looked through by their own tools, and what they promise. No engine is needed."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from compose_spec import PyCompose
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SECRET = re.compile(r"(?i)token(?!s\])|password|secret|api_?key")


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, in order, each on one line."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in lines if line.strip())]


def values(name: str) -> list[str]:
    return [rest for each, rest in instructions() if each == name]


@pytest.fixture
def service() -> Any:
    """The one service of the Compose file, as the models of the Compose specification read it."""
    return PyCompose.from_yaml((ROOT / "compose.yaml").read_text()).get_service("toolcrib")


def test_hadolint_finds_nothing() -> None:
    program = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert program is not None
    done = subprocess.run([program, "--format", "json", ROOT / "Dockerfile"], capture_output=True, check=False)
    assert json.loads(done.stdout) == []


def test_the_last_stage_runs_as_nobody_in_particular_and_keeps_only_its_state() -> None:
    names = [name for name, _ in instructions()]
    assert names.count("FROM") == 2
    last = instructions()[len(names) - names[::-1].index("FROM") :]
    assert ("USER", "10001:10001") in last
    assert not [rest for name, rest in last if name == "RUN" and "pip" in rest]
    assert [rest for name, rest in last if name == "COPY"] == ["--from=build /opt/toolcrib /opt/toolcrib"]
    assert json.loads(dict(last)["VOLUME"]) == ["/state"]
    assert "TOOLCRIB_STATE_DIR=/state" in dict(last)["ENV"]


def test_no_secret_gets_into_a_layer() -> None:
    assert [each for name in ("ARG", "ENV") for each in values(name) if SECRET.search(each)] == []
    copied = {word for each in values("COPY") if "--from" not in each for word in each.split()[:-1]}
    assert "." not in copied
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored  # all but what is named
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    assert all((ROOT / each).exists() for each in copied)


def test_the_pins_of_the_image_are_those_of_the_lock(tmp_path: Path) -> None:
    [run] = [each for each in values("RUN") if "pins.txt" in each]
    command = next(part for part in run.split("&&") if "pins.txt" in part and "sed" in part)
    subprocess.run(["sh", "-c", f"cd {ROOT} && {command.replace('pins.txt', str(tmp_path / 'pins.txt'))}"], check=True)
    pins = [Requirement(line) for line in (tmp_path / "pins.txt").read_text().splitlines()]
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert [each.name for each in pins] == locked
    extras = re.search(r"'\.\[(.+)\]'", run)
    assert extras is not None
    declared = re.findall(r"^([\w-]+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert set(extras[1].split(",")) <= set(declared)


def test_the_compose_file_leaves_the_container_little(service: Any) -> None:
    assert service.read_only is True
    assert service.user == "10001:10001"
    assert set(service.cap_drop) == {"ALL"}
    assert set(service.security_opt) == {"no-new-privileges:true"}
    assert service.privileged is None
    assert service.pids_limit == 512
    assert set(service.volumes) == {"./config:/config:ro", "state:/state"}
    assert set(service.ports) == {"127.0.0.1:8931:8931"}  # a proxy with TLS is for the others
    assert service.environment is None  # values come from a file that is not in the tree
    [file] = service.env_file
    assert file.path == ".env.toolcrib"
    assert not (ROOT / file.path).exists()


def test_what_the_image_starts_serves_and_its_check_of_health_tells_so(service: Any, tmp_path: Path) -> None:
    checks = [json.loads(each.partition("CMD ")[2]) for each in values("HEALTHCHECK")]
    assert checks == [service.healthcheck.test[1:]]
    words = [*json.loads(values("ENTRYPOINT")[0]), *json.loads(values("CMD")[0])]
    assert words == shlex.split("toolcrib serve --http 0.0.0.0:8931")
    config = tmp_path / "config"
    config.mkdir()
    settings = {"http": {"allowed_hosts": ["tools.example"]}}
    (config / "mcp.json").write_text(json.dumps({"mcpServers": {}, "toolcrib": settings}))
    env = {**os.environ, "TOOLCRIB_CONFIG_DIR": str(config), "TOOLCRIB_STATE_DIR": str(tmp_path / "state")}
    start = [sys.executable, "-m", *words[:-1]]
    subprocess.run([*start[:3], "principals", "add", "ann"], env=env, check=True, capture_output=True)
    # Any free port in place of the container's own.
    with subprocess.Popen([*start, "0.0.0.0:0", "--json"], env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        document = ""
        while not document.rstrip().endswith("}"):
            document += process.stdout.readline()
        port = json.loads(document)["url"].partition("://")[2].partition("/")[0].rpartition(":")[2]
        code = checks[0][2].replace(":8931", f":{port}")
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
        process.terminate()
    assert subprocess.run([sys.executable, "-c", code], check=False, stderr=subprocess.DEVNULL).returncode == 1
