"""Runs of approximate systems: the documents that faiss finds, with exact scores, and the share of the exact hits."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from approximate_results import IVF_FLAT, KINDS
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.core.errors import DataError
from beirflow.core.layout import CHUNK_VECTORS, DOCUMENTS, INDEX, QUERIES, QUERY_VECTORS, RUN
from beirflow.core.records import read_json
from beirflow.evaluation.summary import summary_table
from forger import Forger
from lexical_results import rows_of
from results_maker import Made, evaluate, make_run, run_rules, with_systems

faiss: Any = pytest.importorskip("faiss")

pytestmark = pytest.mark.usefixtures("threads_as_before")

DATASET = "small"


@dataclass
class Results:
    """Results with approximate systems."""

    folder: Path
    experiment: Experiment
    forger: Forger

    def rows(self, system: str) -> dict[str, dict[str, float]]:
        """By query, the scores by document."""
        rows: dict[str, dict[str, float]] = {}
        for query, document, score, _ in rows_of(self.folder / RUN(system=system, dataset=DATASET)):
            rows.setdefault(query, {})[document] = score
        return rows

    def record(self, system: str) -> dict[str, Any]:
        return read_json((self.folder / RUN(system=system, dataset=DATASET)).with_suffix(".json"))

    def vectors(self, system: str) -> tuple[np.ndarray, np.ndarray]:
        """Vectors of queries and documents as they were encoded."""
        chunks = [np.load(self.folder / CHUNK_VECTORS(system=system, dataset=DATASET, chunk=chunk)) for chunk in range(2)]
        return np.load(self.folder / QUERY_VECTORS(system=system, dataset=DATASET)), np.concatenate(chunks)

    @property
    def ids(self) -> tuple[list[str], list[str]]:
        """Ids of queries and documents."""
        names = ((QUERIES, "query_id"), (DOCUMENTS, "doc_id"))
        queries, documents = (pq.read_table(self.folder / path(dataset=DATASET))[key].to_pylist() for path, key in names)
        return queries, documents


def made(original: Made, folder: Path, own: Mapping[str, Mapping[str, Any]], threads: int = 1, **changes: Any) -> Results:
    config = with_systems(original.config, own, **changes)
    forger, experiment = Forger.of(Made(original.results, config), folder), load_experiment(config)
    runs = [RUN(system=name, dataset=DATASET) for name in experiment.chosen_systems[2:]]
    run_rules(forger.results, experiment, runs, threads)
    return Results(forger.results, experiment, forger)


@pytest.fixture(scope="module")
def results(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Every kind of index over the normalised vectors of ``second``, and one that searches all lists; not to be changed."""
    return made(results_once, tmp_path_factory.mktemp("approximate"), {**KINDS, "all": {**IVF_FLAT, "nprobe": 4}})


