"""A system that is asked for one query at a time answers what its run says, and systems that cannot be asked say why."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from answering import answered, scores_of, without_scores
from approximate_results import KINDS
from beir_writer import write_beir
from beirflow.config.load import load_experiment
from beirflow.core.errors import DataError
from beirflow.core.layout import POSTINGS, RUN, RUN_RECORD
from beirflow.families.answers import NoAnswerError
from beirflow.families.dense import chunk
from beirflow.families.dense.chunk import Sizes
from beirflow.families.fusion.settings import FusionSettings
from beirflow.families.imported.settings import ImportedSettings
from beirflow.families.lexical import LexicalSettings
from beirflow.families.system import System
from forger import Forger
from lexical_results import DATASET, LexicalResults, damage, rows_of
from results_maker import Made, make_run, with_systems
from tiny_cross_encoder import save_cross_encoder
from workflow_runs import config_of

pytestmark = pytest.mark.usefixtures("threads_as_before")

DENSE: dict[str, dict[str, Any]] = {
    "bytes": {"vectors": "int8"},
    "bits": {"vectors": "binary"},
    "halves": {"vectors": "float16", "dimensions": 8},
    "short": {"dimensions": 5},
}
ENCODING: dict[str, dict[str, Any]] = {name: {"variant_of": "second", **own} for name, own in DENSE.items()} | KINDS


@pytest.mark.parametrize("name", ["tiny", "second", *ENCODING])
def test_answers_of_encoders_are_the_run(results_once: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Variants and approximate systems answer from what they store."""
    if name in KINDS:
        pytest.importorskip("faiss")
    monkeypatch.setitem(chunk.SIZES, "cpu", Sizes(2, 3, 7, 4))
    results = Forger.of(results_once, tmp_path).results
    config = with_systems(results_once.config, {name: ENCODING[name]} if name in ENCODING else {})
    for system in load_experiment(config).chosen_systems[2:] if name in ENCODING else [name]:
        experiment = make_run(results, config, system)
        found = answered(results, DATASET, [experiment.systems[each] for each in (system, "second")], 20)
        expected = rows_of(results / RUN(system=system, dataset=DATASET))
        np.testing.assert_allclose(scores_of(found), scores_of(expected), rtol=1e-2 if name == "bytes" else 1e-5)
        if name != "bytes":  # the last digit of a query may be on the other side of a step
            assert without_scores(found) == without_scores(expected)


TEXTS = {f"d{i}": {"title": f"w{i % 3}", "text": " ".join(f"w{n}" for n in range(i % 7))} for i in range(30)}
QUERIES = {"q1": "w1 w2 w2", "q2": "nowhere", "q3": "w6 w0 w0", "q4": "the"}
"""One of stop words alone, and one of which no term is there."""

MULTIFIELD = {"family": "lexical", "fields": ["title", "text"]}
FUSED, CROSSED = {"family": "fusion", "of": ["bm25", "other"]}, {"family": "rerank", "first": "bm25", "depth": 4}
EXACT: list[dict[str, Any]] = [
    *(own | {"ties": ties} for own in ({"family": "lexical"}, MULTIFIELD) for ties in ("ascending", "descending")),
    *(FUSED | own for own in ({}, {"depth": 3}, {"method": "sum", "normalize": "min-max", "weights": [1.0, 0.5]})),
    *(CROSSED | {"below": below} for below in ("drop", "keep")),
]


@pytest.mark.parametrize("own", EXACT, ids=str)
def test_answers_of_other_systems_are_the_run_in_every_bit(tmp_path: Path, own: dict[str, Any]) -> None:
    data, results = write_beir(tmp_path / "data", TEXTS, QUERIES, {query: {"d0": 1} for query in QUERIES}), tmp_path / "results"
    if "first" in own:
        own = own | {"model": str(save_cross_encoder(tmp_path / "model"))}
    systems = {"own": own, "other": MULTIFIELD | {"k1": 2.0}}
    sizes = {"chunk_documents": 11, "top_k": 10, "cutoffs": [1], "token_budget": 1}
    experiment = make_run(results, config_of(systems, data, **sizes), "own")
    expected = rows_of(results / RUN(system="own", dataset=DATASET))
    assert own["family"] != "lexical" or len({score for _, _, score, _ in expected}) < len(expected)  # some tie
    asked = [experiment.systems[name] for name in ("own", "bm25", "other")]
    assert answered(results, DATASET, asked, 10, token_budget=1) == expected


ONE = LexicalSettings("one")


@pytest.fixture
def made(tmp_path: Path) -> LexicalResults:
    corpus = [(name, each["title"], each["text"]) for name, each in TEXTS.items()]
    found = LexicalResults(tmp_path, corpus, QUERIES, size=11, top_k=10).index_all()
    found.run(ONE)
    return found


def test_postings_of_another_run_and_those_that_do_not_fit_into_memory_are_refused(
    made: LexicalResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = System("one", "lexical", ONE)
    with monkeypatch.context() as little:
        little.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=1000))
        with pytest.raises(NoAnswerError, match=r"GB of memory are needed to hold what is searched, and 0\.0 GB are free"):
            answered(made.results, DATASET, [system], made.top_k)
    damage(made.path(POSTINGS, chunk=1))
    with pytest.raises(DataError, match=r"chunk-1\.arrow: sha256 .*/runs/one/small\.json says"):
        answered(made.results, DATASET, [system], made.top_k)


def test_a_run_that_was_made_elsewhere_cannot_be_asked(made: LexicalResults) -> None:
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
