"""The journal: the durable record of calls and their outcome."""

from toolcrib.broker.journal.entry import ALL, STATES, Discovery, Entry, Filter, State
from toolcrib.broker.journal.seam import Ending, Journal, NoJournal, Unsettled

__all__ = [
    "ALL",
    "STATES",
    "Discovery",
    "Ending",
    "Entry",
    "Filter",
    "Journal",
    "NoJournal",
    "State",
    "Unsettled",
]
