"""Results on disk: whose they are, how long they stay, how much they take."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from toolcrib.broker import Kept, KeptResults, UnknownHandleError

FACTS = Kept("files.read", "files", "read", "c1", ("private",))


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def kept_in(folder: Path, clock: Clock, most_bytes: int = 1_000_000, largest: int = 100_000) -> KeptResults:
    return KeptResults(folder, seconds=60, most_bytes=most_bytes, largest=largest, clock=clock)


def read(results: KeptResults, principal: str, handle: str) -> bytes:
    return results.content(handle, results.facts(principal, handle))


def test_a_result_is_read_by_another_process_of_the_same_principal(tmp_path: Path, clock: Clock) -> None:
    handle, facts = kept_in(tmp_path, clock).put("ann", b'{"a": 1}', FACTS)
    other = kept_in(tmp_path, clock)
    assert read(other, "ann", handle) == b'{"a": 1}'
    assert other.facts("ann", handle) == facts
    assert (facts.tool_id, facts.labels, facts.size) == ("files.read", ("private",), 8)


def test_files_are_their_owner_s_alone_and_tell_no_handle(tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "results"
    handle, _ = kept_in(folder, clock).put("ann", b"{}", FACTS)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert handle.removeprefix("r_") not in path.name + path.read_text()


def test_others_forged_and_expired_handles_are_unknown_in_the_same_words(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock)
    handle, _ = results.put("ann", b"{}", FACTS)
    words: set[str] = set()
    for principal, asked in (("ben", handle), ("ann", "r_" + "a" * 16)):
        with pytest.raises(UnknownHandleError) as caught:
            results.facts(principal, asked)
        words.add(str(caught.value).replace(asked, "…"))
    clock.now += 60
    with pytest.raises(UnknownHandleError) as caught:
        results.facts("ann", handle)
    words.add(str(caught.value).replace(handle, "…"))
    assert len(words) == 1


@pytest.mark.parametrize(
    "forged", ["", "r_", "../../etc/passwd", "r_../../../etc/pass", "r_" + "A" * 16, "\udcff" * 18, "x" * 10**6]
)
def test_what_is_no_handle_opens_no_file(tmp_path: Path, clock: Clock, forged: str) -> None:
    with pytest.raises(UnknownHandleError):
        kept_in(tmp_path, clock).facts("ann", forged)


def test_the_oldest_make_room(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock, most_bytes=5_000)
    handles: list[str] = []
    for number in range(4):
        clock.now += 1
        handles.append(results.put("ann", str(number).encode() * 2_000, FACTS)[0])
    with pytest.raises(UnknownHandleError):
        read(results, "ann", handles[0])
    assert read(results, "ann", handles[3]) == b"3" * 2_000
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 5_000


def test_what_is_stored_again_is_the_youngest(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock, most_bytes=6_000)
    for content in (b"a", b"b", b"a", b"c"):
        clock.now += 1
        handle, _ = results.put("ann", content * 2_000, FACTS)
        if content == b"a":
            again = handle
    assert read(results, "ann", again) == b"a" * 2_000


def test_expired_files_are_removed(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock)
    results.put("ann", b"old", FACTS)
    clock.now += 61
    results.put("ann", b"new", FACTS)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".handle", ".json"]


def test_a_clock_that_was_put_back_keeps_nothing_for_longer(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock)
    handle, _ = results.put("ann", b"{}", FACTS)
    clock.now -= 10_000
    with pytest.raises(UnknownHandleError):
        results.facts("ann", handle)


def test_one_that_is_larger_than_one_may_be_is_refused(tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(OSError, match="100,001 bytes"):
        kept_in(tmp_path, clock).put("ann", b"x" * 100_001, FACTS)


def test_a_damaged_result_is_unknown_and_never_half_read(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock)
    handle, facts = results.put("ann", b'{"a": 1}', FACTS)
    (tmp_path / f"{facts.digest}.json").write_bytes(b'{"a": 2}')
    with pytest.raises(UnknownHandleError):
        results.content(handle, facts)


@pytest.mark.parametrize("content", [b"", b"[]", b"1", b"{}", b'{"digest": "../x"}', b"[" * 100_000])
def test_a_damaged_handle_is_unknown(tmp_path: Path, clock: Clock, content: bytes) -> None:
    results = kept_in(tmp_path, clock)
    handle, _ = results.put("ann", b"{}", FACTS)
    next(tmp_path.glob("*.handle")).write_bytes(content)
    with pytest.raises(UnknownHandleError):
        results.facts("ann", handle)


def test_the_same_result_stored_at_once_by_many_is_there_for_each(tmp_path: Path, clock: Clock) -> None:
    content = json.dumps(list(range(10_000))).encode()

    def put(number: int) -> tuple[str, str]:
        return f"p{number}", kept_in(tmp_path, clock).put(f"p{number}", content, FACTS)[0]

    with ThreadPoolExecutor(8) as threads:
        stored = list(threads.map(put, range(40)))
    results = kept_in(tmp_path, clock)
    assert all(read(results, principal, handle) == content for principal, handle in stored)
    assert len(list(tmp_path.glob("*.json"))) == 1
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".new"]


def test_what_an_interrupted_write_left_is_removed_in_time(tmp_path: Path, clock: Clock) -> None:
    left = tmp_path / ".abc.json.xyz.new"
    left.write_bytes(b"half")
    os.utime(left, (clock.now, clock.now))
    results = kept_in(tmp_path, clock)
    results.put("ann", b"{}", FACTS)
    assert left.exists()
    clock.now += 3_601
    results.put("ann", b"{}", FACTS)
    assert not left.exists()


def test_the_result_of_a_call_is_found_without_its_handle(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock)
    assert results.of_call("c1", clock.now) is None  # there is no folder yet
    for call, principal in (("c1", "ann"), ("c2", "ben")):
        results.put(principal, f'"{call}"'.encode(), replace(FACTS, call_id=call))
        clock.now += 10
    found = results.of_call("c2", clock.now - 10)
    assert found is not None
    assert results.content("", found) == b'"c2"'
    assert results.of_call("c3", 0) is None
    # What was put before a call began is no result of it, by clocks that are coarse.
    assert results.of_call("c1", clock.now - 20 + 1.5) is not None
    assert results.of_call("c1", clock.now - 20 + 2.5) is None
    for path in tmp_path.glob("*.handle"):
        path.write_bytes(path.read_bytes().replace(b'"c1"', b'"c1"').replace(b'"digest": "', b'"digest": "../'))
    assert results.of_call("c1", 0) is None  # damaged
    clock.now += 60
    assert results.of_call("c2", 0) is None  # expired


def test_of_a_call_with_several_results_the_first_counts(tmp_path: Path, clock: Clock) -> None:
    results = kept_in(tmp_path, clock)
    for content in (b'"first"', b'"second"'):
        results.put("ann", content, FACTS)
        clock.now += 1
    found = results.of_call("c1", 0)
    assert found is not None
    assert results.content("", found) == b'"first"'
