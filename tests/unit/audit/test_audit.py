"""An audit passes what was left alone, and finds and names whatever was changed, taken away, or added."""

import copy
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.audit.audit import audit, look
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, WARNING, Check
from beirflow.experiment.experiment import Experiment, load_experiment
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import RECORD_DIGEST, read_json, write_json
from beirflow.report.reading_files import record_views
from results_maker import Made
from tiny_bert import save_tiny_bert
from workflow_runs import REPOSITORY


@dataclass
class Audited:
    """A folder of results that a test may change."""

    results: Path
    experiment: Experiment

    def checks(self, sample: int = 0) -> list[Check]:
        _, sections = look(self.results, self.experiment, sample, seed=1)
        return [check for section in sections.values() for check in section]

    def failed(self, sample: int = 0) -> list[Check]:
        return [check for check in self.checks(sample) if check.status == FAILED]

    def path(self, name: str) -> Path:
        return self.results / name

    def record_again(self) -> None:
        """What a forger does: make every record name the files as they are now, up to the manifest."""
        while changed := {old: path for old, path in self._digests.items() if file_digest(path) != old}:
            for old, path in changed.items():
                new = file_digest(path)
                self._digests[new] = self._digests.pop(old)
                for record in self.results.rglob("*.json"):
                    if old in record.read_text():
                        write_json(record, without_digest(record.read_text().replace(old, new)))
        manifest = read_json(self.path("manifest.json"))
        manifest["from_sha256"]["summary.csv"] = file_digest(self.path("summary.csv"))
        write_json(self.path("manifest.json"), manifest)

    def remember(self) -> None:
        """Note the digests of before, which a forger must replace."""
        self._digests: dict[str, Path] = {}
        for path in self.results.rglob("*"):
            if path.is_file() and path.name not in ("manifest.json", "summary.csv"):
                self._digests[file_digest(path)] = path


def without_digest(text: str) -> dict[str, Any]:
    return {key: value for key, value in json.loads(text).items() if key != RECORD_DIGEST}


@pytest.fixture
def audited(results_once: Made, tmp_path: Path) -> Audited:
    shutil.copytree(results_once.results, tmp_path / "results")
    return Audited(tmp_path / "results", load_experiment(results_once.config))


@pytest.fixture
def elsewhere(audited: Audited) -> Audited:
    """The same on a machine that knows neither datasets nor models."""
    return Audited(audited.results, load_experiment({}))


def edit_parquet(path: Path, change: Callable[[pd.DataFrame], None]) -> None:
    table = pq.read_table(path)
    frame = table.to_pandas()
    change(frame)
    pq.write_table(pa.Table.from_pandas(frame, schema=table.schema, preserve_index=False), path, compression="zstd")


def swap(one: Path, other: Path) -> None:
    spare = one.with_name("spare")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)


def test_results_that_nobody_touched_pass_every_check_and_are_left_as_they_are(audited: Audited) -> None:
    before = {path: path.read_bytes() for path in audited.results.rglob("*") if path.is_file()}
    words = audit(folder=str(audited.results), experiment=audited.experiment, sample=5)
    after = {path: path.read_bytes() for path in audited.results.rglob("*") if path.is_file()}
    report = read_json(audited.path("audit.json"))
    assert {name for name in after if name not in before} == {audited.path("audit.json"), audited.path("audit.html")}
    assert {path: after[path] for path in before} == before
    assert report["counts"][FAILED] == 0
    assert (report["verdict"], report["affected"]) == (PASSED, [])
    assert f"The audit of {audited.results} passed" in words
    assert set(report["sections"]) == {"integrity", "origins", "provenance", "recomputation", "sample", "published scores"}
    assert audited.failed() == []


def test_elsewhere_what_is_not_there_is_not_checked_and_the_rest_passes(elsewhere: Audited) -> None:
    shutil.rmtree(elsewhere.path("embeddings/second"))
    for path in elsewhere.path("embeddings/tiny").rglob("*.npy"):
        path.unlink()
    checks = elsewhere.checks(sample=3)
    assert [check for check in checks if check.status == FAILED] == []
    not_checked = " ".join(check.found for check in checks if check.status == NOT_CHECKED)
    assert "the source of small is not here" in not_checked
    assert "it is not known here where the model of tiny is" in not_checked
    assert "embeddings/second/small/chunk-1.npy is not here" in not_checked
    assert "embeddings/second/small/queries.json is not here" in not_checked
    assert any(check.name == "queries searched again have the recorded ranks" and check.status == NOT_CHECKED for check in checks)


