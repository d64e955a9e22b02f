"""Code mode: one script in place of many calls, walled in, and accounted for."""

from toolcrib.scripts.builtin import BUILT_IN
from toolcrib.scripts.calling import Door
from toolcrib.scripts.folder import ScriptFolder
from toolcrib.scripts.naming import Naming, Stubs
from toolcrib.scripts.outcome import RUN_META, MadeCall, Purpose, RunOutcome
from toolcrib.scripts.reading import RunPage, RunReader
from toolcrib.scripts.record import RUN_STATES, Run, RunHead, RunState
from toolcrib.scripts.replaying import EarlierCall
from toolcrib.scripts.runner import Backends, ScriptRunner
from toolcrib.scripts.runs import Runs
from toolcrib.scripts.saved import SavedScript
from toolcrib.scripts.source import RETRY_META, SavedScripts
from toolcrib.scripts.telling import finding_line, run_again, run_result

__all__ = [
    "BUILT_IN",
    "RETRY_META",
    "RUN_META",
    "RUN_STATES",
    "Backends",
    "Door",
    "EarlierCall",
    "MadeCall",
    "Naming",
    "Purpose",
    "Run",
    "RunHead",
    "RunOutcome",
    "RunPage",
    "RunReader",
    "RunState",
    "Runs",
    "SavedScript",
    "SavedScripts",
    "ScriptFolder",
    "ScriptRunner",
    "Stubs",
    "finding_line",
    "run_again",
    "run_result",
]
