"""Reading a `SKILL.md`: YAML front matter, and the text behind it (agentskills.io/specification, "SKILL.md format").

What makes a skill unusable is an error; what is merely odd is a warning, as the specification's guide for clients
wants it ("Lenient validation"), since many skills are written for other clients and work all the same.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast
from unicodedata import normalize

from toolcrib.errors import shown
from toolcrib.skills.files import SkillFiles
from toolcrib.skills.skill import Skill, SkillError

SKILL_FILE = "SKILL.md"

MOST_BYTES = 1024 * 1024
"""Bytes of a `SKILL.md` at most; the specification recommends less than 5,000 tokens, some 20,000 bytes."""

MOST_NAMED = 200
"""Servers and tools of a skill that are looked at."""

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1024
_LONGEST_COMPATIBILITY = 500
_LONGEST_HEAD = 16 * 1024
_MOST_BRACKETS = 200
"""Brackets that are opened in a front matter: the reader takes seconds for a thousand that stand in each other."""

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_PLAIN = re.compile(r"^(?P<key>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s\"'|>\[{&*!%@`#].*)$")
_ARGUMENTS = re.compile(r"\([^)]*\)")
_OWN = "toolcrib"
_FIX = "Its front matter is YAML between two lines of ---, with `name` and `description`."


def load(folder: Path) -> Skill:
    """The skill in a folder.

    Raises:
        SkillError: There is none, or it can't be used.
    """
    files = SkillFiles(folder)
    return parse(files.read(SKILL_FILE, MOST_BYTES), files.root, folder.name)


def parse(data: bytes, folder: Path, folder_name: str = "") -> Skill:
    """A skill from what its `SKILL.md` holds.

    Args:
        data: The file's bytes.
        folder: Where it is.
        folder_name: What its folder is called; empty takes it from the path.

    Raises:
        SkillError: It can't be used: it is no UTF-8 text, has no front matter or one that is no YAML, or no name or
            description that the specification allows.
    """
    head, text = _split(_decoded(data))
    fields = _fields(head)
    warnings: list[str] = []
    name = _name(fields)
    called = folder_name or folder.name
    if name != normalize("NFKC", called):
        warnings.append(f"Its name is {name}, and its folder's is {shown(called)}; they should be the same.")
    description = _text(fields, "description").strip()
    if not description:
        raise SkillError(f"The skill {name} has no description.", hint="Say in `description` what it is for, and when.")
    if len(description) > _LONGEST_DESCRIPTION:
        warnings.append(f"Its description has {len(description):,} characters, more than {_LONGEST_DESCRIPTION:,}.")
    compatibility = _text(fields, "compatibility").strip()
    if len(compatibility) > _LONGEST_COMPATIBILITY:
        warnings.append(f"Its compatibility has more than {_LONGEST_COMPATIBILITY} characters.")
    needs = _needs(fields, warnings)
    return Skill(
        name,
        description,
        text.strip(),
        folder,
        needs.servers,
        needs.tools,
        needs.others,
        _text(fields, "license").strip(),
        compatibility,
        tuple(warnings),
    )


def _decoded(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise SkillError(f"{SKILL_FILE} is larger than {MOST_BYTES:,} bytes.", hint="Move parts of it to other files.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise SkillError(f"{SKILL_FILE} is not text in UTF-8.", hint="Save it as UTF-8.")
    return text.replace("\r\n", "\n")


def _split(text: str) -> tuple[str, str]:
    """The front matter, and what stands behind it."""
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end()) if opening else None
    if opening is None or closing is None or closing.start() > _LONGEST_HEAD:
        raise SkillError(f"{SKILL_FILE} has no front matter.", hint=_FIX)
    head = text[opening.end() : closing.start()]
    if head.count("[") + head.count("{") > _MOST_BRACKETS:
        raise SkillError(f"The front matter of {SKILL_FILE} is nested too deep.", hint=_FIX)
    return head, text[closing.end() :]


def _fields(head: str) -> Mapping[str, Any]:
    """The members of the front matter, every scalar as the text that stands there."""
    # Loaded by those alone who have skills.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml: Any = YAML(typ="base", pure=True)
    trouble: Exception | None = None
    value: object = None
    # Many a description has a colon in it and no quotes, which other clients' readers let pass.
    for each in (head, _quoted(head)):
        try:
            value = yaml.load(each)
        except (YAMLError, ValueError, RecursionError) as error:
            trouble = trouble or error
        else:
            break
    else:
        raise SkillError(f"The front matter of {SKILL_FILE} is no YAML: {_told(trouble)}.", hint=_FIX)
    if not isinstance(value, Mapping):
        raise SkillError(f"The front matter of {SKILL_FILE} has no members.", hint=_FIX)
    return cast("Mapping[str, Any]", value)


def _told(trouble: Exception | None) -> str:
    """What is wrong, and in which line of the file."""
    problem = str(getattr(trouble, "problem", None) or "it can't be understood").splitlines()[0]
    mark: Any = getattr(trouble, "problem_mark", None)
    return problem if mark is None else f"{problem} (line {mark.line + 1})"


def _quoted(head: str) -> str:
    """The same with quotes around plain values of members at the top that hold a colon."""
    lines: list[str] = []
    for line in head.split("\n"):
        found = _PLAIN.match(line)
        if found is not None and ": " in found["value"]:
            value = found["value"].replace("'", "''")
            line = f"{found['key']}: '{value}'"
        lines.append(line)
    return "\n".join(lines)


def _name(fields: Mapping[str, Any]) -> str:
    name = normalize("NFKC", _text(fields, "name").strip())
    if not name:
        raise SkillError("The skill has no name.", hint="Give it one in `name`, the same as its folder's.")
    parts = name.split("-")
    if len(name) > _LONGEST_NAME or name != name.lower() or not all(part.isalnum() for part in parts):
        raise SkillError(
            f"{shown(name)} is no name of a skill.",
            hint=f"It has at most {_LONGEST_NAME} lower-case letters, digits and single hyphens between them.",
        )
    return name


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return _in_utf8(value) if isinstance(value, str) else ""


def _in_utf8(text: str) -> str:
    """A text with a question mark for each half of a surrogate pair, which an escape of YAML can write and JSON for
    clients can't hold."""
    return text.encode("utf-8", "replace").decode()