def test_one_flipped_byte_in_any_file_is_found_and_the_file_named(audited: Audited) -> None:
    names = sorted(path.relative_to(audited.results).as_posix() for path in audited.results.rglob("*") if path.is_file())
    kinds = {(name.split("/")[0], Path(name).name.split("-")[0], Path(name).suffix): name for name in names}
    assert {kind[0] for kind in kinds} == {"corpora", "embeddings", "manifest.json", "metrics", "models", "runs", "summary.csv"}
    missed = []
    for name in kinds.values():
        content = audited.path(name).read_bytes()
        for place in {len(content) // 2, *({0, len(content) - 1} if name.endswith((".gz", "manifest.json")) else ())}:
            audited.path(name).write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            if not any(name in check.files for check in audited.failed()):
                missed.append((name, place))
        audited.path(name).write_bytes(content)
    assert missed == []


@pytest.mark.parametrize("junk", [b"\xff\xfe", b"[]", b'{"sha256": 3, "from_sha256": []}', b"[" * 100_000])
def test_a_record_that_holds_anything_is_a_failed_check_and_never_an_exception(audited: Audited, junk: bytes) -> None:
    for name in (
        "manifest.json",
        "metrics/tiny/stack.json",
        "metrics/tiny/small.json",
        "runs/tiny/small.json",
        "models/tiny.json",
    ):
        content = audited.path(name).read_bytes()
        audited.path(name).write_bytes(junk)
        assert any(name in check.files for check in audited.failed(sample=int(name.startswith("runs"))))
        audited.path(name).write_bytes(content)


@pytest.mark.parametrize("key", ["systems", "datasets", "configuration", "from_sha256", "repository", RECORD_DIGEST])
def test_a_manifest_that_lacks_something_fails(audited: Audited, key: str) -> None:
    manifest = read_json(audited.path("manifest.json"))
    write_json(audited.path("manifest.json"), {name: value for name, value in manifest.items() if name != key})
    if key == RECORD_DIGEST:
        audited.path("manifest.json").write_text(json.dumps(manifest, indent=2))
    assert any("manifest.json" in check.files for check in audited.failed(sample=1))


@pytest.mark.parametrize("name", ["metrics/../../secret/x.json", "/etc/passwd", "metrics/tiny/../tiny.json", "metrics/-x/y.json"])
def test_a_path_that_leaves_the_folder_is_refused(audited: Audited, name: str) -> None:
    manifest = read_json(audited.path("manifest.json"))
    manifest["from_sha256"]["metrics"][name] = "0" * 64
    write_json(audited.path("manifest.json"), manifest)
    assert any(repr(name) in check.found for check in audited.failed())


def test_two_runs_that_changed_places_are_found_with_and_without_their_records(audited: Audited) -> None:
    swap(audited.path("runs/tiny/small.parquet"), audited.path("runs/second/small.parquet"))
    found = audited.failed()
    assert {("tiny", "small"), ("second", "small")} <= {number for check in found for number in check.results}
    swap(audited.path("runs/tiny/small.json"), audited.path("runs/second/small.json"))
    named = {name for check in audited.failed() for name in check.files}
    assert {"runs/tiny/small.parquet", "runs/second/small.json", "metrics/tiny/small.parquet"} <= named


def test_a_number_edited_in_the_summary_is_found_and_named(audited: Audited) -> None:
    audited.remember()
    summary = pd.read_csv(audited.path("summary.csv"))
    summary.loc[1, "NDCG@10"] += 0.01
    summary.to_csv(audited.path("summary.csv"), index=False)
    assert any("summary.csv" in check.files and check.results == (("tiny", "more"),) for check in audited.failed())
    audited.record_again()
    (found,) = audited.failed()
    assert f"NDCG@10 of tiny on more is {summary.loc[1, 'NDCG@10']}" in found.found


def test_an_average_edited_in_the_summary_is_found(audited: Audited) -> None:
    audited.remember()
    lines = audited.path("summary.csv").read_text().splitlines(keepends=True)
    average = next(i for i, line in enumerate(lines) if "mean of" in line)
    lines[average] = lines[average].replace(",0.", ",0.9", 1)
    audited.path("summary.csv").write_text("".join(lines))
    audited.record_again()
    (found,) = audited.failed()
    assert f"line {average + 1}" in found.found


def change_a_grade(audited: Audited) -> None:
    retrieved = pd.read_parquet(audited.path("runs/tiny/small.parquet")).query("rank <= 10")
    best = set(zip(retrieved["query_id"], retrieved["doc_id"], strict=True))

    def change(qrels: pd.DataFrame) -> None:
        row = next(i for i, pair in enumerate(zip(qrels["query_id"], qrels["doc_id"], strict=True)) if pair in best)
        qrels.loc[row, "score"] = 3 - qrels.loc[row, "score"]

    edit_parquet(audited.path("corpora/small/qrels.parquet"), change)


def test_a_changed_judgement_is_found_by_its_digest(elsewhere: Audited) -> None:
    change_a_grade(elsewhere)
    found = next(check for check in elsewhere.failed() if "corpora/small/qrels.parquet" in check.files)
    assert set(found.results) == {("tiny", "small"), ("second", "small")}
    assert "corpora/small/corpus.json says" in found.expected
    assert "rm -f" in found.repair


def test_a_changed_judgement_with_only_its_nearest_record_forged_is_found_one_step_up(elsewhere: Audited) -> None:
    change_a_grade(elsewhere)
    record = read_json(elsewhere.path("corpora/small/corpus.json"))
    record["sha256"]["qrels.parquet"] = file_digest(elsewhere.path("corpora/small/qrels.parquet"))
    elsewhere.path("corpora/small/corpus.json").write_text(json.dumps(record))
    found = next(check for check in elsewhere.failed() if "corpora/small/corpus.json" in check.files)
    assert "metrics/tiny/small.json says" in found.expected


def test_a_changed_judgement_with_every_record_forged_is_found_because_the_measures_are_others(elsewhere: Audited) -> None:
    elsewhere.remember()
    change_a_grade(elsewhere)
    elsewhere.record_again()
    found = elsewhere.failed()
    names = {check.name for check in found}
    assert "measures of every query are what the run gives" in names
    assert "files are as they were recorded" not in names
    assert ("tiny", "small") in found[0].results


def test_a_judgement_that_changes_no_measure_is_found_beside_its_source(audited: Audited) -> None:
    audited.remember()

    def change(qrels: pd.DataFrame) -> None:
        qrels.loc[len(qrels)] = ["q3", "d029", 0]

    edit_parquet(audited.path("corpora/more/qrels.parquet"), change)
    audited.record_again()
    assert any("corpora/more/qrels.parquet is not what" in check.found for check in audited.failed())


def test_another_model_under_the_same_path_is_found(audited: Audited, tmp_path: Path) -> None:
    config = copy.deepcopy(dict(audited.experiment.config))
    other = save_tiny_bert(tmp_path / "other", seed=1)
    config["custom"]["systems"]["tiny"]["model"] = str(other)
    audited.experiment = load_experiment(config)
    found = audited.failed(sample=2)
    models = next(check for check in found if check.name == "models are those that encoded")
    assert "model.safetensors" in models.found
    assert set(models.results) == {("tiny", "small"), ("tiny", "more"), ("tiny", "stack")}
    assert {"documents encoded again have the stored vectors", "queries encoded again have the stored vectors"} <= {
        check.name for check in found
    }


def test_forged_vectors_are_found_by_encoding_again_and_forged_ranks_by_searching_again(audited: Audited) -> None:
    audited.remember()
    path = audited.path("embeddings/tiny/small/chunk-1.npy")
    vectors = np.load(path)
    np.save(path, vectors[::-1].copy())
    audited.record_again()
    assert [check for check in audited.failed() if "small" in str(check.files)] == []
    names = [check.name for check in audited.failed(sample=30) if ("tiny", "small") in check.results]
    assert names == ["documents encoded again have the stored vectors", "queries searched again have the recorded ranks"]


@pytest.mark.parametrize(
    "name",
    [
        "runs/tiny/small.parquet",
        "runs/tiny/small.json",
        "corpora/small/corpus.json",
        "metrics/tiny/stack-tex.parquet",
        "summary.csv",
    ],
)
def test_a_missing_file_is_named_with_what_depends_on_it(audited: Audited, name: str) -> None:
    audited.path(name).unlink()
    found = next(check for check in audited.failed() if check.name == "no file is missing" and name in check.files)
    assert found.results
    assert found.repair.startswith(f"rm -f {audited.results}/{name}; ")
    assert found.repair.endswith(f" {audited.results}/summary.csv")


@pytest.mark.parametrize(
    "name",
    [
        "metrics/old/small.json",
        "embeddings/tiny/small/chunk-7.npy",
        "candidates/tiny/small/chunk-0.npz",
        "data/unknown.zip",
        "runs/tiny/.partial-small.parquet",
        "notes.txt",
    ],
)
def test_what_is_left_over_is_named_and_affects_no_number(audited: Audited, name: str) -> None:
    audited.path(name).parent.mkdir(parents=True, exist_ok=True)
    audited.path(name).write_text("x")
    (found,) = audited.failed()
    assert found.files == (name,)
    assert found.results == ()
    assert f"rm {audited.results}/{name}" in found.repair
    assert "no number of the summary depends on it" in found.found


def test_whatever_the_rules_write_for_reading_is_not_left_over(audited: Audited) -> None:
    rules = "".join(path.read_text() for path in (REPOSITORY / "workflow/rules").glob("*.smk"))
    names = set(re.findall(r'"<results>/([^"{]+\.\w+)"', rules))
    assert {"cost.csv", "significance.csv", "report.html"} <= names
    for name in sorted((names | {"figures/cost.svg", "inspection/small.json"}) - {"report.json"}):
        audited.path(name).parent.mkdir(parents=True, exist_ok=True)
        audited.path(name).touch()
    assert audited.failed() == []


def write_views(audited: Audited) -> list[str]:
    """Files for reading, recorded as the report does."""
    names = ["report.html", "scores.parquet", "figures/cost.svg", "inspection/small.json"]
    for name in names:
        audited.path(name).parent.mkdir(exist_ok=True)
        audited.path(name).write_text(name)
    paths = {"manifest_path": str(audited.path("manifest.json")), "record_path": str(audited.path("report.json"))}
    record_views(view_paths=[str(audited.path(name)) for name in names], code="abc", **paths)
    return names


def test_files_for_reading_are_compared_with_the_record_of_the_report(audited: Audited) -> None:
    for name in (*write_views(audited), "report.json"):
        assert audited.failed() == []
        content = audited.path(name).read_bytes()
        audited.path(name).write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
        (found,) = audited.failed()
        assert (found.files, found.results) == ((name,), ())
        assert found.repair.endswith(f" {audited.results}/report.html")
        audited.path(name).write_bytes(content)


def test_a_report_of_other_results_is_a_warning(audited: Audited) -> None:
    write_views(audited)
    assert "the report is of these results" not in [check.name for check in audited.checks()]
    record = read_json(audited.path("report.json"))
    write_json(audited.path("report.json"), record | {"from_sha256": {"manifest.json": "0" * 64}})
    assert "the report is of these results" in [check.name for check in audited.checks() if check.status == WARNING]
    assert audited.failed() == []


def test_results_of_another_experiment_inside_the_folder_are_left_alone(audited: Audited) -> None:
    shutil.copytree(audited.results, audited.results.parent / "copy")
    (audited.results.parent / "copy").rename(audited.path("demo"))
    assert audited.failed() == []


def test_a_failure_is_written_down_and_then_raised_with_the_numbers_that_are_affected(audited: Audited) -> None:
    audited.path("runs/tiny/stack-tex.parquet").write_bytes(b"<script>alert(1)</script>")
    audited.path("<b>").write_text("")
    with pytest.raises(DataError, match="affected: tiny on stack") as caught:
        audit(folder=str(audited.results), experiment=audited.experiment)
    assert "runs/tiny/stack-tex.parquet has the sha256" in str(caught.value)
    report = read_json(audited.path("audit.json"))
    assert (report["verdict"], report["affected"]) == (FAILED, [["tiny", "stack"]])
    page = audited.path("audit.html").read_text()
    assert "The audit failed" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "://" not in page


def test_a_folder_without_a_manifest_says_how_to_make_one(tmp_path: Path, audited: Audited) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="snakemake --cores 2"):
        audit(folder=str(tmp_path / "empty"), experiment=audited.experiment)
