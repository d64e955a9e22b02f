"""The broker: validates, authorises, records and sends every request to every source."""

from toolcrib.broker.access import Access
from toolcrib.broker.approvals import Approval, Approvals, Approver, Asking, Grant, Granted, Inbox, Limits, Question
from toolcrib.broker.broker import Broker, Sources
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
from toolcrib.broker.parking import Parking, UnknownTokenError
from toolcrib.broker.policy import (
    ALLOW,
    ConfiguredPolicy,
    Decision,
    Explanation,
    ListedTool,
    Policy,
    ServerLists,
    Step,
    with_policy_warnings,
)
from toolcrib.broker.prepare import InvalidArgumentsError
from toolcrib.broker.results import Fit, Whole, content_of, repeats_structure, same_json, text_of, value_of
from toolcrib.broker.waiting import ApprovalWaitingError, InputUnsupportedError

__all__ = [
    "ALLOW",
    "DEFAULT_OPTIONS",
    "LOCAL",
    "Access",
    "Approval",
    "ApprovalWaitingError",
    "Approvals",
    "Approver",
    "Asking",
    "Broker",
    "Call",
    "Caller",
    "ConfiguredPolicy",
    "DataFlow",
    "Decision",
    "Discovery",
    "DurableJournal",
    "Effect",
    "Ending",
    "Entry",
    "Explanation",
    "Face",
    "Filter",
    "Fit",
    "Grant",
    "Granted",
    "Inbox",
    "InputUnsupportedError",
    "InvalidArgumentsError",
    "Journal",
    "JournalReader",
    "Ledger",
    "Limits",
    "ListedTool",
    "NoDataFlow",
    "NoJournal",
    "Options",
    "Outcome",
    "Parking",
    "Policy",
    "Principal",
    "Question",
    "Rules",
    "ServerLists",
    "Sources",
    "Step",
    "Trace",
    "UnknownTokenError",
    "Unsettled",
    "Whole",
    "content_of",
    "effect_of",
    "repeats_structure",
    "same_json",
    "text_of",
    "value_of",
    "with_policy_warnings",
]
