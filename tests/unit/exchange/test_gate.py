"""The gate: better, equal, worse and not comparable systems, beside scipy and a parser of XML."""

import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.datasets.corpus_files import RELEVANT_FROM
from beirflow.exchange.gate import NOT_COMPARABLE, PASSED, WORSE, GateSettings, check_gate
from beirflow.exchange.gate_files import write_comment, write_junit
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import read_json, write_json
from forger import Forger, put
from results_maker import Made
from results_writer import write_metrics
from run_results import RunResults
from scipy import stats

QUERIES = {f"q{number:02}": f"question {number}" for number in range(30)}
IDS = sorted(QUERIES)


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


def gated(two: tuple[Path, Path], **settings: Any) -> dict[str, Any]:
    """Give the gate's findings, open or closed."""
    words = ""
    try:
        check_gate(folder=str(two[0]), gate=GateSettings(str(two[1]), **settings), systems=["tiny"])
    except DataError as error:
        words = str(error)
    report = read_json(two[0] / "gate.json")
    assert (report["verdict"] == "failed") == bool(words)
    return report


def of(report: dict[str, Any], dataset: str) -> dict[str, Any]:
    (comparison,) = [each for each in report["comparisons"] if each["dataset"] == dataset]
    return dict(comparison)


def test_equal_results_pass_forums_too(results_once: Made, tmp_path: Path) -> None:
    for name in ("here", "there"):
        shutil.copytree(results_once.results, tmp_path / name)
    report = gated((tmp_path / "here", tmp_path / "there"))
    assert {each["status"] for each in report["comparisons"]} == {PASSED}
    assert {each["dataset"] for each in report["comparisons"]} == {"small", "more", "stack"}
    assert {each["difference"] for each in report["comparisons"]} == {0}
    assert {each["detectable"] for each in report["comparisons"]} == {None}  # equal values say nothing of their spread
    assert "manifest was taken as it is" in report["baseline_trusted"]
    assert report["baseline_trusted"] in (tmp_path / "here/gate.md").read_text()


@pytest.mark.parametrize(("here", "there", "status"), [(0.2, 0.8, WORSE), (0.8, 0.2, PASSED)])
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
    assert of(gated(two, tolerance=0.03), "small")["status"] == PASSED
    assert of(gated(two, tolerance=0.01), "small")["status"] == WORSE


def test_a_loss_that_chance_explains_passes(two: tuple[Path, Path]) -> None:
    ours = np.zeros(30)
    theirs = np.append(1.0, np.zeros(29))  # one query decides
    set_values(two[0], "small", ours)
    set_values(two[1], "small", theirs)
    comparison = of(gated(two), "small")
    assert comparison["difference"] < -0.01
    assert (comparison["status"], comparison["p"]) == (PASSED, 1)


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


def other_field(there: Forger) -> None:
    there.edit(CORPUS, put("characters", value={"mean": 9.5}))  # as of the same file, of which another field is the text
    there.edit(CORPUS, put("outputs", "corpora/small/documents.parquet", value="0" * 64))


def other_questions(there: Forger) -> None:
    there.edit_table(QUESTIONS, lambda queries: queries.assign(text="another question"))
    there.edit(CORPUS, put("outputs", QUESTIONS, value=file_digest(there.path(QUESTIONS))))


def other_judgements(there: Forger) -> None:
    there.edit_table(QRELS, lambda qrels: qrels[1:])
    there.edit(CORPUS, put("outputs", QRELS, value=file_digest(there.path(QRELS))))


def other_least_grade(there: Forger) -> None:
    qrels = pq.read_table(there.path(QRELS)).replace_schema_metadata({RELEVANT_FROM: "2"})
    pq.write_table(qrels, there.path(QRELS))
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
        (other_field, "other documents there"),
        (other_questions, "other queries there"),
        (other_judgements, "other judgements there"),
        (other_least_grade, "other judgements there"),
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
    check_gate(folder=str(two[0]), gate=GateSettings("second", tolerance=1), systems=["tiny", "second"])
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


def test_files_for_ci_systems_say_the_same(two: tuple[Path, Path]) -> None:
    set_values(two[0], "small", np.linspace(0.1, 0.2, 30))
    set_values(two[1], "small", np.linspace(0.8, 0.9, 30))
    report = gated(two)
    suite = ElementTree.parse(two[0] / "gate.xml").getroot()  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    (failed,) = [case for case in suite if len(case)]
    assert (failed.get("classname"), failed.get("name"), failed[0].tag) == ("tiny", "small", "failure")
    text = failed[0].text or ""  # which GitLab shows, and not the message
    assert text.startswith(failed[0].get("message", "no message"))
    assert f"\ndifference {of(report, 'small')['difference']:+.4f} (" in text
    assert "\nsmall q00: 0.1000, baseline 0.8000\n" in text
    comment = (two[0] / "gate.md").read_text(encoding="utf-8")
    assert comment.startswith("### Retrieval gate: failed\n")
    assert f"{of(report, 'small')['difference']:+.4f}" in comment


def test_names_that_are_markup_stay_text(tmp_path: Path) -> None:
    hostile = "<b>&]]>\x00\ud800|[x](http://evil)`\n# head"
    query = {"corpus": "a/b", "query": "q#1|", "text": hostile, "here": 0.0, "there": 1.0}
    numbers = dict.fromkeys(("mean", "baseline_mean", "difference", "low", "high", "p", "p_holm", "detectable"), 0.5)
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
