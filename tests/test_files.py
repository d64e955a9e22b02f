"""Files are seen as they were or as they will be, and never half written."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.files import expanded, followed, held, try_lock, write_whole


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_written_from_its_parts_with_the_folders_above_it(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "kept.json"

    write_whole(file, [b"one, ", memoryview(b"two")])

    assert file.read_bytes() == b"one, two"
    assert os.listdir(file.parent) == ["kept.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights there are no bits")
def test_what_is_private_is_its_owners_alone_every_folder_that_was_made_too(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "kept.json"

    write_whole(file, [b"secret"])

    assert [rights(each) for each in (file, file.parent, file.parent.parent)] == [0o600, 0o700, 0o700]


@pytest.mark.skipif(sys.platform == "win32", reason="rights there are no bits")
def test_what_is_not_private_keeps_the_rights_that_it_had(tmp_path: Path) -> None:
    file = tmp_path / "shared.json"
    file.write_bytes(b"old")
    file.chmod(0o664)

    write_whole(file, [b"new"], private=False)

    assert (file.read_bytes(), rights(file)) == (b"new", 0o664)


@pytest.mark.parametrize("durable", [False, True])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, durable: bool) -> None:
    file = tmp_path / "kept.json"
    write_whole(file, [b"old"], durable=durable)

    def broken() -> Iterator[bytes]:
        yield b"half of the "
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_whole(file, broken(), durable=durable)

    assert file.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["kept.json"]


def test_a_reader_of_the_old_file_goes_on_reading_it(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    write_whole(file, [b"old content"])

    with file.open("rb") as reader:
        assert reader.read(4) == b"old "
        write_whole(file, [b"new"])
        assert reader.read() == b"content"

    assert file.read_bytes() == b"new"


def test_what_lists_a_folder_by_ending_sees_no_file_before_its_time(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    seen: list[list[str]] = []

    def watched() -> Iterator[bytes]:
        seen.append([each.name for each in tmp_path.glob("*.json")])
        yield b"{}"

    write_whole(file, watched())

    assert seen == [[]]


def test_a_lock_is_held_until_it_is_left_and_never_stands_in_the_way(tmp_path: Path) -> None:
    lock = tmp_path / "a" / "b.lock"
    with held(lock), lock.open("rb+") as other:
        assert not try_lock(other.fileno())
    with lock.open("rb+") as other:
        assert try_lock(other.fileno())
    (tmp_path / "file").write_text("")
    with held(tmp_path / "file" / "b.lock"):  # no folder: nobody is kept
        pass


def test_a_name_that_no_user_has_stays_a_name() -> None:
    assert expanded("~no-such-user/x") == Path("~no-such-user/x")
    assert expanded("~/x") == Path.home() / "x"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights of their own there")
def test_links_are_followed_but_not_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    assert followed(tmp_path / "one") == (tmp_path / "two").resolve()
    (tmp_path / "two").symlink_to(tmp_path / "one")
    with pytest.raises(OSError, match="Too many levels"):
        followed(tmp_path / "one")
