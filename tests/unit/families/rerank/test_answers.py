"""A reranker that is asked for one query at a time answers what its run says, bit for bit."""

from pathlib import Path

import pytest

from answering import answered
from beir_writer import write_beir
from beirflow.core.layout import RUN
from lexical_results import DATASET, rows_of
from results_maker import make_run
from tiny_cross_encoder import save_cross_encoder
from workflow_runs import config_of

TEXTS = {f"d{i}": {"title": f"w{i % 3}", "text": " ".join(f"w{n}" for n in range(i % 7))} for i in range(30)}
ASKED = {"q1": "w1 w2", "q2": "nowhere", "q3": "w6 w0 w0"}

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.mark.parametrize("below", ["drop", "keep"])
def test_answers_are_the_run(tmp_path: Path, below: str) -> None:
    data, results = write_beir(tmp_path / "data", TEXTS, ASKED, {query: {"d0": 1} for query in ASKED}), tmp_path / "results"
    crossed = {"family": "rerank", "first": "bm25", "model": str(save_cross_encoder(tmp_path / "model")), "depth": 4}
    sizes = {"chunk_documents": 11, "top_k": 10, "cutoffs": [1], "token_budget": 1}
    experiment = make_run(results, config_of({"crossed": {**crossed, "below": below}}, data, **sizes), "crossed")
    systems = [experiment.systems[name] for name in ("crossed", "bm25")]
    assert answered(results, DATASET, systems, 10, token_budget=1) == rows_of(results / RUN(system="crossed", dataset=DATASET))
