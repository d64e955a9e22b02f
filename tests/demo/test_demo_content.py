"""The kinds of content that the demo servers answer with, and the job that takes its time."""

import json
import math
import struct
import zlib
from base64 import b64decode
from typing import Any

import anyio
import pytest

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def _decoded(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and RGB bytes of an unfiltered PNG, read as the PNG specification says (section 5)."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, pixels, header = 8, b"", b""
    while place < len(png):
        length, kind = struct.unpack_from(">I4s", png, place)
        body = png[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", png, place + 8 + length)[0] == zlib.crc32(kind + body)
        header = body if kind == b"IHDR" else header
        pixels += body if kind == b"IDAT" else b""
        place += 12 + length
    width, height, depth, colour = struct.unpack_from(">2I2B", header)
    assert (depth, colour) == (8, 2)
    rows = zlib.decompress(pixels)
    stride = 1 + 3 * width
    assert len(rows) == stride * height
    assert not any(rows[0::stride])
    return width, height, b"".join(rows[row * stride + 1 : (row + 1) * stride] for row in range(height))


@MODES
async def test_a_chart_is_a_png_of_the_size_asked_for_with_bars_as_high_as_their_values(
    connect: Any, mode: str
) -> None:
    bars = [{"label": "one", "value": 1}, {"label": "two", "value": 2}]
    arguments = {"title": "Né", "bars": bars, "width": 300, "height": 200, "color": "green"}
    with anyio.fail_after(10):
        async with connect("files", mode) as client:
            result = await client.call_tool("render_chart", arguments)
    caption, image = result.content
    assert "the highest is two" in caption.text
    assert image.mime_type == "image/png"
    width, height, pixels = _decoded(b64decode(image.data))
    assert (width, height) == (300, 200)
    assert result.structured_content["bytes"] == len(b64decode(image.data))
    assert math.isclose(result.structured_content["sum"], 3)
    columns = [
        sum(pixels[(row * width + x) * 3 : (row * width + x) * 3 + 3] == b"\x3a\x84\x58" for row in range(height))
        for x in (83, 217)  # the middle of each bar: margins of 16, two slots of 134
    ]
    assert columns[1] == pytest.approx(2 * columns[0], abs=1)
    assert columns[0] > 40


async def test_a_picture_in_the_library_is_read_as_an_image(connect: Any) -> None:
    with anyio.fail_after(10):
        async with connect("files") as client:
            [image] = (await client.call_tool("read_file", {"path": "images/harbour-flag.png"})).content
    assert _decoded(b64decode(image.data))[:2] == (160, 100)


@MODES
async def test_an_export_is_an_embedded_resource(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("notes", mode) as client:
            result = await client.call_tool("export_notes", {"format": "json", "notes": [8, 3]})
    summary, embedded = result.content
    assert summary.text == "2 notes exported."
    assert embedded.type == "resource"
    assert embedded.resource.mime_type == "application/json"
    assert [note["id"] for note in json.loads(embedded.resource.text)] == [8, 3]


@MODES
async def test_a_resource_link_can_be_read(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("files", mode) as client:
            [link] = (await client.call_tool("link_file", {"path": "data/sales-2025.csv"})).content
            [contents] = (await client.read_resource(link.uri)).contents
    assert (link.type, link.name, link.mime_type) == ("resource_link", "sales-2025.csv", "text/csv")
    assert len(contents.text.encode()) == link.size
    assert contents.text.splitlines()[0] == "month,region,orders,revenue_eur,returns"


@MODES
async def test_a_long_text_arrives_whole(connect: Any, mode: str) -> None:
    with anyio.fail_after(10):
        async with connect("files", mode) as client:
            [text] = (await client.call_tool("read_file", {"path": "logs/harbour-2026-q1.log"})).content
            arguments = {"path": "logs/harbour-2026-q1.log", "first_line": 847, "lines": 5}
            [end] = (await client.call_tool("read_file", arguments)).content
    # 77 days of eleven entries each.
    assert len(text.text.splitlines()) == 847
    assert 55_000 < len(text.text.encode()) < 65_000
    assert end.text == text.text.splitlines(keepends=True)[-1]


@MODES
async def test_the_indexing_job_reports_progress_after_each_file(connect: Any, mode: str) -> None:
    reports: list[tuple[float, float | None, str | None]] = []
    arrived = anyio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))
        if len(reports) == 3:
            arrived.set()

    with anyio.fail_after(10):
        async with connect("files", mode) as client:
            arguments = {"folder": "docs", "pause_ms": 0}
            result = await client.call_tool("build_word_index", arguments, progress_callback=note)
            await arrived.wait()
            index = await client.call_tool("get_word_index", {"top": 1})
    assert reports == [
        (1, 3, "docs/release-checklist.md"),
        (2, 3, "docs/style-guide.md"),
        (3, 3, "docs/todo.txt"),
    ]
    assert result.structured_content["files"] == 3
    assert index.structured_content["state"] == "complete"
    assert index.structured_content["words"] == result.structured_content["words"]


@MODES
async def test_cancelling_the_indexing_job_stops_it_and_keeps_the_index_before(
    connect: Any, cancel_indexing: Any, mode: str
) -> None:
    with anyio.fail_after(10):
        async with connect("files", mode) as client:
            await client.call_tool("build_word_index", {"folder": "docs", "pause_ms": 0})
            before = (await client.call_tool("get_word_index")).structured_content
            after = await cancel_indexing(client)
    assert after == {**before, "state": "cancelled"}
