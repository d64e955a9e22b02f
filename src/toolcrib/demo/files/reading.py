"""The file tools that look and change nothing."""

import base64
import fnmatch
import hashlib
from typing import Any

from mcp_types import CallToolResult, ImageContent, ResourceLink, TextContent

from toolcrib.demo.faults import DemoError
from toolcrib.demo.files.chart import COLOURS, bar_chart
from toolcrib.demo.files.shapes import FOLDER, PATH, WHEN, uri_of
from toolcrib.demo.files.store import FileStore, is_text, media_type
from toolcrib.demo.shapes import arguments, choice, flag, integer, many, number, record, text
from toolcrib.demo.toolbox import READS, Arguments, Toolbox

tools = Toolbox[FileStore]()


@tools.tool(
    "List files",
    READS,
    takes=arguments(
        {
            "folder": {**FOLDER, "description": "Only this folder and those below; all when left out."},
            "pattern": text("Shell pattern for the whole path.", maxLength=100, examples=["*.csv"]),
        }
    ),
    gives=record(
        {
            "files": many(record({"path": text(), "bytes": integer(), "modified_at": WHEN, "media_type": text()})),
            "total_bytes": integer(),
        }
    ),
)
def list_files(store: FileStore, given: Arguments) -> dict[str, Any]:
    """List the files of the library with size, type and time of change, those in subfolders too."""
    files = [
        file
        for file in store.files(given.get("folder", ""))
        if fnmatch.fnmatchcase(file["path"], given.get("pattern", "*"))
    ]
    return {"files": files, "total_bytes": sum(file["bytes"] for file in files)}


@tools.tool(
    "Read file",
    READS,
    takes=arguments(
        {
            "path": PATH,
            "first_line": integer("Where to begin, counted from 1.", minimum=1, maximum=1_000_000, default=1),
            "lines": integer("How many lines; to the end when left out.", minimum=1, maximum=1_000_000),
        },
        required=["path"],
    ),
)
def read_file(store: FileStore, given: Arguments) -> str | CallToolResult:
    """Read a file: text as it is, whole or some lines of it, or a picture as an image.

    Logs can be long (up to 60 kB); search_files finds the lines that matter.
    """
    path = given["path"]
    if media_type(path).startswith("image/"):
        return CallToolResult(content=[_image(store.content(path), media_type(path))])
    content = store.text(path)
    if "first_line" not in given and "lines" not in given:
        return content
    lines = content.splitlines(keepends=True)
    start = int(given.get("first_line", 1)) - 1
    if start >= max(len(lines), 1):
        raise DemoError(f"{path} has no line {start + 1}.", hint=f"It has {len(lines)} lines.")
    return "".join(lines[start : start + int(given.get("lines", len(lines)))])


@tools.tool(
    "Search in files",
    READS,
    takes=arguments(
        {
            "text": text("What to look for, literally.", minLength=1, maxLength=200),
            "folder": {**FOLDER, "description": "Only in this folder and those below."},
            "case_sensitive": flag("Whether capitals matter.", default=False),
            "limit": integer("The most lines to answer.", minimum=1, maximum=500, default=50),
        },
        required=["text"],
    ),
    gives=record(
        {
            "matches": many(record({"path": text(), "line": integer("From 1."), "text": text()})),
            "total": integer("Lines that match, shown or not."),
        }
    ),
)
def search_files(store: FileStore, given: Arguments) -> dict[str, Any]:
    """Search the content of all text files for a piece of text (grep) and answer the lines with their number."""
    exact = given.get("case_sensitive", False)
    needle = given["text"] if exact else given["text"].casefold()
    matches = [
        {"path": file["path"], "line": place, "text": line}
        for file in store.files(given.get("folder", ""))
        if is_text(file["path"])
        for place, line in enumerate(store.text(file["path"]).splitlines(), 1)
        if needle in (line if exact else line.casefold())
    ]
    return {"matches": matches[: int(given.get("limit", 50))], "total": len(matches)}


