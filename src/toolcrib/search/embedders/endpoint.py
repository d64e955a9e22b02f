"""Vectors from an HTTP server that speaks OpenAI's `/v1/embeddings`, as most model servers do."""

import importlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlsplit

from toolcrib.errors import ConfigError, shown
from toolcrib.search.embedders.base import Embedder, Matrix

_BATCH = 128
_SECONDS = 30.0


class EndpointEmbedder(Embedder):
    """Embeds by asking a server.

    Args:
        url: The base of the server's API, such as `http://localhost:11434/v1`.
        model: What the server calls the model.
        key: Sent as a bearer token where it is not empty.
        seconds: How long one request may take.

    Raises:
        ConfigError: The address is none of HTTP, or no model is named.
    """

    def __init__(self, url: str, model: str, *, key: str = "", seconds: float = _SECONDS) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(
                f"{shown(url)} is no address of an embedding server.", hint="Write it like http://localhost:11434/v1."
            )
        if not model:
            raise ConfigError("No model is named for the embedding server.", hint="Name one that the server offers.")
        self.name = f"{model} at {parts.hostname}"
        self._url = url.rstrip("/") + "/embeddings"
        self._model = model
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._seconds = seconds
        self._lock = threading.Lock()
        self._client: Any = None

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed_documents`."""
        import numpy as np

        parts = [self._ask(texts[begin : begin + _BATCH]) for begin in range(0, len(texts), _BATCH)]
        return np.array([vector for part in parts for vector in part], dtype=np.float32)

    def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        # A lone surrogate can't be sent as UTF-8, and an empty text is refused by some servers.
        clean = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        body = {"model": self._model, "input": clean, "encoding_format": "float"}
        answer = self._connected().post(self._url, json=body)
        if answer.status_code != 200:
            raise ValueError(f"the server answered with HTTP status {answer.status_code}")
        return _vectors(answer.json(), len(texts))

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                http = cast("Any", importlib.import_module("httpx2"))
                self._client = http.Client(headers=self._headers, timeout=self._seconds)
            return self._client


def _vectors(answer: object, count: int) -> list[list[float]]:
    """The vectors in an answer, in the order of the texts, which `index` tells."""
    data = cast("Mapping[str, object]", answer).get("data") if isinstance(answer, Mapping) else None
    rows = cast("list[object]", data) if isinstance(data, list) else []
    found: dict[int, list[float]] = {}
    for place, row in enumerate(rows):
        if isinstance(row, Mapping):
            entry = cast("Mapping[str, Any]", row)
            found[entry.get("index", place)] = entry.get("embedding", [])
    if sorted(found) != list(range(count)):
        raise ValueError(f"the server answered {count} texts with {len(found)} vectors")
    return [found[place] for place in range(count)]
