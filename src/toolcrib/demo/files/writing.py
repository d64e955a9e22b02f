"""The file tools that change something."""

import re
from collections import Counter
from typing import Any

import anyio

from toolcrib.demo.faults import DemoError
from toolcrib.demo.files.shapes import FOLDER, PATH
from toolcrib.demo.files.store import FileStore, is_text
from toolcrib.demo.shapes import arguments, choice, flag, integer, record, text
from toolcrib.demo.toolbox import ADDS, OVERWRITES, Arguments, Report, Toolbox

tools = Toolbox[FileStore]()

_LARGEST = 1_000_000


@tools.tool(
    "Write file",
    OVERWRITES.model_copy(update={"idempotent_hint": False}),
    takes=arguments(
        {
            "path": PATH,
            "content": text("The text.", maxLength=200_000),
            "mode": choice(
                ("create", "overwrite", "append"),
                "create refuses when the file exists; append adds to its end.",
                default="create",
            ),
        },
        required=["path", "content"],
    ),
    gives=record({"path": text(), "bytes": integer("Size now."), "created": flag("Whether it is new.")}),
)
def write_file(store: FileStore, given: Arguments) -> dict[str, Any]:
    """Write a text file into the library: a new one, in place of an existing one, or at its end.

    Folders come into being by themselves. An existing file is only touched when mode says so.
    """
    path, mode, content = given["path"], given.get("mode", "create"), given["content"]
    if not is_text(path):
        raise DemoError(f"{path} is not the name of a text file.", hint="Use .txt, .md, .csv, .json or .log.")
    exists = store.has(path)
    if exists and mode == "create":
        raise DemoError(f"{path} exists.", hint="Set mode to overwrite or append, or choose another path.")
    if exists and mode == "append":
        content = store.text(path) + content
    encoded = content.encode()
    if len(encoded) > _LARGEST:
        raise DemoError(f"{path} would become larger than 1 MB.", hint="Begin another file.")
    store.write(path, encoded)
    return {"path": path, "bytes": len(encoded), "created": not exists}


@tools.tool(
    "Move file",
    OVERWRITES.model_copy(update={"idempotent_hint": False}),
    takes=arguments(
        {
            "source": PATH,
            "target": PATH,
            "overwrite": flag("Whether a file at the target may be replaced.", default=False),
        },
        required=["source", "target"],
    ),
)
def move_file(store: FileStore, given: Arguments) -> str:
    """Move a file to another folder or rename it."""
    source, target = given["source"], given["target"]
    if store.has(target) and source != target and not given.get("overwrite", False):
        raise DemoError(f"{target} exists.", hint="Set overwrite to true to replace it.")
    store.move(source, target)
    return f"{source} is now {target}."


@tools.tool("Delete file", OVERWRITES, takes=arguments({"path": PATH}, required=["path"]))
def delete_file(store: FileStore, given: Arguments) -> str:
    """Delete a file from the library for good. There is no bin to restore it from."""
    store.delete(given["path"])
    return f"{given['path']} is deleted."


@tools.job(
    "Build word index",
    ADDS,
    takes=arguments(
        {
            "folder": {**FOLDER, "description": "Only files in this folder and below; all when left out."},
            "pause_ms": integer("Rest between two files.", minimum=0, maximum=60_000, default=150),
        }
    ),
    gives=record({"files": integer(), "words": integer("Different words."), "occurrences": integer()}),
)
async def build_word_index(store: FileStore, given: Arguments, report: Report) -> dict[str, Any]:
    """Count the words of all text files into an index. This is slow work: it reports progress after each file.

    It can be cancelled; the previous index then stays. One job runs at a time.
    """
    if store.job == "running":
        raise DemoError("An indexing job is running.", hint="Wait for its end or cancel it.")
    paths = [file["path"] for file in store.files(given.get("folder", "")) if is_text(file["path"])]
    counts = Counter[str]()
    store.job = "running"
    try:
        for done, path in enumerate(paths, 1):
            counts.update(re.findall(r"[^\W\d_]{2,}", store.text(path).casefold()))
            await report(done, len(paths), path)
            await anyio.sleep(given.get("pause_ms", 150) / 1000)
        store.save_index(len(paths), counts)
        store.job = "complete"
    finally:
        if store.job == "running":
            store.job = "cancelled"
    return {"files": len(paths), "words": len(counts), "occurrences": counts.total()}
