"""The wheel and the sdist: what is in them, and that they work away from the tree."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
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
    # What is no Python, and would be missed only where the installed package runs.
    kinds = {Path(name).suffix for name in wanted if name.startswith("toolcrib/console/")}
    assert {".html", ".css", ".js", ".svg"} <= kinds
    assert "toolcrib/console/templates/base.html" in wanted
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"
    assert not [each for each in metadata.get_all("Requires-Dist", []) if "@" in each]  # nothing from an address


def test_the_sdist_holds_what_a_build_needs(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        tops = {name.split("/")[1] for name in sdist.getnames()}
    assert {"src", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "pyproject.toml"} <= tops
    assert not tops & {"tests", "bench", "docs", ".real", ".venv"}


def test_a_wheel_of_the_sdist_is_the_same(built: Path, tmp_path: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        sdist.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    again = tmp_path / "again"
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(again)],
        cwd=source,
        check=True,
        timeout=60,
    )
    with zipfile.ZipFile(next(again.glob("*.whl"))) as one, zipfile.ZipFile(next(built.glob("*.whl"))) as other:
        assert {each.filename: each.CRC for each in one.infolist()} == {
            each.filename: each.CRC for each in other.infolist()
        }


def test_the_version_is_the_changelog_s_or_to_come() -> None:
    """docs/releasing.md: the newest heading is `Unreleased`, or the version that pyproject.toml names."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    headings = [line.split()[1] for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    assert headings[0] in {"Unreleased", version}


@pytest.mark.slow
def test_it_works_in_an_empty_environment_as_pipx_makes_one(built: Path, tmp_path: Path) -> None:
    """The wheel with what it needs from a package index, and nothing else: no extra, no tree, no development."""
    folder = tmp_path / "empty"
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    wheel = next(built.glob("*.whl"))
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True, timeout=900)
    env = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    env |= {"HOME": str(tmp_path), "PATH": f"{programs}{os.pathsep}{env.get('PATH', '')}"}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("toolcrib", "--version").startswith("toolcrib ")
    assert "tickets.create_ticket" in run("toolcrib", "demo")
    assert "none yet" in run("toolcrib")
    where = "import toolcrib.console, toolcrib; print(toolcrib.__file__)"
    assert run(str(programs / "python"), "-c", where).startswith(str(folder))


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
