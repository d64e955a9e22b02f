"""What a `SKILL.md` says, and what is told of one that can't be used.

The rules are those of agentskills.io/specification, under the heading that each test names; what is let pass with a
warning is what the guide for clients names under "Lenient validation" and "Handling malformed YAML".
"""

from pathlib import Path

import pytest

from toolcrib.skills import MOST_BYTES, SkillError, parse

FOLDER = Path("/skills/weekly-report")


def written(head: str, text: str = "# How\n") -> bytes:
    return f"---\n{head}---\n{text}".encode()


WHOLE = written(
    """\
name: weekly-report
description: Write the weekly report.
license: Apache-2.0
compatibility: Needs the ticket tracker.
allowed-tools: Bash(git add:*) Read mcp__tickets__list_people mcp__notes calendar.list_events
metadata:
  author: example
  toolcrib:
    servers: [crm, files]
    tools: tickets.get_ticket, notes.*
"""
)


def test_front_matter_is_what_the_specification_has() -> None:
    skill = parse(WHOLE, FOLDER)
    assert (skill.name, skill.id) == ("weekly-report", "skill:weekly-report")
    assert (skill.description, skill.text) == ("Write the weekly report.", "# How")
    assert (skill.license, skill.compatibility) == ("Apache-2.0", "Needs the ticket tracker.")
    assert skill.warnings == ()


def test_servers_and_tools_are_named_by_toolcribs_own_members_and_by_allowed_tools() -> None:
    skill = parse(WHOLE, FOLDER)
    assert skill.servers == ("crm", "files", "notes")
    assert skill.tools == ("tickets.get_ticket", "notes.*", "tickets.list_people", "calendar.list_events")
    assert skill.others == ("Bash", "Read")


def test_a_list_of_allowed_tools_does_as_well_as_a_text() -> None:
    # "allowed-tools field": "a space-delimited string" or "a YAML sequence of strings"
    skill = parse(written("name: a\ndescription: b\nallowed-tools:\n  - Bash(git add:*)\n  - t.get\n"), Path("/a"))
    assert (skill.tools, skill.others) == (("t.get",), ("Bash",))


def test_values_of_metadata_may_be_texts_under_their_paths() -> None:
    # "metadata field": "a map from string keys to string values"
    head = 'name: a\ndescription: b\nmetadata:\n  toolcrib.servers: "crm"\n  toolcrib.tools: "t.get t.put"\n'
    skill = parse(written(head), Path("/a"))
    assert (skill.servers, skill.tools) == (("crm",), ("t.get", "t.put"))


@pytest.mark.parametrize("name", ["pdf-processing", "data-analysis", "code-review", "a", "2024", "b" * 64])
def test_valid_names(name: str) -> None:
    assert parse(written(f"name: {name}\ndescription: x\n"), Path("/") / name).name == name


@pytest.mark.parametrize("name", ["PDF-Processing", "-pdf", "pdf-", "pdf--processing", "a b", "../up", "a/b", "b" * 65])
def test_invalid_names(name: str) -> None:
    # "name field", with the specification's own examples
    with pytest.raises(SkillError, match="no name of a skill"):
        parse(written(f"name: {name}\ndescription: x\n"), FOLDER)


def test_a_name_that_is_not_its_folders_is_told_and_counts() -> None:
    skill = parse(written("name: other\ndescription: x\n"), FOLDER)
    assert skill.name == "other"
    assert skill.warnings == ("Its name is other, and its folder's is 'weekly-report'; they should be the same.",)


