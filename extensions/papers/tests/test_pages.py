"""A paper beside results: a verdict on each value, the page, and the file that results make of themselves."""

import csv
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.cli import main
from beirflow.config.load import load_experiment
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json, write_json
from beirflow.extensions.papers.compare import BARRED, DIFFERS, EQUAL, NOT_RUN, WITHIN, Comparison
from beirflow.extensions.papers.files import paper_files
from beirflow.extensions.papers.findings import HOLDS
from beirflow.extensions.papers.page import compare_paper
from beirflow.extensions.papers.read import read_paper
from beirflow.extensions.papers.runs import Runs
from beirflow.extensions.papers.write import paper_of_results
from forger import FAILED, Forger, named
from results_maker import Made, run_rules
from results_writer import write_metrics

TEXT = """\
title: "<script>alert(1)</script>"
citation: An author 2027
measures: [NDCG@10, Recall@100]
decimals: 3
conventions: trec_eval-9
printed_as: {trec-covid: {Recall@100: R_cap@100}}
not_comparable: {arguana: {reason: self matches were left in}}
tolerance: {within: 0.01, reason: half precision, datasets: [fiqa]}
sources:
  table: {url: "https://example.org", place: table 1}
systems:
  first:
    system: [bm25-multifield, bm25]
    settings: {k1: 0.9}
    scores:
      scifact: [0.679, 0.925]
      nfcorpus: [0.322, 0.25]
      trec-covid: [0.6, 0.5]
      arguana: [0.4]
      fiqa: [0.25]
      quora: [0.7]
      signal1m: [0.3]
      scidocs: [0.2, null]
  second:
    needs: weights that are on no hub
    scores: {scifact: [0.7]}
  third:
    system: tas-b
    scores: {scifact: [0.7]}
findings:
  - {says: "<b>it</b> is best", compare: first above second on at least 1 of 1}
"""

MEASURED: dict[str, dict[str, float]] = {
    "scifact": {"NDCG@10": 0.6794, "Recall@100": 0.9244},
    "nfcorpus": {"NDCG@10": 0.3216, "Recall@100": 0.2508},
    "trec-covid": {"NDCG@10": 0.6, "Recall@100": 0.1, "R_cap@100": 0.5},
    "arguana": {"NDCG@10": 0.5},
    "fiqa": {"NDCG@10": 0.258},
    "quora": {"NDCG@10": 0.7},
    "scidocs": {"Recall@100": 0.3},
}


class NoRuns(Runs):
    """Runs that no convention explains, and whose values are those of the ranking rule."""

    def under_conventions(self, reference: Any, means: Any) -> float | None:
        return reference.ours(means)

    def cause(self, reference: Any, means: Any) -> str:
        return "unknown"


def means_of(folder: Path, **more: Any) -> list[str]:
    """The records of BM25."""
    kept = {"official_data": True} | more
    values = {name: {key: [value] for key, value in each.items()} for name, each in MEASURED.items()}
    return [write_metrics(folder, "bm25", name, each, **kept)[0] for name, each in values.items()]


def verdicts(folder: Path, paths: list[str], settings: dict[str, Any]) -> dict[tuple[str, str, str], tuple[str, str]]:
    (folder / "own.yaml").write_text(TEXT)
    means = {(each["system"], each["dataset"]): each for each in map(read_json, paths)}
    cells = Comparison(read_paper(folder / "own.yaml"), means, settings, NoRuns(folder)).cells()
    return {(each.system, each.dataset, each.measure): (each.verdict, each.cause) for each in cells}


def test_every_value_has_a_verdict_and_its_cause(tmp_path: Path) -> None:
    found = verdicts(tmp_path, means_of(tmp_path, precisions=[]), {"bm25": {"k1": 0.9}})
    assert found == {
        ("first", "scifact", "NDCG@10"): (EQUAL, ""),
        ("first", "scifact", "Recall@100"): (DIFFERS, "unknown"),  # by 0.0006, where 0.0005 is rounding
        ("first", "nfcorpus", "NDCG@10"): (EQUAL, ""),
        ("first", "nfcorpus", "Recall@100"): (DIFFERS, "unknown"),
        ("first", "trec-covid", "NDCG@10"): (EQUAL, ""),
        ("first", "trec-covid", "Recall@100"): (EQUAL, ""),
        ("first", "arguana", "NDCG@10"): (BARRED, "self matches were left in"),
        ("first", "fiqa", "NDCG@10"): (WITHIN, "0.00800: half precision"),
        ("first", "quora", "NDCG@10"): (EQUAL, ""),
        ("first", "signal1m", "NDCG@10"): (NOT_RUN, "the dataset is not public: it needs a copy of your own"),
        ("first", "scidocs", "NDCG@10"): (NOT_RUN, "NDCG@10 was not computed; add its cutoff to cutoffs"),
        ("second", "scifact", "NDCG@10"): (NOT_RUN, "weights that are on no hub"),
        ("third", "scifact", "NDCG@10"): (NOT_RUN, "tas-b is not configured; `beirflow paper own` configures it"),
    }


