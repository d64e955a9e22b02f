"""Two changes of one text taken together, line by line."""

from difflib import SequenceMatcher

MAX_LINES = 5_000
"""Comparing takes time by the square of the lines, and nobody's list of servers is longer."""


def merged(base: str, one: str, other: str) -> str | None:
    """What a text becomes by both of its changes.

    Args:
        base: The text that both began with.
        one: What the first made of it.
        other: What the second made of it.

    Returns:
        The text with both changes, the first's first where both put something in at one place; None where both
        changed the same lines, or there are too many lines.
    """
    lines = base.splitlines(keepends=True)
    first, second = one.splitlines(keepends=True), other.splitlines(keepends=True)
    if max(len(lines), len(first), len(second)) > MAX_LINES:
        return None
    result: list[str] = []
    place = 0
    changes = [*_changes(lines, first), *_changes(lines, second)]
    for start, end, replacement in sorted(changes, key=lambda each: each[:2]):  # stable: the first's stay first
        if start < place:
            return None
        result += [*lines[place:start], *replacement]
        place = end
    return "".join([*result, *lines[place:]])


def _changes(base: list[str], changed: list[str]) -> list[tuple[int, int, list[str]]]:
    """Which lines of a text become which others."""
    codes = SequenceMatcher(None, base, changed).get_opcodes()
    return [(start, end, changed[a:b]) for kind, start, end, a, b in codes if kind != "equal"]
