"""`Skill`: what a `SKILL.md` says, and the errors of those that can't be used."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from toolcrib.catalog import SKILL_HEAD
from toolcrib.errors import UsageError, shown

SKILL_SCHEME = "skill://"
"""Begins the URI of a file of a skill: `skill://NAME/PATH`."""


class SkillError(UsageError):
    """A skill, or a file of one, can't be used."""

    code = "skill_unusable"


class UnknownSkillError(SkillError):
    """No skill that the caller may know of has that name.

    Args:
        name: What was asked for.
        near: Names that it may have meant, best first.
    """

    code = "skill_unknown"

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        meant = " or ".join(f"{SKILL_HEAD}{each}" for each in near)
        hint = f"Did you mean {meant}?" if meant else "search_tools finds skills by what they are for."
        super().__init__(f"There is no skill {shown(name)}.", hint=hint)
        self.name = name


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    Attributes:
        name: Its name: lower-case letters, digits and single hyphens.
        description: What it is for and when to use it.
        text: What it says, without its front matter.
        folder: Where it is, with no link on the way.
        servers: What it names of servers, as written: ids or keys of a configuration, or names of a registry.
        tools: What it names of tools: ids, other spellings of them, or globs over ids.
        others: What it names of tools that no MCP server has, such as a client's own `Read`.
        license: Its license, or where that stands.
        compatibility: What it needs of its surroundings.
        warnings: What is odd about it, a sentence each.
    """

    name: str
    description: str
    text: str
    folder: Path
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    license: str = ""
    compatibility: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What it is found and read by."""
        return f"{SKILL_HEAD}{self.name}"

    def uri(self, path: str) -> str:
        """The URI of one of its files.

        Args:
            path: From its folder on, with `/` between the parts.
        """
        return f"{SKILL_SCHEME}{quote(self.name)}/{quote(path)}"
