"""`Clock`: how long a run takes, with its calls and without them."""

from time import perf_counter


class Clock:
    """Seconds in all, and seconds while no call is under way.

    Args:
        wall: Seconds in all that went by earlier.
        own: Of these, the seconds without calls.
    """

    def __init__(self, wall: float = 0.0, own: float = 0.0) -> None:
        self._wall = wall
        self._own = own
        self._since: float | None = None
        self._own_since: float | None = None
        self._under_way = 0

    @property
    def is_running(self) -> bool:
        """Whether own time goes by."""
        return self._own_since is not None

    @property
    def wall(self) -> float:
        """Seconds in all."""
        return self._wall + (perf_counter() - self._since if self._since is not None else 0.0)

    @property
    def own(self) -> float:
        """Seconds while no call was under way."""
        return self._own + (perf_counter() - self._own_since if self._own_since is not None else 0.0)

    def start(self) -> None:
        """The run begins."""
        self._since = self._own_since = perf_counter()

    def stop(self) -> None:
        """The run is over: both stand still."""
        self._wall, self._own = self.wall, self.own
        self._since = self._own_since = None

    def enter(self) -> None:
        """A call begins."""
        self._under_way += 1
        if self._under_way == 1 and self._since is not None:
            self._own, self._own_since = self.own, None

    def leave(self) -> None:
        """A call is over."""
        self._under_way -= 1
        if self._under_way == 0 and self._since is not None:
            self._own_since = perf_counter()
