"""Hidden text: characters that a person does not see and a model or a terminal obeys.

What counts as hidden:

- `control`: C0 and C1 controls but tab, line end and form feed (ECMA-48); a carriage return that no line feed
  follows, since it lets a line overwrite itself. `ansi`: those that begin an escape or control sequence.
- `bidi`: the explicit formatting characters of UAX #9, which show text in another order than it has
  (CVE-2021-42574); the marks LRM, RLM and ALM where their line has no letter that is written from right to left.
- `tag`: U+E0000 to U+E007F, which spell ASCII unseen; except in the three flags that are emoji tag sequences
  recommended for interchange (UTS #51, emoji-sequences.txt).
- `variation`: variation selectors but a single one behind a base that can have it: emoji and symbols (UTS #51),
  ideographs (UTS #37, StandardizedVariants.txt).
- `zero-width`: every other Default_Ignorable_Code_Point (UAX #44), and interlinear annotation (U+FFF9 to U+FFFB).

What is left alone, being part of how people write, as long as it stands alone: ZWJ between emoji (UTS #51,
ED-16); ZWJ and ZWNJ beside a virama (RFC 5892, appendix A.1 and A.2; The Unicode Standard, 12.2) or a letter of a
cursive script such as Persian (RFC 5892, A.1); ZWSP between letters of scripts without spaces, such as Thai (The
Unicode Standard, 23.2); a soft hyphen between letters; combining grapheme joiner before a combining mark; Hangul
fillers among jamo; Mongolian selectors behind Mongolian letters; a byte order mark at the very beginning.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast
from unicodedata import bidirectional, category, combining

Kind = Literal["zero-width", "bidi", "tag", "variation", "ansi", "control"]

_Trail = tuple[Any, Any] | None
"""The names that lead to a value, the last one first: `(name, rest)`."""


@dataclass(frozen=True, slots=True)
class HiddenText:
    """Hidden characters in one text, next to each other and of one kind.

    Attributes:
        kind: The kind.
        start: Where the first stands, in characters.
        text: The characters.
    """

    kind: Kind
    start: int
    text: str

    @property
    def spelled(self) -> str:
        """What tag characters spell, and the bytes that variation selectors stand for, as text; else empty."""
        codes = [ord(each) for each in self.text]
        if self.kind == "tag":
            return "".join(chr(code - 0xE0000) for code in codes if 0xE0020 <= code < 0xE007F)
        if self.kind == "variation":
            values = bytes(code - 0xFE00 if code < 0xE0000 else code - 0xE0100 + 16 for code in codes)
            return values.decode("utf-8", "replace")
        return ""


@dataclass(frozen=True, slots=True)
class HiddenPlace:
    """A text in a JSON value that holds hidden text.

    Attributes:
        path: Where the text stands, as a JSON Pointer; of a member's name, where the member stands.
        kinds: The kinds of what it holds, sorted.
    """

    path: str
    kinds: tuple[Kind, ...]

    def to_json(self) -> dict[str, object]:
        """Both members, by name."""
        return {"path": self.path, "kinds": list(self.kinds)}


def find_hidden(text: str) -> list[HiddenText]:
    """Everything in a text that is hidden, from the left."""
    found: list[HiddenText] = []
    for match in _SUSPECTS.finditer(text):
        kind = _kind_of(text, match.start())
        if kind is None:
            continue
        last = found[-1] if found else None
        if last is not None and last.kind == kind and last.start + len(last.text) == match.start():
            found[-1] = HiddenText(kind, last.start, last.text + match[0])
        else:
            found.append(HiddenText(kind, match.start(), match[0]))
    return found


def visible(text: str) -> str:
    """A text with everything hidden in it shown, such as `⟨U+200B⟩`; many of one kind are shown once and counted.

    Use it for text from outside that a person or a model reads as text: descriptions, what a script printed.
    """
    if _is_plain(text):
        return text
    parts: list[str] = []
    at = 0
    for each in find_hidden(text):
        parts += (text[at : each.start], _shown(each.text))
        at = each.start + len(each.text)
    return "".join((*parts, text[at:]))


def escape_hidden(json_text: str) -> str:
    """JSON with everything hidden in its texts written as the escapes that JSON has for them: the same value."""
    if _is_plain(json_text):
        return json_text
    parts: list[str] = []
    at = 0
    for each in find_hidden(json_text):
        parts += (json_text[at : each.start], _escapes(each.text))
        at = each.start + len(each.text)
    return "".join((*parts, json_text[at:]))


def hidden_places(value: object, path: str = "", most: int = 20) -> list[HiddenPlace]:
    """The texts in a JSON value that hold hidden text, names of members included.

    Args:
        value: The value; of any size and depth.
        path: JSON Pointer of the value itself.
        most: Places to find before the search ends.
    """
    places: list[HiddenPlace] = []
    left: list[tuple[Any, _Trail]] = [(value, None)]
    # A pointer is a chain of (name, rest) until a place is found: most values have none.
    while left and len(places) < most:
        each, trail = left.pop()
        if isinstance(each, str):
            if not _is_plain(each) and (found := find_hidden(each)):
                places.append(_place(path, trail, found))
        elif isinstance(each, dict):
            members = cast("dict[str, object]", each)
            for key, member in reversed(members.items()):
                here: _Trail = (key, trail)
                if _holds_texts(member):
                    left.append((member, here))
                if not _is_plain(key) and (found := find_hidden(key)):
                    places.append(_place(path, here, found))
        elif isinstance(each, list):
            items = cast("list[object]", each)
            for index in range(len(items) - 1, -1, -1):
                if _holds_texts(items[index]):
                    left.append((items[index], (index, trail)))
    return places


def hidden_texts(value: object) -> Iterator[HiddenText]:
    """Everything hidden in the texts of a JSON value, for who wants to tell what it spells."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            yield from find_hidden(each)
        elif isinstance(each, dict):
            members = cast("dict[str, object]", each)
            left += [*members.values(), *members]
        elif isinstance(each, list):
            left += cast("list[object]", each)


