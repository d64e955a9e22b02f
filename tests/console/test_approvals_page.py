"""Deciding what waits, on the console: what is asked, what is granted, who was faster."""

from typing import Any

import pytest

from toolcrib.broker import ApprovalWaitingError, Caller, Filter, Principal
from toolcrib.console.pages import approvals as page_of_approvals

pytestmark = pytest.mark.anyio

VIC = Caller(Principal("vic"), "talk")


async def asked(crib: Any, to: str = "ann", caller: Caller = VIC) -> str:
    """The id of the approval that a call waits for."""
    with pytest.raises(ApprovalWaitingError) as caught:
        await crib.call("box.send", {"to": to}, caller=caller)
    return caught.value.approval


async def test_what_waits_is_shown_whole_and_sent_once_it_is_approved(house: Any) -> None:
    async with house("ann") as browser:
        approval = await asked(browser.crib, "bob@example.org")
        page = await browser.get("/approvals")
        said = house.words(page, f"approval-{approval}")
        for part in (
            "box.send effect unknown",
            "Who asks a program (vic)",
            "Why it is asked It is mail. (rule sent mail)",
            "Server box",
            '"to": "bob@example.org"',
        ):
            assert part in said, part
        page = await browser.post(f"/approvals/{approval}/decide", decision="approve", scope="call")
        assert "box.send is approved." in house.words(page)
        assert "approved console ann the call a program (vic)" in house.words(page, "decided")
        await browser.crib.call("box.send", {"to": "bob@example.org"}, caller=VIC)
        (entry,) = await browser.crib.journal.entries(Filter(tool="box.send", state="done"))
        assert (entry.approval, entry.approved_by) == (approval, "console ann")
        assert await browser.crib.approvals.grants() == []


async def test_what_is_denied_is_not_sent(house: Any) -> None:
    async with house() as browser:
        approval = await asked(browser.crib)
        page = await browser.post(f"/approvals/{approval}/decide", decision="deny", scope="tool", seconds="x")
        assert "box.send is denied." in house.words(page)
        found = await browser.crib.approvals.find(approval)
        assert (found.status, found.decided_by) == ("denied", "console local")
        assert house.links(page, "box.send") == [f"/approvals/{approval}"]
        said = house.words(await browser.get(f"/approvals/{approval}"))
        assert "Denied by console local" in said
        assert "If approved" not in said


async def test_a_grant_holds_for_its_time_and_bounds_until_it_is_revoked(house: Any) -> None:
    async with house() as browser:
        crib = browser.crib
        approval = await asked(crib)
        within = '{"at": "/to", "pattern": "^a"}\n\n{"at": "/to", "one_of": ["ann", "al"]}\n'
        await browser.post(
            f"/approvals/{approval}/decide", decision="approve", scope="caller", seconds="600", within=within
        )
        (granted,) = await crib.approvals.grants()
        assert (granted.by, granted.tool, granted.approval) == ("console local", "box.send", approval)
        assert 590 < granted.seconds <= 600
        assert [test.model_dump(exclude_unset=True) for test in granted.bounds] == [
            {"at": "/to", "pattern": "^a"},
            {"at": "/to", "one_of": ("ann", "al")},
        ]
        await crib.call("box.send", {"to": "al"}, caller=VIC)
        await asked(crib, "bob")
        page = await browser.get("/approvals")
        said = house.words(page, "grants")
        assert "vic, conversation talk" in said
        assert '{"at": "/to", "pattern": "^a"}' in said
        page = await browser.post(f"/approvals/grants/{granted.id}/revoke")
        assert f"Grant {granted.id} is revoked." in house.words(page)
        await asked(crib, "al")
        assert "There is no grant" in house.words(await browser.post(f"/approvals/grants/{granted.id}/revoke"))


async def test_of_two_who_decide_the_second_is_told_who_did(house: Any) -> None:
    async with house("ann") as browser:
        approval = await asked(browser.crib)
        await browser.get("/approvals")
        await browser.crib.approvals.decide(approval, False, by="console bob")
        page = await browser.post(f"/approvals/{approval}/decide", status=409, decision="approve", scope="call")
        said = house.words(page)
        assert f"Approval {approval} was denied by console bob already." in said
        assert "Denied by console bob" in said
        assert "If approved" not in said
        assert (await browser.crib.approvals.find(approval)).status == "denied"


