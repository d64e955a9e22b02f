"""What a model reads of skills: that there are some, what one says, and what of its tools is there."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from toolcrib.catalog import Tool
from toolcrib.hidden import hidden_places, kinds_of, visible
from toolcrib.schema import first_sentence

if TYPE_CHECKING:
    from toolcrib.crib import SkillNeeds
    from toolcrib.skills import Skill

MOST_TEXT = 24_000
"""Characters of a skill that are shown at once: what the specification recommends at most, 5,000 tokens, has about
20,000."""

READ_HINT = "get_tool_details reads a skill: how it is done, with its tools."

_BRIEF_CHARACTERS = 120
_MOST_TOOLS = 30
_MOST_FILES = 50
_MOST_NAMED = 20


def skill_hits(skills: "Sequence[Skill]", detail: str, hint: str) -> list[str]:
    """The lines that tell of skills which were found.

    Args:
        skills: What was found.
        detail: How much to say of each; see `DETAILS`.
        hint: How one is read.
    """
    if detail == "name":
        return [skill.id for skill in skills]
    cut = None if detail == "full" else _BRIEF_CHARACTERS
    lines = [f"{skill.id}\n  {_about(skill.description, cut)}" for skill in skills]
    return [*lines, hint] if lines else []


def skills_line(skills: "Sequence[Skill]") -> str:
    """One line that tells which skills there are, in a list of servers."""
    names = ", ".join(skill.id for skill in skills[:_MOST_NAMED])
    more = f" and {len(skills) - _MOST_NAMED} more" if len(skills) > _MOST_NAMED else ""
    return f"Skills: {names}{more}"


def skill_text(
    skill: "Skill",
    needs: "SkillNeeds",
    files: Sequence[str],
    *,
    told: Callable[[Tool], str],
    reader: str,
    address: Callable[[str], str],
) -> str:
    """A skill as a model reads it: what it says, its tools, what of them is not there, and its other files.

    Args:
        skill: The skill.
        needs: What of its tools is there.
        files: Its other files, by their paths.
        told: How a tool is told of, such as its signature.
        reader: The tool that reads the other files; empty where there is none.
        address: What names a file to it, by its path.
    """
    parts = [f"{skill.id}: {_about(skill.description, None)}", *_remarks(skill), _bounded(skill, reader, address)]
    if skill.compatibility:
        parts.append(f"It needs: {skill.compatibility}")
    if needs.tools:
        lines = [told(tool) for tool in needs.tools[:_MOST_TOOLS]]
        left = len(needs.tools) - len(lines)
        parts.append("\n".join(["Its tools:", *lines, *([f"and {left} more, which a search finds"] if left else [])]))
    if needs.missing:
        parts.append("\n".join(["Not there:", *(f"{name}: {why}" for name, why in needs.missing.items())]))
    if files and reader:
        lines = [address(path) for path in files[:_MOST_FILES]]
        parts.append("\n".join([f"Its other files, which {reader} reads by these names:", *lines]))
    return visible("\n\n".join(part for part in parts if part))


def skill_file(skill: "Skill") -> Callable[[str], str]:
    """Gives the name by which `get_tool_details` reads a file of a skill."""
    return lambda path: f"{skill.id}/{path}"


def _bounded(skill: "Skill", reader: str, address: Callable[[str], str]) -> str:
    """What it says, up to the last whole line that may be shown."""
    if len(skill.text) <= MOST_TEXT:
        return skill.text
    head = skill.text[:MOST_TEXT]
    head = head[: head.rfind("\n") + 1 or MOST_TEXT].rstrip()
    whole = f"; {reader} reads all of it as {address('SKILL.md')}" if reader else ""
    return f"{head}\n… {len(skill.text) - len(head):,} more characters{whole}."


def _remarks(skill: "Skill") -> Iterable[str]:
    if places := hidden_places({"description": skill.description, "text": skill.text}):
        yield f"[this skill holds hidden text: {kinds_of(places)}]"


def _about(description: str, characters: int | None) -> str:
    flat = " ".join(description.split())
    return flat if characters is None else first_sentence(flat, characters)