def unit(vectors: np.ndarray) -> np.ndarray:
    exact = vectors.astype(np.float64)
    return (exact / np.linalg.norm(exact, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("base", ["second", "tiny"])
def test_a_run_has_the_documents_that_faiss_finds_with_the_exact_scores(
    results: Results, results_once: Made, tmp_path: Path, base: str
) -> None:
    if base == "tiny":
        results = made(results_once, tmp_path, {kind: {**own, "approximate": base} for kind, own in KINDS.items()})
    queries, documents = results.vectors(base)
    if base == "second":
        queries, documents = unit(queries), unit(documents)
    query_ids, doc_ids = results.ids
    for name in results.experiment.chosen_systems[2:]:
        settings = results.experiment.systems[name].settings
        path = results.folder / INDEX(system=base, dataset=DATASET, index=settings.in_paths)
        index, rows = faiss.read_index(str(path)), results.rows(name)
        inner = faiss.downcast_index(index)
        if settings.ef_search:
            inner.hnsw.efSearch = settings.ef_search
        if settings.nprobe:
            inner.nprobe = settings.nprobe
        _, expected = index.search(queries, min(20 * settings.rescore, settings.ef_search or len(documents)))
        for query_id, vector, found in zip(query_ids, queries, expected, strict=True):
            products = {
                doc_ids[row]: np.float32(documents[row].astype(float) @ vector.astype(float)) for row in found if row >= 0
            }
            assert set(rows[query_id]) == set(sorted(products, key=lambda doc: (products[doc], doc))[-20:])
            for document, score in rows[query_id].items():
                exact = documents[doc_ids.index(document)].astype(np.float64) @ vector.astype(np.float64)
                assert np.float32(score) == np.float32(exact)
            assert list(rows[query_id].values()) == sorted(rows[query_id].values(), reverse=True)


def test_the_record_counts_the_exact_hits_and_the_queries_with_fewer_documents(results: Results) -> None:
    exact = results.rows("second")
    for name in results.experiment.chosen_systems[2:]:
        rows, counts = results.rows(name), results.record(name)["counts"]
        share = sum(len({*list(exact[query])[:10]} & {*list(rows[query])[:10]}) for query in exact)
        assert (counts["exact_10"], counts["exact_10_found"]) == (40, share)
        assert counts["incomplete_queries"] == sum(len(found) < 20 for found in rows.values())
    assert results.record("hnsw-ef-6")["counts"]["incomplete_queries"] == 4
    assert max(map(len, results.rows("hnsw-ef-6").values())) == 6
    assert results.rows("all") == exact
    assert results.record("all")["counts"]["exact_10_found"] == 40
    assert results.record("all")["counts"]["incomplete_queries"] == 0
    assert results.record("all")["counts"]["self_matches_dropped"] == results.record("second")["counts"]["self_matches_dropped"]


def test_seconds_and_bytes_are_those_of_vectors_and_index_without_the_exact_search(results: Results) -> None:
    record, dense = results.record("flat"), results.record("second")
    built = results.experiment.systems["flat"].settings.in_paths
    index = read_json((results.folder / INDEX(system="second", dataset=DATASET, index=built)).with_suffix(".json"))
    assert set(record["seconds"]) == {"load", "queries", "index", "build", "search"}
    assert record["seconds"]["build"] == index["seconds"]["build"]
    assert record["seconds"]["search"] != dense["seconds"]["search"]
    assert record["bytes"]["index"] == dense["bytes"]["index"] + index["bytes"]["index"]
    assert RUN(system="second", dataset=DATASET) in record["inputs"]
    assert record["reproducible"] is True


def test_the_summary_has_the_shares_and_the_cost_of_the_index(results: Results) -> None:
    evaluate(results.folder, results.experiment, "flat", DATASET)
    paths = [f"{results.folder}/metrics/{system}/{DATASET}.json" for system in ("second", "flat")]
    table = summary_table(paths).set_index("system")
    counts = results.record("flat")["counts"]
    assert table.loc["flat", "exact@10"] == counts["exact_10_found"] / counts["exact_10"]
    assert table.loc["flat", "approximate_index_bytes"] == counts["approximate_index_bytes"]
    assert table.loc["flat", "build_seconds"] == results.record("flat")["seconds"]["build"]
    assert table.loc["second", ["exact@10", "approximate_index_bytes", "build_seconds"]].isna().all()
    assert not {"exact@10", "build_seconds"} & set(summary_table(paths[:1]).columns)


def test_the_number_of_threads_changes_no_row(results: Results, results_once: Made, tmp_path: Path) -> None:
    two = made(results_once, tmp_path, KINDS, threads=2)
    for name in two.experiment.chosen_systems[2:]:
        path = RUN(system=name, dataset=DATASET)
        assert pq.read_table(results.folder / path).equals(pq.read_table(two.folder / path))


def test_an_index_of_another_form_and_another_depth_are_refused(results_once: Made, tmp_path: Path) -> None:
    results = made(results_once, tmp_path, {"own": IVF_FLAT})
    config = with_systems(results_once.config, {"own": IVF_FLAT})
    with pytest.raises(DataError, match="it keeps 20 documents of a query, expected 25"):
        make_run(results.folder, {**config, "top_k": 25}, "own")
    (path,) = (results.folder / "indexes/second" / DATASET).glob("*.json")
    results.forger.edit(path.relative_to(results.folder).as_posix(), lambda record: record["built"].update(nlist=5))
    with pytest.raises(DataError, match="it was made from the built "):
        make_run(results.folder, config, "own")
