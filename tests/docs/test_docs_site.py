"""The documentation builds without a warning, as a site that fetches nothing and holds every public name."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import toolcrib
from toolcrib import llm

ROOT = Path(__file__).resolve().parents[2]

_FETCHED = re.compile(r"""<(?!a\b|meta\b)[^<>]*\s(?:src|href|srcset)=["']?(?:https?:)?//[^"'\s>]*""")
_FETCHED_BY_STYLE = re.compile(r"""(?:url\(["']?|@import\s+["'])(?:https?:)?//[^"')]*""")
_NAME = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))  # and the one for what is not found
    for page in pages:
        assert _FETCHED.findall(page.read_text(encoding="utf-8")) == [], page
    for sheet in site.rglob("*.css"):
        assert _FETCHED_BY_STYLE.findall(sheet.read_text(encoding="utf-8")) == [], sheet


def test_every_name_of_the_reference_is_shown_from_its_docstring(site: Path) -> None:
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        built = (site / "reference" / page.stem / "index.html").read_text(encoding="utf-8")
        names = _NAME.findall(page.read_text(encoding="utf-8"))
        assert names
        assert [name for name in names if f'id="{name}"' not in built] == []


def test_every_public_name_has_its_place_in_the_reference() -> None:
    shown = {name for page in (ROOT / "docs" / "reference").glob("*.md") for name in _NAME.findall(page.read_text())}
    public = {f"toolcrib.{name}" for name in toolcrib.__all__}
    public |= {f"toolcrib.llm.{name}" for name in llm.__all__ if name not in toolcrib.__all__}
    assert public - shown == set()