def test_a_model_may_compute_otherwise_on_another_machine(tmp_path: Path) -> None:
    found = verdicts(tmp_path, means_of(tmp_path, precisions=["float32"]), {"bm25": {"k1": 0.9}})
    verdict, cause = found["first", "scifact", "Recall@100"]
    assert (verdict, cause) == (WITHIN, "0.00060: the model computed in float32 on another machine")


@pytest.mark.parametrize(
    ("more", "settings", "expected"),
    [
        ({"official_data": False}, {"k1": 0.9}, (BARRED, "not evaluated on the official data")),
        ({"split": "dev"}, {"k1": 0.9}, (BARRED, "evaluated on the split dev, published on test")),
        ({}, {"k1": 1.2}, (NOT_RUN, "k1 is 1.2 here and 0.9 in the source")),
    ],
)
def test_other_data_and_other_settings_are_no_result(
    tmp_path: Path, more: dict[str, Any], settings: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert verdicts(tmp_path, means_of(tmp_path, **more), {"bm25": settings})["first", "scifact", "NDCG@10"] == expected


def compared(results: Path, paper: Path, described: dict[str, Any]) -> dict[str, Any]:
    """Make the page of a paper; the content of its record."""
    folder = results / f"papers/{paper.stem}"
    folder.mkdir(parents=True)
    compare_paper(
        paper_path=str(paper),
        means_paths=sorted(map(str, results.glob("metrics/*/*.json"))),
        described=described,
        manifest_path=str(results / "manifest.json"),
        folder=str(folder),
        job=Job(results, "compare_paper"),
    )
    return read_json(folder / "index.json")


def test_the_page_shows_both_values_and_its_files_are_recorded(tmp_path: Path) -> None:
    means_of(tmp_path, precisions=["float32"])
    write_json(tmp_path / "manifest.json", {"written": "2027-01-02T03:04:05+00:00"})
    (tmp_path / "own.yaml").write_text(TEXT.replace("[0.322, 0.25]", "[0.322, 0.251]"))
    record = compared(tmp_path, tmp_path / "own.yaml", {"bm25": {"k1": 0.9}})
    page = (tmp_path / "papers/own/index.html").read_text()
    assert "<script>alert" not in page
    assert "<b>it</b>" not in page
    for text in ("0.6794", "weights that are on no hub (1 value)", "half precision", "url https://example.org, place table 1"):
        assert text in page, text
    assert record["printed"] == {"own.yaml": file_digest(tmp_path / "own.yaml")}
    assert record["values"][NOT_RUN] == 4
    outputs = [f"papers/own/{name}" for name in ("index.html", "cells.csv", "findings.csv")]
    assert record["outputs"] == {name: file_digest(tmp_path / name) for name in outputs}
    with (tmp_path / outputs[2]).open() as stream:
        (finding,) = csv.DictReader(stream)
    assert (finding["printed"], finding["here"]) == ("does not hold", "undecided")


def test_simulated_results_of_the_whole_beir_paper_come_out_as_printed(tmp_path: Path) -> None:
    """Nine systems on all nineteen datasets, with the printed values in the files that an evaluation leaves."""
    paper = read_paper(paper_files()["beir-2021"])
    names = {system: paper.names(system)[0] for system in paper.systems if paper.names(system)}
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for each in paper.values:
        values.setdefault((each.system, each.dataset), {})[each.measure] = [each.value]
    means = {}
    for (system, dataset), of in values.items():
        if system in names:
            whole = {"official_data": None, "precisions": ["float32"], "split": "dev" if dataset == "msmarco" else "test"}
            path, _ = write_metrics(tmp_path, names[system], dataset, of, **whole)
            means[names[system], dataset] = read_json(path)
    settings = {name: dict(paper.systems[system]["settings"]) for system, name in names.items()}
    comparison = Comparison(paper, means, settings, NoRuns(tmp_path))
    cells = comparison.cells()
    lacking = {each.system for each in cells if each.verdict != EQUAL}
    assert lacking == {"ColBERT"}
    for finding in comparison.findings(cells):
        assert finding["printed"] == HOLDS, finding
        if "ColBERT" not in finding["compare"]:
            assert (finding["here"], finding["found_here"]) == (HOLDS, finding["found_printed"])
    found = {finding["number"]: finding["found_printed"] for finding in comparison.findings(cells)}
    assert found["2b"] == "docT5query above BM25 on 12 of 18"  # the paper says 11
    assert "mean TAS-B − mean GenQ is +0.0045 over 18 (95 % interval -0.0224 to +0.0314)" in found["5"]
    assert found["section 6a"] == "ANCE 0.144; BM25 0.064; docT5query 0.028; TAS-B 0.318"


def test_the_printed_averages_follow_from_the_printed_values_neither_as_ratio_of_means_nor_as_mean_of_ratios() -> None:
    paper = read_paper(paper_files()["beir-2021"])
    ndcg = {(each.system, each.dataset): each.value for each in paper.values if each.measure == "NDCG@10"}
    notes = {system: re.search(r"printed as ([−+][\d.]+) %", entry["note"] or "") for system, entry in paper.systems.items()}
    said = {system: float(note[1].replace("−", "-")) / 100 for system, note in notes.items() if note}
    means = {system: np.mean([ndcg[system, name] for name in paper.zero_shot]) for system in paper.systems}
    ratios = {system: np.mean([ndcg[system, name] / ndcg["BM25", name] - 1 for name in paper.zero_shot]) for system in said}
    off_means = [abs(means[system] / means["BM25"] - 1 - value) for system, value in said.items()]
    off_ratios = [abs(ratios[system] - value) for system, value in said.items()]
    assert (len(said), max(off_means), max(off_ratios)) == (9, pytest.approx(0.037, abs=0.001), pytest.approx(0.055, abs=0.001))


@pytest.fixture
def results(results_once: Made, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results_once.results, tmp_path / "results"))


