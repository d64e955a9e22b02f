"""What is really sent: a whole task over each vendor and surface, compared with what is kept in `golden/`.

A change of these files is a change of what vendors get, and of what their caches know. The command that renews them is
in CONTRIBUTING.md; the pages of the surfaces show parts of them.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic")
pytest.importorskip("openai")
pytest.importorskip("google.genai")

from doubles.steps import EACH, IDS, calls, looks
from doubles.vendors import Vendor

from toolcrib import Crib

pytestmark = pytest.mark.anyio

GOLDEN = Path(__file__).parent / "golden"
RENEW = "TOOLCRIB_RENEW_GOLDEN"
ID_MEMBERS = ("id", "call_id", "tool_call_id", "tool_use_id")


def kept(bodies: list[dict[str, Any]]) -> dict[str, Any]:
    """Requests as they are kept: the first whole, of later ones what differs from it; ids by their order."""
    first, *later = _with_plain_ids(bodies, {})
    return {
        "first": first,
        "later": [{name: value for name, value in body.items() if first.get(name) != value} for body in later],
    }


def _with_plain_ids(value: Any, known: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_with_plain_ids(each, known) for each in value]
    if isinstance(value, dict):
        return {
            name: known.setdefault(each, f"call_{len(known) + 1}")
            if name in ID_MEMBERS and isinstance(each, str)
            else _with_plain_ids(each, known)
            for name, each in value.items()
        }
    return value


@pytest.mark.parametrize(("vendor", "surface"), EACH, ids=IDS)
async def test_what_is_sent_is_what_was_sent(crib: Crib, vendor: Vendor, surface: Any) -> None:
    script = [
        *looks(vendor, surface, "add whole numbers", "call_1"),
        calls(vendor, surface, "local.add", {"a": "one"}, "call_2"),
        calls(vendor, surface, "local.add", {"a": 1, "b": 2}, "call_3"),
        vendor.answer("It is 3."),
    ]
    async with vendor.client(crib, *script, surface=surface, system="Be brief.") as (client, double):
        assert (await client.chat("What is 1 + 2?")).text == "It is 3."
    assert len(double.bodies) == len(script)
    sent = json.dumps(kept(double.bodies), indent=2, ensure_ascii=False) + "\n"
    file = GOLDEN / f"{vendor.name}-{surface}.json"
    if os.environ.get(RENEW):
        file.parent.mkdir(exist_ok=True)
        file.write_text(sent, encoding="utf-8")
    assert sent == file.read_text(encoding="utf-8"), f"{RENEW}=1 renews {file.name}; look at the difference first."


def test_no_file_is_left_over() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(IDS)
