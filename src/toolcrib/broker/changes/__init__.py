"""Change control: what tools were when they were first used, and what has become of them since."""

from toolcrib.broker.changes.control import (
    CHANGED_RULE,
    ChangeControl,
    Mode,
    NoWatcher,
    ToolChange,
    Watch,
    Watcher,
    reason_of,
)
from toolcrib.broker.changes.definitions import Difference, definition_hash, differences
from toolcrib.broker.changes.pin import Pin
from toolcrib.broker.changes.pins import Pins

__all__ = [
    "CHANGED_RULE",
    "ChangeControl",
    "Difference",
    "Mode",
    "NoWatcher",
    "Pin",
    "Pins",
    "ToolChange",
    "Watch",
    "Watcher",
    "definition_hash",
    "differences",
    "reason_of",
]
