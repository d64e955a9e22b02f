"""The catalog: what sources offer, with full definitions, in memory and on disk."""

from toolcrib.catalog.definitions import Definitions, FileDefinitions, MemoryDefinitions, to_line
from toolcrib.catalog.listing import CAPABILITIES, Listing
from toolcrib.catalog.metadata import ToolMetadata
from toolcrib.catalog.parts import LOCAL_PRINCIPAL, owner_of, part_name, public_name
from toolcrib.catalog.progress import OnProgress, TakesReports, readable_report, tell_progress
from toolcrib.catalog.registry import ToolRegistry
from toolcrib.catalog.sent import as_sent, definition_tokens
from toolcrib.catalog.snapshots import Snapshot, SnapshotStore
from toolcrib.catalog.source import (
    LIST_MEMBERS,
    NO_CONTEXT,
    SAVED_SCRIPTS,
    SKILL_HEAD,
    SKILLS,
    Claiming,
    ClientSide,
    ListMethod,
    MidwayAsking,
    RequestContext,
    RequestMethod,
    Source,
    TakesCompletions,
    TakesLogs,
)
from toolcrib.catalog.tool import JsonObject, Tool
from toolcrib.catalog.visible import VisibleSet

__all__ = [
    "CAPABILITIES",
    "LIST_MEMBERS",
    "LOCAL_PRINCIPAL",
    "NO_CONTEXT",
    "SAVED_SCRIPTS",
    "SKILLS",
    "SKILL_HEAD",
    "Claiming",
    "ClientSide",
    "Definitions",
    "FileDefinitions",
    "JsonObject",
    "ListMethod",
    "Listing",
    "MemoryDefinitions",
    "MidwayAsking",
    "OnProgress",
    "RequestContext",
    "RequestMethod",
    "Snapshot",
    "SnapshotStore",
    "Source",
    "TakesCompletions",
    "TakesLogs",
    "TakesReports",
    "Tool",
    "ToolMetadata",
    "ToolRegistry",
    "VisibleSet",
    "as_sent",
    "definition_tokens",
    "owner_of",
    "part_name",
    "public_name",
    "readable_report",
    "tell_progress",
    "to_line",
]
