"""Parity, against real servers on the loopback: transformers computes their vectors, one fault at a time, in five protocols."""

import base64
import json
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
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
from tokenizers import models as tokenizer_models
from tokenizers import Tokenizer, normalizers, pre_tokenizers
from transformers import AutoModel, AutoTokenizer

from beirflow.cli import main
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
LETTERS = sorted({each for text in (*PLAIN, *SPECIAL.values()) for each in unicodedata.normalize("NFC", text) + unicodedata.normalize("NFD", text) + text.lower() if not each.isspace()} | set(":"))
WORDS = list(dict.fromkeys([*PIECES, *LETTERS, *(f"##{each}" for each in LETTERS)]))

OPENAI = ("openai", "vllm", "infinity")
PLACES = {"openai": "/v1/embeddings", "vllm": "/v1/embeddings", "infinity": "/embeddings", "tei": "/embed", "ollama": "/api/embed"}


def save_encoder(folder: Path, seed: int = 0) -> Path:
    """A cased BERT with prompts, mean pooling, a further module and vectors of length 1."""
    backbone = save_tiny_bert(folder / "backbone", seed, positions=POSITIONS, words=WORDS)
    pieces = Tokenizer(tokenizer_models.WordPiece({piece: i for i, piece in enumerate([*SPECIAL_TOKENS, *WORDS])}, unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    save_tokenizer(backbone, pieces, POSITIONS)
    dense = Dense(DIM, DIM, activation_function=torch.nn.Tanh())
    save_modules(folder / "model", Transformer(str(backbone)), models.Pooling(DIM), dense, Normalize(), prompts=PROMPTS)
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
    refuses: Callable[[str], bool] = lambda text: not text.strip()
    kept: dict[str, Any] = field(default_factory=dict)


class Embeddings(Server):
    """A server of a protocol; other places are not found."""

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
            send(request, b'{"error": "Input validation error"}', 422)
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


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(json_server, "FIRST_WAIT", 0.01)
    monkeypatch.setattr("beirflow.run.undocumented.NOTES", ".snakemake", raising=False)


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
    "last": (Encoding(pooling="lasttoken"), "pooling is lasttoken, and the model's files say mean"),
    "max": (Encoding(pooling="max"), "pooling is max, and the model's files say mean"),
    "prompt twice": (
        Encoding(prefix=PROMPTS["query"]),
        "the prompt of queries is written before all texts, also where there is one",
    ),
    "prompt of documents": (
        Encoding(prefix=PROMPTS["document"]),
        "the prompt of documents is written before all texts, also where there is one",
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
    "first token twice": (Encoding(tokens=lambda ids: [ids[0], *ids[: POSITIONS - 2], *ids[max(POSITIONS - 2, len(ids) - 1) :]][:POSITIONS]), "the token before texts is written twice"),
    "other tokens": (
        Encoding(read=lambda text: text.replace("é", "x")),
        "texts with accents have other tokens: another vocabulary or tokenizer",
    ),
    "cut vectors": (Encoding(dims=16), "vectors are cut to 16 of 32 dimensions"),
}
"""Faults of an encoding, and the cause that has to be named."""


ORDER = "vectors of a request come in another order than its texts"
PADDING = "32 of 44 vectors depend on the other texts of a request, perhaps on padding"

OTHERS: dict[str, tuple[Callable[[], Faults], str]] = {
    "order": (lambda: Faults(batch=mixed), ORDER),
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
    assert max(row["difference"] for row in found["texts"]) < 1e-5
    assert {row["kind"] for row in found["texts"]} == {"queries", "documents"}
    assert found["rankings"]["shared_of_top_10"] == 1
    assert found["rankings"]["NDCG@10"]["weights"] == found["rankings"]["NDCG@10"]["server"]
    assert len(found["notes"]) == (0 if protocol == "none" else 2 * 0)
