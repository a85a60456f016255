"""The gate: better, equal, worse and not comparable systems, beside scipy and a parser of XML."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import read_json, write_json
from beirflow.extensions.exchange.gate import (
    NOT_COMPARABLE,
    NOT_WORSE,
    UNDECIDED,
    WORSE,
    check_gate,
    for_terminal,
)
from beirflow.extensions.exchange.gate_files import write_comment, write_junit
from beirflow.extensions.exchange.gate_settings import GateSettings
from forger import Forger, put
from results_maker import Made
from results_writer import write_metrics
from run_results import RunResults

QUERIES = {f"q{number:02}": f"question {number}" for number in range(30)}
IDS = sorted(QUERIES)
NUMBERS = ("mean", "baseline_mean", "difference", "low", "high", "p", "p_holm", "loss_bound", "detectable")


def make_results(folder: Path) -> Path:
    """Two systems on two datasets of thirty queries."""
    inputs = {}
    for dataset in ("small", "more"):
        qrels = {query: {"d0": 1} for query in QUERIES}
        results = RunResults(folder, {"d0": "text", "d1": "other"}, QUERIES, dataset=dataset, qrels=qrels)
        path = Path(results.corpus_path)
        said = {"split": "test", "source_sha256": {"corpus.jsonl": "1" * 64}, "characters": {"mean": 4.5}}
        write_json(path, read_json(path) | said)
        for system in ("tiny", "second"):
            means, _ = write_metrics(folder, system, dataset, {"NDCG@10": [0.5] * 30, "NDCG@1": [0.5] * 30}, IDS)
            inputs[f"metrics/{system}/{dataset}.json"] = file_digest(means)
    manifest = {"inputs": inputs, "datasets": {name: [{"name": name}] for name in ("small", "more")}}
    write_json(folder / "manifest.json", manifest)
    return folder


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Equal results of this build and of the baseline."""
    return make_results(tmp_path / "here"), make_results(tmp_path / "there")


def set_values(results: Path, dataset: str, values: np.ndarray, system: str = "tiny") -> None:
    """Values of every query, with every digest above them."""
    means, _ = write_metrics(results, system, dataset, {"NDCG@10": list(values)}, IDS)
    Forger(results).edit("manifest.json", put("inputs", f"metrics/{system}/{dataset}.json", value=file_digest(means)))


def gated(two: tuple[Path, Path], *, systems: Sequence[str] = ("tiny",), **settings: Any) -> dict[str, Any]:
    """Give the gate's findings, open or closed."""
    settings = {"measure": "NDCG@10", **settings}
    failed = False
    try:
        words = check_gate(folder=str(two[0]), gate=GateSettings(str(two[1]), **settings), systems=systems)
    except DataError as error:
        words, failed = str(error), True
    report = read_json(two[0] / "gate.json")
    assert (report["verdict"] == "failed") == failed
    assert words.startswith(f"gate {report['verdict']}: ")
    return report


def of(report: dict[str, Any], dataset: str) -> dict[str, Any]:
    (comparison,) = [each for each in report["comparisons"] if each["dataset"] == dataset]
    return dict(comparison)


def test_equal_results_pass_forums_too(results_once: Made, tmp_path: Path) -> None:
    for name in ("here", "there"):
        shutil.copytree(results_once.results, tmp_path / name)
    report = gated((tmp_path / "here", tmp_path / "there"))
    assert {each["status"] for each in report["comparisons"]} == {NOT_WORSE}
    assert report["verdict"] == "passed"
    assert {each["loss_bound"] for each in report["comparisons"]} == {0}
    assert {each["dataset"] for each in report["comparisons"]} == {"small", "more", "stack"}
    assert {each["difference"] for each in report["comparisons"]} == {0}
    assert {each["detectable"] for each in report["comparisons"]} == {None}  # equal values say nothing of their spread
    assert "manifest was taken as it is" in report["baseline_trusted"]
    assert report["baseline_trusted"] in (tmp_path / "here/gate.md").read_text()


