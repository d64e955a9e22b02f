"""A skill as a person reads it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.cli.streams import print_text, tell
from toolcrib.cli.tables import print_styled

if TYPE_CHECKING:
    from toolcrib.crib import Crib, SkillNeeds
    from toolcrib.skills import Skill


@dataclass(frozen=True, slots=True)
class SkillTold:
    """A skill with all there is to tell of it.

    Attributes:
        skill: The skill.
        needs: What of its tools is there.
        files: Its files beside its `SKILL.md`.
    """

    skill: "Skill"
    needs: "SkillNeeds"
    files: list[str]

    @property
    def id(self) -> str:
        """The skill's id."""
        return self.skill.id

    @property
    def document(self) -> dict[str, Any]:
        """It as the one document of `--json`."""
        skill = self.skill
        return {
            "id": skill.id,
            "description": skill.description,
            "text": skill.text,
            "folder": str(skill.folder),
            "license": skill.license,
            "compatibility": skill.compatibility,
            "tools": [tool.id for tool in self.needs.tools],
            "missing": dict(self.needs.missing),
            "other_tools": list(skill.others),
            "files": self.files,
            "warnings": list(skill.warnings),
        }


async def skill_told(crib: "Crib", name: str) -> SkillTold:
    """A skill by its id.

    Raises:
        UnknownSkillError: There is none.
    """
    skill = crib.skills.get(name)
    return SkillTold(skill, await crib.skills.needs(skill), crib.skills.files(skill))


def print_skill(told: SkillTold) -> None:
    """Print what a skill says, its tools and its files; what is odd about it goes to standard error."""
    skill = told.skill
    print_styled((skill.id, "bold"))
    print_text()
    print_styled(" ".join(skill.description.split()), indent=2)
    print_text()
    print_styled(skill.text, indent=2)
    if told.needs.tools:
        print_text()
        print_styled(("Its tools:", "bold"))
        for tool in told.needs.tools:
            print_styled(tool.id, indent=2)
    if told.needs.missing:
        print_text()
        print_styled(("Not there:", "bold"))
        for name, why in told.needs.missing.items():
            print_styled(f"{name}: {why}", indent=2)
    if told.files:
        print_text()
        print_styled(("Its other files:", "bold"))
        for path in told.files:
            print_styled(path, indent=2)
    print_text()
    print_styled(("Folder: ", "bold"), str(skill.folder))
    for warning in skill.warnings:
        tell(f"{skill.id}: {warning}")
