"""The file that keeps a keyword index between runs."""

import asyncio
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.catalog.tool import Tool
from toolcrib.catalog.visible import VisibleSet
from toolcrib.search import KeywordSearcher, Searcher, ServerDocs
from toolcrib.search.stored import IndexFile, read, write

pytestmark = pytest.mark.anyio

MakeTool = Callable[..., Tool]
Fill = Callable[[Searcher], Searcher]

QUERIES = ["create an issue", "send email", "search", "weather fahrenheit", "calender", "github code", "read file"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "keyword.index"


async def answers(searcher: Searcher, visible: VisibleSet | None = None) -> list[Any]:
    return [await searcher.search(query, 10, visible) for query in QUERIES]


async def test_what_is_loaded_answers_as_what_was_saved(filled: Fill, path: Path) -> None:
    saved, loaded = filled(KeywordSearcher()), KeywordSearcher()
    assert saved.save(path)
    assert loaded.load(path)
    assert await answers(loaded) == await answers(saved)
    visible = VisibleSet(["mail.send_message", "github.search_code"])
    assert await answers(loaded, visible) == await answers(saved, visible)


async def test_servers_come_back_with_their_digests(filled: Fill, path: Path) -> None:
    saved, loaded = filled(KeywordSearcher()), KeywordSearcher()
    saved.remove("weather")
    saved.save(path)
    loaded.load(path)
    assert loaded.servers == ("github", "mail", "files")
    assert loaded.fingerprint("mail") == "mail v1"
    assert loaded.fingerprint("weather") is None


async def test_a_loaded_index_goes_on_changing(filled: Fill, tool: MakeTool, path: Path) -> None:
    searcher = KeywordSearcher()
    filled(KeywordSearcher()).save(path)
    searcher.load(path)
    searcher.remove("github")
    searcher.add(ServerDocs("mail"), [tool("mail", "archive", "Put a message away.")], digest="mail v2")
    searcher.add(ServerDocs("new"), [tool("new", "translate", "Translate between languages.")])
    assert [hit.tool_id for hit in await searcher.search("translate languages", 5)][:1] == ["new.translate"]
    assert [hit.tool_id for hit in await searcher.search("archive message", 5)][:1] == ["mail.archive"]
    assert not any(hit.tool_id.startswith("github.") for hit in await searcher.search("create an issue", 10))
    again = KeywordSearcher()
    assert searcher.save(path)
    assert again.load(path)
    assert await answers(again) == await answers(searcher)
    assert again.servers == ("weather", "files", "mail", "new")


async def test_an_empty_index_can_be_kept(path: Path) -> None:
    assert KeywordSearcher().save(path)
    loaded = KeywordSearcher()
    assert loaded.load(path)
    assert await loaded.search("issue", 5) == []


texts = st.text(max_size=30)


@settings(max_examples=40, deadline=None)
@given(
    tools=st.lists(st.tuples(texts, texts), max_size=6),
    server=st.builds(ServerDocs, id=st.text(min_size=1, max_size=8), title=texts, description=texts),
    query=texts,
)
async def test_any_text_survives_being_kept(tools: list[tuple[str, str]], server: ServerDocs, query: str) -> None:
    saved, loaded = KeywordSearcher(), KeywordSearcher()
    listed = [Tool(f"{server.id}.{n}", server.id, name, {"description": text}) for n, (name, text) in enumerate(tools)]
    saved.add(server, listed, digest=server.title)
    with TemporaryDirectory() as folder:
        kept = Path(folder) / "index"
        assert saved.save(kept)
        assert loaded.load(kept)
    assert loaded.fingerprint(server.id) == server.title
    for each in (query, *(name for name, _ in tools)):
        assert await loaded.search(each, 5) == await saved.search(each, 5)


def test_a_missing_file_is_none_to_load(path: Path) -> None:
    assert not KeywordSearcher().load(path)
    assert not KeywordSearcher().load(path.parent)


@pytest.mark.parametrize("content", [b"", b"x", b"tcindex1", b"tcindex1" + bytes(64), b"\x00" * 4096, b"{}"])
def test_another_file_is_none_to_load(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    assert not KeywordSearcher().load(path)


async def test_a_damaged_file_is_none_to_load(filled: Fill, path: Path) -> None:
    filled(KeywordSearcher()).save(path)
    whole = path.read_bytes()
    kept = filled(KeywordSearcher())
    before = await answers(kept)
    for at in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        assert not kept.load(path), at
    for length in (0, 10, 24, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert not kept.load(path), length
    path.write_bytes(whole + b"x")
    assert not kept.load(path)
    assert await answers(kept) == before


def test_a_file_of_other_rules_is_none_to_load(filled: Fill, path: Path) -> None:
    filled(KeywordSearcher()).save(path)
    file = read(path)
    assert file is not None
    rules = [*file.header["made_by"][:-1], "another stemmer"]
    write(path, IndexFile({**file.header, "made_by": rules}, file.arrays))
    assert not KeywordSearcher().load(path)
    write(path, IndexFile({key: file.header[key] for key in ("made_by", "ids")}, file.arrays))
    assert not KeywordSearcher().load(path)
    write(path, IndexFile({}, {}))
    assert not KeywordSearcher().load(path)


def test_what_cannot_be_written_is_not_saved(filled: Fill, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    assert not filled(KeywordSearcher()).save(tmp_path / "file" / "index")
    (tmp_path / "folder").mkdir()
    assert not filled(KeywordSearcher()).save(tmp_path / "folder")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_the_file_is_for_its_owner_alone(filled: Fill, path: Path) -> None:
    filled(KeywordSearcher()).save(path)
    assert path.stat().st_mode & 0o077 == 0


async def test_an_index_in_use_outlives_the_file_that_it_came_from(filled: Fill, tool: MakeTool, path: Path) -> None:
    filled(KeywordSearcher()).save(path)
    loaded, other = KeywordSearcher(), KeywordSearcher()
    loaded.load(path)
    other.add(ServerDocs("other"), [tool("other", "thing")])
    assert other.save(path)
    assert await answers(loaded) == await answers(filled(KeywordSearcher()))


def test_of_several_writers_one_wins_whole(tool: MakeTool, path: Path) -> None:
    searchers = [KeywordSearcher() for _ in range(4)]
    for n, searcher in enumerate(searchers):
        searcher.add(
            ServerDocs(f"s{n}"), [tool(f"s{n}", f"tool_{k}", "words " * n) for k in range(20 * n)], digest=str(n)
        )
    start = threading.Barrier(5)
    seen: list[tuple[str, ...]] = []

    def save(searcher: KeywordSearcher) -> None:
        start.wait()
        for _ in range(5):
            assert searcher.save(path)

    threads = [threading.Thread(target=save, args=(searcher,)) for searcher in searchers]
    for thread in threads:
        thread.start()
    start.wait()
    while any(thread.is_alive() for thread in threads):
        reader = KeywordSearcher()
        if reader.load(path):
            seen.append(reader.servers)
    for thread in threads:
        thread.join()
    assert set(seen) <= {(f"s{n}",) for n in range(4)}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_adding_in_a_thread_while_another_searches_is_safe(tool: MakeTool) -> None:
    searcher = KeywordSearcher()
    failures: list[BaseException] = []

    def add() -> None:
        try:
            for n in range(40):
                name = f"s{n % 7}"
                searcher.add(ServerDocs(name), [tool(name, f"word{n}_{k}", f"text {n * k}") for k in range(20)])
        except BaseException as error:
            failures.append(error)

    async def search(thread: threading.Thread) -> None:
        while thread.is_alive():
            for hit in await searcher.search("word 3 text", 10):
                assert hit.score > 0

    thread = threading.Thread(target=add)
    thread.start()
    asyncio.run(search(thread))
    thread.join()
    assert not failures


def test_the_header_is_json_that_others_can_read(filled: Fill, path: Path) -> None:
    filled(KeywordSearcher()).save(path)
    content = path.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[24 : 24 + length])
    assert header["header"]["digests"]["mail"] == "mail v1"
