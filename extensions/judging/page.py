"""Page of a judge: its agreement with human grades, and scores of systems under both."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from beirflow.core.records import Job, read_json
from beirflow.core.verified import check_digest
from beirflow.data.corpus_files import read_table
from beirflow.extensions.judging.agreement import COMPARED, RANDOM_JUDGES, UNDER, Agreement, agreement
from beirflow.ranking.run_file import read_run
from beirflow.report.pages import Cell, Column, Table, counted, number, words, write_page

NAME = words("")


@dataclass(frozen=True)
class JudgeFiles:
    """The files that a judge leaves: answers for the sample and the pool, and their record."""

    sample_path: str
    judged_path: str
    record_path: str


def write_judge_page(
    *,
    means_paths: Sequence[str],
    run_paths: Sequence[str],
    qrels_path: str,
    judge: JudgeFiles,
    main_measure: str,
    page_path: str,
    job: Job,
) -> None:
    """Write the page from the judge's answers, and the means and runs of all systems, in the same order.

    Raise DataError if a file is not the recorded one.
    """
    record, paths = read_json(judge.record_path), (judge.sample_path, judge.judged_path)
    for path in paths:
        check_digest(path, record["outputs"][job.below(path)], judge.record_path)
    lines = [[json.loads(line) for line in Path(path).read_text("utf-8").split("\n") if line] for path in paths]
    sample, judged = ([line for line in part if line["grade"] is not None] for part in lines)
    runs = {}
    for means_path, run_path in zip(means_paths, run_paths, strict=True):
        means = read_json(means_path)
        runs[means["system"]] = read_run(run_path, means["inputs"][job.below(run_path)], means_path)
    found = agreement(sample, judged, runs, read_table(qrels_path), main_measure)
    values = {
        "title": f"{record['judge']} as judge of {record['dataset']}",
        "record": record,
        "pairs": counted(len(sample), "pair"),
        "added": counted(len(judged), "pair"),
        "random_judges": RANDOM_JUDGES,
        "unreadable": counted(record["counts"]["unreadable"], "answer"),
        "tables": [_agreement_table(found), _confusion_table(found), _systems_table(found, main_measure)],
    }
    write_page("judge.html.j2", page_path, values)


def _agreement_table(found: Agreement) -> Table:
    undefined, rows = Cell("undefined"), []
    kappas = {"Cohen's kappa of grades": found.kappa, "Cohen's kappa of relevance (grade above 0)": found.relevance_kappa}
    for (name, value), interval in zip(kappas.items(), found.intervals, strict=True):
        span = "–".join(number(bound).text for bound in interval) if interval and value is not None else ""
        rows.append([Cell(name), undefined if value is None else number(value), Cell(span), Cell("0")])
    for name, (one, other) in COMPARED.items():
        orders = found.orders[name]
        tau = undefined if orders.tau is None else number(orders.tau) if orders.above_chance else Cell("not above chance")
        chance = "" if orders.random is None else f"{number(orders.random).text}, up to {number(orders.highest).text}"
        label = f"Kendall's tau of the systems: {UNDER[one].lower()}; {UNDER[other].lower()}"
        rows.append([Cell(label), tau, Cell(""), Cell(chance)])
    columns = [NAME, Column("Value"), Column("95 %"), Column("By chance")]
    return Table("agreement", "Agreement", "Judge and human grades", columns, rows)


def _confusion_table(found: Agreement) -> Table:
    columns = [words("Human"), *(Column(str(grade)) for grade in found.grades)]
    rows = [
        [Cell(str(grade)), *(number(count, "d") for count in counts)]
        for grade, counts in zip(found.grades, found.confusion, strict=True)
    ]
    groups = [("Judge", len(found.grades))] if found.grades else []
    return Table("confusion", "Grades", "Pairs of the sample by human grade and grade of the judge", columns, rows, groups)


def _systems_table(found: Agreement, measured: str) -> Table:
    columns = [NAME, *(Column(label) for label in UNDER.values())]
    rows = [[Cell(system), *(number(scores[under]) for under in UNDER)] for system, scores in found.scores.items()]
    return Table("systems", "Systems", f"{measured} under each set of judgements", columns, rows)
