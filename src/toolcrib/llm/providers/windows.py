"""How much the models of each vendor take, for thresholds and limits."""

from collections.abc import Sequence

UNKNOWN_WINDOW = 128_000
"""Tokens that a model is taken to have room for when nothing is known of it."""

_WINDOWS: Sequence[tuple[str, int]] = (
    ("claude-haiku-4-5", 200_000),
    ("claude-sonnet-4-5", 200_000),
    ("claude-opus-4-5", 200_000),
    ("claude-", 1_000_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5.4-mini", 272_000),
    ("gpt-5.4-nano", 272_000),
    ("gpt-5.4", 1_050_000),
    ("gpt-5.5", 1_050_000),
    ("gpt-5.6", 922_000),
    ("gpt-5", 272_000),
    ("gpt-6", 922_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-", 1_048_576),
)
"""Input windows by the beginning of a model's name, longest first where one begins another; from the vendors' model
pages, November 2026."""


def window_of(model: str, unknown: int = UNKNOWN_WINDOW) -> int:
    """Tokens that a model has room for.

    Args:
        model: The model's name, perhaps behind the name of a reseller's folder.
        unknown: What to answer for a model that is not known.
    """
    name = model.rpartition("/")[2].lower()
    return next((window for prefix, window in _WINDOWS if name.startswith(prefix)), unknown)