class _Needs(NamedTuple):
    servers: tuple[str, ...]
    tools: tuple[str, ...]
    others: tuple[str, ...]


def _needs(fields: Mapping[str, Any], warnings: list[str]) -> _Needs:
    """What the front matter names of servers and tools.

    `allowed-tools` is the specification's member. It may hold tools of MCP servers, as clients name these
    (`mcp__server__tool`, `mcp__server` for all of a server), beside those of a client's own.
    """
    metadata = _members(fields.get("metadata"))
    own = _members(metadata.get(_OWN))
    # The specification has texts as values of `metadata`, so what stands in a member can also stand under its path.
    servers, tools = (
        [*_words(own.get(kind), warnings, f"metadata.{_OWN}.{kind}"), *_words(metadata.get(f"{_OWN}.{kind}"), [], "")]
        for kind in ("servers", "tools")
    )
    others: list[str] = []
    for each in _words(_without_arguments(fields.get("allowed-tools")), warnings, "allowed-tools"):
        if each.startswith("mcp__"):
            server, _, tool = each.removeprefix("mcp__").partition("__")
            if tool:
                tools.append(f"{server}.{tool}")
            else:
                servers.append(server)
        elif "." in each.strip("."):
            tools.append(each)
        else:
            others.append(each)
    if len(servers) + len(tools) > MOST_NAMED:
        warnings.append(f"It names more than {MOST_NAMED} servers and tools; the others are left out.")
    return _Needs(*(tuple(dict.fromkeys(each))[:MOST_NAMED] for each in (servers, tools, others)))


def _members(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _without_arguments(value: object) -> object:
    """Rules of `allowed-tools` without what a client allows of a tool, which may hold blanks: `Bash(git add:*)`."""
    return _ARGUMENTS.sub("", value) if isinstance(value, str) else value


def _words(value: object, warnings: list[str], where: str) -> list[str]:
    """The names in a text, between blanks or commas, or in a list of texts."""
    if isinstance(value, str):
        return _in_utf8(value).replace(",", " ").split()
    if isinstance(value, list):
        entries = [each for each in cast("list[object]", value) if isinstance(each, str)]
        if len(entries) == len(cast("list[object]", value)):
            return [name for each in entries if (name := _in_utf8(_ARGUMENTS.sub("", each)).strip())]
    if value is not None:
        warnings.append(f"{where} is neither a text nor a list of texts, and left out.")
    return []
