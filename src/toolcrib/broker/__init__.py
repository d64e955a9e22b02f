"""The broker: validates, authorises, records and sends every request to every source."""

from toolcrib.broker.access import Access
from toolcrib.broker.broker import Approver, Broker, Sources
from toolcrib.broker.call import DEFAULT_OPTIONS, LOCAL, Call, Caller, Effect, Face, Options, Outcome, Principal
from toolcrib.broker.dataflow import DataFlow, NoDataFlow, Trace
from toolcrib.broker.effects import effect_of
from toolcrib.broker.journal import Ending, Journal, NoJournal
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
    "Effect",
    "Ending",
    "Face",
    "Fit",
    "InvalidArgumentsError",
    "Journal",
    "ListedTool",
    "NoDataFlow",
    "NoJournal",
    "NoParking",
    "Options",
    "Outcome",
    "Parking",
    "Policy",
    "Principal",
    "ServerLists",
    "Sources",
    "Trace",
    "Whole",
    "content_of",
    "effect_of",
    "repeats_structure",
    "same_json",
    "text_of",
    "value_of",
]
