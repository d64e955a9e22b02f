"""Results: what a program gets of one, and how one is made to fit a caller's budget."""

from toolcrib.broker.results.fit import NOT_KEPT_META, Fit, Handles, Whole
from toolcrib.broker.results.kept import FOLDER, Kept, KeptResults, UnknownHandleError
from toolcrib.broker.results.measuring import is_small
from toolcrib.broker.results.media import is_media
from toolcrib.broker.results.pages import Excerpt, Page, read_page
from toolcrib.broker.results.preview import HANDLE_META
from toolcrib.broker.results.seen import SEEN_FOLDER, Noticing, SeenShapes
from toolcrib.broker.results.values import (
    content_of,
    contents_as_blocks,
    parsed,
    repeats_structure,
    same_json,
    text_of,
    value_of,
)
from toolcrib.broker.results.view import view_of

__all__ = [
    "FOLDER",
    "HANDLE_META",
    "NOT_KEPT_META",
    "SEEN_FOLDER",
    "Excerpt",
    "Fit",
    "Handles",
    "Kept",
    "KeptResults",
    "Noticing",
    "Page",
    "SeenShapes",
    "UnknownHandleError",
    "Whole",
    "content_of",
    "contents_as_blocks",
    "is_media",
    "is_small",
    "parsed",
    "read_page",
    "repeats_structure",
    "same_json",
    "text_of",
    "value_of",
    "view_of",
]
