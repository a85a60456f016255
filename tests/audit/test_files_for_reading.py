"""Pages and tables that were made prettier, with the record of the report made again: they no longer show the results."""

import errno
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beirflow.audit.again.for_reading import _rebuilt
from beirflow.audit.fact_table import explanation

from beirflow import SNAKEFILE
from beirflow.audit.audit import audit, run_checks
from beirflow.audit.verdict import grades
from beirflow.config.load import load_experiment
from beirflow.core import kinds, layout
from beirflow.core.digests import file_digest
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.extensions.choice import layout as choice
from beirflow.extensions.exchange import layout as exchanged
from beirflow.extensions.judging import layout as judging
from beirflow.extensions.paper import layout as paper
from beirflow.extensions.paper.registry import TABLES
from beirflow.run.undocumented import rule_jobs
from forger import FAILED, NOT_CHECKED, PASSED, WARNING, Forger, named
from latencies import write_latency
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
    """Then nobody knows which code wrote the page."""
    edit_page(reported)
    edit_csv(reported, "cost.csv", index_seconds=0.1)
    reported.path(RECORD).unlink()
    shown = [check for check in reported.checks() if "show the results" in check.name]
    assert WARNING in [check.status for check in named(shown, "report.html")]
    assert FAILED in [check.status for check in named(shown, "cost.csv")]


def test_files_of_the_report_that_are_gone_are_a_warning_and_keep_no_page_made_of_them_from_being_compared(
    reported: Forger,
) -> None:
    names = ("significance.csv", "figures/holes.svg", "inspection/small.json", "scores.parquet", "tables/leaderboard.md")
    for name in (*names, layout.FIGURE_PDF(figure="holes")):
        reported.path(name).unlink(missing_ok=True)
    edit_page(reported)
    checks = reported.checks()
    for name in names:
        assert WARNING in [check.status for check in named(checks, name)], name
    assert FAILED in [check.status for check in named(checks, "report.html")]
    listed = [check for check in checks if check.name == "files for reading"]
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
    assert f"{len(named_by_report)} files are of an earlier configuration" in found.found
    assert found.repair.endswith(f" -- {reported.results}/report.html")
    assert ("files for reading", "of other results") in grades({"files for reading": checks})
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


def test_the_choice_is_made_again_with_its_prices(reported: Forger) -> None:
    for name in reported.experiment.chosen_datasets:
        for system in reported.experiment.chosen_systems:
            write_latency(reported.results, system, name)
    reported.experiment.config.update(prices={"hour": 2.1, "gigabyte_month": 0.02}, choice={"milliseconds": 50})
    names = [choice.TABLE(), choice.PAGE()]
    run_rules(reported.results, reported.experiment, names)
    reported.experiment.config.update(prices={}, choice={})  # the audit takes those of the record
    assert [check.status for check in _rebuilt(reported.followed(), names)] == [PASSED] * 2
    for name in names:
        content = reported.path(name).read_text(encoding="utf-8")
        reported.replace(name, content.replace("2.1 an hour", "2.2 an hour").replace("3.0", "3.1").encode())
    checks = list(_rebuilt(reported.followed(), names))
    assert all(FAILED in [check.status for check in named(checks, name)] for name in names)


def column_twice(text: str) -> str:
    name = text.split(",")[5]
    return "".join(f"{name if not number else 0.9999},{line}" for number, line in enumerate(text.splitlines(keepends=True)))


def cell_before_rows(text: str) -> str:
    header, *rows = text.splitlines(keepends=True)
    return header + "".join(f"0.9999,{row}" for row in rows)


def last_cell_quoted(text: str) -> str:
    *lines, last = text.splitlines(keepends=True)
    return "".join(lines) + '"' + last.replace(",", '",', 1)


def rows_joined(text: str) -> str:
    head, _, last = text.rstrip("\n").rpartition("\n")
    return f"{head}\x0b{last}\n"


READERS: dict[str, Callable[[str], str]] = {
    "cost.csv": column_twice,
    "significance.csv": cell_before_rows,
    layout.FIGURE_DATA(figure="critical_difference"): last_cell_quoted,
    **dict.fromkeys(("tables/leaderboard.md", "report.html"), rows_joined),
    "tables/datasets.bib": lambda text: text + "% more\n",
}


def test_files_that_readers_read_differently_are_found(reported: Forger) -> None:
    for name, edit in READERS.items():
        reported.replace(name, edit(reported.path(name).read_bytes().decode()).encode())
    checks = list(_rebuilt(reported.followed(), [*READERS]))
    assert [name for name in READERS if FAILED not in [check.status for check in named(checks, name)]] == []


def less_at_most(table: pa.Table, path: Path) -> None:
    """Write a table whose footer states a smaller largest value of a column; readers that look for larger ones skip its rows."""
    pq.write_table(table, path)
    group = pq.read_metadata(path).row_group(0)
    numbers = [place for place, field in enumerate(table.schema) if pa.types.is_floating(field.type)]
    largest, column = max((group.column(place).statistics.max, place) for place in numbers)
    form, content = "<d" if table.schema.field(column).type == pa.float64() else "<f", path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:start] + content[start:].replace(struct.pack(form, largest), struct.pack(form, largest / 2)))


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "tiny/small": less_at_most,
    "tiny/more": lambda table, path: pq.write_table(table, path, write_page_index=True),
    "tiny/stack-android": lambda table, path: pq.write_table(table, path, sorting_columns=[pq.SortingColumn(0)]),
    "tiny/stack-tex": lambda table, path: pq.write_table(table.replace_schema_metadata({"reviewed": "yes"}), path),
    "second/small": lambda table, path: pq.write_table(table.replace_schema_metadata({"pandas": "{}"}), path),
    "second/more": lambda table, path: pq.write_table(table.add_column(0, table.schema.field(1), table[1]), path),
}
"""By system and dataset, how its tables are written: readers read them differently, or they state other than their rows."""


