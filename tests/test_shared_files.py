"""Files that several programs change at once: what one of them writes is not written over by another."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from toolcrib.broker.journal.ledger import _key
from toolcrib.config import ServerConfig, TokenFile, TokenSettings, digest_of
from toolcrib.config.switches import Switches
from toolcrib.console.remembered import Remembered, Sessions

PROGRAMS = 8
"""Each with what it knows of the file, as a program of its own has: locks are of open files, not of processes."""


def at_once(work: Callable[[str], object]) -> list[object]:
    start = Barrier(PROGRAMS)

    def begun(name: str) -> object:
        start.wait()
        return work(name)

    with ThreadPoolExecutor(PROGRAMS) as threads:
        return list(threads.map(begun, [f"p{number}" for number in range(PROGRAMS)]))


def token(name: str) -> TokenSettings:
    return TokenSettings(name=name, sha256=digest_of(name), principal=name)


def test_of_tokens_that_are_made_at_once_none_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    at_once(lambda name: TokenFile(file).add(token(name)))
    assert len(TokenFile(file).now()) == PROGRAMS


def test_a_token_that_is_taken_away_does_not_come_back_with_another(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    for number in range(PROGRAMS):
        TokenFile(file).add(token(f"p{number}"))
    at_once(lambda name: TokenFile(file).remove(name, None))
    assert TokenFile(file).now() == ()


def test_of_switches_that_are_turned_at_once_none_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "switches.json"
    at_once(lambda name: Switches(file).put(ServerConfig(name, "stdio", command="x"), False))
    assert len(Switches(file).now()) == PROGRAMS


def test_of_visitors_who_sign_in_to_several_consoles_at_once_none_is_signed_out(tmp_path: Path) -> None:
    at_once(lambda name: Sessions(tmp_path).add(Remembered(name, 2e9)))
    assert len(Sessions(tmp_path).now()) == PROGRAMS


def test_all_who_begin_a_journal_at_once_have_the_key_that_stays(tmp_path: Path) -> None:
    """Digests of another key would not tell a repeated call from a new one."""
    for number in range(20):
        file = tmp_path / str(number) / "journal.key"
        keys = at_once(lambda _, file=file: _key(file))
        assert keys == [file.read_bytes()] * PROGRAMS
