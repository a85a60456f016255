"""A system of late interaction that is asked for one query at a time answers what its run says, bit for bit."""

from pathlib import Path
from random import Random

import pytest
from answering import answered
from beirflow.late import vectors
from beirflow.late.settings import LateSettings
from beirflow.runs.family import System
from lexical_results import DATASET, rows_of
from model_results import LateResults
from tiny_bert import WORDS
from tiny_colbert import save_colbert

RANDOM = Random(3)
TEXTS = ["", *(" ".join(RANDOM.choices(WORDS[:40], k=RANDOM.randrange(1, 12))) for _ in range(12))]
CORPUS = [(f"d{i}", "", RANDOM.choice(TEXTS)) for i in range(24)]
"""Many have the same text, so that they tie."""
QUERIES = {"q1": "w1 w2 w3", "q2": "w4", "q3": "."}

pytestmark = pytest.mark.usefixtures("threads_as_before")


def test_answers_are_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "SEGMENT_TOKENS", 50)
    settings = LateSettings("s", model=str(save_colbert(tmp_path / "model")), query_lengths={DATASET: 9})
    made = LateResults(tmp_path, CORPUS, QUERIES, size=13, top_k=8).make_all(settings, token_budget=1)
    expected = rows_of(made.find_all(settings))
    assert len({score for _, _, score, _ in expected}) < len(expected)
    assert answered(made.results, DATASET, [System("s", "late-interaction", settings.for_dataset(DATASET))], 8) == expected
