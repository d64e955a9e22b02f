"""Opening what a command works on: the configuration, and a crib over it."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.cli.begin import how_to_begin
from toolcrib.cli.logs import keep_logs_quiet, keep_out
from toolcrib.cli.streams import tell, typed, warn
from toolcrib.config import Config, Settings, load_config, starts_itself, user_config_dir
from toolcrib.errors import ConfigError, UnknownToolError, shown

if TYPE_CHECKING:
    from toolcrib.broker import Approver
    from toolcrib.catalog import Tool
    from toolcrib.crib import Crib
    from toolcrib.servers import ServerStatus
    from toolcrib.smallmodel import SmallModel

_LISTED_STOP = 1.0
"""Seconds that a server started only to be listed runs on."""


def read_config(files: Sequence[Path] | None, *, with_rules: bool = True) -> Config:
    """The configuration of a command, its warnings told.

    Args:
        files: What `--config` named; None or nothing means the user's own folder.
        with_rules: Whether what is odd about the rules of the policy is told too.

    Raises:
        ConfigError: It can't be used, or there is none yet.
    """
    config = load_config(files or None)
    if not config.paths:
        folder = user_config_dir()
        raise ConfigError(f"No servers are configured: {folder} holds no *.json.", hint=how_to_begin(folder))
    if with_rules and _may_be_odd(config.settings):
        from toolcrib.broker import with_policy_warnings

        config = with_policy_warnings(config)
    for warning in config.warnings:
        warn(warning)
    return _without_itself(config)


def _without_itself(config: Config) -> Config:
    """The configuration without an entry that would start Toolcrib on this same configuration, and so for ever."""
    kept = {key: server for key, server in config.servers.items() if not starts_itself(server, config.paths)}
    for key in config.servers.keys() - kept.keys():
        warn(f"Server {shown(key)} is Toolcrib itself on this same configuration, and left out.")
    return replace(config, servers=kept)


def _may_be_odd(settings: Settings) -> bool:
    """Whether there are rules or roles to look through; without any, what does so is not loaded."""
    return bool(settings.policy.rules or settings.principals or settings.http.tokens or settings.http.oauth.roles)


def stricter(config: Config, *, read_only: bool = False, ask_all: bool = False) -> Config:
    """The same configuration with a stricter policy.

    Args:
        config: The configuration.
        read_only: Whether only tools that are known to read may be used.
        ask_all: Whether every call is asked about.
    """
    policy = config.settings.policy
    changes = {"read_only": read_only or policy.read_only, "ask_all": ask_all or policy.ask_all}
    settings = config.settings.model_copy(update={"policy": policy.model_copy(update=changes)})
    return replace(config, settings=settings)


def resting(config: Config, *, lists: bool = False) -> Config:
    """The same configuration for one command, which itself says what is started.

    Args:
        config: The configuration.
        lists: Whether the command starts servers only to list them: then they end as soon as they are listed,
            so that hundreds don't run at once.
    """
    changes = {"start": "on_demand", **({"idle_stop": _LISTED_STOP} if lists else {})}
    servers = {
        key: replace(server, options=server.options.model_copy(update=changes))
        for key, server in config.servers.items()
    }
    return replace(config, servers=servers)


def open_crib(
    config: Config, *, lists: bool = False, lists_first: bool = False, approver: "Approver | None" = None
) -> "Crib":
    """A crib for one command: what starts on request is there, since the user asks, and nothing else is started.

    Args:
        config: The configuration.
        lists: See `resting`.
        lists_first: Whether servers that were never listed are, once something is looked for.
        approver: Asked where the policy wants to be asked.
    """
    from toolcrib.crib import Crib

    crib = Crib.open(
        resting(config, lists=lists), approver=approver, lists_first=lists_first, small_model=small_model(config)
    )
    keep_out(crib.secrets)
    return crib


async def use_skills(crib: "Crib", paths: Sequence[str] | None) -> None:
    """Use the skills that `--skill` named, and tell what of their servers and tools is not there.

    Raises:
        SkillError: One can't be used.
        DeniedError: The policy hides one.
    """
    for path in paths or ():
        used = await crib.use_skill(typed(path))
        for name, why in used.missing.items():
            tell(f"{used.skill.id} names {shown(name)}, which is not there: {why}")


def small_model(config: Config) -> "SmallModel | None":
    """The small model of a configuration, or None; no part of any vendor is loaded where there is none.

    Raises:
        UsageError: There is no provider of that name.
    """
    if not config.settings.small_model.model:
        return None
    from toolcrib.llm.small import small_model_of

    return small_model_of(config)


def tell_left_out(servers: "Iterable[ServerStatus]", what: str) -> None:
    """Tell which servers were left out, in one line or two.

    Args:
        servers: Servers that failed or were never listed.
        what: What was not done with them, such as `searched`.
    """
    known = list(servers)
    failed = [each for each in known if each.in_trouble]
    unlisted = [each for each in known if not each.in_trouble]
    if len(failed) == 1:
        tell(f"{failed[0].id} was not {what}: {failed[0].reason}")
    elif failed:
        names = ", ".join(each.id for each in failed)
        tell(f"Not {what}, since they failed: {names}.\ntoolcrib servers --refresh tells why.")
    if unlisted:
        names = ", ".join(each.id for each in unlisted)
        tell(f"Not {what}, since never listed: {names}.\ntoolcrib servers --refresh lists them, or says why not.")


async def find_tool(crib: "Crib", name: str) -> "Tool":
    """A tool by its id or another spelling of it; where there is none, servers that were never listed are told.

    Raises:
        ToolcribError: As `Crib.tool`.
    """
    try:
        return await crib.tool(name)
    except UnknownToolError as error:
        only_reads = crib.config.settings.policy.read_only
        if only_reads and name in crib.registry and crib.effect(crib.registry.tool(name)) != "read":
            hint = f"Only what is known to read is there now; toolcrib policy explain {name} tells what is known."
            raise UnknownToolError(error.name, error.candidates, hint=hint) from None
        server = name.partition(".")[0]
        if off := [each.id for each in crib.servers if each.state == "disabled" and server in {each.id, each.key}]:
            hint = f"Server {off[0]} is disabled; toolcrib servers enable {off[0]} turns it on."
            raise UnknownToolError(error.name, error.candidates, hint=hint) from None
        unlisted = [each for each in crib.servers if each.tools is None and each.state != "disabled"]
        tell_left_out(unlisted, "looked into")
        raise


def run(command: Callable[[], Awaitable[int]]) -> int:
    """Run a command's coroutine function to its end and return its exit code."""
    import anyio

    keep_logs_quiet()
    return anyio.run(command)
