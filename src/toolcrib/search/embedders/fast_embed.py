"""Vectors by `fastembed`, for the models that it knows; it downloads a model at its first use."""

import importlib
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from toolcrib.errors import ConfigError
from toolcrib.search.embedders.base import Embedder, Matrix

_MODEL = "BAAI/bge-small-en-v1.5"


class FastEmbedEmbedder(Embedder):
    """Embeds with a model of `fastembed`, which has to be installed beside Toolcrib.

    Args:
        model: The model's name there; empty takes bge-small-en-v1.5.
        folder: Where the model's files are; None lets `fastembed` fetch them.

    Raises:
        ConfigError: `fastembed` is not installed.
    """

    def __init__(self, model: str = "", *, folder: Path | None = None) -> None:
        if find_spec("fastembed") is None:
            raise ConfigError(
                "The embedder fastembed can't be used: it is not installed.", hint="Install fastembed beside Toolcrib."
            )
        self._model = model or _MODEL
        self.name = f"fastembed {self._model}"
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: Any = None

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_documents`."""
        return _stacked(self._embedding().passage_embed(list(texts)))

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_queries`; models that mark queries get them marked."""
        return _stacked(self._embedding().query_embed(list(texts)))

    def _embedding(self) -> Any:
        with self._lock:
            if self._loaded is None:
                fastembed = cast("Any", importlib.import_module("fastembed"))
                place = {} if self._folder is None else {"specific_model_path": str(self._folder)}
                self._loaded = fastembed.TextEmbedding(model_name=self._model, **place)
            return self._loaded


def _stacked(vectors: Any) -> Matrix:
    import numpy as np

    return np.array(list(vectors), dtype=np.float32)
