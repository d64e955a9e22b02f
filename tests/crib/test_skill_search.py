"""How well a request tells which skill it is for, among few skills and by words alone: the figures of `FITS`."""

from pathlib import Path

import anyio
import pytest

from toolcrib.crib.skillsearch import SkillIndex
from toolcrib.search import Needs, Pattern
from toolcrib.skills import Skill

pytestmark = pytest.mark.anyio

SKILLS = {
    "weekly-report": "Write the weekly report of a project from its tickets and the team's notes. Use when asked for a "
    "weekly report or for the status of a project.",
    "pdf-processing": "Extracts text and tables from PDF files, fills PDF forms, and merges multiple PDFs. Use when "
    "working with PDF documents or when the user mentions PDFs, forms, or document extraction.",
    "code-review": "Review a pull request for bugs and style. Use when the user asks for a code review.",
    "plan-meeting": "Find a time for a meeting of several people and put it into their calendars. Use when somebody "
    "wants to meet, or asks when people are free.",
    "onboarding": "Set up a new colleague: accounts, first tickets, welcome note.",
}
FITTING = {
    "weekly report": "weekly-report",
    "Write the weekly report for project Web": "weekly-report",
    "How is the Web project doing? Please write me a short status report for this week.": "weekly-report",
    "What is the status of the project WEB?": "weekly-report",
    "merge these two pdf files": "pdf-processing",
    "fill in the form in invoice.pdf": "pdf-processing",
    "review PR 17": "code-review",
    "Please do a code review of my change": "code-review",
    "review this pull request": "code-review",
    "find a time to meet with Noor and Ines": "plan-meeting",
    "When are Noor and Ines both free for an hour next Monday?": "plan-meeting",
    "a new colleague starts on monday, set her up": "onboarding",
    "I want a meeting with three people": "plan-meeting",
}
OTHERS = (
    "what is the weather in Paris",
    "create a ticket for the login bug",
    "delete all notes tagged old",
    "hello",
    "thanks, that's all",
    "translate this text to French",
    "list open tickets of project Web",
    "tell me a joke",
    "find a note about bread",
    "Which tickets are overdue?",
    "use the second one",
    "who works on WEB-7?",
    "write an email to my boss",
    "set the priority to high",
    "close the ticket",
    "read the file notes.txt",
    "when was the last release?",
    "I want to see the first ticket of the team",
)


def skills(*names: str) -> list[Skill]:
    return [Skill(name, SKILLS[name], "", Path("/")) for name in names]


@pytest.mark.parametrize(
    ("together", "found", "wrong"), [(1, 11, 0), (2, 12, 2), (5, 12, 2)], ids=["alone", "pairs", "all"]
)
async def test_requests_are_told_apart(together: int, found: int, wrong: int) -> None:
    names = list(SKILLS)
    groups = [names[place : place + together] for place in range(0, len(names), together)]
    right: list[str] = []
    mistaken: set[str] = set()
    for group in groups:
        index = SkillIndex()
        known = skills(*group)
        for request, wanted in FITTING.items():
            if wanted in group and [each.name for each in await index.fitting(request, known)][:1] == [wanted]:
                right.append(request)
        for request in OTHERS:
            if await index.fitting(request, known):
                mistaken.add(request)
    assert len(right) >= found, sorted(FITTING.keys() - set(right))
    assert len(mistaken) <= wrong, mistaken


async def test_a_sentence_of_a_long_request_is_enough() -> None:
    known = skills("plan-meeting", "code-review")
    long = f"{'I have had a long day with many things to do, none of it easy at all. ' * 5}Review this pull request."
    assert [each.name for each in await SkillIndex().fitting(long, known)] == ["code-review"]


async def test_each_need_has_its_best_and_patterns_are_looked_for() -> None:
    index, known = SkillIndex(), skills(*SKILLS)
    needs = Needs(("merge pdf files", "a code review", "merge pdf forms"))
    assert {each.name for each in await index.search(needs, known)} == {"pdf-processing", "code-review"}
    assert [each.name for each in await index.search(Pattern("pull request"), known)] == ["code-review"]
    assert await index.search(Needs(("pdf",)), []) == []


async def test_callers_who_may_know_of_different_skills_search_at_the_same_time() -> None:
    index = SkillIndex()
    many = [Skill(f"skill-{number}", "Bake bread.", "", Path("/")) for number in range(450)]
    found: dict[str, list[str]] = {}

    async def search(caller: str, known: list[Skill]) -> None:
        found[caller] = [each.name for each in await index.search(Pattern("bread"), known)]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search, "one", many[:225])
        tasks.start_soon(search, "other", many[225:])
    assert {each.name for each in many[:225]}.issuperset(found["one"])
    assert {each.name for each in many[225:]}.issuperset(found["other"])