def test_too_long_descriptions_and_compatibility_are_told() -> None:
    # "description field": 1 to 1,024 characters; "compatibility field": 1 to 500
    skill = parse(written(f"name: a\ndescription: {'d' * 1025}\ncompatibility: {'c' * 501}\n"), Path("/a"))
    assert len(skill.description) == 1025
    assert ["1,025" in skill.warnings[0], "500" in skill.warnings[1]] == [True, True]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "no front matter"),
        (b"# Only text\n", "no front matter"),
        (b"---\nname: a\ndescription: b\n", "no front matter"),
        (b"text\n---\nname: a\n---\n", "no front matter"),
        (written("name: a\n" + "# comment\n" * 2_000), "no front matter"),
        (written(""), "no members"),
        (written("- a\n- b\n"), "no members"),
        (written("just words\n"), "no members"),
        (written("name: [a\ndescription: b\n"), r"no YAML: .*\(line \d+\)"),
        (written("name: a\nname: b\ndescription: c\n"), "no YAML"),
        (written("name: &a [*a, *a]\ndescription: *b\n"), "no YAML"),
        (written(f"name: {'[' * 2000}\ndescription: b\n"), "nested too deep"),
        (written(f"name: {'[' * 100}\ndescription: b\n"), "no YAML"),
        (written("description: b\n"), "no name"),
        (written("name:\n  - a\ndescription: b\n"), "no name"),
        (written("name: a\n"), "no description"),
        (written("name: a\ndescription: '  '\n"), "no description"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not text in UTF-8"),
        (b"---\nname: a\ndescription: b\0c\n---\n", "not text in UTF-8"),
        ("---\nname: a\ndescription: é\n---\n".encode("latin-1"), "not text in UTF-8"),
        ("---\nname: a\ndescription: b\n---\n".encode("utf-16"), "not text in UTF-8"),
        (written("name: a\ndescription: b\n", "x" * MOST_BYTES), "larger than 1,048,576 bytes"),
    ],
)
def test_what_can_not_be_used_says_why(data: bytes, told: str) -> None:
    with pytest.raises(SkillError, match=told) as raised:
        parse(data, FOLDER)
    assert raised.value.hint
    assert raised.value.code == "skill_unusable"


def test_a_byte_order_mark_and_windows_line_ends_are_no_trouble() -> None:
    data = b"\xef\xbb\xbf" + written("name: a\ndescription: b\n", "one\ntwo\n").replace(b"\n", b"\r\n")
    assert parse(data, Path("/a")).text == "one\ntwo"


def test_a_colon_in_a_value_without_quotes_is_let_pass() -> None:
    skill = parse(written("name: a\ndescription: Use it when: somebody asks for 'it'\n"), Path("/a"))
    assert skill.description == "Use it when: somebody asks for 'it'"


def test_scalars_are_the_text_that_stands_there() -> None:
    skill = parse(written("name: 2024\ndescription: yes\nlicense: 1.10\n"), Path("/2024"))
    assert (skill.name, skill.description, skill.license) == ("2024", "yes", "1.10")


def test_needs_of_another_kind_are_told_and_left_out() -> None:
    head = "name: a\ndescription: b\nallowed-tools: {x: y}\nmetadata:\n  toolcrib:\n    tools: [{a: b}]\n"
    skill = parse(written(head), Path("/a"))
    assert skill.tools == ()
    assert [each.partition(" ")[0] for each in skill.warnings] == ["metadata.toolcrib.tools", "allowed-tools"]


def test_a_skill_that_names_a_thousand_tools_is_bounded() -> None:
    names = " ".join(f"t.tool{number}" for number in range(1_000))
    skill = parse(written(f"name: a\ndescription: b\nallowed-tools: {names}\n"), Path("/a"))
    assert len(skill.tools) == 200
    assert "more than 200" in skill.warnings[0]


def test_nested_aliases_do_not_grow() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    head = "name: a\ndescription: b\nallowed-tools: *a11\n"
    skill = parse(written("\n".join(lines) + f"\n{head}"), Path("/a"))
    assert skill.tools == ()


def test_half_a_surrogate_pair_goes_to_no_client() -> None:
    # YAML 1.2.2, 5.7 has escapes for them; JSON in UTF-8 has no place for them (RFC 8259, 8.2).
    head = 'name: a\ndescription: "bake \\ud83d bread"\nallowed-tools: "t.get\\ud83d"\n'
    skill = parse(written(head), Path("/a"))
    assert (skill.description, skill.tools) == ("bake ? bread", ("t.get?",))
