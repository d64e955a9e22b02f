"""The examination: all checks, one after another."""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from toolcrib.clients import client_files
from toolcrib.config import Config, ServerConfig, Variables
from toolcrib.crib import Crib
from toolcrib.doctor.addresses import check_addresses
from toolcrib.doctor.case import Case
from toolcrib.doctor.commands import check_commands, check_runtimes
from toolcrib.doctor.configuration import check_configuration, check_rules
from toolcrib.doctor.credentials import check_credentials, resolve_servers
from toolcrib.doctor.definitions import Here, check_hidden, check_schemas, check_sizes, check_texts, count_tools
from toolcrib.doctor.finding import Diagnosis, Finding
from toolcrib.doctor.names import check_server_names, check_shared_names, check_tool_names
from toolcrib.doctor.sandboxes import check_sandboxes
from toolcrib.doctor.skills import check_skills
from toolcrib.doctor.starts import Refresh, check_starts
from toolcrib.doctor.state import check_state
from toolcrib.doctor.upfront import check_always, check_clients, check_surface
from toolcrib.errors import StoreError, ToolcribError
from toolcrib.redact import Secrets
from toolcrib.schema import UnknownServerError, server_ids
from toolcrib.servers.causes import innermost
from toolcrib.tokens import counter_name

_HEAVIEST = 10


async def examine(
    config: Config,
    open_crib: Callable[[], Crib],
    state_dir: Path,
    refresh: Refresh,
    *,
    name: str | None = None,
    offline: bool = False,
    variables: Variables | None = None,
    found: Sequence[Finding] = (),
) -> Diagnosis:
    """Examine a configuration and its servers.

    Args:
        config: The configuration as it was written.
        open_crib: Makes a crib over it, to be entered here.
        state_dir: The folder of the database and the snapshots.
        refresh: Starts and lists servers, bounded and in parallel.
        name: Only this server, by its id or its key.
        offline: Start nothing: what servers listed last is looked at.
        variables: Resolves `${…}`; None takes the environment and the keyring.
        found: What was found before, as by `read_configuration`.

    Raises:
        UsageError: There is no such server.
    """
    servers = _chosen(config, name, is_whole=not any(each.level == "problem" for each in found))
    findings = [*found, *check_configuration(config, servers), *await check_state(state_dir)]
    secrets = Secrets()
    off = {server for server, entry in servers.items() if entry.disabled and entry.error is None}
    try:
        async with open_crib() as crib:
            secrets = crib.secrets
            off |= {each.id for each in crib.servers if each.state == "disabled"}
            case = Case(servers, crib, variables or Variables(inputs=config.inputs), secrets)
            findings += await _check_entries(case, None if offline else refresh, off)
            findings += await anyio.to_thread.run_sync(lambda: list(_check_catalog(case)))
            findings += [*check_always(case), *check_surface(case)]
            if name is None:
                listed = {server: case.is_listed(server) for server in servers}
                findings += check_rules(config, crib.registry.tool_names, listed)
                findings += [] if offline else await check_sandboxes(config.settings.scripts)
                findings += check_skills(crib)
    except (ToolcribError, ExceptionGroup) as error:
        cause = innermost(error)
        if not isinstance(cause, ToolcribError):
            raise
        findings.append(Finding("state", "problem", None, cause.message, cause.hint))
    findings += check_clients(client_files())
    disabled = tuple(server for server in servers if server in off)
    return Diagnosis(tuple(servers), tuple(_without(secrets, each) for each in findings), disabled)


async def _check_entries(case: Case, refresh: Refresh | None, off: Container[str]) -> list[Finding]:
    """What each entry says, and what comes of it where servers may be started."""
    resolved, findings = await anyio.to_thread.run_sync(resolve_servers, case)
    for server, entry in resolved.items():
        findings += check_credentials(server, case.servers[server], entry)
    findings += [*check_commands(resolved, case.secrets), *check_addresses(resolved)]
    if refresh is None:
        unknown = [server for server in resolved if server not in off and not case.is_listed(server)]
        findings += [
            Finding("start", "note", server, "It was never listed, so its tools are not known.") for server in unknown
        ]
        return findings
    findings += await check_runtimes(resolved)
    hopeless = {each.server for each in findings if each.level == "problem"}
    return findings + await check_starts(case, [server for server in resolved if server not in hopeless], refresh)


def _check_catalog(case: Case) -> Iterator[Finding]:
    """What the servers list."""
    yield from check_server_names({entry.key: server for server, entry in case.servers.items()})
    here = Here.now()
    tokens: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for server, _ in case.usable():
        try:
            tools = case.tools(server)
        except StoreError as error:
            yield Finding("store", "problem", server, error.message, error.hint)
            continue
        names[server] = [tool.name for tool in tools]
        counts = count_tools(tools)
        tokens |= counts
        yield from check_schemas(server, tools)
        yield from check_tool_names(server, tools)
        yield from check_sizes(server, counts)
        yield from check_texts(server, tools, here)
        yield from check_hidden(server, tools, case.description(server))
    yield from check_shared_names(names)
    heaviest = sorted(tokens.items(), key=lambda each: -each[1])[:_HEAVIEST]
    if heaviest:
        message = f"All definitions take {sum(tokens.values()):,} tokens ({counter_name()}); the heaviest come first."
        yield Finding("size", "ok", None, message, details=tuple(f"{tool}: {count:,}" for tool, count in heaviest))


def _chosen(config: Config, name: str | None, *, is_whole: bool) -> dict[str, ServerConfig]:
    """The entries to look at; one that is not found may stand in a file that can't be read."""
    ids = server_ids(config.servers)
    entries = {ids[key]: entry for key, entry in config.servers.items()}
    if name is None:
        return entries
    for server, entry in entries.items():
        if name in {server, entry.key}:
            return {server: entry}
    if not is_whole:
        return {}
    raise UnknownServerError(name, entries)


def _without(secrets: Secrets, finding: Finding) -> Finding:
    """A finding without any value of the servers' secrets; names of variables are no secrets and stay."""

    return replace(
        finding,
        message=secrets.exact(finding.message),
        hint=secrets.exact(finding.hint),
        details=tuple(map(secrets.exact, finding.details)),
    )
