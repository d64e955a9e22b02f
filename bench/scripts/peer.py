"""FastMCP's code mode beside ours, in the same run: its times, and the tokens of the same tasks."""

import json
import re
import subprocess
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.peers import VERSION, NoPeerError, installed
from bench.processes import ROOT
from bench.scripts.tasks import TASKS
from toolcrib.demo import demo_config
from toolcrib.metatools.formatting import compact
from toolcrib.tokens import count_tokens

_SECONDS = 300
_CALLED = re.compile(r"\b(tickets|notes|files|calendar)\.(\w+)\(")
_CALLS_OF_MANY = 40


@dataclass(frozen=True)
class CodeModePeer:
    """What the peer measured.

    Attributes:
        version: Of FastMCP.
        one: Milliseconds of a script of one call in memory, warm.
        further: Milliseconds of each further call, beyond the call by itself.
        tokens: Tokens of each task up to its script, by name.
    """

    version: str
    one: float
    further: float
    tokens: dict[str, int]


def code_mode(runs: int) -> CodeModePeer:
    """FastMCP's code mode, installed on demand.

    Args:
        runs: Runs of each time.

    Raises:
        NoPeerError: It can't be had, or fails.
    """
    python = installed("fastmcp", VERSION, "code-mode")
    tasks: list[dict[str, Any]] = [
        {"name": task.name, "needs": task.needs, "tools": _tools(task.code)} for task in TASKS
    ]
    given = json.dumps({"runs": runs, "config": demo_config(), "tasks": tasks})
    command = [str(python), str(ROOT / "bench" / "scripts" / "peer_worker.py")]
    try:
        ran = subprocess.run(command, input=given, capture_output=True, text=True, timeout=_SECONDS, check=True)
        found = json.loads(ran.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise NoPeerError(f"FastMCP's code mode can't be measured: {error}") from error
    times = {name: median(taken) for name, taken in found["times"].items()}
    further = (times["many"] - times["one"]) / (_CALLS_OF_MANY - 1) - times["call"]
    surface = sum(count_tokens(compact(each)) for each in found["definitions"])
    tokens = {task["name"]: surface + _looked(task, found["found"][task["name"]]) for task in tasks}
    return CodeModePeer(VERSION, round(times["one"], 2), round(further, 3), tokens)


def _tools(code: str) -> list[str]:
    """The tools that a script calls, by the names that FastMCP gives them."""
    return list(dict.fromkeys(f"{server}_{tool}" for server, tool in _CALLED.findall(code)))


def _looked(task: dict[str, Any], answers: list[str]) -> int:
    asked = [{"query": task["needs"]}, {"tools": task["tools"]}]
    return sum(count_tokens(compact(each)) for each in asked) + sum(map(count_tokens, answers))