def with_another_column(table: pa.Table, path: Path) -> None:
    pq.write_table(table.append_column("better", table[0]), path)


def test_parquet_files_that_readers_read_differently_are_found(reported: Forger) -> None:
    written = {f"{folder}/{name}.parquet": write for name, write in WRITERS.items() for folder in ("metrics", "runs")}
    written |= {"scores.parquet": less_at_most, "metrics/second/stack-tex.parquet": with_another_column}
    written["runs/second/stack-android.parquet"] = with_another_column
    for name, write in written.items():
        table = pq.read_table(reported.path(name))
        reported.path(name).unlink()  # which other results share
        write(table, reported.path(name))
    reported.digest_again()
    record_again(reported)
    checks = reported.checks()
    assert [name for name in written if FAILED not in [check.status for check in named(checks, name)]] == []


def test_scores_that_name_other_files_are_found(reported: Forger) -> None:
    path = reported.path("scores.parquet")
    file, table = pq.ParquetFile(path), pq.read_table(path)
    said = json.loads(table.schema.metadata[b"beirflow"])
    said["inputs"] = dict.fromkeys(said["inputs"], "0" * 64)
    path.unlink()  # which other results share
    schema = table.schema.with_metadata({"beirflow": json.dumps(said)})
    with pq.ParquetWriter(path, schema) as writer:
        for group in map(file.read_row_group, range(file.num_row_groups)):
            writer.write_table(group.replace_schema_metadata(schema.metadata))
    record_again(reported)
    found = [check.found for check in named(reported.failed(), "scores.parquet")]
    assert found == ["scores.parquet: other metadata"]


def test_columns_of_tables_for_readers_are_facts_and_costs_that_nothing_measured_are_named(reported: Forger) -> None:
    edit_csv(reported, layout.FIGURE_DATA(figure="critical_difference"), average_rank=3.0)
    edit_csv(reported, "cost.csv", processor_joules=1.0, carbon_intensity=50.0)
    record_again(reported)
    _, sections, facts = run_checks(reported.results, reported.experiment, 0, 1)
    checks = [check for section in sections.values() for check in section]
    unchecked = [check.found for check in named(checks, "cost.csv") if check.status == NOT_CHECKED]
    assert any("processor_joules" in problem for problem in unchecked), unchecked
    names = {"summary.csv", "cost.csv", "systems.csv", "significance.csv", "scores.parquet"}
    of_tables = {(fact.file, fact.key): fact for fact in facts if fact.file in names}
    assert {file for file, _ in of_tables} == names
    unconfirmed = [("cost.csv", "carbon_intensity"), ("cost.csv", "processor_joules")]
    assert [key for key, fact in of_tables.items() if not fact.compared] == unconfirmed
    assert of_tables["cost.csv", "index_bytes"].by == "cost.csv made again"
    (said,) = explanation(facts, "average_rank")
    assert said.endswith("compared at 1 of 1 places, one of them with figures/critical_difference.csv made again")


def test_a_page_of_other_code_and_a_table_of_another_commit_are_warnings_with_both(reported: Forger) -> None:
    name = "tables/leaderboard.tex"
    edit_page(reported)
    reported.replace(name, reported.path(name).read_bytes() + b"% 0.9920\n")
    reported.edit(MANIFEST, repository__commit="deadbeef" * 5)
    record_again(reported)
    reported.edit(RECORD, code="0" * 16)
    page, table = _rebuilt(reported.followed(), ["report.html", name])
    assert (page.status, table.status) == (WARNING, WARNING)
    assert "0" * 16 in page.found
    assert "the code here is" in page.found
    assert "deadbeef" in table.found


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
    statuses = {path: check.status for check in reported.checks() for path in check.files if "show the results" in check.name}
    assert statuses["cost.csv"] == PASSED
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
    }
    of_other_names = (exchanged.EVAL_RESULT, paper.TABLE, paper.FIGURE_PDF, paper.FIGURE_SVG, layout.MATCHES)
    by_no_rule = (layout.AUDIT, layout.AUDIT_RECORD, exchanged.COMPARISON, exchanged.COMPARISON_RECORD)
    by_no_rule += (layout.GATE, layout.GATE_JUNIT, layout.GATE_COMMENT, exchanged.LEADERBOARD, exchanged.LEADERBOARD_TABLE)
    without_judge = (judging.JUDGED, judging.RECORD, judging.SAMPLE, judging.ANSWERS)  # none is configured
    by_no_rule += tuple(pattern(**names) for pattern in without_judge)
    in_folders = (exchanged.CRATE_CONFIGURATION,)  # which are an output as a whole
    paths = [pattern(**names) for pattern in kinds.FOR_READING if pattern not in (*of_other_names, *in_folders)]
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
