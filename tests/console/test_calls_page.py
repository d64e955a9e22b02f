"""The journal on the console: filtered, page by page, and a call with all that is on record of it."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from toolcrib.broker import ApprovalWaitingError, Caller, Filter, Options, Principal
from toolcrib.broker.journal import listing
from toolcrib.console.pages import calls as page_of_calls
from toolcrib.console.pages import runs as page_of_runs
from toolcrib.errors import ToolcribError

pytestmark = pytest.mark.anyio

VIC = Caller(Principal("vic"), "talk")
LISTED = r'href="/console/calls/[0-9a-f]+"[^>]*>([^<]+)'
"""Finds the tools of the calls that a page lists."""


async def test_calls_are_listed_newest_first_and_filtered(house: Any) -> None:
    async with house() as browser:
        await browser.crib.call("box.read", {"about": "one"})
        await browser.crib.call("box.write", {"text": "two"}, caller=VIC)
        with pytest.raises(ToolcribError):
            await browser.crib.call("box.read", {"about": []})
        await browser.crib.call("box.write", {"text": "bad"})
        everything = await browser.get("/calls")
        assert re.findall(LISTED, everything) == ["box.write", "box.write", "box.read"]
        assert 'data-live="journal"' in everything
        for query, tools in (
            ("tool=box.read", ["box.read"]),
            ("tool=box.*&state=failed", ["box.write"]),
            ("text=TWO", ["box.write"]),
            ("principal=vic", ["box.write"]),
            ("conversation=talk&server=box", ["box.write"]),
            ("state=unknown", []),
            ("until=1h", []),
            ("since=1h&text=one", ["box.read"]),
        ):
            page = await browser.get(f"/calls?{query}")
            assert re.findall(LISTED, page) == tools, query
        assert "No such call is on record." in await browser.get("/calls?text=nowhere")
        assert "<option selected>failed</option>" in await browser.get("/calls?state=failed")


async def test_an_empty_journal_says_what_will_stand_there(house: Any, tmp_path: Path) -> None:
    async with house() as browser:
        assert "No call is on record yet." in await browser.get("/calls")
        assert "No script has run yet." in await browser.get("/runs")
        assert not (tmp_path / "state" / "toolcrib.db").exists()


async def test_a_text_that_is_too_long_to_be_looked_for_is_told(house: Any) -> None:
    async with house() as browser:
        await browser.crib.call("box.read", {"about": "one"})
        assert "is too long to be looked for" in await browser.get(f"/calls?text={'_' * 30_000}", status=400)
        longest = "%01" * 5_000  # each is written as six characters in JSON
        assert "No such call" in await browser.get(f"/calls?text=a{longest[:-3]}")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("state=finished", "There is no state &#39;finished&#39;."),
        ("effect=harmless", "There is no effect"),
        ("since=yesterday", "is no moment"),
        ("until=99999d99", "is no moment"),
        ("before=x", "No page begins at"),
    ],
)
async def test_a_wrong_filter_is_told_beside_the_form(house: Any, query: str, told: str) -> None:
    async with house() as browser:
        page = await browser.get(f"/calls?{query}&text=kept", status=400)
        assert told in page
        assert 'value="kept"' in page


async def test_older_calls_are_on_further_pages(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of_calls, "CALLS_ON_A_PAGE", 2)
    async with house() as browser:
        for number in range(5):
            await browser.crib.call("box.write", {"text": f"number {number}"})
        ids = [entry.id for entry in await browser.crib.journal.entries(Filter())]
        seen: list[str] = []
        page = await browser.get("/calls?text=number")
        while True:
            seen += re.findall(r'href="/console/calls/([0-9a-f]+)"', page)
            assert house.links(page, "Newest calls") == ([] if len(seen) == 2 else ["/calls?text=number"])
            if not (older := house.links(page, "Older calls")):
                break
            page = await browser.get(older[0])
            assert "data-live" not in page  # what is older does not move
        assert seen == ids


async def test_where_few_calls_fit_the_page_goes_on_on_request(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "BOUND", 3)
    async with house() as browser:
        await browser.crib.call("box.write", {"text": "rare"})
        for _ in range(5):
            await browser.crib.call("box.write", {"text": "common"})
        page = await browser.get("/calls?text=rare")
        assert "No such call was found back to" in house.words(page)
        found: list[str] = []
        while not found:
            (further,) = house.links(page, "Look further back")
            page = await browser.get(further)
            found = house.links(page, "box.write")
        assert len(found) == 1


async def test_a_call_is_told_with_arguments_rule_approval_and_result(house: Any) -> None:
    async with house() as browser:
        crib = browser.crib
        code = f"await box.send(to='{house.secret}@example.org')"
        slept = await crib.run_code(code, caller=VIC)
        (waiting,) = await crib.approvals.list()
        await crib.approvals.decide(waiting.id, approved=True, by="console ann")
        await crib.run_code(code, retry_of=slept.run, caller=VIC)
        (entry,) = await crib.journal.entries(Filter(tool="box.send"))
        page = await browser.get(f"/calls/{entry.id}")
        said = house.words(page)
        assert house.secret not in page
        for part in (
            "done effect unknown",
            "Sent once",
            f"Approval {waiting.id} by console ann",
            "Rule sent mail",
            "Principal vic",
            "Conversation talk",
            f"Script run {slept.run}",
            f"Call {entry.id}",
            "Request tools/call",
            f"Digest {entry.digest}",
            "Result sent to",
        ):
            assert part in said, part
        assert house.links(page, waiting.id) == [f"/approvals/{waiting.id}"]
        assert house.links(page, slept.run) == [f"/runs/{slept.run}"]
        assert house.links(page, "talk") == ["/calls?conversation=talk"]


async def test_a_read_shows_how_its_result_begins(house: Any) -> None:
    async with house() as browser:
        await browser.crib.call("box.read", {"about": house.secret})
        (entry,) = await browser.crib.journal.entries(Filter())
        page = await browser.get(f"/calls/{entry.id}")
        assert f'Result {{ "about": "***", "found": "{house.known}" }}' in house.words(page, "call")
        assert house.secret not in page


@pytest.mark.parametrize("journal", [{"result_days": 0}, {"arguments": "digest"}])
async def test_a_result_of_which_nothing_is_kept_is_said_not_to_be(browse: Any, house: Any, journal: Any) -> None:
    async with browse({"mcpServers": {}, "toolcrib": {"journal": journal}}) as browser:
        browser.crib.add_functions(read, server="box")
        await browser.crib.call("box.read", {"about": "one"})
        (entry,) = await browser.crib.journal.entries(Filter())
        said = house.words(await browser.get(f"/calls/{entry.id}"), "call")
        assert "Of results the journal keeps only how large they were" in said


async def test_how_a_result_begins_is_said_to_be_forgotten(house: Any) -> None:
    from toolcrib.broker.journal import queries
    from toolcrib.store import open_store

    async with house() as browser:
        await browser.crib.call("box.write", {"text": "one"})
        (entry,) = await browser.crib.journal.entries(Filter())
        store = open_store(str(browser.crib.state_dir / "toolcrib.db"))
        assert await store.write(queries.forget_beginnings, float("inf"), 10) == 1
        store.close()
        said = house.words(await browser.get(f"/calls/{entry.id}"), "call")
        assert "How it begins is not on record any more: that is kept for 7 d" in said


async def read(about: str) -> str:
    """Read something."""
    return about


async def test_a_result_that_was_too_large_is_shown_while_it_is_kept(house: Any) -> None:
    async with house() as browser:
        text = "\n".join(f"line {number}" for number in range(20_000))
        options = Options(budget=1_000)
        outcome = await browser.crib.request("tools/call", "box.read", {"about": text}, options=options)
        assert outcome.handle is not None
        (entry,) = await browser.crib.journal.entries(Filter())
        said = house.words(await browser.get(f"/calls/{entry.id}"), "call")
        assert "line 17" in said.partition("Result")[2]
        assert re.search(r"The first [\d,]+ of 20,00\d|The first [\d,]+ of [\d,]+ lines", said), said[-200:]


async def test_a_call_that_is_unknown_to_the_journal_or_abbreviated_is_not_found(house: Any) -> None:
    async with house() as browser:
        await browser.crib.call("box.read", {"about": "one"})
        (entry,) = await browser.crib.journal.entries(Filter())
        for wrong in ("0123456789abcdef", entry.id[:8], "%00", "a%2Fb", "%F0%9F%98%80"):
            assert "The journal has no such call" in await browser.get(f"/calls/{wrong}", status=404) or "%2F" in wrong


async def test_viewers_see_what_is_theirs_and_approvers_everything(house: Any) -> None:
    async with house("vic") as browser:
        crib = browser.crib
        await crib.call("box.write", {"text": "of the local user"})
        await crib.call("box.write", {"text": "of vic"}, caller=VIC)
        own_run = (await crib.run_code("1", caller=VIC)).run
        other_run = (await crib.run_code("2")).run
        for caller in (VIC, Caller()):
            with pytest.raises(ApprovalWaitingError):
                await crib.call("box.send", {"to": caller.principal.name}, caller=caller)
        own, other = (entry.id for entry in await crib.journal.entries(Filter(tool="box.write")))
        asked = {each.principal: each.id for each in await crib.approvals.list()}

        seen = await browser.get("/calls?principal=local")
        assert (own in seen, other in seen) == (True, False)
        assert "Principal" not in house.words(seen)
        await browser.get(f"/calls/{own}")
        await browser.get(f"/calls/{other}", status=404)
        seen = await browser.get("/runs?principal=local")
        assert (own_run in seen, other_run in seen) == (True, False)
        await browser.get(f"/runs/{own_run}")
        await browser.get(f"/runs/{other_run}", status=404)
        await browser.get(f"/runs/{other_run}/code", status=404)
        seen = await browser.get("/approvals")
        assert (asked["vic"] in seen, asked["local"] in seen) == (True, False)
        assert "Approve" not in house.words(seen).replace("Approval", "").replace("An approver", "")
        await browser.get(f"/approvals/{asked['local']}", status=404)
        for path in (f"/approvals/{asked['vic']}/decide", "/approvals/grants/x/revoke"):
            assert "this needs approver" in await browser.post(path, status=403, decision="approve")
            await browser.get("/approvals")
        assert len(await crib.approvals.list()) == 2

        await house.come_in(browser, "ann")
        assert other in await browser.get("/calls?principal=local")
        await browser.get(f"/calls/{other}")
        await browser.get(f"/runs/{other_run}")


async def test_what_is_hostile_does_nothing_and_can_be_seen(house: Any) -> None:
    spec = importlib.util.spec_from_file_location("hostile_text", Path(__file__).parent / "browser" / "hostile.py")
    assert spec is not None
    assert spec.loader is not None
    hostile = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hostile)
    text = hostile.TEXT
    async with house() as browser:
        crib = browser.crib
        by_it = Caller(Principal(text), text)
        await crib.call("box.write", {"text": text}, caller=by_it)
        with pytest.raises(ApprovalWaitingError):
            await crib.call("box.send", {"to": text}, caller=by_it)
        code = f"# {text!r}\nprint({text!r})\nawait box.write(text={text!r})\nawait call_tool({text!r}, {{}})"
        run = (await crib.run_code(code, caller=by_it)).run
        (approval,) = await crib.approvals.list()
        ids = [entry.id for entry in await crib.journal.entries(Filter())]
        paths = ["/calls", "/runs", "/approvals", f"/runs/{run}", f"/approvals/{approval.id}"]
        for path in (*paths, *(f"/calls/{each}" for each in ids)):
            page = await browser.get(path)
            for markup in (
                "<script>w",
                "<img src=x",
                "<svg onload",
                "<iframe",
                "<a href='javascript",
                "</title></style>",
            ):
                assert markup not in page, (path, markup)
            assert "298973" not in page.replace("7131*7", "")  # what the template in it would come to
            for hidden in "\u202e\u2066\x1b\x00\x08\u200b\U000e0041":
                assert hidden not in page, (path, hidden)
            assert "&lt;script&gt;" in page, path
        shown = await browser.get(f"/runs/{run}")
        assert "⟨U+202E⟩" in shown
        assert page_of_runs.LINES_ON_A_PAGE > 100
        wrong = await browser.get("/calls", status=200)
        assert wrong
        for name in ("text", "tool", "server", "run", "conversation", "principal"):
            answer = await browser.client.get("/console/calls", params={name: text})
            assert answer.status_code == 200
            assert "<script>w" not in answer.text
            assert "<svg onload" not in answer.text
        for name in ("state", "effect", "since", "until", "before"):
            answer = await browser.client.get("/console/calls", params={name: text})
            assert answer.status_code == 400
            assert "<script>w" not in answer.text
