"""One file that keeps a keyword index: a JSON header, then arrays that are mapped into memory as they are.

The file is written beside its place and moved there, so that readers see the old one or the new one whole,
and of several writers the last one wins. What is not exactly what was written counts as absent.
"""

import importlib
import json
import mmap
import sys
import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolcrib.catalog.tool import JsonObject
from toolcrib.files import write_whole
from toolcrib.search.documents import Letters, Numbering, Vocabulary
from toolcrib.search.fields import FIELDS_VERSION, WEIGHTS
from toolcrib.search.index import Lists, Segment
from toolcrib.search.terms import TERMS_VERSION

_MAGIC = b"tcindex1"
_FRONT = 24
_ALIGN = 64

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class IndexFile:
    """The content of an index file.

    Attributes:
        header: JSON values.
        arrays: Arrays by name; those read are views of the file and can't be written to.
    """

    header: JsonObject
    arrays: Mapping[str, Array]


def pack(vocabulary: Vocabulary, segment: Segment) -> IndexFile:
    """What has to be kept of an index of one segment."""
    letters = vocabulary.letters
    arrays: dict[str, Array] = {name: getattr(segment.lists, name) for name in Lists.__slots__}
    arrays["gram_of"] = np.array(letters.gram_of, dtype=np.int32)
    arrays["gram_ends"] = np.array(letters.ends, dtype=np.int32)
    arrays["spelled"] = np.array([vocabulary.words[term] for term in vocabulary.spelled.values()], dtype=np.int32)
    header = {
        "made_by": _made_by(),
        "ids": segment.ids,
        "words": list(vocabulary.words),
        "spelled": list(vocabulary.spelled),
        "letters": list(letters.words),
        "grams": list(letters.grams),
        "servers": list(vocabulary.servers),
        "server_names": [list(name) for name in vocabulary.server_names],
        "digests": dict(vocabulary.digests),
    }
    return IndexFile(header, arrays)


def unpack(file: IndexFile) -> tuple[Vocabulary, Segment] | None:
    """The index in a file; None when it was made by other rules."""
    header, arrays = file.header, dict(file.arrays)
    if header.get("made_by") != _made_by():
        return None
    try:
        letters = Letters()
        letters.words = _numbering(header["letters"])
        letters.grams = _numbering(header["grams"])
        letters.gram_of = array("i", arrays.pop("gram_of").tobytes())
        letters.ends = array("i", arrays.pop("gram_ends").tobytes())
        words: list[str] = header["words"]
        terms = map(words.__getitem__, arrays.pop("spelled").tolist())
        vocabulary = Vocabulary(
            words=_numbering(words),
            spelled=dict(zip(header["spelled"], terms, strict=True)),
            letters=letters,
            servers=_numbering(header["servers"]),
            server_names=header["server_names"],
            digests=header["digests"],
        )
        return vocabulary, Segment(header["ids"], Lists(**arrays))
    except (KeyError, TypeError, ValueError, IndexError):
        return None


def write(path: Path, file: IndexFile) -> bool:
    """Write an index file, and say whether that was possible."""
    chunks: list[bytes | memoryview] = []
    table: dict[str, tuple[str, list[int], int]] = {}
    size = 0
    for name, values in file.arrays.items():
        flat = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        padding = -flat.nbytes % _ALIGN
        table[name] = (flat.dtype.str, list(flat.shape), size)
        chunks += [flat.reshape(-1).view(np.uint8).data, bytes(padding)]
        size += flat.nbytes + padding
    head = json.dumps({"header": file.header, "arrays": table}, separators=(",", ":")).encode()
    head += b" " * (-(len(head) + _FRONT) % _ALIGN)
    check = 0
    for chunk in [head, *chunks]:
        check = zlib.crc32(chunk, check)
    front = _MAGIC + len(head).to_bytes(8, "little") + check.to_bytes(8, "little")
    try:
        write_whole(path, [front, head, *chunks])
    except OSError:
        return False
    return True


def read(path: Path) -> IndexFile | None:
    """Read an index file; None when there is none, or it isn't exactly what `write` wrote."""
    try:
        content = _content(path)
        rest = content[_FRONT:]
        if bytes(content[:8]) != _MAGIC or zlib.crc32(rest) != int.from_bytes(content[16:_FRONT], "little"):
            return None
        begin = int.from_bytes(content[8:16], "little")
        head: JsonObject = json.loads(bytes(rest[:begin]))
        arrays: dict[str, Array] = {
            name: np.frombuffer(rest, dtype, prod(shape), begin + at).reshape(shape)
            for name, (dtype, shape, at) in head["arrays"].items()
        }
        return IndexFile(head["header"], arrays)
    except (OSError, ValueError):
        return None


def _made_by() -> list[object]:
    """What decides how text becomes lists: an index made by other rules gives other hits."""
    stemmer = importlib.import_module("Stemmer")
    return [TERMS_VERSION, FIELDS_VERSION, dict(WEIGHTS), array("i").itemsize, stemmer.version()]


def _numbering(names: list[str]) -> Numbering:
    return Numbering(zip(names, range(len(names)), strict=True))


def _content(path: Path) -> memoryview:
    with path.open("rb") as file:
        if sys.platform == "win32":
            # A mapped file could not be replaced there by a later `write`.
            return memoryview(file.read())
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
