"""Pages and tables that were made prettier, with the record of the report made again: they no longer show the results."""

import errno
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow import SNAKEFILE
from beirflow.audit.audit import audit
from beirflow.audit.replay.replay import NAME
from beirflow.audit.replay.rest import READING
from beirflow.audit.verdict import grades
from beirflow.config.load import load_experiment
from beirflow.core import kinds, layout
from beirflow.core.digests import file_digest
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.extensions.beir_paper import layout as paper
from beirflow.extensions.beir_paper.registry import TABLES
from beirflow.extensions.exchange import layout as exchanged
from beirflow.extensions.judging import layout as judging
from beirflow.extensions.verify import layout as verified
from beirflow.run.rules_of_snakefile import rule_jobs
from forger import FAILED, NOT_CHECKED, WARNING, Forger, named
from results_maker import Made, run_rules

RECORD = "report.json"


def record_again(reported: Forger) -> None:
    """Only the record of the report is made again; the manifest, whose digest was published, stays."""
    outputs = {path: file_digest(reported.path(path)) for path in reported.read(RECORD)["outputs"]}
    reported.edit(RECORD, outputs=outputs, inputs={MANIFEST: file_digest(reported.path(MANIFEST))})


def edit_page(reported: Forger) -> None:
    page = reported.path("report.html").read_text(encoding="utf-8")
    score = f"{reported.read('metrics/tiny/small.json')['measures']['NDCG@10']:.4f}"
    assert score in page
    reported.replace("report.html", page.replace(score, "0.9920").encode())


def edit_csv(reported: Forger, name: str, **columns: float) -> None:
    table = pd.read_csv(reported.path(name)).assign(**columns)
    reported.replace(name, table.to_csv(index=False).encode())


def test_what_shows_other_numbers_is_found_without_its_record_too(reported: Forger) -> None:
    edit_page(reported)
    edit_csv(reported, "cost.csv", index_seconds=0.1)
    reported.path(RECORD).unlink()
    shown = [check for check in reported.checks() if check.name == NAME]
    assert [name for name in ("report.html", "cost.csv") if FAILED not in [check.status for check in named(shown, name)]] == []


def test_files_of_the_report_that_are_gone_keep_no_page_made_of_them_from_being_compared(reported: Forger) -> None:
    names = ("significance.csv", "figures/holes.svg", "inspection/small.json", "scores.parquet", "tables/leaderboard.md")
    for name in (*names, layout.FIGURE_PDF(figure="holes")):
        reported.path(name).unlink(missing_ok=True)
    edit_page(reported)
    checks = reported.checks()
    for name in names:
        assert FAILED in [check.status for check in named(checks, name)], name
    assert FAILED in [check.status for check in named(checks, "report.html")]
    listed = [check for check in checks if check.name == READING]
    assert {path for check in listed for path in check.files} >= {"figures/cost.svg"}, "what was not made again is listed"


def test_files_of_an_earlier_configuration_are_one_warning_and_edited_ones_fail(reported: Forger, original_report: Made) -> None:
    """A report, then other cutoffs and a summary without a report: nobody forged anything."""
    named_by_report = {path for path in reported.read(RECORD)["outputs"] if reported.path(path).is_file()}
    reported.experiment = load_experiment({**original_report.config, "cutoffs": [1, 10]})
    for path in [*reported.results.glob("metrics/*/*"), reported.path(SUMMARY), reported.path(MANIFEST)]:
        path.unlink()
    run_rules(reported.results, reported.experiment, [SUMMARY])
    checks = reported.checks()
    (found,) = [check for check in checks if check.status in (FAILED, WARNING) and "code" not in check.name.split()]
    assert (found.status, set(found.files)) == (WARNING, {RECORD, *named_by_report})
    assert f"{1 + len(named_by_report)} files are of an earlier configuration" in found.found
    assert found.repair.endswith(f" -- {reported.results}/report.html")
    assert ("derived files", "of other results") in grades({"chain": checks})
    reported.path("significance.csv").unlink()
    run_rules(reported.results, reported.experiment, ["significance.csv"])  # as after a report that was interrupted
    assert [check.status for check in reported.noticed()] == [WARNING]
    edit_page(reported)
    edit_csv(reported, "cost.csv", index_seconds=0.1)
    figure = layout.FIGURE_SVG(figure="holes")
    reported.replace(figure, reported.path(figure).read_bytes() + b" ")
    failed = [check for check in reported.checks() if check.status == FAILED]
    assert {path for check in failed for path in check.files} == {"report.html", "cost.csv", figure}
    assert not any("b'" in f"{check.found} {check.expected}" for check in failed)


def column_twice(table: pa.Table) -> pa.Table:
    return table.add_column(0, table.schema.field(1), table[1])


