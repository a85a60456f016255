"""A fused system that is asked for one query at a time answers what its run says, bit for bit."""

from pathlib import Path
from typing import Any

import pytest
from answering import answered
from beirflow.evaluation.measures import measure
from beirflow.files.layout import CORPUS, RUN, RUN_RECORD
from beirflow.fusion.fuse_runs import fuse_runs
from beirflow.fusion.settings import FusionSettings
from beirflow.imported.settings import ImportedSettings
from beirflow.lexical.settings import LexicalSettings
from beirflow.runs.answers import NoAnswerError
from beirflow.runs.family import System
from by_name import call
from lexical_results import DATASET, LexicalResults, rows_of

DOCUMENTS = [(f"d{i}", f"w{i % 3}", " ".join(f"w{n}" for n in range(i % 7))) for i in range(30)]
QUERIES = {"q1": "w1 w2", "q2": "nowhere", "q3": "w6 w0 w0"}
ONE, OTHER = LexicalSettings("one"), LexicalSettings("other", k1=2.0, fields=("title", "text"))


@pytest.mark.parametrize("own", [{}, {"depth": 3}, {"method": "sum", "normalize": "min-max", "weights": [1.0, 0.5]}], ids=str)
def test_answers_are_the_run(tmp_path: Path, own: dict[str, Any]) -> None:
    made = LexicalResults(tmp_path, DOCUMENTS, QUERIES, size=11, top_k=10).index_all()
    for settings in (ONE, OTHER):
        made.run(settings)
    fused = FusionSettings("fused", ["one", "other"], **own)
    call(
        fuse_runs,
        settings=fused,
        system=fused.name,
        dataset=DATASET,
        run_paths=[made.path(RUN, system=name) for name in fused.of],
        corpus_path=made.path(CORPUS),
        tuned_on=None,
        measure=measure,
        main_measure="NDCG@10",
        top_k=made.top_k,
        run_path=made.path(RUN, system="fused"),
        record_path=made.path(RUN_RECORD, system="fused"),
        job=made.job("fuse_runs"),
    )
    systems = [System("fused", "fusion", fused), System("one", "lexical", ONE), System("other", "lexical", OTHER)]
    assert answered(made.results, DATASET, systems, made.top_k) == rows_of(made.path(RUN, system="fused"))


def test_a_run_that_was_made_elsewhere_cannot_be_asked(tmp_path: Path) -> None:
    made = LexicalResults(tmp_path, DOCUMENTS, QUERIES, top_k=10).index_all()
    made.run(ONE)
    systems = [
        System("fused", "fusion", FusionSettings("fused", ["theirs", "one"])),
        System("theirs", "run", ImportedSettings("theirs", run="/runs/small.trec")),
        System("one", "lexical", ONE),
    ]
    record = Path(made.path(RUN_RECORD, system="fused"))
    record.parent.mkdir()
    record.write_bytes(Path(made.path(RUN_RECORD, system="one")).read_bytes())
    with pytest.raises(NoAnswerError, match="theirs was made elsewhere, so that it cannot be asked"):
        answered(made.results, DATASET, systems, made.top_k)