@pytest.mark.parametrize(("here", "there", "status"), [(0.2, 0.8, WORSE), (0.8, 0.2, NOT_WORSE)])
def test_only_a_system_that_became_worse_fails(two: tuple[Path, Path], here: float, there: float, status: str) -> None:
    noise = np.linspace(0, 0.1, 30)
    set_values(two[0], "small", here + noise)
    set_values(two[1], "small", there + noise[::-1])
    comparison = of(gated(two), "small")
    assert comparison["status"] == status
    ours, theirs = (pq.read_table(side / "metrics/tiny/small.parquet")["NDCG@10"].to_numpy() for side in two)
    interval = stats.ttest_rel(ours, theirs).confidence_interval()
    assert (comparison["low"], comparison["high"]) == pytest.approx((interval.low, interval.high))
    if status == WORSE:
        assert comparison["lost"][0]["text"]
        lost = [query["here"] - query["there"] for query in comparison["lost"]]
        assert lost == sorted(lost)


def test_a_loss_within_the_tolerance_passes(two: tuple[Path, Path]) -> None:
    set_values(two[0], "small", np.full(30, 0.5))
    set_values(two[1], "small", np.full(30, 0.52))
    assert of(gated(two, tolerance=0.03), "small")["status"] == NOT_WORSE
    assert of(gated(two, tolerance=0.02), "small")["status"] == NOT_WORSE  # of numbers that are rounded
    assert of(gated(two, tolerance=0.01), "small")["status"] == WORSE


def test_not_worse_is_shown_by_a_bound_of_the_loss_at_the_level_that_the_correction_leaves(two: tuple[Path, Path]) -> None:
    pick = np.random.default_rng(3)
    theirs = pick.uniform(0.3, 0.7, 30)
    ours = theirs - 0.01 + pick.normal(0, 0.02, 30)
    for system in ("tiny", "second"):
        set_values(two[0], "small", ours, system)
        set_values(two[1], "small", theirs, system)
    of_one = {}
    for systems in (["tiny"], ["tiny", "second"]):
        tests = 2 * len(systems)  # each on two datasets
        level = 0.05 / tests
        low, high = stats.ttest_rel(theirs, ours).confidence_interval(1 - level)
        error = stats.sem(theirs - ours)
        shown = error * (stats.t.ppf(1 - level / 2, 29) + stats.t.ppf(0.8, 29))
        loss = float((theirs - ours).mean())
        assert (stats.ttest_rel(theirs, ours).pvalue < level, low < loss < high) == (True, True)
        for tolerance, status in (
            (high + 1e-9, NOT_WORSE),
            (high - 1e-9, UNDECIDED),
            (loss + 1e-9, UNDECIDED),
            (loss - 1e-9, WORSE),
        ):
            report = gated(two, systems=systems, tolerance=float(tolerance))
            found = of({"comparisons": report["comparisons"][:2]}, "small")
            assert (found["status"], report["level"]) == (status, level)
            assert (found["loss_bound"], found["detectable"]) == pytest.approx((high, shown))
        of_one[tests] = found["loss_bound"]
    assert of_one[4] > of_one[2]  # more comparisons show less of each


