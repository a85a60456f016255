"""A dense system that is asked for one query at a time answers what its run says; variants answer from what they store."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answering import answered, scores_of, without_scores
from beirflow.dense import chunk_blocks
from beirflow.dense.chunk_blocks import Blocks
from beirflow.dense.compression import find_ranges
from beirflow.dense.search import search_chunk
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files.layout import CANDIDATES, CHUNK_VECTORS, DOCUMENTS, MODEL, QUERIES, QUERY_VECTORS, RANGES, RUN, RUN_RECORD
from beirflow.files.records import Job
from beirflow.runs.merge import merge_chunks
from by_name import call
from lexical_results import rows_of
from results_maker import Made

DATASET = "small"

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture(autouse=True)
def little_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunk_blocks.BLOCKS, "cpu", Blocks(2, 1, 7, 3, 4))


@pytest.mark.parametrize("name", ["tiny", "second"])
def test_answers_are_the_run(results_once: Made, name: str) -> None:
    experiment = load_experiment(results_once.config)
    found = answered(results_once.results, DATASET, [experiment.systems[name]], experiment.config["top_k"])
    expected = rows_of(results_once.results / RUN(system=name, dataset=DATASET))
    assert without_scores(found) == without_scores(expected)
    np.testing.assert_allclose(scores_of(found), scores_of(expected), rtol=1e-5)


@pytest.mark.parametrize(
    "own", [{"vectors": "int8"}, {"vectors": "binary"}, {"vectors": "float16", "dimensions": 8}, {"dimensions": 5}], ids=str
)
def test_answers_of_a_variant_are_its_run(results_once: Made, tmp_path: Path, own: dict[str, Any]) -> None:
    systems = results_once.config["custom"]["systems"] | {"variant": {"variant_of": "second", **own}}
    experiment = load_experiment(results_once.config | {"custom": results_once.config["custom"] | {"systems": systems}})
    results = tmp_path / "results"
    shutil.copytree(results_once.results, results)
    run = search_variant(results, experiment)
    found, expected = answered(results, DATASET, [experiment.systems["variant"]], 20), rows_of(run)
    np.testing.assert_allclose(scores_of(found), scores_of(expected), rtol=1e-2 if own.get("vectors") == "int8" else 1e-5)
    if own.get("vectors") != "int8":  # the last digit of a query may be on the other side of a step
        assert without_scores(found) == without_scores(expected)


def search_variant(results: Path, experiment: Experiment) -> str:
    """The run of the variant; gives its path."""
    job, variant = Job(results, "search"), experiment.variant("variant")
    corpus = {
        f"{name}_path": str(results / path(dataset=DATASET)) for name, path in (("queries", QUERIES), ("documents", DOCUMENTS))
    }
    names = {"system": "second", "dataset": DATASET}
    model, chunks = str(results / MODEL(system="second")), range(experiment.chunks(DATASET))
    vectors = [str(results / CHUNK_VECTORS(**names, chunk=chunk)) for chunk in chunks]
    ranges = str(results / RANGES(**names, dimensions="all"))
    of_corpus = {"documents_path": corpus["documents_path"], "model_path": model, "chunk_vectors_paths": vectors}
    find_ranges(system="second", **of_corpus, output_path=ranges, similarity="cosine", dimensions=None, job=job)
    candidates = [str(results / CANDIDATES(system="variant", dataset=DATASET, chunk=chunk)) for chunk in chunks]
    for chunk in chunks:
        call(
            search_chunk,
            **{"system": "variant", **corpus, "model_path": model, "chunk": chunk},
            query_vectors_path=str(results / QUERY_VECTORS(**names)),
            chunk_vectors_path=vectors[chunk],
            output_path=candidates[chunk],
            similarity="cosine",
            ranges_path=ranges if variant["vectors"] == "int8" else None,
            **variant,
            **experiment.retrieval(DATASET),
            device="cpu",
            job=job,
        )
    run, record = (str(results / path(system="variant", dataset=DATASET)) for path in (RUN, RUN_RECORD))
    made = {"system": "variant", "dataset": DATASET, "candidate_paths": candidates, "run_path": run, "record_path": record}
    call(merge_chunks, **made, **corpus, top_k=20, job=job)
    return run
