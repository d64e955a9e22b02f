"""The meanings of tools, as an embedder sees them: computed in a thread of their own, and never in anyone's way.

Whatever an embedder does (fail, hang, answer nonsense), a search goes on without it. Why is kept in `problem`,
and after a pause it is tried again.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from toolcrib.catalog.tool import Tool
from toolcrib.search.base import ServerDocs
from toolcrib.search.embedders import Embedder, Matrix
from toolcrib.search.terms import surfaces

if TYPE_CHECKING:
    from toolcrib.search.vectors import Vectors

Progress = Callable[[int, int], None]
"""Told how many tools have a vector, and how many there are; in the thread that computes them."""

KEY_BYTES = 16
"""How long the hash of a text is."""

_TEXT_CHARACTERS = 600
_BATCH = 128
_BATCHES_A_SAVE = 16
_FEW = 256
_PAUSE = 30.0
_SECONDS_TO_END = 2.0


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one server that are embedded.

    Attributes:
        digest: What the server was added with.
        keys: The hash of each tool's text, by the tool's id.
    """

    digest: str
    keys: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near some texts are to all tools.

    Attributes:
        cosines: [texts, rows] Cosine of each text with each vector.
        rows: The row of each vector, by the hash of its text.
        keys: The hash of each tool's text, by the tool's id.
        version: Changes whenever the other two may.
    """

    cosines: Matrix
    rows: dict[bytes, int]
    keys: dict[str, bytes]
    version: int


def tool_text(server_id: str, tool: Tool) -> str:
    """What of a tool is embedded: the server's id and the tool's name as words, title and description."""
    name = surfaces(tool.name)
    title = f" {tool.title}." if surfaces(tool.title) not in ([], name) else ""
    return f"{' '.join(surfaces(server_id))}: {' '.join(name)}.{title} {tool.description}"[:_TEXT_CHARACTERS]


class Meanings:
    """The vectors of all tools that were put in.

    Args:
        embedder: Makes them.
        patience: Seconds that a search waits for the embedder.
        on_progress: Called after each batch.
    """

    def __init__(self, embedder: Embedder, *, patience: float, on_progress: Progress | None = None) -> None:
        self.embedder = embedder
        self.problem = ""
        self._patience = patience
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._servers: dict[str, Texts] = {}
        self._waiting: dict[bytes, str] = {}
        self._vectors: Vectors | None = None
        self._keys: dict[str, bytes] | None = None
        self._version = 0
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._ended = False
        self._rests_until = 0.0
        self._file: Path | None = None

    @property
    def progress(self) -> tuple[int, int]:
        """How many texts have a vector, and how many there are."""
        with self._lock:
            total = len({key for texts in self._servers.values() for key in texts.keys.values()})
            return total - len(self._waiting), total

    def digest(self, server_id: str) -> str | None:
        """What a server was put in with; None when it, or a text of it that has no vector, is not known."""
        with self._lock:
            texts = self._servers.get(server_id)
            rows = {} if self._vectors is None else self._vectors.rows
            if texts is None or any(key not in rows and key not in self._waiting for key in texts.keys.values()):
                return None
            return texts.digest

    def put(self, server: ServerDocs, tools: Iterable[Tool], digest: str) -> None:
        """Take in all tools of one server, in place of those that it had."""
        texts = {tool.id: tool_text(server.id, tool) for tool in tools}
        keys = {tool_id: _key(text) for tool_id, text in texts.items()}
        with self._lock:
            self._servers[server.id] = Texts(digest, keys)
            rows = {} if self._vectors is None else self._vectors.rows
            self._waiting |= {keys[tool_id]: text for tool_id, text in texts.items() if keys[tool_id] not in rows}
            self._changed()
            self._start()

    def forget(self, server_id: str) -> None:
        """Forget a server and its tools."""
        with self._lock:
            if self._servers.pop(server_id, None) is not None:
                self._changed()

    async def likeness(self, texts: Sequence[str]) -> Likeness | None:
        """How near some texts are to all tools; None while that can't be said."""
        with self._lock:
            self._start()
            left = len(self._waiting)
        if 0 < left <= _FEW and not await anyio.to_thread.run_sync(
            self._idle.wait, self._patience, abandon_on_cancel=True
        ):
            self._rest(self._too_slow())
        with self._lock:
            if self._waiting or self._vectors is None or time.monotonic() < self._rests_until:
                return None
        asked = await self._asked(texts)
        if asked is None:
            return None
        with self._lock:
            if self._keys is None:
                self._keys = {tool_id: key for each in self._servers.values() for tool_id, key in each.keys.items()}
            cosines = self._vectors.likeness(asked)
            return Likeness(cosines, self._vectors.rows, self._keys, self._version)

    async def settled(self) -> bool:
        """Wait until nothing more is being computed, and say whether every tool has its vector."""
        with self._lock:
            self._start()
        await anyio.to_thread.run_sync(self._idle.wait, abandon_on_cancel=True)
        with self._lock:
            return not self._waiting

    def save(self, path: Path) -> bool:
        """Keep the vectors in a file, now and whenever there are more."""
        self._file = path
        return self._keep()

    def load(self, path: Path) -> bool:
        """Become what `save` kept, and say whether that was possible; more vectors will be kept there."""
        from toolcrib.search.stored import read
        from toolcrib.search.vectors import unpack

        self._file = path
        file = read(path)
        found = None if file is None else unpack(self.embedder.name, file)
        if found is None:
            return False
        with self._lock:
            self._vectors, self._servers = found
            self._waiting.clear()
            self._changed()
        return True

    def end(self) -> None:
        """Compute no more, and keep what there is."""
        with self._lock:
            self._ended, thread = True, self._thread
        if thread is not None:
            thread.join(_SECONDS_TO_END)

    def _changed(self) -> None:
        """Servers or rows are others than before; what no server has any more is not waited for."""
        self._version += 1
        self._keys = None
        if self._waiting:
            wanted = {key for texts in self._servers.values() for key in texts.keys.values()}
            self._waiting = {key: text for key, text in self._waiting.items() if key in wanted}

    def _start(self) -> None:
        if self._waiting and self._thread is None and not self._ended and time.monotonic() >= self._rests_until:
            self._idle.clear()
            self._thread = threading.Thread(target=self._work, name="toolcrib embedding", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        try:
            for turn in count(1):
                with self._lock:
                    batch = dict(islice(self._waiting.items(), _BATCH))
                if not batch or self._ended:
                    break
                self._take(batch)
                if self._on_progress is not None:
                    self._on_progress(*self.progress)
                if turn % _BATCHES_A_SAVE == 0:
                    self._keep()
            self._keep()
        except Exception as error:
            self._rest(error)
        with self._lock:
            self._thread = None
            self._start()
            if self._thread is None:
                self._idle.set()

    def _take(self, batch: dict[bytes, str]) -> None:
        """Embed a batch of texts."""
        from toolcrib.search.vectors import Vectors, checked

        vectors = checked(self.embedder.embed_documents(list(batch.values())), len(batch), self._dimension())
        with self._lock:
            if self._vectors is None:
                self._vectors = Vectors()
            self._vectors.add(list(batch), vectors)
            for key in batch:
                self._waiting.pop(key, None)
            self._changed()
            self.problem, self._rests_until = "", 0.0

    async def _asked(self, texts: Sequence[str]) -> "Matrix | None":
        """The vectors of what is searched for; None when the embedder doesn't give them in time."""
        from toolcrib.search.vectors import checked

        try:
            with anyio.fail_after(self._patience):
                vectors = await anyio.to_thread.run_sync(self.embedder.embed_queries, texts, abandon_on_cancel=True)
            return checked(vectors, len(texts), self._dimension())
        except TimeoutError:
            self._rest(self._too_slow())
        except Exception as error:
            self._rest(error)
        return None

    def _dimension(self) -> int:
        return self._vectors.dimension if self._vectors is not None else self.embedder.dimension

    def _too_slow(self) -> TimeoutError:
        return TimeoutError(f"it did not answer within {self._patience:g} seconds")

    def _rest(self, error: Exception) -> None:
        reason = str(error).rstrip(".") or type(error).__name__
        with self._lock:
            self.problem = f"The embedder {self.embedder.name} is not used: {reason}."
            self._rests_until = time.monotonic() + _PAUSE

    def _keep(self) -> bool:
        from toolcrib.search.stored import write
        from toolcrib.search.vectors import pack

        with self._lock:
            if self._file is None or self._vectors is None:
                return False
            path, file = self._file, pack(self.embedder.name, self._vectors, self._servers)
        return write(path, file)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()
