"""Skills in conversations: their tools at hand from the start, their texts where a question calls for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.broker import Caller
from toolcrib.catalog import Tool
from toolcrib.crib import Crib
from toolcrib.errors import ToolcribError
from toolcrib.llm.account import tool_tokens
from toolcrib.llm.conversation import Conversation
from toolcrib.llm.messages import Text
from toolcrib.llm.provider import ToolSpec
from toolcrib.llm.surfaces.base import Surface
from toolcrib.metatools import GET_TOOL_DETAILS, READ_RESOURCE, skill_file, skill_text, tool_signature

if TYPE_CHECKING:
    from toolcrib.crib import UsedSkill
    from toolcrib.skills import Skill

GIVEN = "skill"
"""Member of a text's `extra` that names the skill which was given to the model in it."""

MOST_GIVEN = 2
"""Skills that are given with one question."""


class ConversationSkills:
    """The skills of one client.

    A skill is given once in a conversation, behind the words of the first question that its description fits, so that
    nothing that was sent before changes. Where that question is trimmed away, it may be given once more.

    Args:
        paths: The skills to use; None takes those that the crib uses.
    """

    def __init__(self, paths: Sequence[str | Path] | None) -> None:
        self._paths = paths
        self._used: list[UsedSkill] = []

    async def open(self, crib: Crib) -> None:
        """Use the skills.

        Raises:
            SkillError: One can't be used.
            DeniedError: The policy hides one.
        """
        for path in self._paths or ():
            self._used.append(await crib.use_skill(path))

    def used(self, crib: Crib) -> "list[UsedSkill]":
        """The skills, with what came of using them."""
        if self._paths is None:
            return crib.skills.used if crib.has_skills else []
        return self._used

    async def at_hand(self, crib: Crib, caller: Caller, room: float) -> list[Tool]:
        """The tools that the skills name, as far as their definitions have room.

        Args:
            crib: Has the tools.
            caller: Who will call.
            room: Tokens that the definitions may take.
        """
        found: dict[str, Tool] = {}
        for tool_id in dict.fromkeys(each for used in self.used(crib) for each in used.tools):
            try:
                tool = await crib.tool(tool_id, caller=caller)
            except ToolcribError:  # gone since
                continue
            room -= tool_tokens(ToolSpec(tool.id, tool.description, tool.input_schema))
            if room < 0:
                break
            found[tool.id] = tool
        return list(found.values())

    async def texts(self, question: str, conversation: Conversation, surface: Surface, caller: Caller) -> list[Text]:
        """What is given to the model with a question: the texts of skills that fit it, and that it was not given yet.

        Args:
            question: The question.
            conversation: What was said before; its tools are settled.
            surface: How the model is told of tools.
            caller: Who asks.
        """
        parts = (part for message in conversation.messages for part in message.parts)
        given = {part.extra.get(GIVEN) for part in parts if isinstance(part, Text)}
        names = [used.skill.name for used in self.used(surface.crib) if used.skill.name not in given]
        if not names:
            return []
        fitting = await surface.crib.skills.fitting(question, names, caller=caller)
        return [await _given(skill, conversation, surface, caller) for skill in fitting[:MOST_GIVEN]]


async def _given(skill: "Skill", conversation: Conversation, surface: Surface, caller: Caller) -> Text:
    told = {each.name for each in conversation.tools or () if not each.deferred}

    def named(tool: Tool) -> str:
        name = surface.name_of(tool.id)
        return name if name in told else tool_signature(tool)

    skills = surface.crib.skills
    reader = next((name for name in (GET_TOOL_DETAILS, READ_RESOURCE) if name in told), "")
    written = skill_text(
        skill,
        await skills.needs(skill, caller),
        skills.files(skill),
        told=named,
        reader=reader,
        address=skill.uri if reader == READ_RESOURCE else skill_file(skill),
    )
    return Text(
        f"\n\nHow requests like this are done here, by a skill of the user's:\n\n{written}", {GIVEN: skill.name}
    )
