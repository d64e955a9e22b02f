"""The files of a skill's folder: listed and read inside of it alone."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from toolcrib.errors import shown
from toolcrib.skills.skill import SkillError

MOST_FILES = 200
"""Files of one skill that are listed."""

_DEEPEST = 6
_LEFT_OUT = frozenset({"node_modules", "__pycache__"})


class SkillFiles:
    """The files of one folder.

    A link is followed only where it leads to a file inside the folder, and never to a folder. Names that begin with a
    dot are left out, and those that are no text: no URI and no JSON can name them.

    Args:
        folder: The folder, which may be a link itself.

    Attributes:
        root: The folder, with no link on the way.

    Raises:
        SkillError: There is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.root = folder.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise SkillError(f"There is no skill at {shown(str(folder))}: {_why(error)}.") from None
        if not self.root.is_dir():
            raise SkillError(f"{shown(str(folder))} is no folder.", hint="A skill is a folder with a SKILL.md.")

    def paths(self) -> list[str]:
        """The files, from the folder on with `/` between the parts, in order; at most `MOST_FILES`."""
        found: list[str] = []
        for path in self._walked(self.root, 1):
            found.append(path)
            if len(found) >= MOST_FILES:
                break
        return found

    def read(self, path: str, most: int) -> bytes:
        """What a file holds.

        Args:
            path: As `paths` gives it.
            most: Bytes at most.

        Raises:
            SkillError: There is no such file in the folder, it is larger, or can't be read.
        """
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or "\\" in path or ".." in parts or any(map(_is_hidden, parts)):
            raise SkillError(f"{shown(path)} is no file of the skill.", hint="Use a path that it lists.")
        try:
            whole = self._inside(self.root.joinpath(*parts))
            if whole is None:
                raise SkillError(f"{shown(path)} leads out of the skill's folder, and is not read.")
            # A pipe would have to be waited for, and what was looked at may be another file by now.
            handle = os.open(whole, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
            with open(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise SkillError(f"{shown(path)} is no file.")
                data = file.read(most + 1)
        except (OSError, RuntimeError, ValueError) as error:
            raise SkillError(f"{shown(path)} can't be read: {_why(error)}.", hint="Use a path that it lists.") from None
        if len(data) > most:
            raise SkillError(f"{shown(path)} is larger than {most:,} bytes.", hint="Split it.")
        return data

    def _inside(self, path: Path) -> Path | None:
        """Where a path leads to, or None where that is outside."""
        whole = path.resolve(strict=True)
        return whole if whole.is_relative_to(self.root) else None

    def _walked(self, folder: Path, depth: int) -> Iterator[str]:
        try:
            with os.scandir(folder) as entries:
                known = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return
        for entry in known:
            if _is_hidden(entry.name) or "\\" in entry.name or not _is_text(entry.name):
                continue
            path = Path(entry.path)
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST and entry.name not in _LEFT_OUT:
                        yield from self._walked(path, depth + 1)
                elif entry.is_file() and self._inside(path) is not None:
                    yield path.relative_to(self.root).as_posix()
            except (OSError, RuntimeError):  # gone just now, or a link that leads to itself
                continue


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _is_text(name: str) -> bool:
    """Whether a name is text in the encoding of the file system; else Python puts halves of surrogate pairs into it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "a link that leads to itself" if isinstance(error, RuntimeError) else "it is no path"
