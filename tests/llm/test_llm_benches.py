"""The benches of models run, and print the document that every bench prints."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("openai")

from doubles import openai_chat_api as api
from doubles.serving import Double, served

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


async def run_bench(name: str, *options: str) -> dict[str, Any]:
    ran = await anyio.run_process([sys.executable, "-m", f"bench.{name}", "--json", *options], cwd=ROOT)
    document = json.loads(ran.stdout)
    assert document["bench"] == name
    assert {target["name"] for target in document["targets"]}
    return document


async def test_a_round_of_the_loop_is_measured_on_every_surface() -> None:
    figures = (await run_bench("loop", "--repeats", "1"))["figures"]
    assert (figures["tools"], set(figures["a round beyond its call, CPU ms"])) == (200, {"all", "deferred", "search"})


async def test_tasks_are_counted_as_done_by_the_call_that_was_made() -> None:
    steps = ('{"query": "weather"}', '{"tool": "weather.current"}')
    right = (*steps, '{"city": "paris"}', "18 degrees.")
    wrong = (*steps, '{"city": "Rome"}', "18 degrees.")
    double = Double(lambda body, headers: None, [api.answer(step) for step in (*right, *wrong)])
    async with served(double, "/v1/chat/completions"):
        options = ("--url", f"{double.url}/v1", "--modes", "guided", "--tasks", "1")
        first = await run_bench("llm", *options)
        second = await run_bench("llm", *options)
    assert [target["met"] for document in (first, second) for target in document["targets"]] == [True, False]
    (row,) = first["figures"]["each"]["guided"]
    assert (row["done"], row["requests"], row["answer"]) == (True, 4, "18 degrees.")
    # What is asked for in the last step but one is the tool's own schema, over two hundred tools.
    shape = double.bodies[2]["response_format"]["json_schema"]["schema"]
    assert (first["figures"]["tools"], list(shape["properties"])) == (200, ["city", "unit"])
