"""BERT's uncased tokens: words as the model's vocabulary knows them, rarer ones in pieces.

The rules are those of Devlin et al., "BERT" (2019), as its published `BasicTokenizer` and
`WordpieceTokenizer` apply them.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import cast

_LONGEST_WORD = 100
_MEMO_LIMIT = 50_000
_CHARACTERS_A_TOKEN = 40

_ASCII_WORDS = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_DROPPED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_IDEOGRAPH = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class WordPiece:
    """Numbers the pieces of texts.

    Args:
        vocabulary: The pieces, in the order of their numbers.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._begin = self._numbers["[CLS]"]
        self._end = self._numbers["[SEP]"]
        self._unknown = self._numbers["[UNK]"]
        self._memo: dict[str, list[int]] = {}

    def encode(self, text: str, most: int) -> list[int]:
        """The numbers of a text's pieces between the marks of begin and end, `most` in all."""
        numbers = [self._begin]
        for word in _words(text[: most * _CHARACTERS_A_TOKEN]):
            numbers += self._pieces(word)
            if len(numbers) >= most:
                break
        return [*numbers[: most - 1], self._end]

    def _pieces(self, word: str) -> list[int]:
        known = self._memo.get(word)
        if known is None:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            known = self._memo[word] = self._split(word)
        return known

    def _split(self, word: str) -> list[int]:
        """The longest known piece again and again; a word with a part that is in no piece is unknown."""
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        pieces: list[int] = []
        begin = 0
        while begin < len(word):
            mark = "##" if begin else ""
            ends = range(len(word), begin, -1)
            end = next((end for end in ends if mark + word[begin:end] in self._numbers), None)
            if end is None:
                return [self._unknown]
            pieces.append(self._numbers[mark + word[begin:end]])
            begin = end
        return pieces


def _words(text: str) -> list[str]:
    if text.isascii():
        return cast("list[str]", _ASCII_WORDS.findall(_ASCII_DROPPED.sub("", text).lower()))
    spaced = "".join(_part(c) for c in unicodedata.normalize("NFD", _IDEOGRAPH.sub(r" \g<0> ", text)))
    return "".join(f" {c} " if _is_punctuation(c) else c for c in spaced.lower()).split()


def _part(character: str) -> str:
    """What is left of a character: no accent and no control character, a blank of any kind as a blank."""
    if character.isspace() and character not in "\x0b\x0c\x1c\x1d\x1e\x1f\x85":
        return " "
    kind = unicodedata.category(character)
    return "" if kind in {"Mn", "Cc", "Cf", "Co"} or character == "\ufffd" else character


def _is_punctuation(character: str) -> bool:
    """Whether it is a token by itself: punctuation, and of ASCII all that is neither letter nor digit."""
    if character.isascii():
        return not character.isalnum() and not character.isspace()
    return unicodedata.category(character)[0] == "P"
