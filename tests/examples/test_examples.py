"""The example programs do what their texts say; expected values are those of the demo servers' own data."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def output(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a program prints."""
    monkeypatch.setattr(sys, "argv", [request.param])
    runpy.run_path(str(EXAMPLES / request.param), run_name="__main__")
    return capsys.readouterr().out


def test_every_example_is_tested_and_listed_and_says_how_it_is_run() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    listed = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'["{path.name}"]' in tests, path.name
        assert f"\n| `{path.name}` |" in listed, path.name
        docstring = path.read_text(encoding="utf-8").split('"""')[1]
        assert f"Run it with: python examples/{path.name}" in docstring, path.name
    assert listed.count("\n| `") == len(list(EXAMPLES.glob("*.py")))


@pytest.mark.parametrize("output", ["search_and_call.py"], indirect=True)
def test_a_tool_is_found_and_called_and_a_wrong_call_is_not_sent(output: str) -> None:
    assert "calendar: ready, 10 tools" in output
    assert output.index("calendar.find_free_slots") < output.index("calendar.find_free_slots(calendars: list[str]")
    assert 'mended: /duration_minutes: "90" → 90' in output
    # nobody has a date on that Monday between nine and five, by the calendar's seed
    assert "free from 2026-03-16T09:00:00Z for 480 minutes" in output
    assert output.count("free from") == 2
    assert '/duration: unknown parameter "duration"' in output.partition("not sent:")[2]


@pytest.mark.parametrize("output", ["functions_beside_servers.py"], indirect=True)
def test_functions_are_tools_like_those_of_servers(output: str) -> None:
    ids, found, converted, failed, *answers = output.splitlines()
    assert ids == "['money.convert', 'money.vat']"
    assert found == "['money.convert', 'notes.create_note']"
    assert converted.startswith("{'euros': 46.0}")  # 50 × 0.92
    assert failed == "True ValueError: the rate is a share, such as 0.19"
    assert answers[0] == '{"gross": 119.0}'  # 100 × 1.19
    assert '"title": "Offer"' in answers[1]


@pytest.mark.parametrize("output", ["connected_clients.py"], indirect=True)
def test_connected_clients_are_a_registry_and_a_crib_and_stay_connected(output: str) -> None:
    assert "12 tools, the first: list_notes" in output
    assert 'valid: False; /body: missing required parameter "body"' in output
    assert "['notes', 'tickets'] 26" in output
    assert "tickets.list_people ['ines', 'kofi', 'noor', 'tomas', 'yuki']" in output
    assert "still connected: 12 tools" in output


@pytest.mark.parametrize("output", ["own_searcher.py"], indirect=True)
def test_a_searcher_of_the_programs_own_ranks_by_its_rules(output: str) -> None:
    rows = [line.strip() for line in output.splitlines()]

    def house(query: str) -> list[str]:
        return rows[rows.index(query) + 2].removeprefix("house: ").split(", ")

    assert house("open a gremlin")[0] == "tickets.create_ticket"
    assert house("look into the scrapbook")[0].startswith("notes.")
    assert house("delete a note")[0] == "notes.delete_note"
    assert "notes.tag_notes" not in house("tags of a note")  # it can take tags away


@pytest.mark.parametrize("output", ["ask_a_model.py"], indirect=True)
def test_a_model_searches_errs_mends_and_answers(output: str) -> None:
    assert output.splitlines()[:4] == [
        "[looked: search_tools]",
        "[mistaken: calendar.find_free_slots]",
        "[called: calendar.find_free_slots]",
        "From 9:00 on, the whole day.",
    ]
    assert "1 round of calls" in output


