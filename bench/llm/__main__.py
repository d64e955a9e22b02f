"""How a small model does tasks over 200 tools: led step by step, and left free with the search tools."""

import asyncio
import sys
import tempfile
import time
from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from bench.llm.serving import WINDOW, served
from bench.llm.tasks import TASKS, Task, fill
from bench.report import Target, arguments, emit
from toolcrib import Crib, LlmClient, LlmConfiguration
from toolcrib.llm import ChatResponse, ProviderError
from toolcrib.llm.providers.openai_chat import ChatProvider

_FREE_ROUNDS = 2
_ANSWER_WITHIN = 1_200.0
"""Seconds for one answer: on a busy machine, one of these models may write a word a second."""


async def _asked(crib: Crib, url: str, task: Task, guided: bool) -> dict[str, Any]:
    """Ask for one task in a conversation of its own, and say what came of it."""
    configuration = LlmConfiguration("small", base_url=url, timeout=_ANSWER_WITHIN)
    provider = ChatProvider(configuration, window=WINDOW, max_retries=0)
    rounds = 1 if guided else _FREE_ROUNDS
    started = time.monotonic()
    async with LlmClient(
        provider, crib, surface="search", guided=guided, max_tool_rounds=rounds, max_output=512
    ) as client:
        try:
            response = await client.chat(task.text)
        except ProviderError as error:
            response = ChatResponse(f"{type(error).__name__}: {error}")
    made = [call for call in response.tool_calls if call.kind == "called" and not call.is_error]
    return {
        "task": task.text,
        "done": any(task.fits(call.name, call.arguments) for call in made),
        "calls": [f"{call.name}({call.arguments})" for call in response.tool_calls],
        "answer": response.text,
        "seconds": round(time.monotonic() - started, 1),
        "requests": len(response.accounts),
        "tokens in": response.usage.input,
        "tokens out": response.usage.output,
    }


async def _measure(options: Namespace, url: str) -> dict[str, Any]:
    modes = {"guided": True, "free": False}
    rows: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as state:
        async with Crib.from_clients({}, state_dir=Path(state)) as crib:
            tools = await fill(crib)
            for mode in options.modes.split(","):
                rows[mode] = []
                for task in TASKS[: options.tasks]:
                    row = await _asked(crib, url, task, modes[mode])
                    rows[mode].append(row)
                    sys.stderr.write(f"{mode}: {'done' if row['done'] else 'NOT DONE'}: {task.text} {row['calls']}\n")
    figures: dict[str, Any] = {
        "tools": tools,
        **{mode: _summed(each) for mode, each in rows.items()},
    }
    return {**figures, "each": rows} if options.json else figures


def _summed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "tasks": len(rows),
        "done": sum(row["done"] for row in rows),
        "seconds, median": median(row["seconds"] for row in rows),
        "requests, median": median(row["requests"] for row in rows),
        "tokens in, median": median(row["tokens in"] for row in rows),
        "tokens out, median": median(row["tokens out"] for row in rows),
    }


def _targets(figures: dict[str, Any]) -> list[Target]:
    guided = figures.get("guided")
    if guided is None:
        return []
    return [Target("tasks done in guided steps", guided["done"], "tasks", guided["tasks"], "higher")]


def main() -> None:
    parser = arguments("How a small model does tasks over 200 tools.")
    parser.add_argument("--url", help="chat completions to ask; left out, the model that make llm installed is served")
    parser.add_argument("--modes", default="guided,free", help="which ways to try: guided, free, or both")
    parser.add_argument("--tasks", type=int, default=len(TASKS), help="how many of the tasks")
    parser.add_argument("--threads", type=int, default=2, help="threads of the served model")
    options = parser.parse_args()
    if set(options.modes.split(",")) - {"guided", "free"}:
        parser.error("--modes takes guided, free, or both with a comma")
    with nullcontext(options.url) if options.url else served(options.threads) as url:
        figures = asyncio.run(_measure(options, url))
    emit("llm", figures, _targets(figures), as_json=options.json)


if __name__ == "__main__":
    main()
