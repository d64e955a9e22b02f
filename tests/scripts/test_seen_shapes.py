"""The shape of earlier results, in the types of tools that declare none and in their details; never a value."""

import stat
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Caller, Crib, Principal
from toolcrib.broker import LOCAL, SeenShapes
from toolcrib.metatools import MetaTools

pytestmark = pytest.mark.anyio

ANSWER: dict[str, Any] = {
    "items": [{"id": 7, "owner": "anna@example.com"}, {"id": 8, "owner": "secret-value"}],
    "by_mail": {"anna@example.com": 1, "bob@example.com": 2, "8f14e45f-ceea-467f": 3},
    "next\u202ekey": None,
}


class Silent:
    """A source whose tools say nothing of their results, except for one."""

    id, description = "silent", ""
    answer: Any = ANSWER

    async def ensure(self, context: Any = None) -> None:
        pass

    async def list(self, method: str, context: Any = None) -> list[dict[str, Any]]:
        said = {"name": "said", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}}
        return [{"name": "get", "inputSchema": {"type": "object"}}, said] if method == "tools/list" else []

    async def request(self, method: str, params: Any, context: Any = None) -> dict[str, Any]:
        return {"content": [], "structuredContent": self.answer}


async def details(crib: Crib, name: str, caller: Caller = LOCAL) -> str:
    result = await MetaTools(crib).call("get_tool_details", {"name": name}, caller)
    return str(result["content"][0]["text"])


def stub(crib: Crib, code: str) -> str:
    runner: Any = crib.script_runner()
    naming = runner._naming(LOCAL)
    from functools import partial

    return naming.named(code, runner._read, partial(runner._stubs, LOCAL), "python").names.stubs


SHAPE = "{items: [2 × {id: integer, owner: string}], by_mail: {"


async def test_told_after_the_first_result_to_who_got_it_and_kept(tmp_path: Path) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(Silent())  # type: ignore[arg-type]
        assert "seen_before" not in await details(crib, "silent.get")
        assert "seen before" not in stub(crib, "await silent.get()")
        await crib.call("silent.get")
        await crib.call("silent.said")
        text = await details(crib, "silent.get")
        assert SHAPE in text
        assert f"# seen before: {SHAPE}" in stub(crib, "await silent.get()")
        for value in ("anna", "bob", "8f14", "secret-value", "\u202e"):
            assert value not in text
        assert "seen_before" not in await details(crib, "silent.said")
        other = Caller(Principal("other"))
        assert "seen_before" not in await details(crib, "silent.get", other)
        outcome = await crib.run_code("(await get_tool_details('silent.get'))['seen_before']")
        assert str(outcome.value).startswith(SHAPE)
    (file,) = (tmp_path / "seen").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(Silent())  # type: ignore[arg-type]
        assert SHAPE in await details(crib, "silent.get")


@pytest.mark.parametrize("content", ["{", "[]", '{"silent.get": 5}', "[" * 10_000])
async def test_a_damaged_file_is_none(tmp_path: Path, content: str) -> None:
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(Silent())  # type: ignore[arg-type]
        await crib.call("silent.get")
    (file,) = (tmp_path / "seen").iterdir()
    file.write_text(content)
    shapes = SeenShapes(tmp_path / "seen", str)
    assert shapes.of("silent.get", Principal()) == ""


@pytest.mark.parametrize(
    "answer",
    [
        [[[["x"] * 50] * 50] * 50] * 50,
        {f"k{'x' * n}": {f"m{'y' * m}": 1 for m in range(40)} for n in range(38)},
        "text",
        None,
    ],
)
async def test_whatever_was_answered_it_is_short(tmp_path: Path, answer: Any) -> None:
    source = Silent()
    source.answer = answer
    async with Crib.from_clients({}, state_dir=tmp_path) as crib:
        await crib.add_source(source)  # type: ignore[arg-type]
        await crib.call("silent.get")
        assert len(crib.seen.of("silent.get", Principal())) <= 300
        assert (await crib.check_code("x = await silent.get()\nx['a']")) == []
