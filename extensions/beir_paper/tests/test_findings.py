"""Findings besides scores hold in the printed values, and are judged by the tables here, under the names of the paper."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from beirflow.extensions.beir_paper.efficiency import BUSY, HERE, MILLION, QUOTED, TIMES
from beirflow.extensions.beir_paper.findings import by_domain, numbers_here
from beirflow.extensions.beir_paper.printed_values import load_paper
from beirflow.extensions.papers.findings import FAILS, HOLDS, UNDECIDED, as_list, judge, judge_all, parse

PAPER = load_paper()
PRINTED = judge_all(PAPER.findings, {"printed": PAPER.numbers}, "", [*PAPER.datasets])
OF_NO_PRINTED_VALUE = ("same domain", "grade", "dot_words", "0 above difference", "without_text")


@pytest.mark.parametrize("row", PRINTED, ids=lambda row: row["number"])
def test_a_finding_holds_in_the_printed_values_if_there_are_any(row: dict[str, str]) -> None:
    assert row["printed"] == (UNDECIDED if row["compare"].startswith(OF_NO_PRINTED_VALUE) else HOLDS)


@pytest.mark.parametrize("finding", PAPER.findings, ids=lambda finding: finding["says"])
def test_a_finding_fails_where_results_say_the_opposite(finding: dict[str, Any]) -> None:
    comparisons = [each for each in map(parse, as_list(finding["compare"])) if each]
    assert len(comparisons) == len(as_list(finding["compare"]))
    datasets = finding.get("datasets") or [*PAPER.datasets]
    ends = [(each.first, -1e12) if each.first in each.systems else (each.systems[0], 1e12) for each in comparisons]
    scores = {(system, name): 1.0 for each in comparisons for system in each.systems for name in datasets}
    scores |= {(system, name): value for system, value in ends for name in datasets}
    assert judge(as_list(finding["compare"]), scores, datasets)[0] == FAILS


def tables(**changed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    none = [("system", "dataset", "source", "busy", *TIMES, "index_bytes"), ("system", "dataset", "ndcg", "ndcg_extra")]
    empty = dict(zip(("efficiency", "bias"), (pd.DataFrame(columns=list(columns)) for columns in none), strict=True))
    names = ("table-1", "overlap", "lengths-medians", "similarities")
    columns = ["dataset", "of", "dataset_a", "dataset_b", "similarity"]
    return {**{name: pd.DataFrame(columns=columns) for name in names}, **empty, **changed}


def test_times_of_a_busy_machine_and_quoted_ones_are_no_evidence_here() -> None:
    rows = [
        {"system": "tas-b", "source": HERE, "busy": BUSY, "gpu_ms": 5.0, "index_bytes": 7},
        {"system": "bm25-minilm-l6-ce", "source": HERE, "gpu_ms": 100.0, "index_bytes": 9},
        {"system": "mine", "source": HERE, "gpu_ms": 1.0},
        {"system": "ANCE", "source": QUOTED, "gpu_ms": 20.0},
    ]
    times = pd.DataFrame([{"dataset": MILLION, "busy": "", **dict.fromkeys(TIMES, np.nan), **row} for row in rows])
    numbers = numbers_here(tables(efficiency=times), PAPER)
    assert numbers == {"gpu_ms": {("BM25+CE", MILLION): 100.0}, "index_bytes": {("TAS-B", MILLION): 7, ("BM25+CE", MILLION): 9}}


def test_lengths_statistics_and_further_judgements_have_the_names_of_the_findings() -> None:
    lengths = [("nq", "tas-b", 10.0), ("nq", "TAS-B", 1.0), ("nq", "grade 1", 5.0), ("nq", "all documents", 9.0)]
    pairs = [("nq", "a", "b", 0.1, 20, 30), ("nq", "c", "d", 0.2, 1, 1)]  # of several pairs, the first
    columns = ["dataset", "cosine", "dot", "difference", "cosine_words", "dot_words"]
    judged = {"dataset": "trec-covid", "system": "ance-firstp", "ndcg": 0.5, "ndcg_extra": 0.75}
    statistics = {"dataset": "nq", "without_text": 3, "documents": 9}
    numbers = numbers_here(
        tables(
            **{
                "lengths-medians": pd.DataFrame(lengths, columns=["dataset", "of", "median"]),
                "similarities": pd.DataFrame(pairs, columns=columns),
                "bias": pd.DataFrame([judged]),
                "table-1": pd.DataFrame([statistics]).reindex(columns=[*statistics, "levels", "queries", *NUMBERS]),
            }
        ),
        PAPER,
    )
    assert numbers["median"] == {("TAS-B", "nq"): 10.0, ("grade 1", "nq"): 5.0}
    assert numbers["similarities"] == {("difference", "nq"): 0.1, ("cosine_words", "nq"): 20, ("dot_words", "nq"): 30}
    assert (numbers["gain"], numbers["ndcg_extra"]) == ({("ANCE", "trec-covid"): 0.25}, {("ANCE", "trec-covid"): 0.75})
    assert numbers["table-1"] == {("without_text", "nq"): 3, ("documents", "nq"): 9}


NUMBERS = ("relevant_per_query", "query_words", "document_words")


def test_overlap_is_compared_within_a_domain_and_across() -> None:
    pairs = [("nq", "fever", 0.6), ("nq", "fiqa", 0.2), ("nq", "scifact", 0.4), ("fever", "fiqa", 0.1), ("nq", "own", 0.9)]
    found = by_domain(pd.DataFrame(pairs, columns=["dataset_a", "dataset_b", "similarity"]), PAPER)
    medians = {(name, dataset): value for name, dataset, value in found.itertuples(index=False)}
    assert medians.pop(("other domains", "nq")) == pytest.approx(0.3)
    assert medians.pop(("other domains", "fiqa")) == pytest.approx(0.15)
    assert medians == {
        ("same domain", "nq"): 0.6,
        ("same domain", "fever"): 0.6,
        ("other domains", "fever"): 0.1,
        ("other domains", "scifact"): 0.4,
    }
