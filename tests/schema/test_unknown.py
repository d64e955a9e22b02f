"""What whoever names a server that is not there is told."""

import pytest

from toolcrib.errors import UsageError
from toolcrib.schema import UnknownServerError


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("calender", "Did you mean calendar?"),
        ("Calendar", "Did you mean calendar?"),
        ("my-notes", "Did you mean my_notes?"),
        ("weather", "The configured ones: calendar, my_notes."),
        ("", "The configured ones: calendar, my_notes."),
    ],
)
def test_the_server_that_was_probably_meant_is_named_and_else_all(name: str, hint: str) -> None:
    error = UnknownServerError(name, ["calendar", "my_notes"])
    assert isinstance(error, UsageError)
    assert error.message == f"There is no server {name!r}."
    assert error.hint == hint


def test_a_long_list_is_cut_and_an_empty_one_said() -> None:
    assert UnknownServerError("x", (f"server_{n}" for n in range(31))).hint.endswith("server_29, ….")
    assert UnknownServerError("x", [], listed="HTTP servers").hint == "HTTP servers: none."
    assert UnknownServerError("x", ["calendar"], otherwise="Search.").hint == "Search."
