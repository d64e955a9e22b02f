"""The files of a skill are listed and read inside its folder, and nowhere else."""

import os
import sys
from pathlib import Path

import pytest

from toolcrib.skills import MOST_FILES, SkillError, SkillFiles, load

HEAD = "---\nname: bread\ndescription: Bake bread.\n---\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "bread"
    (root / "references" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "node_modules").mkdir()
    for path in ("SKILL.md", "references/FLOUR.md", "references/deep/water.txt", ".git/config", "node_modules/x.js"):
        (root / path).write_text(HEAD if path == "SKILL.md" else path)
    (tmp_path / "secret").write_text("secret")
    return root


def test_files_are_listed_without_hidden_ones(folder: Path) -> None:
    assert SkillFiles(folder).paths() == ["SKILL.md", "references/FLOUR.md", "references/deep/water.txt"]
    assert SkillFiles(folder).read("references/FLOUR.md", 100) == b"references/FLOUR.md"


@pytest.mark.parametrize(
    "path",
    ["../secret", "references/../../secret", "/etc/hostname", "..", "", ".git/config", "a\\..\\b", "no", "references"],
)
def test_no_path_leads_out(folder: Path, path: str) -> None:
    with pytest.raises(SkillError):
        SkillFiles(folder).read(path, 100)


def test_an_odd_path_is_no_traceback(folder: Path) -> None:
    for path in ("a\0b", "x" * 5_000, "references/FLOUR.md/x", "\ud800"):
        with pytest.raises(SkillError):
            SkillFiles(folder).read(path, 100)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems let no file have such a name")
def test_a_name_that_is_no_text_is_left_out(folder: Path) -> None:
    (folder / os.fsdecode(b"flour\xff.md")).write_text("flour")
    assert SkillFiles(folder).paths() == ["SKILL.md", "references/FLOUR.md", "references/deep/water.txt"]


def test_links_are_followed_inside_alone(folder: Path, tmp_path: Path) -> None:
    (folder / "flour.md").symlink_to(folder / "references" / "FLOUR.md")
    (folder / "out.md").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "references" / "round").symlink_to(folder)
    files = SkillFiles(folder)
    assert files.paths() == ["SKILL.md", "flour.md", "references/FLOUR.md", "references/deep/water.txt"]
    for path in ("out.md", "up/secret", "loop"):
        with pytest.raises(SkillError):
            files.read(path, 100)


def test_a_folder_may_be_a_link_itself_and_a_skill_file_that_leads_out_may_not(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(folder)
    assert load(tmp_path / "linked").folder == folder.resolve()
    (tmp_path / "elsewhere.md").write_text(HEAD)
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(SkillError, match="leads out"):
        load(folder)


def test_a_file_that_is_none_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    assert "pipe" not in SkillFiles(folder).paths()
    with pytest.raises(SkillError, match="no file"):
        SkillFiles(folder).read("pipe", 100)


def test_too_large_is_told(folder: Path) -> None:
    with pytest.raises(SkillError, match="larger than 3 bytes"):
        SkillFiles(folder).read("references/FLOUR.md", 3)


def test_the_list_is_bounded(folder: Path) -> None:
    for number in range(MOST_FILES + 5):
        (folder / "references" / f"{number}.txt").touch()
    assert len(SkillFiles(folder).paths()) == MOST_FILES


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "none", tmp_path / "loop", tmp_path / ("x" * 300)):
        with pytest.raises(SkillError, match="no skill at"):
            SkillFiles(path)
    (tmp_path / "file").touch()
    with pytest.raises(SkillError, match="no folder"):
        SkillFiles(tmp_path / "file")
    with pytest.raises(SkillError, match=r"SKILL\.md.* can't be read"):
        load(tmp_path)
