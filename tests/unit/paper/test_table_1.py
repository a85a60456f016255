"""Table 1: what is counted stands beside what is printed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beirflow.files.records import Job, write_record
from beirflow.paper.facts import load_facts
from beirflow.paper.table_1 import table_1, write_table_1
from beirflow.report.named_tables import read_named_csv

FACTS = load_facts()
COUNTS = {"documents": 5183, "titles": 5183, "queries": 300, "relevant": 339, "document_words": 1112417, "query_words": 3752}


def corpus(grades: tuple[int, ...] = (1,), **counts: int) -> dict[str, Any]:
    return {"counts": {**COUNTS, **counts}, "grades": dict.fromkeys(map(str, grades), 1)}


def test_a_corpus_stands_beside_what_is_printed_of_it() -> None:
    row = table_1({"scifact": [corpus()]}, FACTS).set_index("dataset").loc["scifact"]
    assert (row["task"], row["domain"], row["relevancy"], row["titles"]) == ("Fact Checking", "Scientific", "binary", 1)
    for name, tolerance in (
        ("queries", 0),
        ("documents", 0),
        ("relevant_per_query", 0.05),
        ("query_words", 0.2),
        ("document_words", 1.1),
    ):
        assert row[name] == pytest.approx(row[f"printed_{name}"], abs=tolerance)


def test_forums_count_together_and_levels_include_the_irrelevant() -> None:
    row = table_1({"own": [corpus((1, 2)), corpus((-1, 0, 2), titles=0)]}, FACTS).set_index("dataset").loc["own"]
    assert (row["documents"], row["titles"], row["relevancy"]) == (2 * 5183, 0.5, "3 levels")
    assert np.isnan(row["printed_documents"])


def test_what_is_not_here_is_empty_and_named() -> None:
    table = table_1({}, FACTS).set_index("dataset")
    assert table.loc["nq", "note"] == "not evaluated here"
    assert table.loc["bioasq", ["note", "domain", "printed_documents"]].tolist() == [
        "not public, so it needs a copy of one's own",
        "Bio-Medical",
        14914602,
    ]
    assert table["documents"].isna().all()
    assert table["printed_queries"].notna().all()


def test_the_table_is_written_from_the_records_of_all_corpora(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_record(tmp_path / f"{name}.json", Job(tmp_path), inputs={}, outputs={}, dataset=f"own-{name}", **corpus())
    paths = [str(tmp_path / f"{name}.json") for name in ("a", "b")]
    write_table_1(statistics_paths=paths, rows={"own": ["own-a", "own-b"]}, table_path=str(tmp_path / "table-1.csv"))
    assert read_named_csv(str(tmp_path / "table-1.csv")).set_index("dataset").loc["own", "queries"] == 600
