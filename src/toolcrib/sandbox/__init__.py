"""Where scripts run: one contract, one driver that keeps every budget, one folder a back-end."""

from toolcrib.sandbox.contract import (
    CallError,
    CallRecord,
    Description,
    Fault,
    Finding,
    Language,
    Names,
    OnCall,
    OnOutput,
    Outcome,
    Sandbox,
    ScriptCall,
    Status,
    StopError,
    SuspendError,
    Usage,
)
from toolcrib.sandbox.creation import SANDBOXES, create_sandbox
from toolcrib.sandbox.limits import Limits

__all__ = [
    "SANDBOXES",
    "CallError",
    "CallRecord",
    "Description",
    "Fault",
    "Finding",
    "Language",
    "Limits",
    "Names",
    "OnCall",
    "OnOutput",
    "Outcome",
    "Sandbox",
    "ScriptCall",
    "Status",
    "StopError",
    "SuspendError",
    "Usage",
    "create_sandbox",
]
