"""The library's front door: `Crib` opens a configuration and wires everything together."""

from toolcrib.crib.availability import Availability, AvailableServer, Enabled
from toolcrib.crib.base import SWITCHES_FILE
from toolcrib.crib.crib import DEFAULT_LIMIT, Crib
from toolcrib.crib.directory import Directory
from toolcrib.crib.finder import FoundTool, SearchAnswer, SourceSummary
from toolcrib.crib.opening import ConfigLike
from toolcrib.crib.shelf import OffServer

__all__ = [
    "DEFAULT_LIMIT",
    "SWITCHES_FILE",
    "Availability",
    "AvailableServer",
    "ConfigLike",
    "Crib",
    "Directory",
    "Enabled",
    "FoundTool",
    "OffServer",
    "SearchAnswer",
    "SourceSummary",
]
