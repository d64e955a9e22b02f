"""The texts and values in results and arguments, made comparable.

Texts are compared by their letters and digits alone, in lower case and in one form of Unicode: so a value is known
again in other words' company, wrapped anew, taken out of JSON, quoted or put into a table. Values are what tells
one thing from another by itself: addresses, ids, long numbers, and short texts as a whole.
"""

import json
import re
import unicodedata
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from toolcrib.broker.results import parsed
from toolcrib.catalog import JsonObject

_PUNCTUATION = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_MARKS = re.compile(
    "[\u0080-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb\u00bf\u2000-\u206f\u3000-\u303f\ufe00-\ufe0f\U000e0000-\U000e01ef]+"
)
# Each part is bounded, or can begin at the beginning of a word only: no text makes it take long.
_TOKEN = re.compile(
    r"(?<![\w.+-])[a-z0-9][\w.+-]{0,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
    r"|(?<![\w-])\d[\d.,' ]{0,24}\d{3}(?![\w-])"
    r"|(?<![\w-])[\w-]*\d[\w-]*"
)
_SIGN = re.compile(r"[\d@]")
_DATE = re.compile(r"(?:19|20)\d\d[-_/]?(?:0\d|1[0-2])(?:[-_/]?[0-3]\d)?(?:t\d*z?)?")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")

_SHORTEST_BASE64 = 24
_SHORTEST_WHOLE = 12
_FEWEST_DIGITS = 4
_FEWEST_KINDS = 4
_SHORTEST_ID = 6
_LONG_ID = 20
_LONGEST_WHOLE = 200
_PIECE = 65_536

_UNTOLD = frozenset({"_meta", "annotations", "type", "mimeType", "resultType", "isError", "role"})
"""Members of a result and its blocks that are about it and not in it."""


def letters(text: str) -> bytes:
    """A text's letters and digits in UTF-8: in lower case, without blanks, punctuation and invisible characters."""
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKC", text).casefold())
        return text.encode("utf-8", "ignore").translate(None, _PUNCTUATION)
    return text.encode().lower().translate(None, _PUNCTUATION)


def values_in(text: str) -> Iterator[str]:
    """The addresses, ids and long numbers in a text, normalised. Dates, short and round numbers are in too many texts
    to tell anything."""
    # In pieces, because a search in one long text would keep everything else waiting.
    for start in range(0, len(text), _PIECE):
        piece = unicodedata.normalize("NFKC", text[start : start + _PIECE + 200]).casefold()
        for match in _TOKEN.finditer(_with_signs(piece)):
            if (value := _telling(match.group())) is not None:
                yield value


def _with_signs(text: str) -> str:
    """The words of a text that have a digit or an at sign, a line end for what was between: a tenth of the work."""
    kept: list[str] = []
    is_gap = False
    for word in text.split():
        if word.isalpha() or _SIGN.search(word) is None:
            is_gap = True
            continue
        if is_gap:
            kept.append("\n")
            is_gap = False
        kept.append(word)
    return " ".join(kept)


def all_values(text: str) -> set[str]:
    """The values in a text, and the text as a whole where it is one."""
    found = set(values_in(text))
    if (whole := whole_value(text)) is not None:
        found.add(whole)
    return found


def whole_value(text: str) -> str | None:
    """A short text as a value, behind `=`, such as a name or a title; None where it is too short, or a plain word."""
    if len(text) > _LONGEST_WHOLE:
        return None
    value = letters(text).decode()
    is_long = len(value) >= _LONG_ID or (len(value) >= _SHORTEST_WHOLE and len(text.split()) > 1)
    return f"={value}" if is_long and len(set(value)) >= _FEWEST_KINDS else None


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """The texts and numbers in a JSON value, as texts, with their JSON Pointers (RFC 6901); keys too, since data can
    be carried in them."""
    waiting: list[tuple[str, Any]] = [(at, value)]
    while waiting:
        pointer, each = waiting.pop()
        if isinstance(each, str):
            yield pointer, each
        elif isinstance(each, bool):
            continue
        elif isinstance(each, int | float):
            yield pointer, repr(each)
        elif isinstance(each, dict):
            for key, inner in cast("JsonObject", each).items():
                place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
                yield place, key
                waiting.append((place, inner))
        elif isinstance(each, list):
            waiting += [(f"{pointer}/{index}", inner) for index, inner in enumerate(cast("list[Any]", each))]


