"""The library's front door: `Crib` opens a configuration and wires everything together."""

from toolcrib.crib.crib import DEFAULT_LIMIT, Crib
from toolcrib.crib.finder import FoundTool, SearchAnswer, SourceSummary
from toolcrib.crib.opening import ConfigLike

__all__ = ["DEFAULT_LIMIT", "ConfigLike", "Crib", "FoundTool", "SearchAnswer", "SourceSummary"]