def kinds_of(places: Sequence[HiddenPlace]) -> str:
    """The kinds at all places in words, such as `tag and zero-width characters`."""
    kinds = sorted({kind for place in places for kind in place.kinds})
    first, last = ", ".join(kinds[:-1]), kinds[-1]
    return f"{f'{first} and ' if first else ''}{last} characters"


def _place(path: str, trail: _Trail, found: list[HiddenText]) -> HiddenPlace:
    names: list[str] = []
    while trail is not None:
        name, trail = trail
        names.append(visible(str(name)).replace("~", "~0").replace("/", "~1"))
    pointer = "".join(f"/{name}" for name in reversed(names))
    return HiddenPlace(f"{path}{pointer}", tuple(sorted({each.kind for each in found})))


def _holds_texts(value: object) -> bool:
    return isinstance(value, str | dict | list)


def _is_plain(text: str) -> bool:
    """Whether nothing in a text may be hidden."""
    if not text.isascii():
        return _SUSPECTS.search(text) is None
    # Ten times as quick as an expression, and most text is of this kind.
    return len(text.encode().translate(None, _ASCII_CONTROLS)) == len(text)


def _shown(characters: str) -> str:
    codes = [f"U+{ord(each):04X}" for each in characters]
    if len(codes) <= _FEW:
        return "".join(f"⟨{code}⟩" for code in codes)
    return f"⟨{codes[0]}⟩⟨{len(codes) - 2} more⟩⟨{codes[-1]}⟩"


def _escapes(characters: str) -> str:
    units = characters.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


_FEW = 6

# Default_Ignorable_Code_Point as of Unicode 16, with controls, bidi formatting and interlinear annotation.
_SUSPECTS = re.compile(
    "[\x00-\x08\x0b\x0d-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ASCII_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\f"))
