"""Requests as someone types them in a hurry."""

import random
import re
import string

SHORTEST = 4
"""Words with fewer letters are typed right."""

_WORD = re.compile(r"[^\W\d_]+")
_FUNCTION_WORDS_TEXT = """
    about after also among because been before being between both could does doing done during each every from
    have having here into itself just like made make many more most much must need only other over please same
    shall should show some such than that their them then there these they this those through under until upon
    using very want were what when where which while will with within without would your
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_TEXT.split())


def mistyped(text: str, source: random.Random) -> str:
    """A text with one edit in each word that carries meaning: a letter left out, doubled, replaced by another, or
    changed with its neighbour, at any place in the word."""
    return _WORD.sub(lambda found: _edited(found[0], source), text)


def _edited(word: str, source: random.Random) -> str:
    if len(word) < SHORTEST or word.lower() in _FUNCTION_WORDS:
        return word
    at = source.randrange(len(word))
    match source.randrange(4):
        case 0:
            return word[:at] + word[at + 1 :]
        case 1:
            return word[: at + 1] + word[at:]
        case 2:
            other = source.choice([letter for letter in string.ascii_lowercase if letter != word[at].lower()])
            return word[:at] + other + word[at + 1 :]
        case _:
            at = min(at, len(word) - 2)
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
