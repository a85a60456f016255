"""An audit passes what was left alone, and finds and names whatever was changed, taken away, or added."""

import copy
import json
import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from beirflow.audit.audit import audit
from beirflow.audit.chain import Chain, check_digests
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, Check
from beirflow.audit.folder.reading import read_record
from beirflow.audit.manifest import check_manifest
from beirflow.audit.replay.replay import NAME, SOURCES
from beirflow.audit.verdict import for_terminal
from beirflow.config.load import load_experiment
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.kinds import DERIVED
from beirflow.core.layout import AUDIT, AUDIT_RECORD, REPORT_RECORD
from beirflow.core.records import FORMAT, RECORD_DIGEST, read_json, write_json
from beirflow.extensions.beir_paper import layout as paper
from beirflow.extensions.choice import layout as choice
from beirflow.extensions.papers import layout as papers
from forger import Forger, named, put
from results_maker import Made
from tiny_bert import save_tiny_bert


@pytest.fixture
def audited(results_once: Made, tmp_path: Path) -> Forger:
    """A copy, since some of these tests write into its files."""
    shutil.copytree(results_once.results, tmp_path / "results")
    return Forger(tmp_path / "results", load_experiment(results_once.config))


@pytest.fixture
def elsewhere(audited: Forger) -> Forger:
    """The same on a machine that knows neither datasets nor models."""
    return Forger(audited.results)


def swap(one: Path, other: Path) -> None:
    spare = one.with_name("spare")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)


def test_results_that_nobody_touched_pass_every_check_and_are_left_as_they_are(audited: Forger) -> None:
    before = {path: path.read_bytes() for path in audited.results.rglob("*") if path.is_file()}
    words = audit(folder=str(audited.results), experiment=audited.experiment, sample=5)
    after = {path: path.read_bytes() for path in audited.results.rglob("*") if path.is_file()}
    report = read_json(audited.path("audit.json"))
    assert {name for name in after if name not in before} == {audited.path("audit.json"), audited.path("audit.html")}
    assert {path: after[path] for path in before} == before
    assert (report["verdict"], report["counts"][FAILED], report["affected"]) == (PASSED, 0, [])
    assert f"The audit of {audited.results} passed" in words
    assert tuple(report["sections"]) == ("chain", "configuration", "replay", "sample", "published scores")
    assert [step for step in report["grades"] if step[1] != "yes"] == []


def test_elsewhere_what_is_not_there_is_not_checked_and_the_rest_passes(elsewhere: Forger) -> None:
    shutil.rmtree(elsewhere.path("embeddings/second"))
    for path in elsewhere.path("embeddings/tiny").rglob("*.npy"):
        path.unlink()
    checks = elsewhere.checks(sample=3)
    assert [check for check in checks if check.status == FAILED] == []
    not_checked = " ".join(check.found for check in checks if check.status == NOT_CHECKED)
    assert "the source of small is not here" in not_checked
    assert "the model or file of tiny is not known here" in not_checked
    assert "embeddings/second/small/" in not_checked


def chained(forger: Forger) -> list[Check]:
    """What the chain of digests alone says."""
    chain = Chain(forger.results)
    checks = check_manifest(chain)
    return checks + chain.guarded("chain", "manifest.json", partial(check_digests, chain)) if chain.manifest else checks


