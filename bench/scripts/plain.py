"""The 25 plain scripts that the tests hold against CPython, run in a sandbox: how many come to their end."""

from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from bench.processes import ROOT
from toolcrib.sandbox import CallError, Names, ScriptCall, create_sandbox

_FILE = ROOT / "tests" / "sandboxes" / "plain.py"
_NAMES = Names({"issues": {"list", "get"}, "notes": {"add"}})


def plain_scripts() -> dict[str, str]:
    """The scripts by what they show."""
    spec = spec_from_file_location("plain_scripts", _FILE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SCRIPTS


async def ended(sandbox: str) -> int:
    """How many of them pass the check and come to their end.

    Args:
        sandbox: Its name.

    Raises:
        SandboxError: It can't run here.
    """
    count = 0
    async with create_sandbox(sandbox) as running:
        for code in plain_scripts().values():
            wrong = [finding for finding in await running.check(code, _NAMES) if finding.is_error]
            count += not wrong and (await running.run(code, _NAMES, _answer)).status == "ok"
    return count


async def _answer(call: ScriptCall) -> Any:
    match call.name:
        case "issues.list":
            first = 5 * call.kwargs["page"] - 4
            return [_issue(number) for number in range(first, first + 5)] if first < 16 else []
        case "issues.get":
            if call.kwargs["id"] == 7:
                raise CallError("issue 7 is locked", tool="issues.get", data={"retry": False})
            return _issue(call.kwargs["id"])
        case _:
            return {"added": call.kwargs["text"]}


def _issue(number: int) -> dict[str, Any]:
    title = ["Alpha", "beta", "Gamma", "delta", "Eta"][number % 5]
    return {"id": number, "title": title, "state": "open" if number % 2 else "closed", "points": number % 5 + 1}
