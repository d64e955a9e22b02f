"""Whether bubblewrap can be used on this machine: containers and hardened kernels refuse what it needs."""

import shutil
import subprocess
import sys

_TIMEOUT = 10.0


def usable() -> tuple[str, str]:
    """Where bubblewrap is; or an empty text, and why it can't be used. Blocks for some milliseconds."""
    if sys.platform != "linux":
        return "", "bubblewrap is for Linux"
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return "", "bubblewrap (bwrap) is not installed"
    argv = [bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--", "/bin/true"]
    try:
        tried = subprocess.run(argv, capture_output=True, timeout=_TIMEOUT, env={}, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"bubblewrap did not start: {error}"
    if tried.returncode:
        words = tried.stderr.decode("utf-8", "replace").strip().splitlines()
        return "", f"bubblewrap is refused here: {words[-1][:200] if words else tried.returncode}"
    return bwrap, ""