def test_results_write_a_file_that_verifies_them(
    results: Path, results_once: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["paper", "--from", "results", "--id", "ours-2027", "--title", "Our table"]) == 0
    assert "To compare with them: beirflow paper ours-2027.yaml" in capsys.readouterr().out
    assert main(["paper", "--from", "results", "--id", "ours-2027"]) == 2  # it is there already
    assert main(["paper", "--from", "results"]) == 2
    config = results_once.config | {"papers": ["ours-2027.yaml"]}
    paper = read_paper(Path("ours-2027.yaml"))
    assert {system: paper.entry(system) for system in paper.systems} == config["custom"]["systems"]
    run_rules(results, load_experiment(config), ["papers/ours-2027/index.html"])
    record = read_json(results / "papers/ours-2027/index.json")
    assert record["verdict"] == EQUAL
    assert record["values"] == {EQUAL: 2 * 3, **dict.fromkeys((WITHIN, DIFFERS, BARRED, NOT_RUN), 0)}
    text = paper.path.read_text()
    first = f"{paper.values[0].value}"
    paper.path.write_text(text.replace(first, "0.0001", 1))
    run_rules(results, load_experiment(config), ["papers/ours-2027/index.html"])
    assert read_json(results / "papers/ours-2027/index.json")["verdict"] == DIFFERS


def test_an_audit_makes_the_page_again_and_finds_another_number(results: Path, results_once: Made) -> None:
    experiment = load_experiment(results_once.config)
    run_rules(results, experiment, ["papers/contriever-2021/index.html"])
    forger = Forger(results, experiment)
    names = [f"papers/contriever-2021/{name}" for name in ("index.html", "cells.csv")]
    assert [check for name in names for check in named(forger.checks(), name) if check.status == FAILED] == []
    assert "in-domain: it was trained on it (train)" in forger.path(names[0]).read_text()
    page = forger.path(names[0]).read_text().replace("0.274", "0.284")
    forger.replace(names[0], page.encode())
    assert FAILED in [check.status for check in named(forger.checks(), names[0])]


def test_results_that_were_changed_write_no_file(results: Path) -> None:
    path = results / "metrics/tiny/small.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(DataError, match="replaced after it was written"):
        paper_of_results(results, "ours", "Ours")


def test_all_papers_are_listed_with_what_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_metrics(tmp_path / "results", "bm25-multifield", "scifact", {"NDCG@10": [0.5]})
    assert main(["paper"]) == 0
    printed = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:4] for line in printed[1:-1]}
    assert [line for line in printed if line != line.rstrip()] == []
    assert rows["beir-2021"] == ["199", "1", "1"]
    assert rows["gtr-2021"] == ["54", "0", "0"]
    assert rows.keys() == paper_files().keys()
