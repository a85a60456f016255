"""Search with an encoder in memory: the hits of brute force, of faiss and of the pipeline, and what is refused."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pandas as pd
import pytest
import torch

import beirflow
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import BeirflowError, ConfigError, DataError, ModelError
from beirflow.core.records import read_json
from beirflow.families.dense import in_memory
from results_maker import run_rules
from workflow_runs import config_of, words

DIM = 12


class Letters:
    """Counts of letters: equal texts, and some others, have equal vectors, so that scores tie."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "abcdefwxyz01"] for text in texts], np.float32)


class Recorded:
    """The contract of sentence-transformers, with what it was given."""

    similarity_fn_name = "cosine"

    def __init__(self) -> None:
        self.documents: list[list[str]] = []

    def encode_query(self, inputs: list[str], batch_size: int = 32, show_progress_bar: bool | None = None) -> torch.Tensor:
        return torch.tensor([[1.0, 0.0]] * len(inputs), dtype=torch.bfloat16)

    def encode_document(self, inputs: list[str], batch_size: int = 32) -> list[list[float]]:
        self.documents.append(inputs)
        return [[len(text), 1.0] for text in inputs]


def vectors_of(seed: int, rows: int) -> np.ndarray:
    """Small integers, of which many rows are equal, and all products exact."""
    return np.random.default_rng(seed).integers(-2, 3, (rows, DIM)).astype(np.float32)


def brute_force(queries: np.ndarray, documents: np.ndarray, doc_ids: list[str], k: int, *, cosine: bool) -> list[list[Any]]:
    if cosine:
        queries, documents = (
            (each / np.maximum(np.linalg.norm(each.astype(np.float64), axis=1, keepdims=True), 1e-60)).astype(np.float32)
            for each in (queries, documents)
        )
    scores = (queries.astype(np.float64) @ documents.T.astype(np.float64)).astype(np.float32)
    order = [sorted(zip(row.tolist(), doc_ids, strict=True), key=lambda pair: (pair[0], pair[1].encode())) for row in scores]
    return [[[doc_id, score] for score, doc_id in reversed(row[-k:])] for row in order]


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
@pytest.mark.parametrize("chunk_bytes", [1, 4 * DIM * 40, 1 << 20])
def test_the_hits_are_those_of_brute_force_ties_included(
    similarity: Any, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_memory, "CHUNK_BYTES", chunk_bytes)
    random = np.random.default_rng(5)
    queries, documents = vectors_of(1, 9), random.choice(vectors_of(2, 60), 150)
    doc_ids = [f"{prefix}{i}" for prefix in "dDé" for i in range(50)]
    names = [*range(11, 2, -1)]
    run = beirflow.search(None, (doc_ids, documents), (names, queries), 20, similarity=similarity, batch=16)
    order = sorted(range(9), key=lambda place: str(names[place]).encode())
    expected = brute_force(queries, documents, doc_ids, 20, cosine=similarity == "cosine")
    assert list(run["query"]) == [str(names[place]) for place in order for _ in range(20)]
    assert list(run["rank"]) == [*range(1, 21)] * 9
    assert run[["document", "score"]].to_numpy().reshape(9, 20, 2).tolist() == [expected[place] for place in order]
    assert (run["score"].dtype, run["rank"].dtype) == (np.float32, np.int32)


def test_the_hits_are_those_of_faiss() -> None:
    random = np.random.default_rng(0)
    queries, documents = (random.standard_normal((rows, 64)).astype(np.float32) for rows in (20, 3000))
    index = faiss.IndexFlatIP(64)
    index.add(documents)
    scores, rows = index.search(queries, 50)
    run = beirflow.search(None, ([*range(3000)], documents), ([f"{i:02}" for i in range(20)], queries), 50)
    assert run["score"].to_numpy().reshape(20, 50) == pytest.approx(scores, abs=1e-4)
    assert (run["document"].astype(int).to_numpy().reshape(20, 50) == rows).mean() > 0.99  # in float32, neighbours may swap
    for found, expected in zip(run["document"].astype(int).to_numpy().reshape(20, 50), rows, strict=True):
        assert len({*found.tolist()} & {*expected.tolist()}) >= 49


