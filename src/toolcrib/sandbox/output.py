"""`Output`: what a script printed, its head and its tail."""

from collections import deque


class Output:
    """Keeps the first three quarters and the last quarter of a text, within a limit, and counts the rest.

    Args:
        limit: Bytes kept.
        text: What was printed before, when a run is taken up again.
    """

    def __init__(self, limit: int, text: str = "") -> None:
        self._tail_limit = limit // 4
        self._room = limit - self._tail_limit
        self._head: list[str] = []
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._cut = 0
        self.total = 0
        if text:
            self.add(text)

    @property
    def cut(self) -> int:
        """Bytes that were left out."""
        return self._cut

    @property
    def text(self) -> str:
        """What is kept; where something is missing a line says how much."""
        head = "".join(self._head)
        tail = b"".join(self._tail).decode("utf-8", "ignore")
        return f"{head}\n… {self._cut:,} bytes of output left out …\n{tail}" if self._cut else head + tail

    def add(self, text: str) -> None:
        """Take a further piece."""
        data = text.encode("utf-8", "replace")
        self.total += len(data)
        if self._room > 0 and not self._tail:
            head = data[: self._room].decode("utf-8", "ignore")
            self._head.append(head)
            taken = len(head.encode())
            # a character that does not fit whole ends the head
            self._room = self._room - taken if taken == len(data) else 0
            data = data[taken:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            self._drop()

    def _drop(self) -> None:
        while self._tail_size > self._tail_limit:
            first = self._tail.popleft()
            over = self._tail_size - self._tail_limit
            if len(first) > over:
                self._tail.appendleft(first[over:])
            dropped = min(over, len(first))
            self._tail_size -= dropped
            self._cut += dropped
