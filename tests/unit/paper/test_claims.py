"""The verdicts on all findings, here and in the printed values, as they are written."""

from pathlib import Path

import pandas as pd
import pytest
from beirflow.analysis.lengths import histogram
from beirflow.files.csv_files import read_named_csv
from beirflow.files.records import Job, write_record
from beirflow.paper.claims import OF_A_QUERY, claims, write_claims
from beirflow.paper.evidence import FEW_SYSTEMS, HOLDS, UNDECIDED, Evidence, printed_scores
from beirflow.paper.facts import load_facts
from beirflow.paper.findings import FINDINGS
from results_writer import write_metrics

FACTS = load_facts()


def test_every_finding_has_a_verdict_here_and_on_the_printed_values() -> None:
    table = claims(Evidence(printed_scores(FACTS), FACTS, FACTS.median_words), FACTS)
    assert list(table["finding"]) == [finding.number for finding in FINDINGS for _ in range(2)]
    verdicts = table.pivot_table(index="finding", columns="source", values="verdict", aggfunc="first")
    assert (verdicts["here"] == verdicts["printed"]).all()
    assert (verdicts["printed"].drop("8") == HOLDS).all()
    assert verdicts.loc["8", "printed"] == FEW_SYSTEMS
    said = table.set_index(["finding", "source"])["sentence"]
    assert "table gives 12" in said["2b", "printed"]
    assert "table gives" not in said["2b", "here"]


def test_results_that_are_here_are_read_under_the_names_of_the_paper(tmp_path: Path) -> None:
    values = {"bm25": 0.4, "tas-b": 0.3, "ance": 0.5, "mine": 0.9}
    means = [write_metrics(tmp_path, system, "x", {"NDCG@10": [value]})[0] for system, value in values.items()]
    lengths = {"tas-b": [3, 5, 7], "ance": [30, 50, 70], "bm25": [9], "mine": [1]}
    for name in ("x-a", "x-b"):
        found = {"retrieved": {system: histogram(pd.array(words).to_numpy()) for system, words in lengths.items()}}
        write_record(tmp_path / f"{name}.json", Job(tmp_path), inputs={}, outputs={}, dataset=name, lengths=found)
    costs = [{"system": system, "dataset": "x", "queries": 10, **dict.fromkeys(OF_A_QUERY, 1.0)} for system in values]
    pd.DataFrame(costs).to_csv(tmp_path / "cost.csv", index=False)
    row = {"dataset": "x", "measure": "NDCG@10", "system_a": "ance", "system_b": "bm25", "difference": 0.1, "p": 0.01}
    pd.DataFrame([row]).to_csv(tmp_path / "significance.csv", index=False)
    names = {"costs_path": "cost.csv", "comparison_path": "significance.csv", "claims_path": "claims.csv"}
    write_claims(
        means_paths=means,
        inspection_paths=[str(tmp_path / f"{name}.json") for name in ("x-a", "x-b")],
        rows={"x": ["x-a", "x-b"]},
        **{key: str(tmp_path / name) for key, name in names.items()},
    )
    here = read_named_csv(str(tmp_path / "claims.csv")).query("source == 'here'").set_index("finding")
    assert here.loc["1c", "sentence"].startswith("In the mean of 1 dataset, BM25 is above 1 of 2 others: TAS-B. For a verdict,")
    assert (here.loc["1c", "verdict"], here.loc["1c", "coverage"]) == (UNDECIDED, "0 of 18")
    assert "significant for ANCE on 1 above and 0 below and TAS-B on 0 above and 0 below" in here.loc["3a", "sentence"]
    assert here.loc["6b", "verdict"] == UNDECIDED
    assert here.loc["6b", "datasets"] == "x"
    assert here.loc["8", "sentence"] == "There are no times of BM25+CE or ColBERT."
    assert here.loc["2a", "sentence"] == "DeepCT and SPARTA are not here."
    assert float(here.loc["6b", "numbers"].partition("tas-b x = ")[2].partition(";")[0]) == pytest.approx(5, abs=1)
