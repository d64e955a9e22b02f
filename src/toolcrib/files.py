"""Writing files that others may be reading."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(
    path: Path, chunks: Iterable[bytes | memoryview], *, private: bool = True, durable: bool = False
) -> None:
    """Write a file beside its place and move it there: it is seen as it was or as it will be, never half written.

    Of several writers at once the last one wins. What can't be finished leaves no trace.

    Args:
        path: The file; missing folders above it are made.
        chunks: Its content.
        private: Only its owner may read it, and enter the folders that are made; else it keeps the rights and,
            where that is allowed, the owner that it had, and folders get the usual ones.
        durable: Return only once the content is on the disk.

    Raises:
        OSError: It can't be written.
    """
    make_folder(path.parent, private=private)
    # A name of its own kind: what looks for *.json in the folder must not find it.
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(chunks)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if not private and path.exists():
            _keep_owner(path, beside)
            shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _keep_owner(path: Path, beside: str) -> None:
    """Give a file the owner and group of the one that it replaces: with `sudo`, its user must still have it."""
    was, now = path.stat(), os.stat(beside)
    if hasattr(os, "chown") and (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        with suppress(OSError):  # only root may give files away
            os.chown(beside, was.st_uid, was.st_gid)


def make_folder(folder: Path, *, private: bool = True) -> None:
    """Make a folder and those above it that are missing.

    Args:
        folder: The folder.
        private: Only its owner may enter those that are made.

    Raises:
        OSError: It can't be made.
    """
    # Of the folders that `parents` of `mkdir` makes, the umask decides the rights.
    for each in reversed([folder, *folder.parents]):
        if not each.exists():
            each.mkdir(exist_ok=True, mode=0o700 if private else 0o777)
