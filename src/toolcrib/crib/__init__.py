"""The library's front door: `Crib` opens a configuration and wires everything together."""

from toolcrib.crib.availability import Availability, AvailableServer, Enabled
from toolcrib.crib.base import SWITCHES_FILE
from toolcrib.crib.crib import Crib
from toolcrib.crib.directory import Directory
from toolcrib.crib.explaining import ExplainedNeed, ExplainedSearch, Strategy
from toolcrib.crib.finder import DEFAULT_LIMIT, FoundTool, SearchAnswer, SourceSummary
from toolcrib.crib.opening import ConfigLike
from toolcrib.crib.shelf import OffServer
from toolcrib.crib.skillneeds import SkillNeeds, UsedSkill

__all__ = [
    "DEFAULT_LIMIT",
    "SWITCHES_FILE",
    "Availability",
    "AvailableServer",
    "ConfigLike",
    "Crib",
    "Directory",
    "Enabled",
    "ExplainedNeed",
    "ExplainedSearch",
    "FoundTool",
    "OffServer",
    "SearchAnswer",
    "SkillNeeds",
    "SourceSummary",
    "Strategy",
    "UsedSkill",
]
