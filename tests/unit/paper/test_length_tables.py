"""Lengths of retrieved and judged documents as tables."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from beirflow.analysis.lengths import histogram
from beirflow.files.records import Job, write_record
from beirflow.paper.length_tables import TABLES, histograms, write_length_tables
from beirflow.report.named_tables import read_named_csv


def lengths(*words: int) -> dict[str, Any]:
    return histogram(np.array(words, np.int64))


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, pd.DataFrame]:
    inspections, statistics = [], []
    for name, grades in (("trec-covid", ("0", "2")), ("s-a", ("1",)), ("s-b", ("1",))):
        found = {
            "all": lengths(1, 50, 900),
            "relevant": lengths(50),
            "retrieved": {"tas-b": lengths(10, 12, 11), "mine": lengths()},
        }
        judged = {"all": lengths(1, 50, 900), **{grade: lengths(50, 900) for grade in grades}}
        for kind, paths, content in (("i", inspections, found), ("s", statistics, judged)):
            paths.append(str(tmp_path / f"{kind}-{name}.json"))
            write_record(paths[-1], Job(tmp_path), inputs={}, outputs={}, dataset=name, lengths=content)
    rows = {"trec-covid": ["trec-covid"], "s": ["s-a", "s-b"]}
    write_length_tables(inspection_paths=inspections, statistics_paths=statistics, rows=rows, folder=str(tmp_path))
    return {name: read_named_csv(str(tmp_path / f"{name}.csv")) for name in TABLES}


def test_bins_are_histograms_again(tables: dict[str, pd.DataFrame]) -> None:
    found = histograms(tables["lengths-retrieved"])
    assert list(found) == ["trec-covid", "s"]
    edges, counts = found["trec-covid"]["all documents"]
    assert (edges[0], sum(counts)) == (1, 3)
    assert all(low < high for low, high in pairwise(edges))
    assert len(edges) == len(counts) + 1
    assert sum(found["s"]["tas-b"][1]) == 6
    assert "mine" not in found["s"]


def test_only_datasets_with_several_grades_are_shown_by_grade(tables: dict[str, pd.DataFrame]) -> None:
    assert tables["lengths-judged"][["dataset", "of"]].drop_duplicates().values.tolist() == [
        ["trec-covid", "grade 0"],
        ["trec-covid", "grade 2"],
    ]


def test_medians_stand_beside_the_printed_ones(tables: dict[str, pd.DataFrame]) -> None:
    medians = tables["lengths-medians"].set_index(["dataset", "of"])
    assert medians.loc[("trec-covid", "tas-b"), ["documents", "median", "printed"]].tolist() == [3, 11, 10]
    assert medians.loc[("trec-covid", "grade 2"), "median"] == 475
    assert np.isnan(medians.loc[("s", "tas-b"), "printed"])
    assert np.isnan(medians.loc[("s", "mine"), "median"])
