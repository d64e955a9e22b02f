"""A person's terminal takes results whole."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LARGE = Path(__file__).resolve().parent.parent / "stubs" / "large.py"


def test_call_prints_a_result_whole_and_keeps_nothing(cli: Callable[..., Any], tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    entry = {"command": sys.executable, "args": ["-S", str(LARGE)], "toolcrib": {"protocol": "legacy"}}
    config.write_text(json.dumps({"mcpServers": {"large": entry}, "toolcrib": {"result_budget": 1_000}}))
    ran = cli("call", "-c", config, "large.rows", "--json")
    assert ran.code == 0
    assert len(ran.json["structuredContent"]["rows"]) == 5_000
    assert "row 4999" in cli("call", "-c", config, "large.rows").out
