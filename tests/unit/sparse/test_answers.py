"""A sparse system that is asked for one query at a time answers what its run says, bit for bit."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from answering import answered
from beirflow.runs.family import System
from beirflow.sparse import files
from beirflow.sparse.settings import SparseSettings
from lexical_results import DATASET, rows_of
from model_results import SparseResults
from tiny_bert import WORDS

RANDOM = Random(2)
TEXTS = ["", *(" ".join(RANDOM.choices(WORDS[:30], k=RANDOM.randrange(1, 9))) for _ in range(12))]
CORPUS = [(f"d{i}", "", RANDOM.choice(TEXTS)) for i in range(40)]
"""Many have the same text, so that they tie."""
QUERIES = {"q1": "w1 w2 w3", "q2": "w4", "q3": "w7 w8 w9", "q4": "[PAD]"}

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.mark.parametrize(
    "own", [{"ties": "ascending"}, {"quantize": "lucene", "ties": "descending"}, {"queries": "tokens"}], ids=str
)
def test_answers_are_the_run(tmp_path: Path, model: Path, own: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SEGMENT_POSTINGS", 60)
    settings = SparseSettings("s", model=str(model), **own)
    made = SparseResults(tmp_path, CORPUS, QUERIES, size=17, top_k=12).make_all(settings, token_budget=1)
    expected = rows_of(made.find_all(settings))
    assert len({score for _, _, score, _ in expected}) < len(expected)
    assert answered(made.results, DATASET, [System("s", "sparse", settings)], 12) == expected
