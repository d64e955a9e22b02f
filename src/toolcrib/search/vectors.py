"""Vectors as one matrix that is asked all at once, and the file that keeps them between runs."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from toolcrib.search.embedders import Matrix
from toolcrib.search.meanings import KEY_BYTES, Texts
from toolcrib.search.stored import IndexFile

_VERSION = 1
_FIRST_ROWS = 256


class Vectors:
    """Vectors of length 1 by the hash of their text, as rows of one matrix.

    They are rounded to half precision when they come in, so that those read from a file are the same.
    """

    def __init__(self) -> None:
        self.rows: dict[bytes, int] = {}
        self._matrix: Matrix = np.zeros((0, 0), np.float32)

    @property
    def dimension(self) -> int:
        """How many numbers each has; 0 while there are none."""
        return self._matrix.shape[1]

    def add(self, keys: Sequence[bytes], vectors: Matrix) -> None:
        """Take in vectors of any length, all of one dimension, with the hash of each one's text."""
        new = {key: at for at, key in enumerate(keys) if key not in self.rows}
        begin, end = len(self.rows), len(self.rows) + len(new)
        if end > len(self._matrix):
            grown = np.zeros((max(_FIRST_ROWS, end, len(self._matrix) * 3 // 2), vectors.shape[1]), np.float32)
            if begin:
                grown[:begin] = self._matrix[:begin]
            self._matrix = grown
        self._matrix[begin:end] = unit(vectors[list(new.values())]).astype(np.float16)
        self.rows.update(zip(new, range(begin, end), strict=True))

    def of(self, keys: Sequence[bytes]) -> NDArray[np.float16]:
        """[keys, dimension] The vectors of some texts, all of which are there."""
        return self._matrix[[self.rows[key] for key in keys]].astype(np.float16)

    def likeness(self, queries: Matrix) -> Matrix:
        """[queries, rows] The cosine of each query, [queries, dimension], with every vector."""
        matrix = self._matrix[: len(self.rows)]
        # A product by BLAS spreads over all cores and waits for each, which on a busy machine takes 40 times as
        # long; this one takes as long on one core as that one on idle ones.
        return np.stack([cast("Matrix", np.einsum("ij,j->i", matrix, query)) for query in unit(queries)])


def unit(vectors: Matrix) -> Matrix:
    """Vectors of length 1; one without any length stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def checked(vectors: object, count: int, dimension: int) -> Matrix:
    """What an embedder answered, if it is what it has to be.

    Args:
        vectors: The answer.
        count: How many rows it must have.
        dimension: How many columns it must have; 0 takes any number.

    Raises:
        ValueError: It is something else.
    """
    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != count or not matrix.shape[1]:
        raise ValueError(f"it answered {count} texts with an array of the shape {matrix.shape}")
    if dimension and matrix.shape[1] != dimension:
        raise ValueError(f"it answered with {matrix.shape[1]} numbers a text where {dimension} were expected")
    if not np.isfinite(matrix).all():
        raise ValueError("it answered with numbers that are not finite")
    return matrix


def pack(embedder: str, vectors: Vectors, servers: Mapping[str, Texts]) -> IndexFile:
    """What has to be kept of an embedder's vectors: those that the servers' texts have so far."""
    keys = [key for texts in servers.values() for key in texts.keys.values()]
    there = [key for key in dict.fromkeys(keys) if key in vectors.rows]
    header = {
        "made_by": [_VERSION, embedder],
        "servers": {server: [texts.digest, list(texts.keys)] for server, texts in servers.items()},
    }
    return IndexFile(header, {"tools": _laid_out(keys), "keys": _laid_out(there), "vectors": vectors.of(there)})


def unpack(embedder: str, file: IndexFile) -> tuple[Vectors, dict[str, Texts]] | None:
    """The vectors and servers in a file; None when it was made with another embedder."""
    if file.header.get("made_by") != [_VERSION, embedder]:
        return None
    vectors = Vectors()
    try:
        vectors.add([key.tobytes() for key in file.arrays["keys"]], file.arrays["vectors"].astype(np.float32))
        tools = iter([key.tobytes() for key in file.arrays["tools"]])
        servers = {
            server: Texts(digest, {tool_id: next(tools) for tool_id in ids})
            for server, (digest, ids) in file.header["servers"].items()
        }
    except (KeyError, TypeError, ValueError, RuntimeError, IndexError):
        return None
    return vectors, servers


def _laid_out(keys: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), KEY_BYTES)
