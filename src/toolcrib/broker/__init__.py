"""The broker: validates, authorises, records and sends every request to every source."""

from toolcrib.broker.access import Access
from toolcrib.broker.broker import Approver, Broker, Sources
from toolcrib.broker.call import DEFAULT_OPTIONS, LOCAL, Call, Caller, Effect, Face, Options, Outcome, Principal
from toolcrib.broker.dataflow import DataFlow, NoDataFlow, Trace
from toolcrib.broker.effects import effect_of
from toolcrib.broker.journal import (
    Discovery,
    DurableJournal,
    Ending,
    Entry,
    Filter,
    Journal,
    JournalReader,
    Ledger,
    NoJournal,
    Rules,
    Unsettled,
)
from toolcrib.broker.parking import NoParking, Parking
from toolcrib.broker.policy import ALLOW, Decision, ListedTool, Policy, ServerLists
from toolcrib.broker.prepare import InvalidArgumentsError
from toolcrib.broker.results import Fit, Whole, content_of, repeats_structure, same_json, text_of, value_of

__all__ = [
    "ALLOW",
    "DEFAULT_OPTIONS",
    "LOCAL",
    "Access",
    "Approver",
    "Broker",
    "Call",
    "Caller",
    "DataFlow",
    "Decision",
    "Discovery",
    "DurableJournal",
    "Effect",
    "Ending",
    "Entry",
    "Face",
    "Filter",
    "Fit",
    "InvalidArgumentsError",
    "Journal",
    "JournalReader",
    "Ledger",
    "ListedTool",
    "NoDataFlow",
    "NoJournal",
    "NoParking",
    "Options",
    "Outcome",
    "Parking",
    "Policy",
    "Principal",
    "Rules",
    "ServerLists",
    "Sources",
    "Trace",
    "Unsettled",
    "Whole",
    "content_of",
    "effect_of",
    "repeats_structure",
    "same_json",
    "text_of",
    "value_of",
]
