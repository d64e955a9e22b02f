"""The constant tools that a model sees in place of all others."""

from toolcrib.metatools.code import RUN_CODE
from toolcrib.metatools.definitions import (
    CALL_TOOL,
    DETAILS,
    DISABLE_SERVER,
    ENABLE_SERVER,
    GET_TOOL_DETAILS,
    READ_RESULT,
    READ_TOOL,
    SEARCH_SERVERS,
    SEARCH_TOOLS,
)
from toolcrib.metatools.forgiving import tool_call
from toolcrib.metatools.formatting import (
    compact,
    error_text,
    search_text,
    text_result,
    tool_signature,
    unsettled_text,
)
from toolcrib.metatools.metatools import MetaTools, call_notes
from toolcrib.metatools.remarks import CHANGED_META, HIDDEN_META, hidden_in_result, tool_remarks
from toolcrib.metatools.resources import LIST_RESOURCES, READ_RESOURCE, resource_tools
from toolcrib.metatools.skills import skill_file, skill_text

__all__ = [
    "CALL_TOOL",
    "CHANGED_META",
    "DETAILS",
    "DISABLE_SERVER",
    "ENABLE_SERVER",
    "GET_TOOL_DETAILS",
    "HIDDEN_META",
    "LIST_RESOURCES",
    "READ_RESOURCE",
    "READ_RESULT",
    "READ_TOOL",
    "RUN_CODE",
    "SEARCH_SERVERS",
    "SEARCH_TOOLS",
    "MetaTools",
    "call_notes",
    "compact",
    "error_text",
    "hidden_in_result",
    "resource_tools",
    "search_text",
    "skill_file",
    "skill_text",
    "text_result",
    "tool_call",
    "tool_remarks",
    "tool_signature",
    "unsettled_text",
]
