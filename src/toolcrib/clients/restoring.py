"""A client's file that was changed after Toolcrib came into it, with its own servers again.

What it was, what Toolcrib made of it and what it is now are all known, so there are several ways back. Each is
checked by reading what it made; the first that holds the right servers, and all else as it is now, is taken.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.clients.documents import read_servers, with_servers
from toolcrib.clients.known import Client
from toolcrib.clients.merging import merged
from toolcrib.config.encoding import decoded, encoded
from toolcrib.errors import ConfigError, shown


@dataclass(frozen=True, slots=True)
class Versions:
    """One file at three times.

    Attributes:
        client: Whose file it is.
        path: The file.
        original: What it was before Toolcrib; None where there was none, or it is lost.
        written: What Toolcrib made of it; None where that is not known.
        now: What it is.
        taken: The servers that Toolcrib stands for, as written, by key.
        key: The key of Toolcrib's entry.
    """

    client: Client
    path: Path
    original: bytes | None
    written: bytes | None
    now: bytes | None
    taken: Mapping[str, Any]
    key: str

    def servers(self, data: bytes | None) -> Mapping[str, Any]:
        """The servers of one of the versions.

        Raises:
            ConfigError: It can't be read.
        """
        return read_servers(data or b"", self.client.format, (self.client.root,), str(self.path))

    def changes_since(self) -> str:
        """What somebody has done to the servers beside Toolcrib's own entry, or that it was taken out, in words.

        Raises:
            ConfigError: The file can't be read.
        """
        there = {**self.servers(self.now)}
        own = there.pop(self.key, None)
        left = self.servers(self.original)
        expected = {key: entry for key, entry in left.items() if key not in {*self.taken, self.key}}
        done = [f"{shown(self.key)} was removed"] if own is None else []
        done += [f"{shown(key)} was added" for key in there if key not in expected]
        done += [f"{shown(key)} was removed" for key in expected if key not in there]
        done += [f"{shown(key)} was changed" for key, entry in there.items() if expected.get(key, entry) != entry]
        return ", ".join(done)

    def given_back(self) -> bytes:
        """The file as it is now, with the servers that it had in the place of Toolcrib.

        Raises:
            ConfigError: It can't be read, or not be changed without losing something.
        """
        there = self.servers(self.now)
        before = self.servers(self.original)
        own = {self.key: before[self.key]} if self.key in before else {}
        back = {**own, **{key: entry for key, entry in self.taken.items() if key not in there}}
        wanted = {key: entry for key, entry in there.items() if key != self.key} | back
        rest = self._rest(self.now)
        for way in self._ways(back, nothing=not wanted):
            try:
                if way is not None and self.servers(way) == wanted and self._rest(way) == rest:
                    return way
            except ConfigError:
                continue  # two changes that do not go together
        without = [] if own else [self.key]
        return with_servers(
            self.now, self.client.format, (self.client.root,), str(self.path), without=without, put=back
        )

    def _ways(self, back: Mapping[str, Any], *, nothing: bool) -> Iterator[bytes | None]:
        """What may be the file with its servers; the way that keeps most of its text first."""
        name, root, form = str(self.path), self.client.root, self.client.format
        now, encoding = decoded(self.now or b"", name)
        original = decoded(self.original or b"", name)[0]
        newline = "\r\n" if "\r\n" in now else "\n"
        original = original.replace("\r\n", "\n").replace("\n", newline)
        if form == "json" and not self.changes_since():
            swapped = _swapped(original, now, root, name)
            yield None if swapped is None else encoded(swapped, encoding)
        if self.written is not None:
            base = decoded(self.written, name)[0]
            for both in (merged(base, original, now), merged(base, now, original)):
                yield None if both is None else encoded(both, encoding)
        if nothing and root not in read_servers(self.original or b"", form, (), name):
            yield with_servers(self.now, form, (), name, without=[root], put={})
        if form == "json":
            yield encoded(_put_back(original, now, (root,), name, back, self.key), encoding)

    def _rest(self, data: bytes | None) -> Mapping[str, Any]:
        """All but the servers."""
        whole = read_servers(data or b"", self.client.format, (), str(self.path))
        return {key: value for key, value in whole.items() if key != self.client.root}


def _swapped(original: str, now: str, root: str, name: str) -> str | None:
    """A JSON document with the servers' member as it was; None where that would lose a comment, or there was none."""
    from toolcrib.config.jsonc import comments_in
    from toolcrib.config.jsonedit import member_texts, with_texts

    was, there = member_texts(original, (), name).get(root), member_texts(now, (), name)[root]
    if was is None or {*comments_in(there)} - {*comments_in(was)}:
        return None
    return with_texts(now, (), name, put={root: was})


def _put_back(original: str, now: str, root: tuple[str, ...], name: str, back: Mapping[str, Any], key: str) -> str:
    """A JSON document with each of some servers as it was written, in the place of Toolcrib."""
    from toolcrib.config.jsonedit import member_texts, with_texts

    texts = member_texts(original, root, name)
    put = {each: texts[each] for each in back if each in texts}
    return with_texts(now, root, name, without=[key], put=put)