_SEQUENCE = re.compile("\x1b[ -~]|[\x90\x98\x9b\x9d-\x9f]")  # ECMA-48, 5.3 and 8.3: ESC Fe, CSI, DCS, OSC …
_EXPLICIT = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS = frozenset("\u061c\u200e\u200f")
# England, Scotland and Wales: gbeng, gbsct, gbwls.
_SUBDIVISION_FLAG = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_FLAG_LENGTH = 7
_LONGEST_LINE = 500
_ZWJ, _ZWNJ, _ZWSP = "\u200d", "\u200c", "\u200b"
_VIRAMA = 9  # canonical combining class
# Seldom needed, so compiled when they are.
_CURSIVE = (
    "[\u0600-\u08ff\u1800-\u18af\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc\U00010ac0-\U00010aff\U0001e900-\U0001e95f]"
)
_SPACELESS = "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf\ua980-\ua9ff\uaa60-\uaadf]"
_JAMO = "[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]"
_MONGOLIAN = "[\u1820-\u18aa]"
_IDEOGRAPH = "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_WITH_STANDARD_VARIANTS = "[\u1000-\u109f\ua840-\ua87f\u3000-\u303f\uff00-\uff5e\u2018-\u201d]"
_EMOJI_TEXT = frozenset("0123456789#*\u203c\u2049\u2139\u24c2\u3030\xa9\xae")


def _kind_of(text: str, at: int) -> Kind | None:
    """The kind of the suspect character there, or None where it is in its place."""
    character = text[at]
    code = ord(character)
    before, behind = text[at - 1 : at], text[at + 1 : at + 2]
    if code < 0xA0:
        if character == "\r" and behind == "\n":
            return None
        return "ansi" if _SEQUENCE.match(text, at) else "control"
    if character in _EXPLICIT:
        return "bidi"
    if character in _MARKS:
        return None if _is_beside_right_to_left(text, at) else "bidi"
    if 0xE0000 <= code < 0xE0080:
        flags = _SUBDIVISION_FLAG.finditer(text, max(0, at - _FLAG_LENGTH), at + _FLAG_LENGTH)
        return None if any(flag.start() < at < flag.end() for flag in flags) else "tag"
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code < 0xE01F0:
        return None if before and _may_vary(before, code) else "variation"
    return None if _has_its_place(text, at, character, before, behind) else "zero-width"


def _may_vary(base: str, selector: int) -> bool:
    if selector >= 0xE0100:
        return re.match(_IDEOGRAPH, base) is not None
    if selector >= 0xFE0E:
        return base in _EMOJI_TEXT or category(base) in {"So", "Sm", "Sk"} or re.match(_IDEOGRAPH, base) is not None
    return bool(re.match(_IDEOGRAPH, base) or re.match(_WITH_STANDARD_VARIANTS, base)) or category(base) in {"So", "Sm"}


def _has_its_place(text: str, at: int, character: str, before: str, behind: str) -> bool:
    if character == "\ufeff":
        return at == 0
    if character == _ZWJ:
        return _shapes(before, behind) or (bool(before and behind) and _joins_emoji(text, at))
    if character == _ZWNJ:
        return _shapes(before, behind)
    if character == _ZWSP:
        return re.match(_SPACELESS, before) is not None and re.match(_SPACELESS, behind) is not None
    if character == "\xad":
        return before.isalpha() and behind.isalpha()
    if character == "\u034f":
        return not _is_suspect(before) and bool(behind) and combining(behind) > 0
    if character in "\u115f\u1160":
        beside = [each for each in (before, behind) if not _is_suspect(each)]
        return any(re.match(_JAMO, each) for each in beside)
    if "\u180b" <= character <= "\u180f":
        return re.match(_MONGOLIAN, before) is not None
    return False


def _shapes(before: str, behind: str) -> bool:
    if _is_suspect(before) or _is_suspect(behind):
        return False
    return _is_virama(before) or _is_virama(behind) or bool(re.match(_CURSIVE, before) or re.match(_CURSIVE, behind))


def _is_virama(character: str) -> bool:
    return bool(character) and combining(character) == _VIRAMA


def _is_suspect(character: str) -> bool:
    return _SUSPECTS.match(character) is not None


def _joins_emoji(text: str, at: int) -> bool:
    base = at - 1
    while base > 0 and (text[base] == "\ufe0f" or "\U0001f3fb" <= text[base] <= "\U0001f3ff"):
        base -= 1
    return category(text[base]) in {"So", "Sk"} and category(text[at + 1]) in {"So", "Sm"}


def _is_beside_right_to_left(text: str, at: int) -> bool:
    begin = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1
    end = text.find("\n", at, at + _LONGEST_LINE)
    line = text[max(begin, at - _LONGEST_LINE) : end if end >= 0 else at + _LONGEST_LINE]
    return any(bidirectional(each) in {"R", "AL"} and each not in _MARKS for each in line)
