"""What a model does on each surface to call a tool, in the answers of each vendor."""

from typing import Any

from doubles import openai_responses_api
from doubles.vendors import VENDORS, Vendor

SURFACES = {
    "anthropic": ("all", "deferred", "search", "native"),
    "openai": ("all", "deferred", "search", "native"),
    "openai-chat": ("all", "deferred", "search"),
    "gemini": ("all", "deferred", "search"),
}
EACH = [(vendor, surface) for vendor in VENDORS for surface in SURFACES[vendor.name]]
"""Every vendor with every surface that it can have."""

IDS = [f"{vendor.name}-{surface}" for vendor, surface in EACH]


def calls(vendor: Vendor, surface: str, tool: str, arguments: dict[str, Any], call_id: str) -> list[Any]:
    """The answer that calls a tool, named by its id."""
    if surface == "search":
        return vendor.answer("", ("call_tool", {"name": tool, "arguments": arguments}, call_id))
    return vendor.answer("", (tool.replace(".", "__"), arguments, call_id))


def looks(vendor: Vendor, surface: str, words: str, call_id: str) -> list[list[Any]]:
    """The answers that look for a tool first, where the surface wants that."""
    if surface not in ("search", "native"):
        return []
    if (vendor.name, surface) == ("openai", "native"):
        return [openai_responses_api.answer(openai_responses_api.search(words, call_id))]
    return [vendor.answer("", ("search_tools", {"query": words}, call_id))]
