"""Whether an entry of a configuration is Toolcrib itself."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from toolcrib.config.paths import user_config_dir
from toolcrib.config.server import ServerConfig
from toolcrib.files import expanded


def is_toolcrib(server: ServerConfig) -> bool:
    """Whether an entry starts Toolcrib's gateway."""
    words = [server.command or "", *server.args]
    return "serve" in words and any(Path(word).stem.lower() == "toolcrib" for word in words)


def starts_itself(server: ServerConfig, files: Sequence[Path]) -> bool:
    """Whether an entry starts Toolcrib's gateway on the very configuration that holds it, and so for ever.

    Args:
        server: The entry.
        files: The files of the configuration.
    """
    if not is_toolcrib(server):
        return False
    words = [server.command or "", *server.args]
    inner = [expanded(following) for word, following in pairwise([*words, ""]) if word in {"--config", "-c"}]
    inner += [expanded(word.partition("=")[2]) for word in words if word.startswith("--config=")]
    folder = user_config_dir()
    return any(path.absolute() in files for path in inner) or (
        not inner and any(path.parent == folder for path in files)
    )
