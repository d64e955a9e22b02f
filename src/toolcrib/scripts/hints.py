"""What to do about a failure, whatever ran the script; what only one back-end knows it says itself."""

import re

from toolcrib.sandbox import Fault

_BY_KIND = {
    "Timeout": "Do less in one script: filter where the data is, or split the work.",
    "TimeoutError": "Do less in one script: filter where the data is, or split the work.",
    "CallLimit": "Get more with each call, or split the work into several scripts.",
    "OutputLimit": "Print less: the value of the last expression comes back too.",
    "MemoryError": "Keep less in memory at once: fetch and reduce page by page.",
    "KeyError": "Print the keys first; get_tool_details tells what a tool's result is like.",
    "PermissionError": "Scripts reach nothing but the tools: no files, network or programs.",
}
_BY_MESSAGE = (
    (
        re.compile(r"'(?:dict|list|str)' object has no attribute '(\w+)'"),
        "Results are plain objects: a member is read as value['{0}'].",
    ),
    (
        re.compile(r"object is not subscriptable|indices must be integers|is not iterable|object is not callable"),
        "The value is of another kind than expected: print it first, or look at get_tool_details.",
    ),
    (
        re.compile(r"Cannot read properties of|is not a function|is not iterable|is undefined"),
        "The value is not what was expected: print it first, or look at get_tool_details.",
    ),
)


def what_to_do(fault: Fault) -> str:
    """A hint about a failure; empty where nobody knows."""
    if fault.hint:
        return fault.hint
    for pattern, hint in _BY_MESSAGE:
        if match := pattern.search(fault.message):
            return hint.format(*match.groups())
    return _BY_KIND.get(fault.kind, "")
