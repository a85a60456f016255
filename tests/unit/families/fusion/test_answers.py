"""A fused system that is asked for one query at a time answers what its run says, bit for bit."""

from pathlib import Path
from typing import Any

import pytest

from answering import answered
from beirflow.core.layout import RUN_RECORD
from beirflow.families.answers import NoAnswerError
from beirflow.families.fusion.settings import FusionSettings
from beirflow.families.imported.settings import ImportedSettings
from beirflow.families.lexical import LexicalSettings
from beirflow.families.system import System
from fused_runs import fuse_systems
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
    run = fuse_systems(made.results, fused, made.top_k)
    systems = [System("fused", "fusion", fused), System("one", "lexical", ONE), System("other", "lexical", OTHER)]
    assert answered(made.results, DATASET, systems, made.top_k) == rows_of(run)


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
    with pytest.raises(NoAnswerError, match="theirs was made outside, so it cannot answer queries"):
        answered(made.results, DATASET, systems, made.top_k)