def test_parquet_files_that_readers_read_differently_are_found(reported: Forger) -> None:
    """Some take the last column of a name; pandas renames columns by its metadata."""
    changes = {"runs/tiny/small": column_twice, "metrics/second/small": column_twice}
    changes["runs/second/more"] = lambda table: table.replace_schema_metadata({"pandas": "{}"})
    for name, change in changes.items():
        table = change(pq.read_table(path := reported.path(f"{name}.parquet")))
        path.unlink()  # which other results share
        pq.write_table(table, path)
    reported.digest_again()
    failed = reported.failed()
    assert [name for name in changes if not named(failed, f"{name}.parquet")] == []


def test_costs_that_nothing_measured_are_named(reported: Forger) -> None:
    edit_csv(reported, "cost.csv", processor_joules=1.0, carbon_intensity=50.0)
    record_again(reported)
    found = [check.found for check in named(reported.checks(), "cost.csv") if check.status == NOT_CHECKED]
    assert any("processor_joules" in problem for problem in found), found


def test_a_page_of_other_code_and_a_table_of_another_commit_are_warnings_with_both(reported: Forger) -> None:
    name = "tables/leaderboard.tex"
    edit_page(reported)
    reported.replace(name, reported.path(name).read_bytes() + b"% 0.9920\n")
    reported.edit(MANIFEST, repository__commit="deadbeef" * 5)
    record_again(reported)
    reported.edit(RECORD, code="0" * 16)
    for path, code in (("report.html", "0" * 16), (name, "deadbeef")):
        (check,) = [check for check in named(reported.noticed(), path) if check.name == NAME]
        assert (check.status, code in check.found, "the code here is" in check.found) == (WARNING, True, True)


def test_a_configuration_of_the_results_leads_nowhere(reported: Forger, tmp_path: Path) -> None:
    """Paths in a manifest are neither written to nor read, and a class in it is not imported."""
    victim, pipe = tmp_path / "victim", tmp_path / "pipe"
    os.mkfifo(pipe)
    reported.edit(
        MANIFEST,
        configuration__pathvars={"results": str(victim)},
        configuration__extra_judgements={"small": str(pipe)},
        configuration__data_dir=str(pipe),
        systems__tiny__settings__encoder=f"{tmp_path.name}:nothing",
    )
    reported.edit(MANIFEST, lambda manifest: manifest["datasets"]["small"][0].update(path=str(pipe)))
    record_again(reported)
    before = {path: path.stat().st_mtime_ns for path in reported.results.rglob("*")}
    assert named(reported.failed(), "manifest.json")
    assert not victim.exists()
    assert {path: path.stat().st_mtime_ns for path in reported.results.rglob("*")} == before


def test_every_file_for_reading_has_a_rule_that_makes_it_again(reported: Forger, tmp_path: Path) -> None:
    names = {
        "system": "tiny",
        "dataset": "small",
        "task": "SciFact",
        "figure": "pareto",
        "table": "leaderboard",
        "depth": 10,
        "other": "more",
        "paper": "contriever-2021",
    }
    of_other_names = (exchanged.EVAL_RESULT, paper.TABLE, paper.FIGURE_PDF, paper.FIGURE_SVG, layout.MATCHES)
    by_no_rule = (layout.AUDIT, layout.AUDIT_RECORD, exchanged.COMPARISON, exchanged.COMPARISON_RECORD)
    by_no_rule += (exchanged.GATE, exchanged.GATE_JUNIT, exchanged.GATE_COMMENT)
    by_no_rule += (exchanged.LEADERBOARD, exchanged.LEADERBOARD_TABLE)
    by_no_rule += (verified.STATEMENT, verified.PAGE)  # in a folder of their own, by a request
    not_configured = (judging.JUDGED, judging.RECORD, judging.SAMPLE, judging.ANSWERS, exchanged.OWN_TASK)
    by_no_rule += tuple(pattern(**names) for pattern in not_configured)
    in_folders = (exchanged.CRATE_CONFIGURATION,)  # which are an output as a whole
    paths = [pattern(**names) for pattern in kinds.DERIVED if pattern not in (*of_other_names, *in_folders)]
    paths += [paper.TABLE(table=name) for name in TABLES]
    with rule_jobs(SNAKEFILE, reported.experiment, tmp_path / "results") as rules:
        assert {path for path in paths if rules.job(path) is None} == {*by_no_rule}


def test_the_verdict_on_a_folder_that_cannot_be_written_is_told(forger: Forger, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("beirflow.audit.audit.write_json", refuse)
    words = audit(folder=str(forger.results), experiment=forger.experiment)
    assert "passed" in words
    assert "audit.html could not be written (Permission denied)" in words
