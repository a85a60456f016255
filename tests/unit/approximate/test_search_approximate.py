"""Runs of approximate systems: the documents that faiss finds, with exact scores, and the share of the exact hits."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from approximate_results import HNSW, IVF_FLAT, KINDS, make_approximate, with_systems
from beirflow.evaluation.summary import summary_table
from beirflow.experiment.experiment import Experiment
from beirflow.experiment.load import load_experiment
from beirflow.files.errors import DataError
from beirflow.files.layout import CHUNK_VECTORS, DOCUMENTS, INDEX, QUERIES, QUERY_VECTORS, RUN
from beirflow.files.records import read_json
from forger import Forger
from lexical_results import rows_of
from results_maker import Made, evaluate

faiss: Any = pytest.importorskip("faiss")

pytestmark = pytest.mark.usefixtures("threads_as_before")

DATASET = "small"
CHUNK = CHUNK_VECTORS(system="second", dataset=DATASET, chunk=0)


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
    forger = Forger.of(Made(original.results, config), folder)
    for name in load_experiment(config).chosen_systems[2:]:
        experiment = make_approximate(forger.results, config, name, threads=threads)
    return Results(forger.results, experiment, forger)


def unit(vectors: np.ndarray) -> np.ndarray:
    exact = vectors.astype(np.float64)
    return (exact / np.linalg.norm(exact, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("base", ["second", "tiny"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_the_documents_that_faiss_finds_with_the_exact_scores(
    results_once: Made, tmp_path: Path, kind: str, base: str
) -> None:
    results = made(results_once, tmp_path, {"own": {**KINDS[kind], "approximate": base}})
    queries, documents = results.vectors(base)
    if base == "second":
        queries, documents = unit(queries), unit(documents)
    query_ids, doc_ids = results.ids
    for name in results.experiment.chosen_systems[2:]:
        settings = results.experiment.systems[name].settings
        path = results.folder / INDEX(system=base, dataset=DATASET, index=settings.built.name)
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


def test_the_record_counts_the_exact_hits_and_the_queries_with_fewer_documents(results_once: Made, tmp_path: Path) -> None:
    results = made(results_once, tmp_path, {"graph": HNSW, "all": {**IVF_FLAT, "nprobe": 4}})
    exact = results.rows("second")
    for name in results.experiment.chosen_systems[2:]:
        rows, counts = results.rows(name), results.record(name)["counts"]
        share = sum(len({*list(exact[query])[:10]} & {*list(rows[query])[:10]}) for query in exact)
        assert (counts["exact_10"], counts["exact_10_found"]) == (40, share)
        assert counts["incomplete_queries"] == sum(len(found) < 20 for found in rows.values())
    assert results.record("graph-ef-6")["counts"]["incomplete_queries"] == 4
    assert max(map(len, results.rows("graph-ef-6").values())) == 6
    assert results.rows("all") == exact
    assert results.record("all")["counts"]["exact_10_found"] == 40
    assert results.record("all")["counts"]["incomplete_queries"] == 0
    assert results.record("all")["counts"]["self_matches_dropped"] == results.record("second")["counts"]["self_matches_dropped"]


def test_seconds_and_bytes_are_those_of_vectors_and_index_without_the_exact_search(results_once: Made, tmp_path: Path) -> None:
    results = made(results_once, tmp_path, {"own": IVF_FLAT})
    record, dense = results.record("own"), results.record("second")
    (path,) = (results.folder / "indexes/second" / DATASET).glob("*.json")
    index = read_json(path)
    assert set(record["seconds"]) == {"load", "queries", "index", "build", "search"}
    assert record["seconds"]["build"] == index["seconds"]["build"]
    assert record["seconds"]["search"] != dense["seconds"]["search"]
    assert record["bytes"]["index"] == dense["bytes"]["index"] + index["bytes"]["index"]
    assert RUN(system="second", dataset=DATASET) in record["inputs"]
    assert record["reproducible"] is True


def test_the_summary_has_the_shares_and_the_cost_of_the_index(results_once: Made, tmp_path: Path) -> None:
    results = made(results_once, tmp_path, {"own": IVF_FLAT})
    evaluate(results.folder, results.experiment, "own", DATASET)
    paths = [f"{results.folder}/metrics/{system}/{DATASET}.json" for system in ("second", "own")]
    table = summary_table(paths).set_index("system")
    counts = results.record("own")["counts"]
    assert table.loc["own", "exact@10"] == counts["exact_10_found"] / counts["exact_10"]
    assert table.loc["own", "approximate_index_bytes"] == counts["approximate_index_bytes"]
    assert table.loc["own", "build_seconds"] == results.record("own")["seconds"]["build"]
    assert table.loc["second", ["exact@10", "approximate_index_bytes", "build_seconds"]].isna().all()
    assert not {"exact@10", "build_seconds"} & set(summary_table(paths[:1]).columns)


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_and_the_chunks_change_no_row(results_once: Made, tmp_path: Path, kind: str) -> None:
    one, two = (made(results_once, tmp_path / str(n), {"own": KINDS[kind]}, threads=n) for n in (1, 2))
    for name in one.experiment.chosen_systems[2:]:
        path = RUN(system=name, dataset=DATASET)
        assert pq.read_table(one.folder / path).equals(pq.read_table(two.folder / path))


def test_an_index_of_other_vectors_a_changed_one_and_another_depth_are_refused(results_once: Made, tmp_path: Path) -> None:
    results = made(results_once, tmp_path, {"own": IVF_FLAT})
    config = with_systems(results_once.config, {"own": IVF_FLAT})
    with pytest.raises(DataError, match="it keeps 20 documents of a query, expected 25"):
        make_approximate(results.folder, {**config, "top_k": 25}, "own")
    (path,) = (results.folder / "indexes/second" / DATASET).glob("*.faiss")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DataError, match=r"\.faiss: sha256 .*says"):
        make_approximate(results.folder, config, "own")
    path.write_bytes(content)
    name = path.with_suffix(".json").relative_to(results.folder).as_posix()
    for change, says in (
        (lambda record: record["built"].update(nlist=5), "it was made from the built "),
        (
            lambda record: (record["built"].update(nlist=4), record["inputs"].update({CHUNK: "0" * 64})),
            rf"it was made from the {CHUNK} 000",
        ),
    ):
        results.forger.edit(name, change)
        with pytest.raises(DataError, match=says):
            make_approximate(results.folder, config, "own")
