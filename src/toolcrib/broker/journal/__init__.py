"""The journal: the durable record of calls and their outcome."""

from toolcrib.broker.journal.durable import DurableJournal, Rules
from toolcrib.broker.journal.entry import ALL, STATES, Discovery, Entry, Filter, JournalPage, State
from toolcrib.broker.journal.ledger import KEY_FILE, Ledger
from toolcrib.broker.journal.periods import Period
from toolcrib.broker.journal.reading import JournalReader
from toolcrib.broker.journal.seam import Ending, Journal, NoJournal
from toolcrib.broker.journal.writing import keyed_digest

__all__ = [
    "ALL",
    "KEY_FILE",
    "STATES",
    "Discovery",
    "DurableJournal",
    "Ending",
    "Entry",
    "Filter",
    "Journal",
    "JournalPage",
    "JournalReader",
    "Ledger",
    "NoJournal",
    "Period",
    "Rules",
    "State",
    "keyed_digest",
]
