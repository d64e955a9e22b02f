"""Code mode: one script in place of many calls, walled in, and accounted for."""

from toolcrib.scripts.builtin import BUILT_IN
from toolcrib.scripts.calling import Door
from toolcrib.scripts.naming import Naming, Stubs
from toolcrib.scripts.outcome import MadeCall, RunOutcome
from toolcrib.scripts.replaying import EarlierCall
from toolcrib.scripts.runner import Backends, ScriptRunner
from toolcrib.scripts.runs import Run, Runs

__all__ = [
    "BUILT_IN",
    "Backends",
    "Door",
    "EarlierCall",
    "MadeCall",
    "Naming",
    "Run",
    "RunOutcome",
    "Runs",
    "ScriptRunner",
    "Stubs",
]
