"""Ids of servers, tools and parameters."""

import itertools
import keyword
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.schema import parameter_identifiers, server_ids, tool_ids

NAMES = st.one_of(
    st.text(max_size=12),
    st.text("ab_-. 1", max_size=4),
    st.sampled_from(["from", "import", "None", "__init__", "a_b", "a-b", "a.b", "名前", "ﬁle", "x" * 200]),
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("github", "github"),
        ("GitHub", "github"),
        ("github-reference", "github_reference"),
        ("My Server!", "my_server"),
        ("1password", "s_1password"),
        ("_internal", "internal"),
        ("_private", "private_"),  # reserved in TypeScript
        ("", "server"),
        ("数据库", "server"),
        ("time", "time_"),  # a module of the script dialect
        ("fetch", "fetch_"),  # a global of the runtimes for TypeScript
        ("filter", "filter_"),  # a builtin of Python
        ("class", "class_"),
        ("interface", "interface_"),  # reserved in TypeScript's strict mode
        ("toolcrib", "toolcrib_"),
        ("mcp", "mcp_"),
    ],
)
def test_a_server_id_is_the_key_as_a_lower_case_identifier(key: str, expected: str) -> None:
    assert server_ids([key]) == {key: expected}


@given(st.lists(NAMES))
def test_server_ids_are_unique_identifiers_whatever_the_keys_and_their_order(keys: list[str]) -> None:
    ids = server_ids(keys)
    assert len(set(ids.values())) == len(set(keys))
    for server_id in ids.values():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", server_id)
        assert not keyword.iskeyword(server_id)
        assert len(server_id) <= 64
    assert server_ids(reversed(keys)) == ids


def test_the_key_that_already_is_the_id_keeps_it_and_others_get_a_hash() -> None:
    ids = server_ids(["my server", "my_server", "My-Server"])
    assert ids["my_server"] == "my_server"
    assert all(re.fullmatch(r"my_server_[0-9a-f]{6}", ids[key]) for key in ("my server", "My-Server"))


def test_of_keys_that_are_alike_none_keeps_the_plain_id() -> None:
    alone = server_ids(["my server"])
    both = server_ids(["my server", "my-server"])
    assert alone == {"my server": "my_server"}
    assert "my_server" not in both.values()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("create_issue", "create_issue"),
        ("getUser", "getUser"),
        ("get-sum", "get_sum"),
        ("bitable.v1.app.create", "bitable_v1_app_create"),  # lark
        ("dir/sub tool", "dir_sub_tool"),
        ("import", "import_"),
        ("None", "None_"),
        ("2fa", "_2fa"),
        ("__node_version", "__node_version"),  # neon
        ("__init__", "__init___"),
        ("名前を変える", "名前を変える"),
        ("ﬁnd", "find"),  # NFKC, as Python itself reads identifiers
        ("a²", "a2"),
        ("①", "_1"),
        ("", "_"),
        ("—", "_"),
    ],
)
def test_a_tool_id_is_the_raw_name_as_an_identifier(raw: str, expected: str) -> None:
    assert tool_ids("srv", [raw]) == {raw: f"srv.{expected}"}


@given(st.lists(NAMES))
def test_tool_ids_are_unique_python_identifiers_whatever_the_names_and_their_order(names: list[str]) -> None:
    ids = tool_ids("srv", names)
    assert list(ids) == list(dict.fromkeys(names))
    assert len(set(ids.values())) == len(ids)
    for tool_id in ids.values():
        server, _, tool = tool_id.partition(".")
        assert server == "srv"
        assert tool.isidentifier()
        assert not keyword.iskeyword(tool)
        assert unicodedata.normalize("NFKC", tool) == tool
        assert len(tool) <= 128
    assert tool_ids("srv", reversed(names)) == ids


def test_a_name_of_200_characters_is_cut_with_a_hash() -> None:
    ids = tool_ids("srv", ["x" * 200, "x" * 201, "x" * 128])
    tools = [tool_id.removeprefix("srv.") for tool_id in ids.values()]
    assert tools[2] == "x" * 128
    assert [len(tool) for tool in tools] == [128, 128, 128]
    assert len(set(tools)) == 3


def test_on_a_collision_the_exact_name_keeps_the_id_and_the_others_get_a_hash_of_their_raw_name() -> None:
    ids = tool_ids("srv", ["a-b", "a.b", "a_b"])
    assert ids["a_b"] == "srv.a_b"
    # sha256("a-b") and sha256("a.b"), first six digits, by sha256sum
    assert ids["a-b"] == "srv.a_b_d44362"
    assert ids["a.b"] == "srv.a_b_2e7336"


@given(st.lists(NAMES, unique=True, max_size=6), NAMES)
def test_an_id_never_moves_to_another_tool_when_one_is_added(names: list[str], added: str) -> None:
    before = tool_ids("srv", names)
    after = tool_ids("srv", [*names, added])
    owners = {tool_id: raw for raw, tool_id in before.items()}
    for raw, tool_id in after.items():
        exact = tool_id == f"srv.{raw}"  # the one exception, which `previous` covers
        assert exact or owners.get(tool_id, raw) == raw


@given(st.lists(NAMES, unique=True, max_size=6), st.data())
def test_with_the_ids_handed_out_before_no_id_ever_changes_or_moves(names: list[str], data: st.DataObject) -> None:
    owner: dict[str, str] = {}
    previous: dict[str, str] = {}
    for size in range(1, len(names) + 1):
        present = data.draw(st.lists(st.sampled_from(names), min_size=size, unique=True))
        ids = tool_ids("srv", present, previous)
        for raw, tool_id in ids.items():
            assert owner.setdefault(tool_id, raw) == raw
            assert previous.get(raw, tool_id) == tool_id
        previous |= ids


def test_the_id_of_a_tool_that_is_gone_is_not_given_to_another() -> None:
    ids = tool_ids("srv", ["a_b"], previous={"a-b": "srv.a_b"})
    assert ids["a_b"] != "srv.a_b"


def test_every_order_of_colliding_names_gives_the_same_ids() -> None:
    names = ["a b", "a-b", "a_b", "a.b", "A_b"]
    expected = tool_ids("srv", names)
    assert all(tool_ids("srv", order) == expected for order in itertools.permutations(names))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("title", "title"),
        ("from", "from_"),
        ("auth-method", "auth_method"),  # azure
        ("DateCreated>", "DateCreated_gt"),  # twilio
        ("DateCreated<", "DateCreated_lt"),
        ("$filter", "_filter"),
        ("content-type/x", "content_type_x"),
    ],
)
def test_a_parameter_gets_an_identifier(name: str, expected: str) -> None:
    assert parameter_identifiers([name]) == {name: expected}


def test_parameters_that_would_be_equal_stay_apart() -> None:
    found = parameter_identifiers(["from", "from_", "a-b", "a b"])
    assert found["from_"] == "from_"
    assert len(set(found.values())) == 4
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in found.values())