def texts_read(result: Mapping[str, Any]) -> Iterator[str]:
    """The texts that whoever gets a result reads, in any form that they may be copied in."""
    for key, value in result.items():
        if key in _UNTOLD:
            continue
        yield from _texts(value)


def decoded(text: str) -> Iterator[str]:
    """What a text says when it is decoded once: percent signs undone, base64 in it read."""
    plain = unquote(text, errors="ignore") if _PERCENT.search(text) else text
    if plain is not text:
        yield plain
    for match in _BASE64.finditer(plain):
        # The path of an address looks like more of it.
        pieces = [piece for piece in match.group().split("/") if len(piece) >= _SHORTEST_BASE64]
        for each in dict.fromkeys((match.group(), *pieces)):
            if (hidden := _from_base64(each)) is not None:
                yield hidden


def listed_values(schema: Any) -> frozenset[str]:
    """The texts that a schema itself lists, by `enum`, `const`, `default` and `examples`: they tell nothing."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            members = cast("JsonObject", each)
            for word in ("enum", "const", "default", "examples"):
                found.update(text for _, text in leaves(members.get(word)))
            waiting += members.values()
        elif isinstance(each, list):
            waiting += cast("list[Any]", each)
    return frozenset(found)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        if len(value) >= 64 and (match := _BASE64.fullmatch("".join(value.split()))):
            yield from _some(_from_base64(match.group()))
        if (structure := parsed(value)) is not value:
            yield from _strings(structure)
    elif isinstance(value, list) and _are_blocks(cast("list[Any]", value)):
        for block in cast("list[JsonObject]", value):
            yield from _block(block)
    elif isinstance(value, dict | list):
        yield from _some(_as_json(value))
        yield from _strings(value)


def _block(block: JsonObject) -> Iterator[str]:
    if block.get("type") in ("image", "audio"):
        return
    for key, value in block.items():
        if key == "resource" and isinstance(value, dict):
            yield from _block(cast("JsonObject", value))
        elif key not in _UNTOLD and key != "blob":
            yield from _texts(value)


def _are_blocks(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) and ("type" in item or "uri" in item) for item in items)


def _strings(value: Any) -> Iterator[str]:
    """The texts in a structure one by one: short ones count as a whole, others may look different in JSON."""
    for _, text in leaves(value):
        if len(text) >= _SHORTEST_WHOLE:
            yield text


def _as_json(value: Any) -> str | None:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _some(text: str | None) -> Iterable[str]:
    return () if text is None else (text,)


def _telling(token: str) -> str | None:
    """A token in the form in which it is compared, or None where many texts have it."""
    if "@" in token:
        return token
    if not any(map(str.isalpha, token)) and "-" not in token and "_" not in token:
        digits = "".join(filter(str.isdigit, token))
        is_round = len(digits.rstrip("0")) < _FEWEST_DIGITS
        return None if len(digits) < _SHORTEST_ID or is_round or _is_date(digits) else digits
    token = token.strip("-_")
    if len(token) < _SHORTEST_ID or len(set(token)) < _FEWEST_KINDS or _is_date(token):
        return None
    return token if sum(map(str.isdigit, token)) >= _FEWEST_DIGITS or len(token) >= _LONG_ID else None


def _is_date(token: str) -> bool:
    return len(token) <= 16 and _DATE.fullmatch(token) is not None


def _from_base64(text: str) -> str | None:
    """What base64 of either alphabet stands for, where that is text."""
    standard = text.rstrip("=").replace("-", "+").replace("_", "/")
    if len(standard) % 4 == 1:
        standard = standard[:-1]
    try:
        said = b64decode(standard + "=" * (-len(standard) % 4), validate=True).decode()
    except ValueError:
        return None
    readable = sum(each.isprintable() or each.isspace() for each in said)
    return said if readable >= 0.9 * len(said) else None