def test_one_flipped_byte_in_any_file_is_found_and_the_file_named(audited: Forger) -> None:
    names = sorted(path.relative_to(audited.results).as_posix() for path in audited.results.rglob("*") if path.is_file())
    kinds = {(name.split("/")[0], Path(name).name.split("-")[0], Path(name).suffix): name for name in names}
    assert {kind[0] for kind in kinds} == {"corpora", "embeddings", "manifest.json", "metrics", "models", "runs", "summary.csv"}
    del kinds["runs", "small.trec.gz", ".gz"]  # which is made again, since no record names it
    records, others = ([name for name in kinds.values() if name.endswith(".json") == wanted] for wanted in (True, False))
    missed = []
    # A record that is damaged hides what it names; other files hide nothing of each other.
    for together in (others, *([name] for name in records)):
        contents = {name: audited.path(name).read_bytes() for name in together}
        for part in (0, 0.5, 1) if "manifest.json" in contents else (0.5,):
            for name, content in contents.items():
                place = int(part * (len(content) - 1))
                audited.path(name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            found = {check.files for check in chained(audited) if check.status == FAILED}
            missed += [(name, part) for name in together if (name,) not in found]
        for name, content in contents.items():
            audited.path(name).write_bytes(content)
    assert missed == []


def test_a_manifest_that_lacks_something_fails(audited: Forger) -> None:
    manifest = read_json(audited.path("manifest.json"))
    for key in ("systems", "datasets", "configuration", "inputs", "outputs", "repository", RECORD_DIGEST):
        write_json(audited.path("manifest.json"), {name: value for name, value in manifest.items() if name != key})
        if key == RECORD_DIGEST:
            audited.path("manifest.json").write_text(json.dumps(manifest, indent=2))
        assert any("manifest.json" in check.files for check in audited.failed(sample=1)), key


@pytest.mark.parametrize("name", ["metrics/../../secret/x.json", "/etc/passwd", "metrics/tiny/../tiny.json", "metrics/-x/y.json"])
def test_a_path_that_leaves_the_folder_is_refused(audited: Forger, name: str) -> None:
    manifest = read_json(audited.path("manifest.json"))
    manifest["inputs"][name] = "0" * 64
    write_json(audited.path("manifest.json"), manifest)
    assert any(repr(name) in check.found for check in audited.failed())


LEAVES = ["../secret.json", "/etc/passwd", "runs/../../secret.json", "runs//x.json", "", "runs/tiny/"]


@pytest.mark.parametrize("key", ["inputs", "outputs"])
def test_a_path_in_any_record_that_leaves_the_folder_is_refused_and_not_followed(audited: Forger, key: str) -> None:
    original = read_json(audited.path("runs/tiny/small.json"))
    for name in LEAVES:
        write_json(audited.results.parent / "secret.json", {"path": name, "inputs": {}, "outputs": {}})
        named = {name: file_digest(audited.results.parent / "secret.json"), **original[key]}
        write_json(audited.path("runs/tiny/small.json"), {**original, key: named})
        chain = Chain(audited.results, read_record(audited.path("manifest.json")))
        chain.follow()
        assert name not in {**chain.claims, **chain.records}
        found = next(check for check in chain.problems if repr(name) in check.found)
        assert (found.files, found.results) == (("runs/tiny/small.json",), (("tiny", "small"),))
        assert "no path below the results" in found.found
    assert found.found in [check.found for check in audited.failed()]


def test_what_is_no_digest_is_refused_and_named(audited: Forger) -> None:
    name = "corpora/small/queries.parquet"
    for digest in (3, None, ["0" * 64], "0" * 63, "G" * 64):
        audited.edit("runs/tiny/small.json", put("inputs", name, value=digest))
        chain = Chain(audited.results, read_record(audited.path("manifest.json")))
        chain.follow()
        assert f"the sha256 of {name} is {digest!r}" in " ".join(check.found for check in chain.problems)


def test_a_record_at_a_path_that_is_not_its_own_is_refused_even_with_every_digest_forged(audited: Forger) -> None:
    shutil.copy(audited.path("runs/second/small.json"), audited.path("runs/tiny/small.json"))
    audited.digest_again()
    (found, *_) = [check for check in audited.failed() if "runs/tiny/small.json" in check.files]
    assert "is the record of 'runs/second/small.json'" in found.found
    assert ("tiny", "small") in found.results


def test_records_that_name_each_other_or_the_same_ones_again_and_again_are_followed_once(audited: Forger) -> None:
    last = 60
    for number in range(last + 1):
        others = [f"postings/{other}.json" for other in (number + 1, number + 2, number) if other <= last]
        record = {"path": f"postings/{number}.json", "format": FORMAT, "inputs": dict.fromkeys(others, "0" * 64), "outputs": {}}
        write_json(audited.path(f"postings/{number}.json"), record)
    run = read_json(audited.path("runs/tiny/small.json"))
    run["inputs"]["postings/0.json"] = "0" * 64
    write_json(audited.path("runs/tiny/small.json"), run)
    chain = Chain(audited.results, read_record(audited.path("manifest.json")))
    chain.follow()
    assert chain.problems == []
    assert chain.results[f"postings/{last}.json"] == {("tiny", "small")}


def test_two_runs_that_changed_places_are_found_with_and_without_their_records(audited: Forger) -> None:
    swap(audited.path("runs/tiny/small.parquet"), audited.path("runs/second/small.parquet"))
    found = audited.failed()
    assert {("tiny", "small"), ("second", "small")} <= {result for check in found for result in check.results}
    swap(audited.path("runs/tiny/small.json"), audited.path("runs/second/small.json"))
    named = {name for check in audited.failed() for name in check.files}
    assert {"runs/tiny/small.parquet", "runs/second/small.json", "metrics/tiny/small.parquet"} <= named


def test_a_number_edited_in_the_summary_is_found_and_named(audited: Forger) -> None:
    summary = pd.read_csv(audited.path("summary.csv"))
    summary.loc[1, "NDCG@10"] += 0.01
    summary.to_csv(audited.path("summary.csv"), index=False)
    assert any("summary.csv" in check.files for check in audited.failed())
    audited.digest_again()
    (found,) = audited.failed()
    assert f"is {summary.loc[1, 'NDCG@10']}, expected" in found.found
    assert "NDCG@10 of " in found.found


def change_a_grade(audited: Forger) -> None:
    retrieved = pd.read_parquet(audited.path("runs/tiny/small.parquet")).query("rank <= 10")
    best = set(zip(retrieved["query_id"], retrieved["doc_id"], strict=True))

    def change(qrels: pd.DataFrame) -> pd.DataFrame:
        row = next(i for i, pair in enumerate(zip(qrels["query_id"], qrels["doc_id"], strict=True)) if pair in best)
        qrels.loc[row, "score"] = 3 - qrels.loc[row, "score"]
        return qrels

    audited.edit_table("corpora/small/qrels.parquet", change)


def test_a_changed_judgement_is_found_at_every_step_of_forging(elsewhere: Forger) -> None:
    """By its digest; one step up, where its nearest record is forged; and by the measures, where every record is."""
    change_a_grade(elsewhere)
    found = next(check for check in elsewhere.failed() if "corpora/small/qrels.parquet" in check.files)
    assert set(found.results) == {("tiny", "small"), ("second", "small")}
    assert ".json)" in found.expected
    assert "mv " in found.repair
    digest = file_digest(elsewhere.path("corpora/small/qrels.parquet"))
    elsewhere.edit("corpora/small/corpus.json", put("outputs", "corpora/small/qrels.parquet", value=digest))
    checks = [check for check in elsewhere.failed() if "corpora/small/corpus.json" in check.files]
    assert any("(metrics/tiny/small.json)" in check.expected for check in checks)
    elsewhere.digest_again()
    checks = elsewhere.failed()
    names = {check.name for check in checks}
    assert NAME in names
    assert "files are as they were recorded" not in names
    assert ("tiny", "small") in {result for check in checks for result in check.results}


def test_a_judgement_that_changes_no_measure_is_found_beside_its_source(audited: Forger) -> None:
    more = pd.DataFrame({"query_id": ["q3"], "doc_id": ["d029"], "score": [0]})
    audited.edit_table("corpora/more/qrels.parquet", lambda qrels: pd.concat([qrels, more]))
    audited.digest_again()
    assert SOURCES in [check.name for check in named(audited.failed(), "corpora/more/qrels.parquet")]


def test_another_model_under_the_same_path_is_found(audited: Forger, tmp_path: Path) -> None:
    config = copy.deepcopy(dict(audited.experiment.config))
    other = save_tiny_bert(tmp_path / "other", seed=1)
    config["custom"]["systems"]["tiny"]["model"] = str(other)
    audited.experiment = load_experiment(config)
    found = audited.failed(sample=2)
    (model, *_) = named(found, "models/tiny.json")
    assert (model.name, set(model.results)) == (SOURCES, {("tiny", "small"), ("tiny", "more"), ("tiny", "stack")})


def test_forged_vectors_are_found_by_encoding_again(audited: Forger) -> None:
    audited.edit_array("embeddings/tiny/small/chunk-1.npy", lambda vectors: vectors[::-1])
    audited.digest_again()
    failed = [check for check in audited.failed(sample=30) if check.files != ("summary.csv",)]
    # Another dataset shares texts, and with these their vectors.
    assert {result for check in failed for result in check.results} == {("tiny", "small"), ("tiny", "more")}


def test_a_damaged_record_keeps_no_other_result_from_being_made_again(audited: Forger) -> None:
    audited.path("runs/tiny/small.json").write_text("{}")
    sections = audited.sections(sample=3)
    failed = [check for check in sections["chain"] if check.status == FAILED]
    assert {(check.files, check.results) for check in failed} == {(("runs/tiny/small.json",), (("tiny", "small"),))}
    passed = {check.results for check in sections["sample"] if check.status == PASSED}
    assert {(("second", "small"),), (("tiny", "more"),)} <= passed


def test_missing_files_are_named_with_what_depends_on_them(audited: Forger) -> None:
    names = ("runs/tiny/small.parquet", "runs/second/small.json", "corpora/more/corpus.json", "metrics/tiny/stack-tex.parquet")
    for name in (*names, "summary.csv"):
        audited.path(name).unlink()
    failed = [check for check in audited.failed() if check.name == "no file is missing"]
    for name in (*names, "summary.csv"):
        found = next(check for check in failed if name in check.files)
        assert found.results
        assert found.repair.startswith("snakemake --directory ")
        assert f" {audited.results}/{name}" in found.repair
        assert found.repair.endswith(f" {audited.results}/summary.csv")


def test_whatever_the_rules_write_for_reading_is_not_left_over(audited: Forger) -> None:
    """Though these are empty, and so do not show the results."""
    of_one = {
        "figure": "cost",
        "dataset": "small",
        "system": "tiny",
        "table": "leaderboard",
        "task": "SciFact",
        "depth": 10,
        "other": "more",
        "paper": "contriever-2021",
    }
    names = {pattern(**of_one) for pattern in DERIVED} | {"code/workflow/rules/audit.smk"}
    assert {"cost.csv", "significance.csv", "report.html", "figures/cost.svg", "inspection/small.json"} <= names
    for name in names - {REPORT_RECORD, choice.RECORD, paper.RECORD, papers.RECORD(**of_one), AUDIT, AUDIT_RECORD}:
        audited.path(name).parent.mkdir(parents=True, exist_ok=True)
        audited.path(name).touch()
    assert [check for check in audited.sections()["chain"] if check.status == FAILED] == []


def test_a_failure_is_written_down_and_then_raised_with_the_numbers_that_are_affected(audited: Forger) -> None:
    audited.path("runs/tiny/stack-tex.parquet").write_bytes(b"<script>alert(1)</script>")
    audited.path("<b>").write_text("")
    with pytest.raises(DataError, match="Affected numbers of the summary: tiny on stack") as caught:
        audit(folder=str(audited.results), experiment=audited.experiment)
    assert "runs/tiny/stack-tex.parquet has the sha256" in str(caught.value)
    report = read_json(audited.path("audit.json"))
    assert (report["verdict"], report["affected"]) == (FAILED, [["tiny", "stack"]])
    page = audited.path("audit.html").read_text()
    assert "The audit failed" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "://" not in page


def test_a_folder_without_a_manifest_says_how_to_make_one(tmp_path: Path, audited: Forger) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"snakemake --directory .* --cores 2"):
        audit(folder=str(tmp_path / "empty"), experiment=audited.experiment)


def test_the_terminal_has_failures_first_and_no_warning_longer_than_its_verdict() -> None:
    long = {"status": "warning", "details": ["x" * 5000], "follows": [], "repair": "rm " + "y" * 5000}
    failure = {"status": "failed", "details": ["z; expected: w", "v"], "follows": ["a", "b"], "repair": "rm z"}
    report = {
        "counts": {"failed": 1, "warning": 1},
        "verdict": "failed",
        "grades": [],
        "findings": [failure, long],
        "affected": [],
        "proved": [],
        "not_checked": [],
    }
    lines = for_terminal(report, "results", "results/audit.html").splitlines()
    because = "    differing or not rebuilt because of it: a, b"
    assert lines[:6] == [
        "The audit of results failed: 1 failed, 1 warning.",
        "  ",
        "  failed: z; expected: w",
        "    v",
        because,
        "    to repair: rm z",
    ]
    assert lines[6].endswith("x … (in full on the page below)")
    assert max(map(len, lines)) < 700
    assert lines[7] == "    to repair: the command on the page below"
