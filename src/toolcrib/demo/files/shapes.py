"""The shapes that the file tools share, and the addresses of files."""

from toolcrib.demo.shapes import text

_NAME = "[A-Za-z0-9_][A-Za-z0-9._-]*"

PATH = text(
    "Path in the library, with / between folders and no leading /.",
    pattern=f"^{_NAME}(/{_NAME})*$",
    maxLength=200,
    examples=["data/sales-2025.csv"],
)
FOLDER = text(pattern=f"^{_NAME}(/{_NAME})*$", maxLength=200)
WHEN = text(format="date-time")

URI_PREFIX = "files:///"


def uri_of(path: str) -> str:
    """The address of a file; the characters that a path may have need no escape."""
    return URI_PREFIX + path
