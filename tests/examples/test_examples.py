"""The example programs do what their texts say; expected values are those of the demo servers' own data."""

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


def test_every_example_is_tested() -> None:
    tested = {
        "ask_a_model.py",
        "connected_clients.py",
        "functions_beside_servers.py",
        "own_searcher.py",
        "search_and_call.py",
        "two_principals.py",
    }
    assert {path.name for path in EXAMPLES.glob("*.py")} == tested


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
