"""The steps of a system of late interaction, one by one: the run is that of brute force, whatever the chunks and threads."""

from pathlib import Path

import numpy as np
import pytest

from answering import answered
from beirflow.core.layout import DOCUMENTS, MODEL, QUERY_TOKEN_VECTORS_RECORD, RUN_RECORD, TOKEN_VECTORS, TOKEN_VECTORS_RECORD
from beirflow.families.late_interaction import vectors
from beirflow.families.late_interaction.encoder import TokenEncoder
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.late_interaction.vectors import TokenVectors
from beirflow.families.system import System
from lexical_results import DATASET, Row, rows_of
from model_results import LateResults, random_corpus
from tiny_colbert import DIM, save_colbert
from token_vectors import best, text_scores

CORPUS = random_corpus(24, ". , .")
TEXTS = {"q1": "w1 w2 w3", "q2": "w4", "d5": "w7 w8 w9", "d9": "w1 w1", "empty": "."}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> LateSettings:
    return LateSettings("s", model=str(save_colbert(tmp_path_factory.mktemp("model"))), query_lengths={DATASET: 9})


def encoded(settings: LateSettings, texts: list[str], kind: str) -> TokenVectors:
    """Every text by itself."""
    how = {"device": "cpu", "precision": "float32", "token_budget": 1}
    encoder = TokenEncoder(settings.for_dataset(DATASET), Path(settings.model), kind, **how)  # type: ignore[arg-type]
    return TokenVectors.together(list(encoder.windows(texts)))


def plainly(settings: LateSettings, k: int) -> list[Row]:
    """Encode every text by itself and score every pair."""
    names = sorted(TEXTS, key=str.encode)
    documents = encoded(settings, [f"{title} {text}".strip() for _, title, text in CORPUS], "documents")
    scores, ids = text_scores(encoded(settings, [TEXTS[name] for name in names], "queries"), documents), [d for d, *_ in CORPUS]
    for number, name in enumerate(names):
        if name in ids:
            scores[number, ids.index(name)] = -np.inf
    hits = best(scores, ids, k)
    return [(names[query], ids[document], score, 1 + number % k) for number, (query, document, score) in enumerate(hits)]


def test_the_run_is_that_of_brute_force(tmp_path: Path, settings: LateSettings) -> None:
    made = LateResults(tmp_path, CORPUS, TEXTS, size=13, top_k=8).make_all(settings)
    found, expected = rows_of(made.find_all(settings)), plainly(settings, 8)
    assert [(query, rank) for query, _, _, rank in found] == [(query, rank) for query, _, _, rank in expected]
    np.testing.assert_allclose([score for *_, score, _ in found], [score for *_, score, _ in expected], rtol=1e-3)
    assert len({score for *_, score, _ in found}) < len(found)
    record = made.record(RUN_RECORD, system="s")
    assert record["made"]["precision"] == "float32"
    assert record["counts"]["self_matches_dropped"] == 2
    assert record["counts"]["tokens"] > record["counts"]["vectors_of_documents"] > 0
    assert record["bytes"]["index"] > 0


@pytest.mark.usefixtures("threads_as_before")
def test_answers_to_one_query_at_a_time_are_the_run(
    tmp_path: Path, settings: LateSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "SEGMENT_TOKENS", 50)
    queries = {name: TEXTS[name] for name in ("q1", "q2", "empty")}
    made = LateResults(tmp_path, CORPUS, queries, size=13, top_k=8).make_all(settings, token_budget=1)
    expected = rows_of(made.find_all(settings))
    assert len({score for _, _, score, _ in expected}) < len(expected)
    system = System("s", "late-interaction", settings.for_dataset(DATASET))
    assert answered(made.results, DATASET, [system], 8) == expected


@pytest.fixture
def small(tmp_path: Path, settings: LateSettings) -> LateResults:
    return LateResults(tmp_path, CORPUS, TEXTS, size=13, top_k=8).make_all(settings)


def test_vectors_say_what_they_were_made_from(small: LateResults) -> None:
    record = small.record(TOKEN_VECTORS_RECORD, system="s", chunk=1)
    assert record["inputs"] == small.digests(small.path(DOCUMENTS), small.path(MODEL, system="s"))
    assert record["outputs"] == small.digests(small.path(TOKEN_VECTORS, system="s", chunk=1))
    assert record["made"].keys() >= {"precision", "device", "torch", "transformers", "python"}
    assert (record["dim"], record["encoder"]["marker"]) == (DIM, "[unused1]")
    records = [small.record(TOKEN_VECTORS_RECORD, system="s", chunk=chunk) for chunk in range(small.chunks)]
    assert sum(each["rows"] for each in records) == len(CORPUS) > sum(each["distinct_texts"] for each in records)
    assert "artifact.metadata" in small.record(MODEL, system="s")["files"]
    queries = small.record(QUERY_TOKEN_VECTORS_RECORD, system="s")
    assert queries["encoder"]["expansion"] == {"length": 9, "attend": False, "token": None, "cut": True}
    assert (queries["encoder"]["max_length"], queries["encoder"]["overridden"]) == (9, ["query_length"])
    assert queries["counts"]["vectors_of_queries"] == 9 * len(TEXTS)
