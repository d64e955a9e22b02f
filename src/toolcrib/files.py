"""Naming files, and writing those that other processes may be reading or writing at the same time."""

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

_POLL_SECONDS = 0.02


def expanded(path: str | os.PathLike[str]) -> Path:
    """A path with the user's folder in place of `~`; one with `~` and a name that no user has stays as it is."""
    # Path.expanduser raises RuntimeError for such a name.
    return Path(os.path.expanduser(path))


def followed(path: Path) -> Path:
    """Where a path leads in the end, so that what writes there leaves a link one.

    Raises:
        OSError: Its links lead in a circle.
    """
    # Path.resolve raises RuntimeError for a circle, up to Python 3.12.
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return real


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


@contextmanager
def held(lock: Path) -> Generator[None]:
    """Keep all other processes that hold the same lock waiting; where files can't be locked, nobody is kept.

    Args:
        lock: A file for this alone, which is made if there is none. The lock of a process that ends is free.
    """
    try:
        make_folder(lock.parent)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield
        return
    try:
        while not try_lock(descriptor):
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":  # pragma: no cover - written with care, not verified here
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Lock an open file until it is closed; False while another has it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        except OSError:  # a file system without locks
            return True
        return True

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock an open file until it is closed; False while another has it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return True
        return True
