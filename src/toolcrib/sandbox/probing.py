"""Finding out whether a wall holds: by running what it must keep in, in the way in which scripts are run."""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
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


DENO_ATTEMPTS = (
    Attempt("reading a file", "got = Deno.readTextFileSync({path!r})"),
    Attempt("reading a file as Node does", "got = (await import('node:fs')).readFileSync({path!r}, 'utf8')"),
    Attempt("writing a file", "Deno.writeTextFileSync({path!r} + '.new', 'x'); got = 'written'"),
    Attempt("reading the environment", "got = Deno.env.get({variable!r})"),
    Attempt("reading the environment as Node does", "got = (await import('node:process')).env[{variable!r}]"),
    Attempt("opening a connection", "got = String(await Deno.connect({{port: 9, hostname: '127.0.0.1'}}))"),
    Attempt("fetching an address", "got = String(await fetch('http://127.0.0.1:9/'))"),
    Attempt("listening", "got = String(Deno.listen({{port: 0}}))"),
    Attempt("starting a program", "got = String(new Deno.Command('/bin/true').outputSync().code)"),
    Attempt("starting a program as Node does", "got = String((await import('node:child_process')).execSync('true'))"),
    Attempt("signalling a process", "Deno.kill({pid}, 'SIGURG'); got = 'signalled'"),
    Attempt("loading a library", "got = String(Deno.dlopen('libc.so.6', {{}}))"),
    Attempt("importing a file", "got = String(await import('file://' + {path!r}))"),
    Attempt("asking for a permission", "got = (await Deno.permissions.request({{name: 'read'}})).state"),
)
_NOT_GRANTED = ("denied", "prompt")


async def attempt(sandbox: Sandbox, attempts: Sequence[Attempt]) -> None:
    """Run each attempt in a Python sandbox.

    Raises:
        SandboxError: One of them got through, or nothing can be run at all.
    """

    def written(filled: list[tuple[str, str]]) -> str:
        lines = ["found = []"]
        for name, code in filled:
            lines += ["try:", f"    exec({code!r})", f"    found.append({name!r})", "except Exception: pass"]
        return "\n".join([*lines, "found"])

    await _attempted(sandbox, attempts, written)


async def attempt_deno(sandbox: Sandbox, attempts: Sequence[Attempt]) -> None:
    """Run each attempt in a sandbox of JavaScript.

    Raises:
        SandboxError: One of them got through, or nothing can be run at all.
    """

    def written(filled: list[tuple[str, str]]) -> str:
        lines = ["const found = [];"]
        for name, code in filled:
            lines.append(f"try {{ let got; {code}; if (got && !{json.dumps(_NOT_GRANTED)}.includes(got)) ")
            lines.append(f"found.push({json.dumps(name)}); }} catch {{}}")
        return "\n".join([*lines, "return found;"])

    await _attempted(sandbox, attempts, written)


async def _attempted(
    sandbox: Sandbox, attempts: Sequence[Attempt], written: Callable[[list[tuple[str, str]]], str]
) -> None:
    with tempfile.TemporaryDirectory(prefix="toolcrib-probe-") as folder:
        path = Path(folder) / "secret"
        path.write_text(SECRET, encoding="utf-8")
        variable = next(iter(os.environ), "PATH")
        mode = path.stat().st_mode
        filled = [(a.name, a.code.format(path=str(path), pid=os.getpid(), variable=variable)) for a in attempts]
        outcome = await sandbox.run(written(filled), Names(), _no_call, limits=_LIMITS)
        touched = path.with_name("secret.new").exists() or path.stat().st_mode != mode
    if outcome.status != "ok":
        raise SandboxError(f"a trial script failed: {outcome.status}, {outcome.fault and outcome.fault.message}")
    if outcome.value or touched:
        raise SandboxError(f"its wall does not hold: a script succeeded in {json.dumps(outcome.value)}")


async def _no_call(_call: ScriptCall) -> Any:
    raise AssertionError("a trial script calls nothing")