@pytest.mark.parametrize("does", ["pass", "fail"])
def test_a_large_loss_that_too_few_queries_show_is_undecided_in_every_file_and_its_end_is_a_setting(
    two: tuple[Path, Path], does: str
) -> None:
    theirs = np.repeat([1.0, 0.0, 0.5], [13, 6, 11])
    ours = np.repeat([0.0, 1.0, 0.5], [13, 6, 11])
    set_values(two[0], "small", ours)
    set_values(two[1], "small", theirs)
    report = gated(two, undecided=does)
    comparison = of(report, "small")
    assert (comparison["status"], comparison["difference"] < -0.2, comparison["p_holm"] > 0.05) == (UNDECIDED, True, True)
    assert report["verdict"] == {"pass": "undecided", "fail": "failed"}[does]
    # No such loss could have been shown, which is said.
    assert comparison["detectable"] > 0.01
    assert f"which these queries could not show: they show a loss of {comparison['detectable']:.4f}" in comparison["reason"]
    suite = ElementTree.parse(two[0] / "gate.xml").getroot()  # noqa: S314 - our own file
    counts = {"pass": ("0", "0", "1"), "fail": ("1", "0", "0")}[does]
    assert tuple(suite.get(name) for name in ("failures", "errors", "skipped")) == counts
    (case,) = [case for case in suite if len(case)]
    assert (case[0].tag, case[0].get("message")) == ({"pass": "skipped", "fail": "failure"}[does], comparison["reason"])
    comment = (two[0] / "gate.md").read_text(encoding="utf-8")
    terminal = for_terminal(report, "results")
    row = f"{comparison['loss_bound']:.4f} | {comparison['detectable']:.4f} | undecided |"
    assert row in comment
    assert re.search(rf"{comparison['loss_bound']:.4f} +{comparison['detectable']:.4f}  undecided\n", terminal)
    for text in (comment, terminal):
        assert "Both are at the level of 0.025 (0.05 over 2 comparisons)." in text
        assert "Undecided, 1 of 2: neither a loss is shown nor that it is at most 0.01" in text
        assert f"(gate.undecided: {does}). 1 of them could not have shown a loss of 0.01" in text


def test_a_dataset_that_the_baseline_has_and_this_build_has_not_fails(two: tuple[Path, Path]) -> None:
    Forger(two[0]).edit("manifest.json", lambda manifest: manifest["inputs"].pop("metrics/tiny/more.json"))
    reason = of(gated(two), "more")["reason"]
    assert "has no tiny on more" in reason
    assert [error.text for error in ElementTree.parse(two[0] / "gate.xml").iter("error")] == [reason]  # noqa: S314 - our own file
    assert of(gated(two[::-1]), "more")["status"] == NOT_COMPARABLE


CORPUS, QRELS, QUESTIONS = "corpora/small/corpus.json", "corpora/small/qrels.parquet", "corpora/small/queries.parquet"


def other_documents(there: Forger) -> None:
    there.edit(CORPUS, put("source_sha256", "corpus.jsonl", value="0" * 64))
    there.edit(CORPUS, put("outputs", "corpora/small/documents.parquet", value="0" * 64))


def other_questions(there: Forger) -> None:
    there.edit_table(QUESTIONS, lambda queries: queries.assign(text="another question"))
    there.edit(CORPUS, put("outputs", QUESTIONS, value=file_digest(there.path(QUESTIONS))))


def other_judgements(there: Forger) -> None:
    there.edit_table(QRELS, lambda qrels: qrels[1:])
    there.edit(CORPUS, put("outputs", QRELS, value=file_digest(there.path(QRELS))))


def self_matches(there: Forger) -> None:
    there.edit("manifest.json", put("datasets", "small", value=[{"name": "small", "drop_self_matches": False}]))


def no_number(there: Forger) -> None:
    means, values = "metrics/tiny/small.json", "metrics/tiny/small.parquet"
    pq.write_table(pa.table({"query_id": IDS, "NDCG@10": np.append(np.nan, np.full(29, 0.5))}), there.path(values))
    there.edit(means, put("outputs", values, value=file_digest(there.path(values))))
    there.edit("manifest.json", put("inputs", means, value=file_digest(there.path(means))))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda there: there.edit(CORPUS, split="dev"), "split test here and dev there"),
        (other_documents, "other documents there"),
        (
            lambda there: there.edit(CORPUS, note="another corpus, which says the same"),
            "corpora/small/corpus.json has the sha256",
        ),
        (other_questions, "other queries there"),
        (other_judgements, "other judgements there"),
        (self_matches, "drop_self_matches"),
        (no_number, "no finite number"),
        (lambda there: there.edit_table("metrics/tiny/small.parquet", lambda values: values[1:]), "sha256"),
        (lambda there: there.edit("metrics/tiny/small.json", seconds={}), "sha256"),
    ],
)
def test_what_is_not_comparable_fails_with_its_reason(two: tuple[Path, Path], change: Any, reason: str) -> None:
    change(Forger(two[1]))
    comparison = of(gated(two), "small")
    assert (comparison["status"], reason in comparison["reason"]) == (NOT_COMPARABLE, True)
    assert comparison["mean"] is None or comparison["p"] is None


