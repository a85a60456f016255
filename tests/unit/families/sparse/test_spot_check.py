"""The spot check passes on what was made rightly, and names what was not."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.core.layout import QUERY_WEIGHTS, QUERY_WEIGHTS_RECORD, TERM_WEIGHTS
from beirflow.core.records import RECORD_DIGEST, read_json, write_json
from beirflow.core.writing import DigestingWriter
from beirflow.families.sparse import files
from beirflow.families.sparse.files import Rows, SegmentWriter, read_queries, write_queries
from beirflow.families.sparse.run_check import follows
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.spot_check import spot_checks
from beirflow.families.spot_checks.spot_check import NotHereError, Subject
from model_results import SparseResults
from spot_checked import DOCUMENTS, SAMPLE, TOP_K, change_a_score, copied, found, made_rightly, passed, planned
from tiny_bert import WORDS
from tiny_sparse import save_masked_lm, save_unicoil


@pytest.fixture(scope="module", params=["none", "lucene"])
def made(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Subject:
    folder = tmp_path_factory.mktemp("spot")
    settings = SparseSettings("s", model=str(save_masked_lm(folder / "model")), quantize=request.param, most_terms=20)
    corpus = [(f"d{i}", "", " ".join(WORDS[i : i + 5])) for i in range(DOCUMENTS)]
    queries = {f"q{i}": " ".join(WORDS[3 * i : 3 * i + 2]) for i in range(6)} | {"d3": WORDS[3]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "SEGMENT_POSTINGS", 100)
        return made_rightly(SparseResults(folder, corpus, queries, size=11, top_k=TOP_K), settings, "sparse")


@pytest.fixture
def changeable(made: Subject, tmp_path: Path) -> Subject:
    return copied(made, tmp_path)


ALL, RANKS = planned(spot_checks, follows), 5


def test_what_was_made_rightly_passes(made: Subject) -> None:
    assert passed(ALL, made)


def test_hits_are_scored_again_without_the_stored_weights(changeable: Subject) -> None:
    (changeable.results / TERM_WEIGHTS(system="s", dataset="small", chunk=1)).unlink()
    hits = spot_checks(changeable, SAMPLE * 9, np.random.default_rng(0))[-1]
    assert re.search(r"\d\d hits as in", hits.run().found)
    change_a_score(changeable, lambda score: score * 3)
    assert "has the score" in hits.run().found


def change_weights(subject: Subject, change: Callable[[np.ndarray], np.ndarray], kind: str) -> None:
    """Write the weights of the queries, or of the second chunk, again with a change of the first one."""
    settings = subject.system.settings
    if kind == "queries":
        path = subject.results / QUERY_WEIGHTS(system="s", dataset="small")
        rows = read_queries(path, settings.quantize)
        with DigestingWriter(path) as stream:
            write_queries(stream, rows._replace(weights=change(rows.weights.copy())), settings.quantize)
        return
    path = subject.results / TERM_WEIGHTS(system="s", dataset="small", chunk=1)
    parts = []
    for segment in files.read_segments(path, settings.quantize):
        terms = np.repeat(segment.terms, np.diff(segment.starts)).astype(np.int64)
        parts.append(Rows.of(segment.documents, segment.rows.astype(np.int64), terms, segment.weights.astype(np.float32)))
    rows = Rows.together(parts)
    with DigestingWriter(path) as stream, SegmentWriter(stream, settings.quantize) as writer:
        writer.add(rows._replace(weights=change(rows.weights.copy())))


def doubled(weights: np.ndarray) -> np.ndarray:
    weights[weights.argmax()] *= 2
    return weights


def nudged(weights: np.ndarray) -> np.ndarray:
    weights[0] = np.nextafter(weights[0], np.float32(0))
    return weights


@pytest.mark.parametrize(("kind", "within", "bits"), [("documents", 0, 3), ("queries", 1, 2)])
@pytest.mark.parametrize("change", [doubled, nudged])
def test_a_wrong_weight_is_found(changeable: Subject, change: Callable, kind: str, within: int, bits: int) -> None:
    if change is nudged and changeable.system.settings.quantize != "none":
        pytest.skip("integers have no weight in between")
    change_weights(changeable, change, kind)
    wrong = {number for number, finding in enumerate(found(ALL, changeable)) if not finding.passed} - {RANKS}
    assert wrong == ({within, bits} if change is doubled else {bits})


@pytest.mark.parametrize(
    ("change", "says"),
    [({"threads": 1 << 20}, "1048576 threads"), ({"processor": "8086"}, "processor '8086'"), ({}, "does not state batches")],
)
def test_bits_are_compared_only_in_the_recorded_computation(changeable: Subject, change: dict[str, Any], says: str) -> None:
    path = changeable.results / QUERY_WEIGHTS_RECORD(system="s", dataset="small")
    record = {key: value for key, value in read_json(path).items() if key != RECORD_DIGEST}
    write_json(path, record | {"computation": {**record["computation"], **change} if change else None})
    checks = spot_checks(changeable, SAMPLE, np.random.default_rng(0))
    with pytest.raises(NotHereError, match=says):
        checks[2].run()


def test_a_wrong_score_is_found(changeable: Subject) -> None:
    change_a_score(changeable, lambda score: np.nextafter(score, np.float32(0)))
    finding = found(follows, changeable)[0]
    assert not finding.passed
    assert "has the score" in finding.found


def test_documents_are_weighed_again_with_what_is_added_to_them(tmp_path: Path) -> None:
    given: Any = {"path": "/given/{dataset}.jsonl"}
    model = str(save_unicoil(tmp_path / "model"))
    settings = SparseSettings("s", model=model, head="unicoil", expansion=given, text_length=20, expansion_length=8)
    corpus = [(f"d{i}", "", " ".join(WORDS[i : i + 5])) for i in range(DOCUMENTS)]
    results = SparseResults(tmp_path, corpus, {f"q{i}": WORDS[9 * i] for i in range(6)}, size=11, top_k=TOP_K)
    results.give(settings, {doc_id: [f"w{i + 60}", f"w{i + 90} w1"] for i, (doc_id, *_) in enumerate(corpus)})
    subject = made_rightly(results, settings, "sparse")
    assert passed(ALL, replace(subject, made={"precision": ["bfloat16", "float32"]}))  # a T5 wrote in the other
    results.give(settings, {doc_id: [f"w{i + 61}"] for i, (doc_id, *_) in enumerate(corpus)})
    assert [finding.passed for finding in found(ALL, subject)] == [False, True, True, False, True]


def test_what_is_not_here_is_not_checked(changeable: Subject) -> None:
    with pytest.raises(NotHereError, match="not known here where the model of s is"):
        found(spot_checks, replace(changeable, here=None))
    (changeable.results / TERM_WEIGHTS(system="s", dataset="small", chunk=0)).unlink()
    (ranks,) = follows(changeable, SAMPLE, np.random.default_rng(0))
    with pytest.raises(NotHereError, match=r"weights-0\.arrow is not here"):
        ranks.run()
