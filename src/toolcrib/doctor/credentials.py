"""Variables and credentials: whether all are there; their values are never shown."""

import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from toolcrib.config import ResolvedServer, ServerConfig
from toolcrib.doctor.case import Case
from toolcrib.doctor.finding import Finding, listed
from toolcrib.errors import ConfigError
from toolcrib.redact import is_literal, looks_secret, names_variable

CHECK = "credentials"

_PLACEHOLDER = re.compile(
    r"""
    <.*> | \[.*\] | \*+ | \.{3,} | … | (?:.*[-_])?x{4,}
    | .*\b(?:your|my|some)[-_ ].*(?:key|token|secret|password|id) (?:[-_ ]here)?
    | .*[-_ ]here | change[-_ ]?me.* | placeholder | (?:insert|replace|enter)[-_ ].* | todo
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SCHEME = re.compile(r"(?:bearer|basic|token)(?:\s+|$)", re.IGNORECASE)


def resolve_servers(case: Case) -> tuple[dict[str, ResolvedServer], list[Finding]]:
    """The usable entries with their variables filled in, and which variables have no value. May block.

    Args:
        case: The case; its secrets grow by those of the entries.
    """
    resolved: dict[str, ResolvedServer] = {}
    findings: list[Finding] = []
    for server, entry in case.usable():
        missing = entry.unfilled(case.variables)
        if not missing:
            try:
                resolved[server] = entry.resolve(case.variables)
            except ConfigError as error:
                missing = [error]
            else:
                case.secrets.add_server(resolved[server])
        findings += [Finding("variables", "problem", server, each.message, each.hint) for each in missing]
    return resolved, findings


def check_credentials(server: str, entry: ServerConfig, resolved: ResolvedServer) -> Iterator[Finding]:
    """Whether the credentials of one server have a value that may be one, and where it stands."""
    given = {**resolved.env, **resolved.headers}
    names = [
        name
        for name, value in given.items()
        if looks_secret(name) and not is_literal(value) and not names_variable(name, value)
    ]
    empty = [name for name in names if not _bare(given[name])]
    standing_in = [name for name in names if name not in empty and _PLACEHOLDER.fullmatch(_bare(given[name]))]
    if empty:
        yield Finding(CHECK, "warning", server, f"{listed(empty)}: empty.", "Give it a value, or take it out.")
    if standing_in:
        yield Finding(
            CHECK,
            "warning",
            server,
            f"{listed(standing_in)}: a placeholder, not a value.",
            "Put the real one in its place, or ${env:NAME} or ${keyring:name}.",
        )
    there = [name for name in names if name not in {*empty, *standing_in}]
    if there:
        yield Finding(CHECK, "ok", server, f"{listed(there, len(there))}: set.")
    written = {**entry.env, **entry.headers}
    literal = [name for name in there if "${" not in written.get(name, "${")]
    if literal:
        yield _written_out(server, literal, entry.origin)


def _written_out(server: str, names: list[str], origin: Path | None) -> Finding:
    where = f" in {origin}" if origin else " in the configuration"
    hint = "${env:NAME} or ${keyring:name} in its place keeps it out."
    if origin is not None and _others_may_read(origin):
        message = f"{listed(names)}: written out{where}, which other users of this machine may read."
        return Finding(CHECK, "warning", server, message, f"{hint} Or: chmod 600 {origin}")
    return Finding(CHECK, "note", server, f"{listed(names)}: written out{where}.", hint)


def _bare(value: str) -> str:
    """A credential without its HTTP scheme."""
    return _SCHEME.sub("", value.strip(), count=1)


def _others_may_read(path: Path) -> bool:
    if sys.platform == "win32":
        return False  # rights are lists there, which the mode does not tell
    try:
        return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False