@pytest.mark.parametrize("output", ["two_principals.py"], indirect=True)
def test_two_principals_see_and_do_what_their_lists_allow_and_as_often(output: str) -> None:
    lines = output.splitlines()
    assert lines[0] == "without a token: 401"
    assert [line.partition(". ")[0] for line in lines[1:5]] == [
        "ann: notes.list_notes: called",
        "ann: tickets.list_people: called",
        "ann: tickets.delete_ticket: There is no tool 'tickets.delete_ticket'",
        "ann: tickets.list_projects: called",
    ]
    assert [line.partition(". ")[0].partition(", and")[0] for line in lines[5:]] == [
        "build: notes.list_notes: There is no tool 'notes.list_notes'",
        "build: tickets.list_people: called",
        "build: tickets.delete_ticket: There is no tool 'tickets.delete_ticket'",
        "build: tickets.list_projects: build may make 3 calls a minute",
    ]


@pytest.mark.parametrize("output", ["agent_in_twenty_lines.py"], indirect=True)
def test_an_agent_finds_calls_and_answers(output: str) -> None:
    assert output.splitlines() == [
        "looked: search_tools {'query': 'show a ticket'}",
        "called: tickets.get_ticket {'ticket': 'WEB-1'}",
        "Yuki reported WEB-1.",  # as the demo's seed has it
    ]


def test_the_agent_has_twenty_lines() -> None:
    text = (EXAMPLES / "agent_in_twenty_lines.py").read_text(encoding="utf-8").split('"""')[2]
    assert len([line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]) <= 25


@pytest.mark.parametrize("output", ["join_two_servers.py"], indirect=True)
def test_a_script_joins_two_servers(output: str) -> None:
    # by the seeds: who has tickets in progress or blocked, and what stands in the own calendars on 16 March
    assert "{'who': 'tomas', 'works on': ['OPS-1'], 'on monday': ['On-call handover']}" in output
    assert "{'who': 'ines', 'works on': ['WEB-1', 'WEB-6'], 'on monday': []}" in output
    assert output.splitlines()[-1] == "10 calls"  # two lists, and two for each of the four who have a calendar


@pytest.mark.parametrize("output", ["fifty_calls.py"], indirect=True)
def test_a_script_replaces_fifty_calls(output: str) -> None:
    assert output.startswith("hours: {'tomas': 19, 'yuki': 33, 'noor': 98, 'kofi': 18, 'ines': 8}\n")
    account = re.search(r"in place of (\d+) calls and ([\d,]+) tokens: 1 call and ([\d,]+) tokens", output)
    assert account
    calls, before, after = (int(each.replace(",", "")) for each in account.groups())
    assert calls >= 50
    assert after < before / 10
    assert f"saved: {calls - 1} calls, {before - after:,} tokens" in output


@pytest.mark.parametrize("output", ["sandbox_limit.py"], indirect=True)
def test_limits_end_scripts(output: str) -> None:
    lines = output.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["call_limit", "  calls made", "timeout", "  calls made", "ok"]
    assert lines[1] == "  calls made: 3"
    assert lines[-1].endswith(" left out")


@pytest.mark.parametrize("output", ["approvals_in_a_web_app.py"], indirect=True)
def test_a_web_application_decides_what_waits(output: str) -> None:
    assert output.splitlines() == [
        "Allow shop.order (unknown) of server shop?",
        "answered: 200, and once more: 409",
        "The call of shop.order (money is spent) was not approved.",
        "Allow shop.order (unknown) of server shop?",
        "answered: 200, and once more: 409",
        "ordered: 2 x tables",
        "ordered: 1 x lamps",
    ]


@pytest.mark.parametrize("output", ["own_embedder.py"], indirect=True)
def test_an_embedder_of_the_programs_own_finds_slips_and_other_languages(output: str) -> None:
    found = dict(line.split(": ") for line in output.splitlines())
    assert found["tickett asigning"].startswith("tickets.assign_ticket")
    assert found["Notizen exportieren"].startswith("notes.export_notes")
    assert found["delete the note"].startswith("notes.delete_note")


@pytest.mark.parametrize("output", ["own_provider.py"], indirect=True)
def test_a_provider_of_the_programs_own_calls_and_answers(output: str) -> None:
    assert output.splitlines() == [
        "house adder-2",
        "called: local.add {'numbers': [1, 2, 39]}",
        "That is 42.",
    ]
