"""What of a tool's definition clients send to a model, and what that costs."""

import json
from collections.abc import Mapping
from typing import Any

from toolcrib.catalog.tool import Tool
from toolcrib.schema import wire_name
from toolcrib.tokens import count_tokens

_SENT = ("name", "description", "inputSchema")
"""The members of a definition that clients send to a model."""


def as_sent(definition: Mapping[str, Any]) -> str:
    """The members of a definition that clients send to a model, as compact JSON."""
    members = {name: definition[name] for name in _SENT if definition.get(name) is not None}
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def definition_tokens(tool: Tool) -> int:
    """Tokens of one tool's definition as a client sends it, by the counter of `count_tokens`."""
    return count_tokens(as_sent({**tool.definition, "name": wire_name(tool.server, tool.name)}))
