"""`create_sandbox`: a sandbox by the name that configuration gives it."""

from toolcrib.errors import SandboxError
from toolcrib.sandbox.contract import Sandbox

SANDBOXES = ("python", "python-full", "typescript", "javascript")
"""The names of the back-ends."""


def create_sandbox(name: str, *, scripts: int = 8) -> Sandbox:
    """A sandbox that is not started yet; what it needs is imported only now.

    Args:
        name: One of `SANDBOXES`.
        scripts: How many of its scripts may run at once.

    Raises:
        SandboxError: There is none of that name, or its package is not installed.
    """
    if name == "python":
        try:
            from toolcrib.sandbox.monty.sandbox import MontySandbox
        except ImportError as error:
            raise SandboxError(
                f"Scripts of Python can't be run: pydantic-monty can't be loaded: {error}",
                hint="Install pydantic-monty for this Python, or use python-full.",
            ) from error
        return MontySandbox(scripts=scripts)
    if name == "python-full":
        from toolcrib.sandbox.cpython.sandbox import CPythonSandbox

        return CPythonSandbox(scripts=scripts)
    if name in ("typescript", "javascript"):
        from toolcrib.sandbox.deno.sandbox import DenoSandbox

        return DenoSandbox("typescript" if name == "typescript" else "javascript", scripts=scripts)
    raise SandboxError(f"There is no sandbox {name!r}.", hint=f"There are: {', '.join(SANDBOXES)}.")
