"""The library's front door: `Crib` opens a configuration and wires everything together."""

from toolcrib.crib.crib import DEFAULT_LIMIT, Crib
from toolcrib.crib.finder import FoundTool, SearchAnswer, SourceSummary

__all__ = ["DEFAULT_LIMIT", "Crib", "FoundTool", "SearchAnswer", "SourceSummary"]