@tools.tool(
    "Checksums",
    READS,
    takes=arguments(
        {
            "paths": many(PATH, minItems=1, maxItems=100, uniqueItems=True),
            "algorithm": choice(("sha256", "sha1", "md5"), default="sha256"),
        },
        required=["paths"],
    ),
    gives=record(
        {
            "algorithm": text(),
            "checksums": {
                "type": "object",
                "additionalProperties": text(pattern="^[0-9a-f]+$"),
                "description": "By path, in hexadecimal.",
            },
        }
    ),
)
def get_checksums(store: FileStore, given: Arguments) -> dict[str, Any]:
    """Compute checksums (hashes) of files, to verify them or to find duplicates."""
    algorithm = given.get("algorithm", "sha256")
    return {
        "algorithm": algorithm,
        "checksums": {
            path: hashlib.new(algorithm, store.content(path), usedforsecurity=False).hexdigest()
            for path in given["paths"]
        },
    }


@tools.tool("Link to file", READS, takes=arguments({"path": PATH}, required=["path"]))
def link_file(store: FileStore, given: Arguments) -> CallToolResult:
    """Give a link to a file, to be read later as a resource, without loading its content.

    The right way to hand on large or binary files.
    """
    path = given["path"]
    link = ResourceLink(
        uri=uri_of(path),
        name=path.rpartition("/")[2],
        mime_type=media_type(path),
        size=len(store.content(path)),
        description=f"{path} in the file library.",
    )
    return CallToolResult(content=[link])


@tools.tool(
    "Draw bar chart",
    READS,
    takes=arguments(
        {
            "title": text("Written above the chart.", maxLength=100),
            "bars": many(
                arguments(
                    {
                        "label": text("Written below the bar.", maxLength=30),
                        "value": number(minimum=0, maximum=1_000_000_000),
                    },
                    required=["label", "value"],
                ),
                "From left to right.",
                minItems=1,
                maxItems=24,
            ),
            "width": integer("Pixels.", minimum=200, maximum=1600, default=640),
            "height": integer("Pixels.", minimum=150, maximum=1200, default=400),
            "color": choice(tuple(COLOURS), default="blue"),
        },
        required=["title", "bars"],
    ),
    gives=record(
        {"width": integer(), "height": integer(), "bytes": integer(), "highest": text("Label."), "sum": number()}
    ),
)
def render_chart(store: FileStore, given: Arguments) -> CallToolResult:
    """Draw a bar chart of labelled numbers and answer it as a PNG image, with its figures beside.

    Values are written above the bars; labels that are too long for their bar are cut.
    """
    bars = [(bar["label"], bar["value"]) for bar in given["bars"]]
    width, height = int(given.get("width", 640)), int(given.get("height", 400))
    picture = bar_chart(given["title"], bars, width, height, given.get("color", "blue"))
    figures = {
        "width": width,
        "height": height,
        "bytes": len(picture),
        "highest": max(bars, key=lambda bar: bar[1])[0],
        "sum": sum(value for _, value in bars),
    }
    caption = f"{given['title']}: {len(bars)} bars, the highest is {figures['highest']}."
    return CallToolResult(content=[TextContent(text=caption), _image(picture, "image/png")], structured_content=figures)


@tools.tool(
    "Get word index",
    READS,
    takes=arguments({"top": integer("How many words to show.", minimum=0, maximum=200, default=10)}),
    gives=record(
        {
            "state": choice(("none", "running", "complete", "cancelled"), "Of the last indexing job."),
            "files": integer("Files in the index; 0 without an index."),
            "words": integer("Different words in it."),
            "most_frequent": many(record({"word": text(), "count": integer()})),
        }
    ),
)
def get_word_index(store: FileStore, given: Arguments) -> dict[str, Any]:
    """Show the state of the word index and the most frequent words in it. build_word_index builds it."""
    facts = store.index_facts() or {"files": 0, "words": 0}
    return {
        "state": store.job,
        "files": facts["files"],
        "words": facts["words"],
        "most_frequent": store.top_words(int(given.get("top", 10))),
    }


def _image(content: bytes, kind: str) -> ImageContent:
    return ImageContent(data=base64.b64encode(content).decode(), mime_type=kind)