def test_the_hits_are_those_of_the_pipeline_with_the_same_encoder(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads_as_before: None
) -> None:
    (tmp_path / "letters_of_mine.py").write_text("import test_in_memory_of_mine as here\nLetters = here.Letters\n")
    monkeypatch.setitem(sys.modules, "test_in_memory_of_mine", sys.modules[__name__])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    config = config_of({"mine": {"encoder": "letters_of_mine:Letters", "similarity": "dot"}}, small)
    results = tmp_path / "results"
    run_rules(results, load_experiment(config), [layout.METRICS(system="mine", dataset="small")])
    corpus, queries = (read_texts(small / f"{name}.jsonl") for name in ("corpus", "queries"))
    run = beirflow.search(Letters(), corpus, {query: of["text"] for query, of in queries.items()}, 20, batch=7)
    expected = pd.read_parquet(results / layout.RUN(system="mine", dataset="small"))
    assert run.equals(expected.rename(columns={"query_id": "query", "doc_id": "document"}))
    assert run.duplicated(["query", "score"]).any()  # or nothing tests ties
    means = read_json(results / layout.METRICS(system="mine", dataset="small"))["measures"]
    assert beirflow.evaluate(run, results / layout.QRELS(dataset="small"), [*means]).mean.to_dict() == means


def read_texts(path: Path) -> dict[str, dict[str, str]]:
    lines = map(json.loads, path.read_text().splitlines())
    return {line["_id"]: {key: line[key] for key in ("title", "text") if key in line} for line in lines}


def test_documents_are_joined_and_handed_over_in_batches_as_lists_of_texts() -> None:
    encoder = Recorded()
    corpus = {"a": " one ", 2: {"title": "A title", "text": "text"}, "c": {"title": None, "text": "three "}}
    run = beirflow.search(encoder, corpus, {"q": "anything"}, batch=2)
    assert encoder.documents == [["one", "A title text"], ["three"]]
    # The cosine with (1, 0), as the encoder says.
    lengths = {"a": 3, "2": 12, "c": 5}
    assert dict(zip(run["document"], run["score"], strict=True)) == pytest.approx(
        {name: length / np.hypot(length, 1) for name, length in lengths.items()}, rel=1e-6
    )
    by_dot = beirflow.search(encoder, corpus, {"q": "anything"}, similarity="dot")
    assert dict(zip(by_dot["document"], by_dot["score"], strict=True)) == lengths


