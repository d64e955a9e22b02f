"""What servers failed of last, as stored on disk: a failure is told until the server works again, in later runs too."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from toolcrib.files import write_whole
from toolcrib.servers.status import ServerStatus

_ENDING = ".failed"


@dataclass(frozen=True, slots=True)
class Failure:
    """What a server failed of.

    Attributes:
        state: The state that it was left in: it needs a login, or it failed.
        reason: Why.
        output: Its first and last lines on standard error, without secrets.
    """

    state: Literal["needs_auth", "failed"]
    reason: str
    output: tuple[str, ...] = ()


class Failures:
    """The stored failures, one file for each server that has one; several processes may share the folder.

    Args:
        folder: Created on the first failure.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, server: str, config_hash: str) -> Failure | None:
        """What a server of this configuration failed of last; None where it has worked since, or never failed."""
        name = _name(server, config_hash)
        if name not in self._there:
            return None
        try:
            members: object = json.loads((self._folder / name).read_bytes())
        except (OSError, ValueError):
            return None
        return _read(cast("Mapping[str, Any]", members)) if isinstance(members, Mapping) else None

    def note(self, status: ServerStatus, config_hash: str) -> None:
        """Store what a server has failed of now, or forget what it failed of before, if it works.

        A folder that can't be written costs only what later runs can tell.
        """
        path = self._folder / _name(status.id, config_hash)
        with suppress(OSError):
            if status.state == "ready":
                path.unlink(missing_ok=True)
            elif status.in_trouble:
                state = "needs_auth" if status.state == "needs_auth" else "failed"
                failure = Failure(state, status.reason, status.output)
                write_whole(path, [json.dumps(asdict(failure)).encode("utf-8", "surrogatepass")])

    @cached_property
    def _there(self) -> frozenset[str]:
        """The files as they were at first: hundreds of servers need one look at the folder."""
        try:
            return frozenset(each.name for each in self._folder.iterdir() if each.suffix == _ENDING)
        except OSError:
            return frozenset()


def _name(server: str, config_hash: str) -> str:
    return f"{server[:80]}-{config_hash[:16]}{_ENDING}"


def _read(members: Mapping[str, Any]) -> Failure | None:
    state, reason, output = members.get("state"), members.get("reason"), members.get("output")
    if state not in ("needs_auth", "failed") or not isinstance(reason, str) or not isinstance(output, list):
        return None
    return Failure(state, reason, tuple(str(line) for line in cast("list[object]", output)))
