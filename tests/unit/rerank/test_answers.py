"""A reranker that is asked for one query at a time answers what its run says, bit for bit."""

from pathlib import Path
from typing import Any

import pytest
from answering import answered
from beirflow.files.layout import CORPUS, DOCUMENTS, MODEL, PAIRS, QUERIES, RUN, RUN_RECORD
from beirflow.lexical.settings import LexicalSettings
from beirflow.models.model_files import fetch_model
from beirflow.rerank.rerank_run import rerank_run
from beirflow.rerank.score_pairs import Scoring, score_pairs
from beirflow.rerank.settings import RerankSettings
from beirflow.runs.family import System
from by_name import call
from lexical_results import DATASET, LexicalResults, rows_of
from tiny_cross_encoder import save_cross_encoder

TEXTS = [(f"d{i}", f"w{i % 3}", " ".join(f"w{n}" for n in range(i % 7))) for i in range(30)]
ASKED = {"q1": "w1 w2", "q2": "nowhere", "q3": "w6 w0 w0"}
FIRST = LexicalSettings("first")

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_cross_encoder(tmp_path_factory.mktemp("cross") / "tiny")


@pytest.mark.parametrize("below", ["drop", "keep"])
def test_answers_are_the_run(tmp_path: Path, model: Path, below: Any) -> None:
    made = LexicalResults(tmp_path, TEXTS, ASKED, size=11, top_k=10).index_all()
    made.run(FIRST)
    settings, job = RerankSettings("crossed", str(model), first="first", depth=4, below=below), made.job("score_pairs")
    fetch_model(system=settings, said=None, output_path=made.path(MODEL, system="crossed"), job=job)
    first, pairs = made.path(RUN, system="first"), made.path(PAIRS, system="crossed", block=0)
    call(
        score_pairs,
        scoring=Scoring(settings, made.path(MODEL, system="crossed"), precision="float32", device="cpu", token_budget=1),
        first_run_path=first,
        queries_path=made.path(QUERIES),
        documents_path=made.path(DOCUMENTS),
        block=0,
        blocks=1,
        output_path=pairs,
        job=job,
    )
    call(
        rerank_run,
        settings=settings,
        system=settings.name,
        dataset=DATASET,
        first_run_path=first,
        pairs_paths=[pairs],
        corpus_path=made.path(CORPUS),
        top_k=made.top_k,
        run_path=made.path(RUN, system="crossed"),
        record_path=made.path(RUN_RECORD, system="crossed"),
        job=job,
    )
    systems = [System("crossed", "rerank", settings), System("first", "lexical", FIRST)]
    found = answered(made.results, DATASET, systems, made.top_k, token_budget=1)
    assert found == rows_of(made.path(RUN, system="crossed"))
