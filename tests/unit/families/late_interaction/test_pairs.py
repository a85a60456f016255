"""Late interaction ranks the candidates that a dataset gives each query, with the scores that they have among all."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from sklearn.metrics import average_precision_score

from beirflow.core.layout import QRELS, RUN
from beirflow.families.late_interaction import vectors
from beirflow.families.late_interaction.search import exact_of_pairs, exact_top_k
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import read_segments
from beirflow.ranking.ranking import Cut, byte_order
from lexical_results import DATASET
from model_results import LateResults
from tiny_bert import WORDS
from tiny_colbert import save_colbert
from token_vectors import random_vectors, text_scores, written

CPU = torch.device("cpu")


@pytest.mark.parametrize("segment", [7, 1 << 17])
def test_pairs_have_their_scores_by_brute_force_whatever_the_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment: int
) -> None:
    monkeypatch.setattr(vectors, "SEGMENT_TOKENS", segment)
    rng = np.random.default_rng(segment)
    documents, asked = random_vectors(rng, rng.integers(1, 9, size=12)), random_vectors(rng, [3, 7, 1])
    text_of = np.concatenate([np.arange(12), rng.integers(12, size=8)])
    path = written(documents, text_of.tolist(), tmp_path / "v")
    ids = [f"d{number}" for number in rng.permutation(20)]
    pairs = np.argwhere(rng.random((3, 20)) < 0.4)
    cut = Cut(20, byte_order(pa.array(ids)), np.full(3, -1))
    hits = exact_of_pairs(asked, partial(read_segments, path), tuple(pairs.T.astype(np.int64)), cut, device=CPU)
    scores = text_scores(asked, documents)[:, text_of]
    expected = [(query, row, float(scores[query, row])) for query, row in pairs.tolist()]
    expected.sort(key=lambda hit: (-hit[0], hit[2], ids[hit[1]].encode()), reverse=True)
    assert list(zip(*(column.tolist() for column in hits), strict=True)) == expected
    everything = exact_top_k(asked, partial(read_segments, path), cut, device=CPU)
    all_pairs = np.indices((3, 20)).reshape(2, -1)
    again = exact_of_pairs(asked, partial(read_segments, path), tuple(all_pairs), cut, device=CPU)
    assert [column.tolist() for column in again] == [column.tolist() for column in everything]


def samples() -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(5)
    for number in range(12):
        texts = [" ".join(random.choice(WORDS[:60], 6)) for _ in range(9)]
        yield {"query": " ".join(WORDS[3 * number : 3 * number + 3]), "positive": texts[:2], "negative": texts[2:]}


def test_samples_are_ranked_and_measured_as_by_sentence_transformers_and_scikit_learn(tmp_path: Path) -> None:
    model = save_colbert(tmp_path / "model")
    settings, made = LateSettings("s", model=str(model)), LateResults.of_samples(tmp_path, [*samples()], 20)
    run = made.make_all(settings).find_all(settings)
    rows = pq.read_table(run).to_pylist()
    qrels = {(row["query_id"], row["doc_id"]): row["score"] for row in pq.read_table(made.path(QRELS)).to_pylist()}
    assert {(row["query_id"], row["doc_id"]) for row in rows} == set(qrels)
    oracle, precisions = MultiVectorEncoder(str(model), device="cpu", local_files_only=True), []
    for sample in samples():
        texts = [*sample["positive"], *sample["negative"]]
        query, documents = oracle.encode_query([sample["query"]])[0], oracle.encode_document(texts)
        scores = [float((np.asarray(query) @ np.asarray(each).T).max(axis=1).sum()) for each in documents]
        precisions.append(average_precision_score([1, 1] + [0] * 7, scores))
    assert made.evaluate("s")["measures"]["MAP@10"] == pytest.approx(np.mean(precisions), abs=1e-9)
    assert RUN(system="s", dataset=DATASET) in run
