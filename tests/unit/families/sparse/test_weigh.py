"""The steps of a sparse system, one by one: the run is that of brute force over the weights, whatever the chunks and threads."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from answering import answered
from beirflow.core.layout import DOCUMENTS, MODEL, RUN_RECORD, TERM_WEIGHTS, TERM_WEIGHTS_RECORD
from beirflow.core.records import read_json
from beirflow.families.sparse import files
from beirflow.families.sparse.files import Rows, quantized
from beirflow.families.sparse.layouts import read_parts
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigher import Weigher
from beirflow.families.system import System
from lexical_results import DATASET, Row, refused, rows_of
from model_results import SparseResults, random_corpus
from run_results import ranked
from tiny_bert import WORDS, change_weights
from tiny_sparse import save_masked_lm, spread

CORPUS = random_corpus(40)
TEXTS = {"q1": "w1 w2 w3", "q2": "w4", "d5": "w7 w8 w9", "d9": "w1 w1", "empty": "[PAD]"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few terms weigh something, as in a trained model."""
    folder = save_masked_lm(tmp_path_factory.mktemp("model"))
    change_weights(folder, lambda weights: weights | {"cls.predictions.bias": weights["cls.predictions.bias"] - 4})
    return folder


def plainly(settings: SparseSettings, k: int) -> list[Row]:
    """Weigh every text by itself, score every pair, cut as the system breaks ties, and rank as runs are."""
    parts = read_parts(settings)

    def weights(texts: list[str], kind: str) -> np.ndarray:
        weigher = Weigher("s", parts.of(kind), device="cpu", precision="float32", token_budget=1)
        return spread(quantized(Rows.together(list(weigher.windows(texts, kind))), settings.quantize)).astype(np.float64)

    documents = weights([f"{title} {text}".strip() for _, title, text in CORPUS], "documents")
    kept: dict[str, dict[str, float]] = {}
    for query_id, query in zip(TEXTS, weights([*TEXTS.values()], "queries"), strict=True):
        scores = (documents * query).sum(axis=1).astype(np.float32)
        ids = [doc_id for doc_id, *_ in CORPUS]
        found = [hit for hit in zip(ids, scores, strict=True) if hit[1] > 0 and hit[0] != query_id]
        found.sort(key=lambda hit: hit[0].encode(), reverse=settings.ties == "descending")
        found.sort(key=lambda hit: -hit[1])
        kept[query_id] = {doc_id: float(score) for doc_id, score in found[:k]}
    return ranked(kept)


@pytest.mark.usefixtures("threads_as_before")
@pytest.mark.parametrize(
    "own",
    [{"ties": "ascending"}, {"quantize": "lucene"}, {"quantize": "lucene", "ties": "ascending"}, {"queries": "tokens"}],
    ids=str,
)
def test_the_run_and_answers_to_one_query_at_a_time_are_those_of_brute_force(
    tmp_path: Path, model: Path, own: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SEGMENT_DOCUMENTS", 5)
    settings = SparseSettings("s", model=str(model), query_max_length=20, **own)
    made = SparseResults(tmp_path, CORPUS, TEXTS, size=17, top_k=8).make_all(settings, token_budget=1)
    found, expected = rows_of(made.find_all(settings)), plainly(settings, 8)
    assert [(query, rank) for query, _, _, rank in found] == [(query, rank) for query, _, _, rank in expected]
    np.testing.assert_allclose([score for *_, score, _ in found], [score for *_, score, _ in expected], rtol=1e-5)
    if settings.quantize == "lucene":
        assert found == expected
    assert len({score for *_, score, _ in found}) < len(found)
    record = made.record(RUN_RECORD, system="s")
    assert (record["ties"], record["made"]["precision"]) == (settings.ties, "float32")
    assert record["counts"]["self_matches_dropped"] == (0 if "queries" in own else 2)
    answers = answered(made.results, DATASET, [System("s", "sparse", settings)], 8)  # whose queries have no ids
    assert [row for row in answers if row[0][0] != "d"] == [row for row in found if row[0][0] != "d"]


@pytest.mark.parametrize(("token_budget", "tolerance"), [(1, 0), ("auto", 1e-5)])
def test_chunks_change_scores_only_by_the_batches_of_the_encoder(
    tmp_path: Path, model: Path, token_budget: int | str, tolerance: float
) -> None:
    """A text that is a batch of its own has the same weights in every chunk, so what differs then would be the search."""
    random, settings, runs = Random(2), SparseSettings("s", model=str(model)), []
    corpus = [(f"d{i}", "", " ".join(random.choices(WORDS, k=random.randrange(1, 60)))) for i in range(30)]
    for size in (1000, 11):
        made = SparseResults(tmp_path / str(size), corpus, TEXTS, size=size).make_all(settings, token_budget=token_budget)
        runs.append({(query, doc_id): score for query, doc_id, score, _ in rows_of(made.find_all(settings, threads=size % 3))})
    assert len(runs[0]) > 50
    assert runs[0] == pytest.approx(runs[1], rel=tolerance, abs=0)


@pytest.fixture
def small(tmp_path: Path, model: Path) -> SparseResults:
    return SparseResults(tmp_path, CORPUS, TEXTS, size=17, top_k=8).make_all(SparseSettings("s", model=str(model)))


def test_weights_say_what_they_were_made_from(small: SparseResults) -> None:
    record = small.record(TERM_WEIGHTS_RECORD, system="s", chunk=1)
    path, model = small.path(TERM_WEIGHTS, system="s", chunk=1), small.path(MODEL, system="s")
    assert record["inputs"] == small.digests(small.path(DOCUMENTS), model)
    assert record["outputs"] == small.digests(path)
    assert record["made"].keys() >= {"precision", "device", "torch", "transformers", "python"}
    part = {"kind": "splade", "pooling": "max", "activation": "relu", "prefix": "", "most_terms": None, "max_length": 64}
    assert record["weighed"] == part | {"quantize": "none"}
    assert record["bytes"] == {"index": Path(path).stat().st_size}
    assert record["distinct_texts"] <= record["rows"]
    assert set(record["seconds"]) == {"load", "index"}
    assert read_json(model)["files"].keys() == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}


def test_queries_may_have_a_model_of_their_own_with_the_same_vocabulary(tmp_path: Path, model: Path) -> None:
    own = save_masked_lm(tmp_path / "own", seed=5)
    settings = SparseSettings("s", model=str(model), query_model=str(own))
    made = SparseResults(tmp_path / "results", CORPUS, TEXTS)
    made.fetch(settings)
    assert {"queries/model.safetensors", "model.safetensors"} <= read_json(made.path(MODEL, system="s"))["files"].keys()
    with_own = Path(made.make(settings)).read_bytes()
    alone = SparseResults(tmp_path / "alone", CORPUS, TEXTS)
    alone.fetch(SparseSettings("s", model=str(own)))
    assert Path(alone.make(SparseSettings("s", model=str(own)))).read_bytes() == with_own
    (own / "tokenizer.json").write_text((own / "tokenizer.json").read_text().replace('"w1"', '"other"'))
    made.fetch(settings)
    refused(lambda: made.make(settings), made.results, r"another vocabulary .*, first at '(other|w1)'")
