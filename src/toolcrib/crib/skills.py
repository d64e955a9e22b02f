"""`Skills`: the skills of a crib: followed in their folders, found by words, read, and used."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.broker import LOCAL, Caller, CallerContext, ListedTool, Options, Outcome, Policy
from toolcrib.catalog import SKILL_HEAD, SKILLS, RequestContext
from toolcrib.crib.skillneeds import NeedsOf, SkillNeeds, UsedSkill
from toolcrib.crib.skillsearch import SkillIndex, as_tool
from toolcrib.errors import DeniedError, ProtocolError, probably_meant
from toolcrib.files import expanded
from toolcrib.search import Browse, Query, Select
from toolcrib.skills import SKILL_FILE, Skill, SkillError, SkillFiles, SkillSource, UnknownSkillError, load

if TYPE_CHECKING:
    from toolcrib.crib.crib import Crib
    from toolcrib.crib.sources import SourceTable

_DEEPEST = 3
_MOST_FOLDERS = 1_000

_State = tuple[int, int, int]


class Skills:
    """The skills of a crib, those of the configured folders and those that were used.

    Of two that have one name, the one that was used counts, else the one of the first folder.

    Args:
        crib: The crib.
        places: Folders of skills, or of a skill each, in order.
        sources: Takes the skills as a source.
        policy: Says what is hidden from whom; a skill goes by `skills.NAME` there.
        needs: Enables what a skill names, and tells what of it is there.
    """

    def __init__(
        self, crib: "Crib", places: Sequence[str], sources: "SourceTable", policy: Policy, needs: NeedsOf
    ) -> None:
        self._crib = crib
        self._places = [expanded(place) for place in places]
        self._given: dict[Path, None] = {}
        self._policy = policy
        self._needs = needs
        self._read: dict[Path, tuple[_State, Skill | SkillError]] = {}
        self._known: dict[str, Skill] = {}
        self._problems: dict[str, str] = {}
        self._used: dict[str, UsedSkill] = {}
        self._index = SkillIndex()
        sources.put(SkillSource(self._of_context))

    @property
    def used(self) -> list[UsedSkill]:
        """The skills that were used, in order, as they were then."""
        return list(self._used.values())

    @property
    def problems(self) -> dict[str, str]:
        """What is wrong with skills, by the path of each: why it can't be used, or what is odd about it."""
        self._follow()
        return dict(self._problems)

    def known(self, caller: Caller = LOCAL) -> list[Skill]:
        """The skills that the caller may know of, by name."""
        self._follow()
        return [skill for _, skill in sorted(self._known.items()) if not self._is_hidden(skill, caller)]

    def get(self, name: str, caller: Caller = LOCAL) -> Skill:
        """A skill by its name or its id.

        Raises:
            UnknownSkillError: The caller may know of none of that name.
        """
        known = {each.name: each for each in self.known(caller)}
        bare = name.removeprefix(SKILL_HEAD)
        if bare not in known:
            raise UnknownSkillError(bare, probably_meant(bare, known))
        return known[bare]

    def files(self, skill: Skill) -> list[str]:
        """The files of a skill beside its `SKILL.md`, as paths from its folder on."""
        try:
            return [path for path in SkillFiles(skill.folder).paths() if path != SKILL_FILE]
        except SkillError:  # gone since
            return []

    async def read(self, skill: Skill, path: str, *, caller: Caller = LOCAL, options: Options | None = None) -> Outcome:
        """Read a file of a skill: a request for a resource, which goes through the broker like every other.

        Args:
            skill: The skill.
            path: As `files` gives it.
            caller: Who asks.
            options: See `Broker.request`.

        Raises:
            SkillError: There is no such file, or it can't be read.
            ToolcribError: As `Crib.request`.
        """
        try:
            return await self._crib.request("resources/read", SKILLS, {"uri": skill.uri(path)}, caller, options)
        except ProtocolError as error:
            raise SkillError(f"{skill.id}: {error.rpc_message}", hint="get_tool_details lists its files.") from None

    async def needs(self, skill: Skill, caller: Caller = LOCAL) -> SkillNeeds:
        """What of the tools that a skill names is there for the caller, and what is not and why; nothing is enabled."""
        return await self._needs.known(skill, caller)

    def add(self, path: str | Path, caller: Caller = LOCAL) -> Skill:
        """Take in a skill, which can be found and read from then on; see `Crib.use_skill`, which also does this."""
        skill = self._meant(path, caller)
        if self._is_hidden(skill, caller):
            raise DeniedError(f"The policy does not let {caller.principal.name} know of the skill {skill.name}.")
        return skill

    async def use(self, path: str | Path, *, caller: Caller = LOCAL) -> UsedSkill:
        """Use a skill: see `Crib.use_skill`."""
        skill = self.add(path, caller)
        used = self._used[skill.name] = await self._needs.enabled(skill, caller)
        return used

    async def found(self, query: Query, *, caller: Caller = LOCAL) -> tuple[list[Skill], list[str]]:
        """The skills that fit a query, best first, and what is wrong with ids that it names.

        Args:
            query: Words, a pattern, ids; nothing at all finds every skill.
            caller: Who asks.
        """
        known = self.known(caller)
        if isinstance(query, Browse):
            return known, []
        if isinstance(query, Select):
            found: list[Skill] = []
            unknown: list[str] = []
            for name in query.ids:
                if name.startswith(SKILL_HEAD):
                    try:
                        found.append(self.get(name, caller))
                    except UnknownSkillError as error:
                        unknown.append(str(error))
            return found, unknown
        return await self._index.search(query, known), []

    async def fitting(self, request: str, among: Sequence[str], *, caller: Caller = LOCAL) -> list[Skill]:
        """The skills whose description fits what somebody asks for, best first.

        Args:
            request: What is asked for.
            among: Only skills of these names.
            caller: Who asks.
        """
        known = [skill for skill in self.known(caller) if skill.name in among]
        return await self._index.fitting(request, known)

    def _meant(self, path: str | Path, caller: Caller) -> Skill:
        """The skill at a path, or of an id, as it is now; it is followed from then on."""
        if isinstance(path, str) and path.startswith(SKILL_HEAD):
            return self.get(path, caller)
        place = expanded(path).absolute()
        folder = place.parent if place.name == SKILL_FILE else place
        skill = load(folder)
        self._given[folder] = None
        self._follow()
        return skill

    def _of_context(self, context: RequestContext) -> Sequence[Skill]:
        return self.known(context.caller if isinstance(context, CallerContext) else LOCAL)

    def _is_hidden(self, skill: Skill, caller: Caller) -> bool:
        listed = ListedTool(f"{SKILLS}.{skill.name}", skill.name, partial(as_tool, skill))
        principal = caller.principal
        return self._policy.hides(principal, SKILLS, None) or self._policy.hides(principal, SKILLS, listed)

    def _follow(self) -> None:
        """Bring what is known up to what is there. A file is read anew where its time, size or number changed."""
        known: dict[str, Skill] = {}
        problems: dict[str, str] = {}
        read: dict[Path, tuple[_State, Skill | SkillError]] = {}
        for folder in self._folders(problems):
            if folder in read:
                continue
            state = _state(folder / SKILL_FILE)
            kept = self._read.get(folder)
            if kept is None or kept[0] != state:
                kept = (state, _loaded(folder))
            read[folder] = kept
            found = kept[1]
            if isinstance(found, SkillError):
                problems[str(folder)] = str(found)
            elif found.name in known:
                problems[str(folder)] = f"The skill {found.name} of {known[found.name].folder} counts, not this one."
            else:
                known[found.name] = found
                if found.warnings:
                    problems[str(folder)] = " ".join(found.warnings)
        self._read, self._known, self._problems = read, known, problems

    def _folders(self, problems: dict[str, str]) -> Iterator[Path]:
        yield from self._given
        for place in self._places:
            seen: set[Path] = set()
            found = False
            for folder in _with_skills(place, seen, 1):
                found = True
                yield folder
            if not found:
                problems[str(place)] = "There are no skills." if os.path.isdir(place) else "There is no such folder."


def _with_skills(folder: Path, seen: set[Path], depth: int) -> Iterator[Path]:
    """The folders below one, itself included, that have a skill. Links are followed, each folder looked at once."""
    try:
        real = folder.resolve(strict=True)
        if real in seen or len(seen) >= _MOST_FOLDERS:
            return
        seen.add(real)
        if os.path.lexists(folder / SKILL_FILE):
            yield folder
            return
        if depth > _DEEPEST:
            return
        below = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except (OSError, RuntimeError):
        return
    for path in below:
        if path.name != "node_modules" and os.path.isdir(path):
            yield from _with_skills(path, seen, depth + 1)


def _loaded(folder: Path) -> Skill | SkillError:
    try:
        return load(folder)
    except SkillError as error:
        return error


def _state(path: Path) -> _State:
    """What tells a file as it is from what it was; nothing of one that is gone."""
    try:
        stat = path.stat()
    except (OSError, RuntimeError):
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
