"""Skills as a source: their files are resources, `skill://NAME/PATH`.

That is how MCP servers offer skills (modelcontextprotocol/experimental-ext-skills, "Skills as Resources").
"""

import base64
import mimetypes
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from toolcrib.catalog import NO_CONTEXT, SKILLS, JsonObject, ListMethod, RequestContext, RequestMethod
from toolcrib.errors import ProtocolError
from toolcrib.skills.document import SKILL_FILE
from toolcrib.skills.files import SkillFiles
from toolcrib.skills.skill import SKILL_SCHEME, Skill, SkillError

MOST_FILE_BYTES = 4 * 1024 * 1024
"""Bytes of one file that is read."""

_METHOD_NOT_FOUND = -32601
_NOT_FOUND = -32602  # specification 2026-07-28, resources, error handling


class SkillSource:
    """The skills of a crib.

    Args:
        skills: Gives those that whoever asks may know of, as they are now.
    """

    id = SKILLS
    description = "How to do things with the tools"

    def __init__(self, skills: Callable[[RequestContext], Sequence[Skill]]) -> None:
        self._skills = skills

    def offers(self, capability: str) -> bool:
        """Whether it offers what a capability stands for: resources, while there are skills."""
        return capability == "resources" and bool(self._skills(NO_CONTEXT))

    async def ensure(self, context: RequestContext = NO_CONTEXT) -> None:
        """Nothing to do: skills are files."""

    async def list(self, method: ListMethod, context: RequestContext = NO_CONTEXT) -> list[JsonObject]:
        """The files of all skills for `resources/list`; nothing for the other lists."""
        if method != "resources/list":
            return []
        return [entry for skill in self._skills(context) for entry in _entries(skill)]

    async def request(
        self, method: RequestMethod, params: JsonObject, context: RequestContext = NO_CONTEXT
    ) -> JsonObject:
        """Read a file; see `Source.request`.

        Raises:
            ProtocolError: There is no such file, or something else is asked for.
        """
        if method != "resources/read":
            raise ProtocolError(self.id, f"{method} is not offered", rpc_code=_METHOD_NOT_FOUND)
        uri = str(params.get("uri"))
        name, slash, path = uri.removeprefix(SKILL_SCHEME).partition("/")
        skill = next((each for each in self._skills(context) if each.name == unquote(name)), None)
        if skill is None or not slash or not uri.startswith(SKILL_SCHEME):
            raise ProtocolError(self.id, f"there is no {uri[:200]}", rpc_code=_NOT_FOUND)
        try:
            data = SkillFiles(skill.folder).read(unquote(path), MOST_FILE_BYTES)
        except SkillError as error:
            raise ProtocolError(self.id, error.message, rpc_code=_NOT_FOUND) from None
        return {"contents": [{"uri": uri, "mimeType": _kind(path), **_content(data)}]}


def _entries(skill: Skill) -> list[JsonObject]:
    try:
        paths = SkillFiles(skill.folder).paths()
    except SkillError:  # gone since
        return []
    return [
        {
            "uri": skill.uri(path),
            "name": skill.name if path == SKILL_FILE else f"{skill.name}/{path}",
            "mimeType": _kind(path),
            **({"description": skill.description} if path == SKILL_FILE else {}),
        }
        for path in paths
    ]


def _kind(path: str) -> str:
    if path.lower().endswith(".md"):  # not every system knows it
        return "text/markdown"
    return mimetypes.guess_type(path)[0] or "text/plain"


def _content(data: bytes) -> JsonObject:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return {"blob": base64.b64encode(data).decode()}
    return {"text": text} if "\0" not in text else {"blob": base64.b64encode(data).decode()}
