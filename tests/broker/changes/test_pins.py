"""Pins in SQLite and PostgreSQL: the first counts, what is accepted replaces it, and what can be kept is not lost."""

import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from toolcrib.broker import Pins
from toolcrib.broker.changes import Difference, Pin, definition_hash, differences
from toolcrib.errors import StoreError
from toolcrib.store import Store, open_store

pytestmark = pytest.mark.anyio

KEY = ("files-0", "read")


def pin(text: str, key: tuple[str, str] = KEY) -> Pin:
    definition = {"name": "read", "description": text}
    return Pin(*key, definition_hash(definition), definition, 1.5)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    target = tmp_path / "toolcrib.db" if request.param == "sqlite" else request.getfixturevalue("postgresql")
    opened = open_store(target)
    yield opened
    opened.close()


def pins_over(store: Store) -> Pins:
    async def opened() -> Store:
        return store

    async def exists() -> bool:
        return True

    return Pins(opened, exists)


async def test_of_two_who_pin_at_once_the_first_counts_and_the_other_learns_of_it(store: Store) -> None:
    one, two = pins_over(store), pins_over(store)
    await one.load()
    await two.load()
    one.put(pin("first"))
    two.put(pin("second"))
    assert two.digest(KEY) == pin("second").digest
    await one.flush()
    await two.flush()
    assert two.digest(KEY) == pin("first").digest
    assert await two.pin(KEY) == pin("first")


async def test_what_is_accepted_replaces_what_was_pinned_for_all(store: Store) -> None:
    one, two = pins_over(store), pins_over(store)
    one.put(pin("first"))
    await one.flush()
    await two.load()
    async with anyio.create_task_group() as both:
        both.start_soon(one.accept, [pin("second")])
        both.start_soon(two.accept, [pin("second")])
    assert one.digest(KEY) == two.digest(KEY) == pin("second").digest
    assert await two.pin(KEY) == pin("second")
    two.put(pin("third"), anew=True)
    await two.flush()
    assert await one.pin(KEY) == pin("third")


async def test_any_text_that_json_can_carry_is_kept(store: Store) -> None:
    pins = pins_over(store)
    odd = pin("\ud800 \x00 \U000e0041")
    pins.put(odd)
    await pins.flush()
    assert await pins_over(store).pin(KEY) == odd


async def test_what_cannot_be_written_holds_here_and_is_written_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stores: list[Store] = []
    tried = anyio.Event()

    async def opened() -> Store:
        tried.set()
        if not stores:
            raise StoreError("The disk is full.")
        return stores[0]

    async def exists() -> bool:
        return False

    pins = Pins(opened, exists)
    await pins.load()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pins.keep)
        pins.put(pin("first"))
        with anyio.fail_after(10):
            await tried.wait()
            while not caplog.records:
                await anyio.lowlevel.checkpoint()
        assert pins.digest(KEY) == pin("first").digest
        stores.append(open_store(tmp_path / "toolcrib.db"))
        pins.put(pin("other", ("files-0", "write")))
        with anyio.fail_after(10):
            while await pins_over(stores[0]).pin(KEY) is None if (tmp_path / "toolcrib.db").exists() else True:
                await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert [each.levelno for each in caplog.records] == [logging.WARNING]
    stores[0].close()


async def test_a_store_that_fails_is_not_waited_for_again_at_once() -> None:
    tries: list[int] = []

    async def opened() -> Store:
        tries.append(1)
        raise StoreError("It is locked.")

    async def exists() -> bool:
        return True

    pins = Pins(opened, exists)
    for _ in range(3):
        with pytest.raises(StoreError, match="locked"):
            await pins.load()
    assert len(tries) == 1


def test_differences_are_told_by_json_pointer_and_only_of_what_is_pinned() -> None:
    before = {
        "name": "a",
        "description": "x",
        "inputSchema": {"properties": {"p/q": {"type": "string"}}, "required": ["p/q"]},
    }
    after = {
        "name": "a",
        "description": "x",
        "inputSchema": {"properties": {"p/q": {"type": "integer"}, "r~": True}},
        "annotations": {"readOnlyHint": True},
        "icons": [{}],
        "_meta": {"x": 1},
    }
    assert differences(before, after) == [
        Difference("/inputSchema/properties/p~1q/type", "changed", "string", "integer"),
        Difference("/inputSchema/properties/r~0", "added", None, True),
        Difference("/inputSchema/required", "removed", ["p/q"]),
        Difference("/annotations", "added", None, {"readOnlyHint": True}),
    ]
    assert definition_hash(before) == definition_hash(dict(reversed(before.items())))
    assert definition_hash(before) != definition_hash(after)
    assert definition_hash(after) == definition_hash({**after, "icons": [], "_meta": {}})


def test_true_is_not_one_and_a_list_counts_in_its_order() -> None:
    for one, other in ((True, 1), (1, 1.5), (None, False), (["a", "b"], ["b", "a"])):
        assert [each.kind for each in differences({"inputSchema": one}, {"inputSchema": other})] == ["changed"]
        assert definition_hash({"inputSchema": one}) != definition_hash({"inputSchema": other})


def test_very_deep_schemas_neither_fail_nor_pass_for_another_description() -> None:
    deep: Any = {}
    for _ in range(50_000):
        deep = {"items": deep}
    one, other = {"description": "x", "inputSchema": deep}, {"description": "y", "inputSchema": deep}
    assert definition_hash(one) != definition_hash(other)
    assert differences(one, other)[0] == Difference("/description", "changed", "x", "y")
    assert all(each.lines() for each in differences(one, {**one, "inputSchema": {}}))


def test_a_difference_of_texts_shows_lines_and_what_is_hidden_and_cuts_what_is_long() -> None:
    lines = Difference("/description", "changed", "a\nb\nc", f"a\nb\u200b\nc{'x' * 500}").lines()
    assert lines[:3] == ["/description changed:", "   a", "  -b"]
    assert "  +b⟨U+200B⟩" in lines
    assert max(map(len, lines)) <= 401
    assert Difference("/title", "removed", "x").lines() == ["/title removed:", '  -"x"']
