"""What a call of a tool may do: read, write, destroy; by the configuration, the server's word, and its name."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from toolcrib.broker.call import Effect
from toolcrib.catalog import Tool

DELETING = """
clear del delete delist deprovision deregister destroy discard drop erase evict expunge flush kill nuke obliterate prune
purge remove reset revoke rm rmdir shred terminate trash truncate uninstall unlink unpublish unregister wipe zap
"""
"""Words in a tool's name that say that it takes something away.

Chosen by counting over 2,408 tools of 69 recorded servers: 189 have one of these words in their names. Of the 143
of them that are annotated, 142 say themselves that they are destructive; 46 say nothing. Words of which less was
true are left out: `cancel` 5 of 6, `stop` 4 of 11, `transfer` 2 of 8, `restart` 2 of 5, `block` 3 of 5.
"""

_DELETING = frozenset(DELETING.split())
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS = re.compile(r"[A-Za-z]+")
_RUN_TOGETHER = re.compile(r"(?:delete|destroy|uninstall|remove)(?!d|r)[a-z]{3,}|(?!un)[a-z]{2,}(?:delete|destroy)")
"""Names without any mark between their words, such as `deleteuser` and `bulkdelete`; not `deleted`, not `undelete`."""


class Judged(NamedTuple):
    """An effect, and what it was told by."""

    effect: Effect
    why: str


def effect_of(tool: Tool, overrides: Mapping[str, Effect], *, trusted: bool) -> Effect:
    """What a call of the tool may do; see `judged`."""
    return judged(tool, overrides, trusted=trusted).effect


def judged(tool: Tool, overrides: Mapping[str, Effect], *, trusted: bool) -> Judged:
    """What a call of the tool may do, and what tells so.

    The configuration decides first. A trusted server's annotations are believed as they are. Those of any other
    may raise what its tool's name tells, and never lower it (specification, tools: annotations are untrusted):
    who says that a tool destroys is believed, who says that it only reads or adds is not.

    The specification's default for a missing `destructiveHint`, true where `readOnlyHint` is false, is not
    applied: of the 35 recorded tools that it concerns (`hover`, `take_screenshot`, `get_paper_latex` …) next to
    none destroys anything, and a mark that stands everywhere warns of nothing.

    Args:
        tool: The tool.
        overrides: Effects by glob over the tool's own name, from the configuration.
        trusted: Whether the configuration trusts the server.
    """
    told = judged_by_name(tool.name, overrides, trusted=trusted)
    if told is not None:
        return told
    read_only, destructive = (tool.annotations.get(hint) for hint in ("readOnlyHint", "destructiveHint"))
    if trusted and read_only is True:
        return Judged("read", "the server, which is trusted, says that it only reads")
    if destructive is True:
        return Judged("destructive", "the server says that it may destroy things")
    if trusted and destructive is False:
        return Judged("write", "the server, which is trusted, says that it only adds")
    if word := deleting_word(tool.name):
        return Judged("destructive", _named(word))
    if read_only is False:
        return Judged("write", "the server says that it may change things")
    if read_only is True:
        return Judged("unknown", "the server says that it only reads, and is not trusted")
    return Judged("unknown", "nothing tells")


def judged_by_name(name: str, overrides: Mapping[str, Effect], *, trusted: bool) -> Judged | None:
    """The same where the name alone decides it; None where the definition has to be read.

    Args:
        name: The tool's own name.
        overrides: See `judged`.
        trusted: See `judged`.
    """
    for glob, effect in overrides.items():
        if fnmatchcase(name, glob):
            return Judged(effect, f"the configuration says so of {glob!r}")
    if not trusted and (word := deleting_word(name)):
        return Judged("destructive", _named(word))
    return None


def deleting_word(name: str) -> str | None:
    """The word in a tool's name that says that it takes something away, or None."""
    for part in _LETTERS.findall(_CAMEL.sub(" ", name)):
        word = part.lower()
        if word in _DELETING or _RUN_TOGETHER.fullmatch(word):
            return word
    return None


def _named(word: str) -> str:
    return f"its name says {word!r}"
