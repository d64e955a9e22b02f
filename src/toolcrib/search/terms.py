"""From text to index terms, for names, prose and queries alike.

Identifiers are split at case changes, at everything that is no letter, and between letters and digits;
words without meaning in a catalog of tools are dropped; the rest is stemmed (Porter2 for Latin letters,
Snowball's Russian for Cyrillic ones). Scripts that put no blanks between words become pairs of characters.
"""

import importlib
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

TERMS_VERSION = 1
"""Changes whenever the same text may give other terms: an index made with another version is of no use."""

_STOP_WORDS_TEXT = """
    a an the and or but if of to in on at by for with from into about as than then so
    this that these those it its i me my mine we us our ours you your yours he him his she her hers
    they them their theirs myself yourself itself themselves
    is are was were be been being am do does did doing done have has had having
    will shall should may might must cannot what which who whom whose when where why how
    there here not no nor all any some each every both other such only own same too very just also
    through during while because until upon onto within without whether
    s t m d e g ve ll re
    get give find show tell know let lets like want need help please provide use used using per etc
    could would can
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())

_MEMO_LIMIT = 50_000
_LONGEST_WORD = 64
_LONGEST_UNSPACED = 512
_LONGEST_NAME = 12

_ASCII_RUN = re.compile(r"[A-Za-z0-9]+")
# Those of other scripts are compiled when they are needed, which takes ten milliseconds.
# Vowel signs and the like are no letters to `\w`: the blocks of Indic and South-East Asian scripts are
# taken whole, so that their words stay whole; combining accents stay with their letter until folded.
_RUN = r"(?:[^\W_]|[\u0300-\u036f\u0900-\u0dff\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff])+"
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_PIECE = rf"[{_UNSPACED}]+|\d+|[^\d{_UNSPACED}]+"
_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_UNSPACED_PIECE = rf"[{_UNSPACED}]"
_CASE_CHANGE = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_RUSSIAN = re.compile(r"[а-я]+")
_PLURAL_ACRONYM = re.compile(r"[^aeiouys]{2,}[^aeiouy]*[^aeiouys]s")
_STROKES = str.maketrans({"đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "þ": "th", "æ": "ae", "œ": "oe"})


class Terms(NamedTuple):
    """The terms of a text.

    Attributes:
        sequence: One term a word, in the order of the text.
        extras: Further forms of some of them, in no order: a word with its accents, single Han characters,
            a product's name in one word.
        runs: The unbroken runs of letters and digits in the text, for `spellings`.
    """

    sequence: list[str]
    extras: list[str]
    runs: Sequence[str] = ()


class _Word(NamedTuple):
    terms: tuple[str, ...]
    extras: tuple[str, ...]
    surfaces: tuple[str, ...]
    spelled: tuple[tuple[str, str], ...]


def terms(text: str) -> Terms:
    """The index terms of a text."""
    sequence: list[str] = []
    extras: list[str] = []
    runs = _runs(text)
    for word in map(_memo.__getitem__, runs):
        sequence += word.terms
        if word.extras:
            extras += word.extras
    return Terms(sequence, extras, runs)


def surfaces(text: str) -> list[str]:
    """The words of a text as written: split and lower-cased, but neither dropped nor stemmed."""
    return [surface for run in _runs(text) for surface in _memo[run].surfaces]


def spellings(runs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The words made of letters in some runs, as written, each with its term; words without meaning are left out."""
    for run in runs:
        yield from _memo[run].spelled


def _runs(text: str) -> list[str]:
    if text.isascii():
        return cast("list[str]", _ASCII_RUN.findall(text))
    return cast("list[str]", re.findall(_RUN, unicodedata.normalize("NFKC", text)))


class _Memo(dict[str, _Word]):
    """What each run of letters and digits was last found to consist of."""

    def __missing__(self, run: str) -> _Word:
        word = _word(run)
        if len(run) <= _LONGEST_WORD:
            if len(self) >= _MEMO_LIMIT:
                self.clear()
            self[run] = word
        return word


_memo = _Memo()


def _word(run: str) -> _Word:
    found: list[str] = []
    extras: list[str] = []
    surfaces: list[str] = []
    spelled: list[tuple[str, str]] = []
    for piece in cast("list[str]", re.findall(_PIECE, run)):
        if re.match(_UNSPACED_PIECE, piece):
            piece = piece[:_LONGEST_UNSPACED]
            pairs = [piece[at : at + 2] for at in range(len(piece) - 1)] or [piece]
            found += pairs
            surfaces += pairs
            if len(piece) > 1:
                extras += cast("list[str]", re.findall(_HAN, piece))
            continue
        parts = _split_at_case(piece)
        if len(parts) == 2 and len(piece) <= _LONGEST_NAME:
            # GitHub, YouTube, arXiv: as often written in one case as in two.
            extras.append(_stem_of(piece.lower()))
        for part in parts:
            part = part[:_LONGEST_WORD]
            folded = part.lower() if part.isascii() else _fold(part)
            if not folded:
                continue
            surfaces.append(folded)
            if folded in _STOP_WORDS:
                continue
            found.append(_stem_of(folded))
            if folded.isalpha():
                spelled.append((folded, found[-1]))
            if folded.isascii() and folded != (accented := part.casefold()):
                extras.append(accented)
    return _Word(tuple(found), tuple(extras), tuple(surfaces), tuple(spelled))


def _split_at_case(piece: str) -> list[str]:
    """`getHTTPHeader` is get, HTTP, Header; `APIs` is one word."""
    if piece.islower() or not piece.isalpha():
        return [piece]
    if piece.isascii():
        return cast("list[str]", _CASE_CHANGE.findall(piece))
    starts = [0]
    for at in range(1, len(piece)):
        before, here, after = piece[at - 1], piece[at], piece[at + 1 : at + 2]
        if here.isupper() and (before.islower() or (before.isupper() and after.islower())):
            starts.append(at)
    return [piece[a:b] for a, b in zip(starts, [*starts[1:], len(piece)], strict=True)]


def _fold(word: str) -> str:
    """Lower case; Latin and Greek letters without their accents, other scripts with theirs (й is no и)."""
    lower = word.casefold()
    bare = "".join(c for c in unicodedata.normalize("NFD", lower) if not unicodedata.combining(c))
    bare = bare.translate(_STROKES)
    if bare.isascii() or "\u0370" <= bare[0] <= "\u03ff":
        return bare
    return lower.replace("ё", "е")


def _stem_of(word: str) -> str:
    if word.isascii():
        # Porter2 takes an s only from a syllable, which leaves "pdfs" and "vpns" as they are.
        return word[:-1] if _PLURAL_ACRONYM.fullmatch(word) else _stemmer("english")(word)
    return _stemmer("russian")(word) if _RUSSIAN.fullmatch(word) else word


_stemmers: dict[str, Callable[[str], str]] = {}
_stemming = threading.Lock()


def _stemmer(language: str) -> Callable[[str], str]:
    """A stemming function, made at first use: most of what Toolcrib does needs none."""
    made = _stemmers.get(language)
    if made is None:
        stem_word = cast("Callable[[str], str]", importlib.import_module("Stemmer").Stemmer(language).stemWord)

        def locked(word: str) -> str:
            # One stemmer has one buffer, and a catalog may be indexed in a thread.
            with _stemming:
                return stem_word(word)

        made = _stemmers.setdefault(language, locked)
    return made
