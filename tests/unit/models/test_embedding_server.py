"""The client of embedding servers, against real ones on the loopback that misbehave when they are told to."""

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from beirflow.core.errors import ConfigError, ModelError
from beirflow.models import json_server
from beirflow.models.embedding_server import EmbeddingServer
from beirflow.models.encoders.load import load_encoder
from beirflow.models.settings import EncoderSettings
from http_servers import Server, dead_url, posted

DIM = 8
TEXTS = [f"text number {i}" for i in range(23)]


def vector(text: str) -> list[float]:
    """Give the server's vector of a text."""
    return np.random.default_rng(list(text.encode())).normal(size=DIM).round(6).tolist()


def expected(texts: list[str]) -> np.ndarray:
    return np.array([vector(text) for text in texts], dtype=np.float32)


class Embeddings(Server):
    """A server that keeps its requests and answers the first ones as told here, those after them well.

    An answer is a status with headers; or ``cut``, bytes after which the connection ends; or ``body``, which is sent as it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.url += "/v1"
        self.asked: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.keys: list[str | None] = []
        self.answers: list[dict[str, Any]] = []
        self.at_once, self.most, self.most_at_once, self.lock = 0, 1000, 0, threading.Lock()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = posted(request)
        with self.lock:
            self.asked.append(body | {"path": request.path})
            self.times.append(time.monotonic())
            self.keys.append(request.headers.get("Authorization"))
            told = self.answers.pop(0) if self.answers else {"status": 413} if len(body["input"]) > self.most else {}
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(told.get("sleep", 0.01))
        rows = [{"object": "embedding", "index": i, "embedding": vector(text)} for i, text in enumerate(body["input"])]
        held = {"object": "list", "data": rows[::-1], "model": body["model"]}
        content = told.get("body", json.dumps(held).encode())
        with self.lock:
            self.at_once -= 1
        request.send_response(told.get("status", 200))
        for name, value in {"Content-Length": str(len(content)), **told.get("headers", {})}.items():
            request.send_header(name, value)
        request.end_headers()
        cut = told.get("cut")
        request.wfile.write(content[:cut])
        if cut is not None:
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embeddings]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(json_server, "FIRST_WAIT", 0.01)
    with Embeddings() as state:
        yield state


def client(server: Embeddings, **arguments: Any) -> EmbeddingServer:
    return EmbeddingServer(**{"url": server.url, "model": "some-model", "batch_texts": 5, **arguments})


def test_texts_are_sent_in_batches_and_come_back_in_order(server: Embeddings) -> None:
    np.testing.assert_array_equal(client(server).encode_queries(TEXTS), expected(TEXTS))
    assert sorted(len(body["input"]) for body in server.asked) == [3, 5, 5, 5, 5]
    assert {body["path"] for body in server.asked} == {"/v1/embeddings"}
    first = {key: value for key, value in server.asked[0].items() if key not in ("path", "input")}
    assert first == {"model": "some-model", "encoding_format": "float"}
    assert 1 < server.most_at_once <= 4


def test_documents_are_title_and_text_each_kind_has_its_prefix_and_an_empty_text_is_zeros(server: Embeddings) -> None:
    encode = client(server, query_prefix="query: ", dimensions=DIM)
    np.testing.assert_array_equal(encode.encode_queries(["a", ""]), expected(["query: a", "query: "]))
    documents = [{"title": "T", "text": "a"}, {"title": "", "text": ""}, {"title": "", "text": "b"}]
    found = encode.encode_corpus(documents)
    np.testing.assert_array_equal(found[[0, 2]], expected(["T a", "b"]))
    np.testing.assert_array_equal(found[1], np.zeros(DIM))
    np.testing.assert_array_equal(encode.encode_corpus(documents[1:2] * 3), np.zeros((3, DIM)))
    assert {body["dimensions"] for body in server.asked} == {DIM}
    assert all(text for body in server.asked for text in body["input"])


def test_queries_may_have_a_server_and_a_model_of_their_own(server: Embeddings) -> None:
    with Embeddings() as others:
        pair = client(server, query_url=others.url, query_model="small", query_prefix="? ", document_prefix="! ")
        np.testing.assert_array_equal(pair.encode_queries(["a"]), expected(["? a"]))
        np.testing.assert_array_equal(pair.encode_corpus([{"title": "", "text": "b"}]), expected(["! b"]))
        found = [[(body["model"], body["input"]) for body in each.asked] for each in (server, others)]
        assert found == [[("some-model", ["! b"])], [("small", ["? a"])]]
        client(others, query_model="small").encode_queries(["c"])
        assert (others.asked[-1]["model"], others.asked[-1]["input"]) == ("small", ["c"])


PASSING: dict[str, dict[str, Any]] = {
    "busy": {"status": 503},
    "broken": {"status": 500, "body": b"oops"},
    "unknown": {"status": 520},
    "overloaded": {"status": 529, "body": b'{"error": "overloaded"}'},
    "no number to wait": {"status": 503, "headers": {"Retry-After": "\xb2"}},
    "no date to wait for": {"status": 503, "headers": {"Retry-After": "Fri, 31 Dec 99999999999 23:59:59 GMT"}},
    "broken compression": {"body": b"no gzip", "headers": {"Content-Encoding": "gzip"}},
    "deep": {"body": b'{"data":' + b"[" * 200_000},
    "cut before the body": {"cut": 0},
    "cut in the body": {"cut": 100},
    "half an answer": {"body": b'{"data": [{"ind'},
    "no byte for too long": {"sleep": 0.6},
}


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_what_passes_is_asked_again(server: Embeddings, answer: dict[str, Any]) -> None:
    server.answers = [answer, answer]
    found = client(server, timeout=0.3, requests_at_once=1).encode_queries(TEXTS[:7])
    np.testing.assert_array_equal(found, expected(TEXTS[:7]))
    assert [len(body["input"]) for body in server.asked] == [5, 5, 5, 2]


@pytest.mark.parametrize("as_date", [False, True])
def test_a_server_that_limits_the_rate_is_left_alone_for_as_long_as_it_says(server: Embeddings, as_date: bool) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=2.1), usegmt=True)
    server.answers = [{"status": 429, "headers": {"Retry-After": until if as_date else "1"}}]
    np.testing.assert_array_equal(client(server).encode_queries(["a"]), expected(["a"]))
    assert server.times[1] - server.times[0] >= (0.8 if as_date else 1.0)


@given(value=st.text(st.characters(max_codepoint=255)) | st.from_regex(r"\A\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]?\w+\Z"))
@example("9" * 400)
@example("Mon, 01 Jan 0001 00:00:00 +1400")
def test_whatever_a_server_says_about_waiting_is_a_number_of_seconds(value: str) -> None:
    assert json_server._retry_after(value) >= 0


def test_attempts_end(server: Embeddings, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = [{"status": 503, "body": b""}] * 9
    with pytest.raises(ModelError, match=r"status 503, after 3 attempts; run again"):
        client(server, attempts=3).encode_queries(["a"])
    assert len(server.asked) == 3
    server.answers = [{"status": 500, "body": b'{"error": "text 1 has NaN"}'}] * 2
    with pytest.raises(ModelError, match=r"""status 500, '\{"error": "text 1 has NaN"\}', after 2 attempts; run again"""):
        client(server, attempts=2).encode_queries(["a"])
    with dead_url() as url, pytest.raises(ModelError, match=r"no answer \(ConnectionError\), after 2 attempts"):
        EmbeddingServer(url=url, model="m", attempts=2).encode_queries(["a"])


def rows(*embeddings: Any, indices: tuple[int, ...] = (0, 1)) -> dict[str, Any]:
    """An answer with these vectors."""
    data = [{"index": index, "embedding": embedding} for index, embedding in zip(indices, embeddings, strict=True)]
    return {"body": json.dumps({"data": data}).encode()}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"status": 401, "body": b'{"error": "no"}'}, r"status 401, '\{\"error\": \"no\"\}'; look at url, model, key"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, "status 302"),
        ({"status": 429, "headers": {"Retry-After": "3600"}}, "status 429, and asks to wait for 3600 s; run again then"),
        ({"body": b'{"data": []}'}, "holds no vector for each text"),
        ({"body": b"[]"}, "holds no vector for each text"),
        (rows([1], [1, 2]), "no vector for each"),
        (rows([1], [1], indices=(0, 0)), "no vector for each text"),
        (rows(1, 1), "no vector for each text"),
        (rows([True, 0.5], [1, 2]), "expected numbers, found True"),
        (rows(["1", "2"], [1, 2]), "expected numbers, found '1'"),
        (rows([None, 2], [1, 2]), "expected numbers, found None"),
        (rows([1, 2], [1, 2], indices=("0", "1")), "expected a whole number as index, found '0'"),  # type: ignore[arg-type]
        (rows([1, 2], [0.0, 0]), "a vector of zeros for text 1 of 2, which is not empty"),
        ({"body": b" " * (4 << 20)}, "an answer of more than 3,145,728 bytes"),
    ],
)
def test_what_does_not_pass_is_said_and_asked_once(server: Embeddings, answer: dict[str, Any], words: str) -> None:
    server.answers = [answer]
    with pytest.raises(ModelError, match=words):
        client(server).encode_queries(["a", "b"])
    assert len(server.asked) == 1


@pytest.mark.parametrize("drip", ["headers", "body"])
def test_an_answer_that_drips_in_ends_although_no_silence_is_as_long_as_the_timeout(drip: str) -> None:
    ended = threading.Event()

    def answer(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + (b"X: " if drip == "headers" else b"Content-Length: 99999\r\n\r\n"))
            while not ended.wait(0.05):
                connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, args=[listening], daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(ModelError, match="no whole answer within 2 s, although it sent something"):
            EmbeddingServer(url=url, model="m", timeout=0.4).encode_queries(["a"])
        ended.set()


def test_a_server_that_takes_fewer_texts_at_once_gets_fewer(server: Embeddings) -> None:
    server.most = 2
    encode = client(server, requests_at_once=1)
    for texts in (TEXTS[:7], TEXTS):
        np.testing.assert_array_equal(encode.encode_queries(texts), expected(texts))
    assert [len(body["input"]) for body in server.asked] == [5, 2, 2, 1, 2] + [2] * 11 + [1]
    server.most = 0
    with pytest.raises(ModelError, match="status 413"):
        encode.encode_queries(["a"])


def test_vectors_in_base64_are_read_as_openai_writes_them(server: Embeddings) -> None:
    server.answers = [rows(base64.b64encode(np.array(vector("a"), "<f4").tobytes()).decode(), indices=(0,))]
    np.testing.assert_array_equal(client(server).encode_queries(["a"]), expected(["a"]))


@pytest.mark.parametrize("width", [1, 4])
def test_vectors_of_several_lengths_are_refused(server: Embeddings, width: int) -> None:
    server.answers = [{}, rows(*[[1.0] * width] * 5, indices=tuple(range(5)))]
    with pytest.raises(ModelError, match=f"vectors of {width} and of {DIM} dimensions; is it one model"):
        client(server, requests_at_once=1).encode_queries(TEXTS[:10])
    with pytest.raises(ModelError, match=f"vectors of {DIM} dimensions, asked for 4"):
        client(server, dimensions=4).encode_queries(["a"])


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(
    server: Embeddings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ConfigError, match="the environment variable SOME_KEY, which the configuration names, is not set"):
        client(server, key_variable="SOME_KEY")
    monkeypatch.setenv("SOME_KEY", 's3cr"et\n')
    echo = b'{"error": "bad key Bearer s3cr\\"et, s3cr%22et or czNjciJldA==; pa55@word, t0ken"}'
    server.answers = [{"status": 503}, {"status": 401, "body": echo}]
    url = f"{server.url.replace('//', '//bob:pa55@word@')}?api-version=1&key=t0ken"
    with pytest.raises(ModelError) as caught, caplog.at_level("INFO"):
        client(server, url=url, key_variable="SOME_KEY").encode_queries(["a"])
    assert server.keys == ['Bearer s3cr"et'] * 2
    assert server.asked[0]["path"] == "/v1/embeddings?api-version=1&key=t0ken"
    said = f"{caught.value} {caplog.text}"
    assert not [secret for secret in ("s3cr", "czNj", "pa55", "word", "t0ken") if secret in said]
    assert str(caught.value).startswith(f"{server.url}/embeddings?api-version=1&key=…: status 401, ")
    assert "bad key Bearer …, … or …; …, …" in said


def test_a_configuration_names_it_and_a_vector_that_is_not_finite_is_refused(server: Embeddings) -> None:
    arguments = {"url": server.url, "model": "some-model"}
    system = EncoderSettings(name="mine", encoder="beirflow.models.embedding_server:EmbeddingServer", arguments=arguments)
    encoder = load_encoder(system, "documents", device="cpu", precision="auto", token_budget="auto")
    assert encoder.dim == DIM
    [found] = encoder.windows(["a", "b"], "documents")
    np.testing.assert_array_equal(found, expected(["a", "b"]))
    server.answers = [{"body": b'{"data": [{"index": 0, "embedding": [NaN, 1, 1, 1, 1, 1, 1, 1]}]}'}]
    with pytest.raises(ModelError, match="not finite"):
        list(encoder.windows(["a"], "documents"))
