"""Finding out whether a wall holds: by running what it must keep in, in the way in which scripts are run."""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.errors import SandboxError
from toolcrib.sandbox.contract import Names, Sandbox, ScriptCall
from toolcrib.sandbox.limits import Limits

SECRET = "a word that no script may read"
_LIMITS = Limits(cpu=5.0, wall=20.0, total=20.0, calls=1)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that must fail.

    Attributes:
        name: What it is, for a message.
        code: An expression or statements that set `got`; `{path}`, `{pid}` and `{variable}` are filled in.
    """

    name: str
    code: str


PYTHON_ATTEMPTS = (
    Attempt("reading a file", "got = open({path!r}).read()"),
    Attempt("writing a file", "open({path!r} + '.new', 'w').write('x'); got = 'written'"),
    Attempt("reading the environment", "import os; got = os.environ[{variable!r}]"),
    Attempt("opening a socket", "import socket; got = str(socket.socket())"),
    Attempt("starting a program", "import subprocess; got = str(subprocess.run(['/bin/true']))"),
    Attempt("making a process", "import os; got = str(os.fork())"),
    Attempt("signalling a process", "import os; os.kill({pid}, 0); got = 'signalled'"),
)


async def attempt(sandbox: Sandbox, attempts: Sequence[Attempt]) -> None:
    """Run each attempt in a Python sandbox.

    Raises:
        SandboxError: One of them got through, or nothing can be run at all.
    """
    with tempfile.TemporaryDirectory(prefix="toolcrib-probe-") as folder:
        path = Path(folder) / "secret"
        path.write_text(SECRET, encoding="utf-8")
        variable = next(iter(os.environ), "PATH")
        lines = ["found = []"]
        for each in attempts:
            code = each.code.format(path=str(path), pid=os.getpid(), variable=variable)
            lines += ["try:", f"    exec({code!r})", f"    found.append({each.name!r})", "except Exception: pass"]
        lines.append("found")
        outcome = await sandbox.run("\n".join(lines), Names(), _no_call, limits=_LIMITS)
        written = path.with_name("secret.new").exists()
    if outcome.status != "ok":
        raise SandboxError(f"a trial script failed: {outcome.status}, {outcome.fault and outcome.fault.message}")
    got: Any = outcome.value
    if got or written:
        raise SandboxError(f"its wall does not hold: a script succeeded in {json.dumps(got)}")


async def _no_call(_call: ScriptCall) -> Any:
    raise AssertionError("a trial script calls nothing")
