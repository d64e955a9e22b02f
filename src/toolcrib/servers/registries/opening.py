"""The registries of a configuration."""

from collections.abc import Iterable
from pathlib import Path

from toolcrib.servers.registries.base import Registry


def open_registries(places: Iterable[str], state_dir: Path) -> list[Registry]:
    """The registries at these places; nothing is read yet.

    Args:
        places: URLs of registries that speak the registry API, and paths.
        state_dir: Where answers over HTTP are kept.
    """
    opened: list[Registry] = []
    for place in dict.fromkeys(places):
        if place.lower().startswith(("https://", "http://")):
            # The HTTP client takes a tenth of a second to load.
            from toolcrib.servers.registries.api import ApiRegistry

            opened.append(ApiRegistry(place, state_dir / "registries"))
        else:
            from toolcrib.servers.registries.files import FileRegistry

            opened.append(FileRegistry(place))
    return opened
