"""Sandboxes: whether scripts that models write can be run here, and what stands around them."""

from collections.abc import Iterator

from toolcrib.config import ScriptSettings
from toolcrib.doctor.finding import Finding
from toolcrib.errors import SandboxError
from toolcrib.sandbox import create_sandbox

CHECK = "sandbox"


async def check_sandboxes(settings: ScriptSettings) -> list[Finding]:
    """Start each sandbox that the configuration allows, which tries out its wall, and tell what holds it.

    Args:
        settings: The configuration's `scripts`.
    """
    return [await _try_out(name) for name in _allowed(settings)]


def _allowed(settings: ScriptSettings) -> Iterator[str]:
    if settings.enabled:
        yield "python"
        if settings.full_python:
            yield "python-full"
        if settings.typescript:
            yield "typescript"


async def _try_out(name: str) -> Finding:
    try:
        async with create_sandbox(name, scripts=1) as sandbox:
            wall = sandbox.description.wall
    except SandboxError as error:
        return Finding(CHECK, "problem", None, error.message, error.hint)
    if name == "python" and "under bubblewrap" not in wall:
        message = f"Scripts (python) run in {wall}; their interpreter alone keeps them in."
        return Finding(
            CHECK, "note", None, message, "With bubblewrap installed (Linux) a second wall stands around it."
        )
    return Finding(CHECK, "ok", None, f"Scripts ({name}) run in {wall}; the wall was tried out.")
