"""Skills: folders with a `SKILL.md` that says how to do something, and what servers and tools that takes.

The format is that of Agent Skills (agentskills.io/specification).
"""

from toolcrib.skills.document import MOST_BYTES, SKILL_FILE, load, parse
from toolcrib.skills.files import MOST_FILES, SkillFiles
from toolcrib.skills.skill import SKILL_SCHEME, Skill, SkillError, UnknownSkillError
from toolcrib.skills.source import SkillSource

__all__ = [
    "MOST_BYTES",
    "MOST_FILES",
    "SKILL_FILE",
    "SKILL_SCHEME",
    "Skill",
    "SkillError",
    "SkillFiles",
    "SkillSource",
    "UnknownSkillError",
    "load",
    "parse",
]
