"""What a call of a tool may do: read, write, destroy."""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from toolcrib.broker.call import Effect
from toolcrib.catalog import Tool


def effect_of(tool: Tool, overrides: Mapping[str, Effect], *, trusted: bool) -> Effect:
    """What a call of the tool may do.

    The configuration decides first. Of a server's own annotations those that warn are always believed; that a
    tool only reads is believed of a trusted server alone (specification, tools: annotations are untrusted).

    Args:
        tool: The tool.
        overrides: Effects by glob over the tool's own name, from the configuration.
        trusted: Whether the configuration trusts the server.
    """
    for glob, effect in overrides.items():
        if fnmatchcase(tool.name, glob):
            return effect
    annotations = tool.annotations
    if annotations.get("readOnlyHint") is True:
        return "read" if trusted else "unknown"
    if annotations.get("destructiveHint") is True:
        return "destructive"
    return "write" if "readOnlyHint" in annotations else "unknown"