async def test_an_answer_that_is_sent_twice_is_no_problem(house: Any) -> None:
    async with house("ann") as browser:
        approval = await asked(browser.crib)
        await browser.get("/approvals")
        yes = {"decision": "approve", "scope": "tool"}
        for _ in range(2):
            page = await browser.post(f"/approvals/{approval}/decide", **yes)
            assert "box.send is approved." in house.words(page)
        for other in ({"decision": "deny"}, {**yes, "scope": "caller"}):
            page = await browser.post(f"/approvals/{approval}/decide", status=409, **other)
            assert f"Approval {approval} was approved by console ann already." in house.words(page)
        (granted,) = await browser.crib.approvals.grants()
        assert granted.approval == approval


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"scope": "everything"}, "Nothing can be granted for"),
        ({"scope": "call", "seconds": "5"}, "for what goes beyond this call"),
        ({"scope": "call", "within": "{}"}, "for what goes beyond this call"),
        ({"scope": "tool", "seconds": "soon"}, "is no time"),
        ({"scope": "tool", "seconds": "-5"}, "is no time"),
        ({"scope": "tool", "seconds": "nan"}, "is no time"),
        ({"scope": "tool", "within": "{"}, "is not JSON"),
        ({"scope": "tool", "within": "[" * 5000}, "is not JSON"),
        ({"scope": "tool", "within": '{"at": "x"}'}, "can't be used"),
        ({"scope": "tool", "within": '{"at": "/x", "pattern": "("}'}, "can't be used"),
    ],
)
async def test_what_can_not_be_granted_is_told_and_nothing_is_decided(
    house: Any, fields: dict[str, str], told: str
) -> None:
    async with house() as browser:
        approval = await asked(browser.crib)
        await browser.get("/approvals")
        page = await browser.post(f"/approvals/{approval}/decide", status=400, decision="approve", **fields)
        assert told in house.words(page)
        assert (await browser.crib.approvals.find(approval)).status == "waiting"
        if len(fields.get("within", "")) < 100 and fields["scope"] == "tool":
            assert 'value="tool" checked' in page  # what was filled in stays


async def test_a_form_without_a_clear_yes_is_a_no(house: Any) -> None:
    async with house() as browser:
        approval = await asked(browser.crib)
        await browser.post(f"/approvals/{approval}/decide", decision="yes")
        assert (await browser.crib.approvals.find(approval)).status == "denied"


async def test_an_approval_that_there_is_not_is_not_found(house: Any) -> None:
    async with house() as browser:
        await browser.get("/approvals/abcdef", status=404)
        await browser.get("/approvals")
        await browser.post("/approvals/abcdef/decide", status=404, decision="approve")


async def test_secrets_and_where_values_come_from_are_as_the_inbox_has_them(house: Any) -> None:
    async with house() as browser:
        await browser.crib.call("box.read", {"about": "ships"}, caller=VIC)
        await asked(browser.crib, f"{house.known} {house.secret}")
        page = await browser.get("/approvals")
        assert house.secret not in page
        assert "/to comes from box.read" in house.words(page)


async def test_only_so_many_are_shown_at_once_and_the_rest_is_said(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of_approvals, "WAITING_ON_A_PAGE", 2)
    monkeypatch.setattr(page_of_approvals, "DECIDED_ON_A_PAGE", 1)
    async with house() as browser:
        ids = [await asked(browser.crib, f"n{number}") for number in range(5)]
        page = await browser.get("/approvals")
        assert page.count("<article") == 2
        assert "3 more wait" in house.words(page)
        for approval in ids[:2]:
            await browser.post(f"/approvals/{approval}/decide", decision="deny")
        assert "1 more are not shown" in house.words(await browser.get("/approvals"))


async def test_viewers_see_what_their_principal_waits_for_and_was_granted(house: Any) -> None:
    async with house("ann") as browser:
        for caller in (VIC, Caller()):
            approval = await asked(browser.crib, caller=caller)
            await browser.get("/approvals")
            await browser.post(f"/approvals/{approval}/decide", decision="approve", scope="caller")
        assert house.words(await browser.get("/approvals"), "grants").count("rule sent mail") == 2
        await house.come_in(browser, "vic")
        said = house.words(await browser.get("/approvals"), "grants")
        assert said.count("rule sent mail") == 1
        assert "Revoke" not in said
