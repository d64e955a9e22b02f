"""Toolcrib: one small door to every tool of every MCP server."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from toolcrib.broker import Caller, Grant, InvalidArgumentsError, Outcome, Principal, Question, text_of, value_of
    from toolcrib.catalog import Tool, ToolMetadata, ToolRegistry
    from toolcrib.crib import Crib, SearchAnswer
    from toolcrib.errors import ToolcribError
    from toolcrib.llm import DeferredToolManager, LlmClient, LlmConfiguration, MCPLlm
    from toolcrib.metatools import MetaTools
    from toolcrib.schema import ValidationResult
    from toolcrib.servers.clients import follow_tools, list_tools_metadata

_HOMES = {
    "Caller": "toolcrib.broker",
    "Crib": "toolcrib.crib",
    "DeferredToolManager": "toolcrib.llm",
    "Grant": "toolcrib.broker",
    "InvalidArgumentsError": "toolcrib.broker",
    "LlmClient": "toolcrib.llm",
    "LlmConfiguration": "toolcrib.llm",
    "MCPLlm": "toolcrib.llm",
    "MetaTools": "toolcrib.metatools",
    "Outcome": "toolcrib.broker",
    "Principal": "toolcrib.broker",
    "Question": "toolcrib.broker",
    "SearchAnswer": "toolcrib.crib",
    "Tool": "toolcrib.catalog",
    "ToolMetadata": "toolcrib.catalog",
    "ToolRegistry": "toolcrib.catalog",
    "ToolcribError": "toolcrib.errors",
    "ValidationResult": "toolcrib.schema",
    "follow_tools": "toolcrib.servers.clients",
    "list_tools_metadata": "toolcrib.servers.clients",
    "text_of": "toolcrib.broker",
    "value_of": "toolcrib.broker",
}

__all__ = [
    "Caller",
    "Crib",
    "DeferredToolManager",
    "Grant",
    "InvalidArgumentsError",
    "LlmClient",
    "LlmConfiguration",
    "MCPLlm",
    "MetaTools",
    "Outcome",
    "Principal",
    "Question",
    "SearchAnswer",
    "Tool",
    "ToolMetadata",
    "ToolRegistry",
    "ToolcribError",
    "ValidationResult",
    "follow_tools",
    "list_tools_metadata",
    "text_of",
    "value_of",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: `import toolcrib` itself stays quick."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolcrib' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
