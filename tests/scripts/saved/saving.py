"""A tool for scripts to call, and calls as a model makes them."""

from typing import Any

from toolcrib import Crib
from toolcrib.metatools import MetaTools

WRITTEN: list[str] = []
BROKEN: set[str] = set()


async def write(title: str) -> dict[str, Any]:
    """Write something."""
    if title in BROKEN:
        raise ValueError("not now")
    WRITTEN.append(title)
    return {"id": len(WRITTEN), "title": title}


async def call(crib: Crib, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    """The text and the result of a call of a constant tool."""
    result = await MetaTools(crib).call(tool, arguments)
    return "\n".join(str(block.get("text", block)) for block in result["content"]), result