def test_a_model_of_sentence_transformers_finds_what_its_own_search_finds(tiny_bert: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import semantic_search

    model = SentenceTransformer(str(tiny_bert), device="cpu")
    texts, asked = ([words(seed + i, 3 + i % 5) for i in range(rows)] for seed, rows in ((0, 40), (100, 3)))
    run = beirflow.search(model, dict(enumerate(texts)), dict(enumerate(asked)), 5, device="cpu")
    theirs = semantic_search(model.encode_query(asked), model.encode_document(texts), top_k=5)
    assert run["document"].astype(int).to_numpy().reshape(3, 5).tolist() == [[hit["corpus_id"] for hit in of] for of in theirs]
    assert run["score"].to_numpy().reshape(3, 5) == pytest.approx(np.array([[hit["score"] for hit in of] for of in theirs]))


def test_vectors_may_be_mapped_and_of_another_type_and_only_those_of_documents(tmp_path: Path) -> None:
    texts = {f"d{i}": "ab" * i + "c" for i in range(10)}
    np.save(tmp_path / "vectors.npy", Letters().encode(list(texts.values())).astype(np.float16))
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    expected = beirflow.search(Letters(), texts, {"q": "abc"}, 3)
    for vectors in (mapped, torch.tensor(np.array(mapped)), mapped.tolist()):
        assert beirflow.search(Letters(), (list(texts), vectors), {"q": "abc"}, 3).equals(expected)


def test_a_document_with_the_id_of_its_query_is_left_out_before_the_cut_if_wanted() -> None:
    texts = {"x": "aaa", "y": "aa", "z": "a"}
    kept = beirflow.search(Letters(), texts, texts, 2)
    assert kept.groupby("query")["document"].agg(list).to_dict() == {name: ["x", "y"] for name in "xyz"}
    dropped = beirflow.search(Letters(), texts, texts, 2, drop_self_matches=True)
    assert dropped.groupby("query")["document"].agg(list).to_dict() == {"x": ["y", "z"], "y": ["x", "z"], "z": ["x", "y"]}


class Broken:
    def __init__(self, value: Any) -> None:
        self.value = value

    def encode(self, texts: list[str]) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return np.array([self.value] * len(texts))


TWO = (["a", "b"], np.eye(2))
BAD: list[tuple[tuple[Any, ...], dict[str, Any], type[BeirflowError], str]] = [
    ((None, {"a": "x"}, {"q": "x"}), {}, ConfigError, "encoder: found None, expected an encoder, since the queries are texts"),
    ((None, TWO, (["q"], np.ones((1, 3)))), {}, DataError, "queries' vectors have 3 dimensions, the documents' 2"),
    ((None, (["a", "a"], np.eye(2)), TWO), {}, DataError, "corpus: the id 'a' comes twice"),
    ((None, (["a"], np.eye(2)), TWO), {}, DataError, r"corpus: expected vectors of shape \(1, dim\), .*; found \(2, 2\)"),
    ((None, (["a", "b"], [[1, 2], [3, np.nan]]), TWO), {}, DataError, "corpus: the vector of the document 'b' holds infinity"),
    ((None, (["a", "b"], np.eye(2, dtype=np.int8)), TWO), {}, DataError, "corpus: the vectors cannot be compared: found int8"),
    ((None, (["a", None], np.eye(2)), TWO), {}, DataError, "corpus: the id of a document must be a text .*; found None"),
    ((Letters(), {}, {"q": "x"}), {}, DataError, "corpus: found no document"),
    ((Letters(), {"a": "x"}, {}), {}, DataError, "queries: found no query"),
    (
        (Letters(), {"a": 5}, {"q": "x"}),
        {},
        DataError,
        "corpus: expected a text, or a mapping with 'title' and 'text', found 5",
    ),
    ((Letters(), {"a": {"title": "x"}}, {"q": "x"}), {}, DataError, "corpus: expected a text, or a mapping"),
    ((Letters(), {"a": "x"}, {"q": {"text": "x"}}), {}, DataError, "queries: expected a text, found {'text': 'x'}"),
    ((Letters(), ["a"], {"q": "x"}), {}, DataError, "corpus: expected a mapping of texts by id, or a pair"),
    ((Broken([np.inf]), {"a": "x"}, {"q": "y"}), {}, ModelError, "Broken gives infinity .* in the vector of the text 'y'"),
    ((Broken([]), {"a": "x"}, {"q": "y"}), {}, ModelError, r"gives an array of shape \(1, 0\) for 1 texts"),
    ((Broken(ValueError("no")), {"a": "x"}, {"q": "y"}), {}, ModelError, "encode of Broken fails: ValueError: no"),
    ((object(), {"a": "x"}, {"q": "y"}), {}, ModelError, "object has neither encode_queries and encode_corpus"),
    ((None, TWO, TWO, 0), {}, ConfigError, "k: found 0, expected an integer of at least 1"),
    ((None, TWO, TWO), {"similarity": "euclidean"}, ConfigError, "similarity: found 'euclidean', expected 'dot' or 'cosine'"),
    ((None, TWO, TWO), {"device": "gpu"}, ConfigError, "device: found 'gpu', expected auto, cuda, mps, cpu"),
]


@pytest.mark.parametrize(("arguments", "keywords", "kind", "message"), BAD)
def test_what_cannot_be_searched_is_refused(
    arguments: tuple[Any, ...], keywords: dict[str, Any], kind: type[BeirflowError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        beirflow.search(*arguments, **keywords)


def test_without_torch_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("beirflow.families.dense.top_k")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError, match=r"torch, which is not installed: pip install 'beirflow\[models\]'"):
        beirflow.search(None, TWO, TWO)
