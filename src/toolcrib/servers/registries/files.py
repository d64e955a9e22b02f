"""A registry on disk: a file or a folder of `server.json` documents."""

import time
from typing import Any, cast

import anyio.to_thread

from toolcrib.config.jsonc import read_document
from toolcrib.errors import ConfigError
from toolcrib.files import expanded
from toolcrib.servers.registries.base import Listing, Registry, newest
from toolcrib.servers.registries.document import ServerDescription, read_description

_MOST_FILES = 10_000


class FileRegistry(Registry):
    """Documents on disk: one file, or the `*.json` of a folder and the `server.json` of each folder in it.

    A file holds one document, a list of them, or an object with that list under `servers`, as the registry API
    answers.
    """

    async def read(self) -> Listing:
        """See `Registry.read`; a file that can't be used costs only what it holds."""
        return await anyio.to_thread.run_sync(self._read)

    def _read(self) -> Listing:
        path = expanded(self.place)
        problems: list[str] = []
        found: list[ServerDescription] = []
        try:
            files = sorted([*path.glob("*.json"), *path.glob("*/server.json")]) if path.is_dir() else [path]
        except OSError as error:
            return Listing(self.place, problem=f"{path} can't be read: {error.strerror}.")
        if len(files) > _MOST_FILES:
            problems.append(f"{path} holds {len(files)} files; the first {_MOST_FILES} are read.")
        for file in files[:_MOST_FILES]:
            try:
                items = _items(read_document(file).value)
            except ConfigError as error:
                problems.append(error.message)
                continue
            found += [each for item in items if (each := read_description(item, self.place)) is not None]
        return Listing(self.place, newest(found), time.time(), " ".join(problems))


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("servers"), list):
        return cast("list[Any]", value["servers"])
    return cast("list[Any]", value) if isinstance(value, list) else [value]