def test_a_measure_that_one_side_lacks_is_named_with_those_that_it_has(two: tuple[Path, Path]) -> None:
    reason = of(gated(two, measure="NDCG@7"), "small")["reason"]
    assert "has no NDCG@7, but NDCG@" in reason


def test_a_configured_system_can_be_the_baseline(two: tuple[Path, Path]) -> None:
    check_gate(folder=str(two[0]), gate=GateSettings("second", measure="NDCG@10", tolerance=1), systems=["tiny", "second"])
    report = read_json(two[0] / "gate.json")
    assert {(each["system"], each["against"]) for each in report["comparisons"]} == {("tiny", "second")}


def test_a_baseline_that_is_nothing_says_what_it_can_be(two: tuple[Path, Path]) -> None:
    with pytest.raises(DataError, match="neither a configured system nor a folder of results"):
        check_gate(folder=str(two[0]), gate=GateSettings("/nowhere"), systems=["tiny"])
    assert not (two[0] / "gate.json").exists()


def test_a_baseline_that_is_not_the_published_one_is_refused(two: tuple[Path, Path]) -> None:
    digest = file_digest(two[1] / "manifest.json")
    assert gated(two, manifest_sha256=digest)["verdict"] == "passed"
    with pytest.raises(DataError, match="other results than the published ones"):
        check_gate(folder=str(two[0]), gate=GateSettings(str(two[1]), manifest_sha256="0" * 64), systems=["tiny"])
    assert not list(two[0].glob("gate.*"))  # nor the verdict of the gate before


def test_names_that_are_markup_stay_text(tmp_path: Path) -> None:
    hostile = "<b>&]]>\x00\ud800|[x](http://evil)`\n# head"
    query = {"corpus": "a/b", "query": "q#1|", "text": hostile, "here": 0.0, "there": 1.0}
    numbers = dict.fromkeys(NUMBERS, 0.5)
    comparison = {
        "system": "x|y",
        "dataset": "<d>",
        "against": "x",
        "status": "worse",
        "reason": hostile,
        "lost": [query],
        **numbers,
    }
    report = {"measure": "NDCG@10", "tolerance": 0.01, "baseline": hostile, "verdict": "failed", "comparisons": [comparison]}
    report |= {"alpha": 0.05, "level": 0.05, "undecided": "pass"}
    write_junit(tmp_path / "gate.xml", report)
    (case,) = ElementTree.parse(tmp_path / "gate.xml").getroot()  # noqa: S314 - our own file
    for text in (case[0].get("message"), case[0].text):
        assert str(text).startswith("<b>&]]>\ufffd\ufffd|")
    report["baseline_trusted"] = ""
    report["baseline"] = query["text"] = hostile.replace("\ud800", "")
    for address in (None, "https://ci/report.html"):
        write_comment(tmp_path / "gate.md", report | {"report": address}, {("a/b", "q#1|")})
        lines = (tmp_path / "gate.md").read_text(encoding="utf-8").splitlines()
        assert sum(line.startswith("#") for line in lines) == 1
        (row,) = [line for line in lines if "#query=" in line]
        assert f"]({address or 'report.html'}#query=a%2Fb/q%231%7C)" in row
        assert "\\<b\\>" in row
        assert any("links need report.html beside this file" in line for line in lines) == (address is None)
