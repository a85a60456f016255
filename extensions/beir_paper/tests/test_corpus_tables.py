"""Table 1 and the tables of lengths: what is counted is beside what is printed."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from beirflow.config.load import load_experiment
from beirflow.core.csv_files import read_named_csv
from beirflow.core.records import Job, write_record
from beirflow.extensions.beir_paper.corpus_tables import (
    JUDGED,
    MEDIANS,
    NDCG,
    PAIRS,
    RETRIEVED,
    histograms_of,
    table_1,
    write_length_tables,
    write_table_1,
)
from beirflow.extensions.beir_paper.printed_values import load_paper
from beirflow.extensions.beir_paper.similarities import similarity_pairs
from beirflow.report.analysis.lengths import histogram
from results_writer import write_metrics

PAPER = load_paper()
COUNTS = {
    "documents": 5183,
    "titles": 5183,
    "without_text": 7,
    "queries": 300,
    "relevant": 339,
    "document_words": 1112417,
    "query_words": 3752,
}


def corpus(grades: tuple[int, ...] = (1,), **counts: int) -> dict[str, Any]:
    return {"counts": {**COUNTS, **counts}, "grades": dict.fromkeys(map(str, grades), 1)}


def test_a_corpus_stands_beside_what_is_printed_of_it() -> None:
    row = table_1({"scifact": [corpus()]}, PAPER).set_index("dataset").loc["scifact"]
    assert (row["task"], row["domain"], row["titles"]) == ("Fact Checking", "Scientific", 1)
    assert row["without_text"] == 7
    tolerances = {
        "levels": 0,
        "queries": 0,
        "documents": 0,
        "relevant_per_query": 0.05,
        "query_words": 0.2,
        "document_words": 1.1,
    }
    for name, tolerance in tolerances.items():
        assert row[name] == pytest.approx(row[f"printed_{name}"], abs=tolerance)
    # Forums count together, and levels include the irrelevant.
    row = table_1({"own": [corpus((1, 2)), corpus((-1, 0, 2), titles=0)]}, PAPER).set_index("dataset").loc["own"]
    assert (row["documents"], row["titles"], row["levels"]) == (2 * 5183, 0.5, 3)
    assert np.isnan(row["printed_documents"])


def test_what_is_not_here_is_empty_and_named(tmp_path: Path) -> None:
    table = table_1({}, PAPER).set_index("dataset")
    assert table.loc["nq", "note"] == "not evaluated here"
    private = ["not public, so it needs a copy of one's own", "Bio-Medical", 14914602]
    assert table.loc["bioasq", ["note", "domain", "printed_documents"]].tolist() == private
    assert table["documents"].isna().all()
    assert table["printed_queries"].notna().all()
    # The table is written from the records of all corpora.
    for name in ("a", "b"):
        write_record(tmp_path / f"{name}.json", Job(tmp_path), inputs={}, outputs={}, dataset=f"own-{name}", **corpus())
    paths = [str(tmp_path / f"{name}.json") for name in ("a", "b")]
    write_table_1(statistics_paths=paths, rows={"own": ["own-a", "own-b"]}, table_path=str(tmp_path / "table-1.csv"))
    assert read_named_csv(str(tmp_path / "table-1.csv")).set_index("dataset").loc["own", "queries"] == 600


def lengths(*words: int) -> dict[str, Any]:
    return histogram(np.array(words, np.int64))


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, pd.DataFrame]:
    inspections, statistics = [], []
    for name, grades in (("trec-covid", ("0", "2")), ("s-a", ("1",)), ("s-b", ("1",))):
        every, retrieved = lengths(1, 50, 900), {"tas-b": lengths(10, 12, 11), "mine": lengths()}
        found = {"all": every, "relevant": lengths(50), "retrieved": retrieved}
        judged = {"all": every, **{grade: lengths(50, 900) for grade in grades}}
        for kind, paths, content in (("i", inspections, found), ("s", statistics, judged)):
            paths.append(str(tmp_path / f"{kind}-{name}.json"))
            write_record(paths[-1], Job(tmp_path), inputs={}, outputs={}, dataset=name, lengths=content)
    rows = {"trec-covid": ["trec-covid"], "s": ["s-a", "s-b"]}
    scores = {("tas-b", "trec-covid"): 0.5, ("mine", "trec-covid"): 0.25, ("tas-b", "s"): 0.25, ("mine", "s"): 0.5}
    means = [write_metrics(tmp_path, system, name, {NDCG: [value]})[0] for (system, name), value in scores.items()]
    paths = {"inspection_paths": inspections, "statistics_paths": statistics, "means_paths": means}
    write_length_tables(**paths, rows=rows, pairs=[("tas-b", "mine")], folder=str(tmp_path))
    return {name: read_named_csv(str(tmp_path / f"{name}.csv")) for name in (RETRIEVED, JUDGED, MEDIANS, PAIRS)}


def test_bins_are_histograms_again(tables: dict[str, pd.DataFrame]) -> None:
    found = histograms_of(tables["lengths-retrieved"])
    assert list(found) == ["trec-covid", "s"]
    edges, counts = found["trec-covid"]["all documents"]
    assert (edges[0], sum(counts)) == (1, 3)
    assert all(low < high for low, high in pairwise(edges))
    assert len(edges) == len(counts) + 1
    assert sum(found["s"]["tas-b"][1]) == 6
    assert "mine" not in found["s"]


def test_several_grades_are_shown_apart_and_medians_are_beside_the_printed_ones(tables: dict[str, pd.DataFrame]) -> None:
    by_grade = tables["lengths-judged"][["dataset", "of"]].drop_duplicates().values.tolist()
    assert by_grade == [["trec-covid", "grade 0"], ["trec-covid", "grade 2"]]
    medians = tables["lengths-medians"].set_index(["dataset", "of"])
    assert medians.loc[("trec-covid", "tas-b"), ["documents", "median", "printed"]].tolist() == [3, 11, 10]
    assert medians.loc[("trec-covid", "grade 2"), "median"] == 475
    assert np.isnan(medians.loc[("s", "tas-b"), "printed"])
    assert np.isnan(medians.loc[("s", "mine"), "median"])


def test_two_similarities_of_the_same_vectors_are_in_a_row(tables: dict[str, pd.DataFrame]) -> None:
    assert tables[PAIRS].fillna(-1).values.tolist() == [
        ["trec-covid", "tas-b", "mine", 0.5, 0.25, -0.25, 0.153, 11, -1],  # the text of the paper has this difference alone
        ["s", "tas-b", "mine", 0.25, 0.5, 0.25, -1, 11.5, -1],
    ]


def test_systems_that_compare_the_same_vectors_by_the_cosine_and_by_the_dot_product_are_a_pair() -> None:
    hub = {"model": "some/model", "revision": "0" * 40}
    systems = {"own": {**hub, "similarity": "cosine"}, "dot": {"variant_of": "own", "similarity": "dot"}}
    systems["bits"] = {"variant_of": "own", "vectors": "binary"}
    for chosen, expected in ((["bits", "own"], []), (["dot", "bits", "own"], [("own", "dot")])):
        assert similarity_pairs(load_experiment({"systems": chosen, "custom": {"systems": systems}})) == expected
