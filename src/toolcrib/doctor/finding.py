"""What an examination finds, and what it amounts to."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "problem"]
"""`problem`: something does not work. `warning`: it works, and not as it should. `note`: good to know."""

LEVELS: tuple[Level, ...] = ("problem", "warning", "note", "ok")
"""The worst first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes:
        check: The check that found it.
        level: How bad it is.
        server: Id of the server that it is about; None when it is about none or several.
        message: What was found, in a sentence or two.
        hint: What to do about it; empty when there is nothing to do.
        details: Lines that belong to it, such as what a server wrote last, or names.
    """

    check: str
    level: Level
    server: str | None
    message: str
    hint: str = ""
    details: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """All members, by name."""
        return {
            "check": self.check,
            "level": self.level,
            "server": self.server,
            "message": self.message,
            "hint": self.hint,
            "details": list(self.details),
        }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All that an examination found.

    Attributes:
        servers: The ids of the servers that were looked at, in the order of the configuration.
        findings: What was found, in the order of the checks.
        disabled: The ids of those that are disabled, and so were not started.
    """

    servers: tuple[str, ...]
    findings: tuple[Finding, ...]
    disabled: tuple[str, ...] = ()

    def count(self, level: Level) -> int:
        """How many findings there are of one level."""
        return sum(each.level == level for each in self.findings)

    def is_clean(self, *, strict: bool = False) -> bool:
        """Whether there is no problem and, when strict, no warning either."""
        return not self.count("problem") and not (strict and self.count("warning"))

    def worst(self, server: str | None) -> Level:
        """The worst level of what is about one server, or about none."""
        levels = {each.level for each in self.findings if each.server == server}
        for level in LEVELS:
            if level in levels:
                return level
        return "ok"

    @property
    def passed_over(self) -> list[str]:
        """The disabled servers of which nothing is known to be wrong."""
        return [server for server in self.disabled if self.worst(server) == "ok"]

    @property
    def verdict(self) -> str:
        """What it amounts to, in one line."""
        problems, warnings = self.count("problem"), self.count("warning")
        off = self.passed_over
        looked_into = len(self.servers) - len(off)
        looked = f" in {counted(looked_into, 'server')}" if looked_into or not off else ""
        if off:
            looked += f"; {len(off)} {'is' if len(off) == 1 else 'are'} disabled and not looked into"
        if problems:
            beside = f" and {counted(warnings, 'warning')}" if warnings else ""
            return f"{counted(problems, 'problem')}{beside}{looked}."
        if warnings:
            return f"No problem, {counted(warnings, 'warning')}{looked}."
        if off and not looked_into:
            return f"Nothing was looked into: {listed(off)} {'is' if len(off) == 1 else 'are'} disabled."
        return f"All is well{looked}."

    def to_json(self) -> dict[str, object]:
        """The verdict, the counts, and all findings."""
        return {
            "verdict": self.verdict,
            "problems": self.count("problem"),
            "warnings": self.count("warning"),
            "notes": self.count("note"),
            "servers": list(self.servers),
            "findings": [each.to_json() for each in self.findings],
        }


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 server`, `3 servers`."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: "list[str] | tuple[str, ...]", most: int = 5) -> str:
    """Names as part of a sentence, the first few and how many more."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return ", ".join(names)
