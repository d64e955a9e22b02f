"""The wheel and the sdist: what is in them, and that they work away from the tree."""

import os
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, timeout=60)
    return folder


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        metadata = message_from_bytes(wheel.read(next(name for name in names if name.endswith(".dist-info/METADATA"))))
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "toolcrib").rglob("*")}
    wanted = {name for name in sources if "__pycache__" not in name and (ROOT / "src" / name).is_file()}
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert "toolcrib/py.typed" in wanted
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert not [each for each in metadata.get_all("Requires-Dist", []) if "@" in each]  # nothing from an address


def test_the_sdist_holds_what_a_build_needs(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        tops = {name.split("/")[1] for name in sdist.getnames()}
    assert {"src", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "pyproject.toml"} <= tops
    assert not tops & {"tests", "bench", "docs", ".real", ".venv"}


def test_the_installed_package_works_away_from_the_tree(built: Path, tmp_path: Path) -> None:
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wheel = next(built.glob("*.whl"))
    subprocess.run([*install, "--target", str(target), str(wheel)], check=True, timeout=60)
    env = {**os.environ, "PYTHONPATH": str(target), "HOME": str(tmp_path)}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-c", "import toolcrib; print(toolcrib.__file__)").strip().startswith(str(target))
    assert run("-m", "toolcrib", "--version").startswith("toolcrib ")
    assert "tickets.create_ticket" in run("-m", "toolcrib", "demo")
