"""The page of the BEIR paper: every part, its sources, the missing parts, and the limits of the comparison."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.files.layout import (
    COST,
    INSPECTION,
    LATENCY,
    METRICS,
    PAPER_FIGURE_PDF,
    PAPER_FIGURE_SVG,
    PAPER_STATISTICS,
    PAPER_TABLE,
    PAPER_WORDS,
    QRELS,
    RUN,
    SIGNIFICANCE,
)
from beirflow.files.records import Job, read_json
from beirflow.paper.facts import PaperFacts, facts_digests, load_facts
from beirflow.paper.page_tables import (
    Notes,
    bias_table,
    claims_table,
    efficiency_table,
    medians_table,
    scores_table,
    statistics_table,
)
from beirflow.paper.table_2 import MEASURES
from beirflow.report.named_tables import read_named_csv
from beirflow.report.pages import write_page
from beirflow.report.reading_files import record_files_for_reading

PARTS = {
    **dict.fromkeys(MEASURES, METRICS),
    "table-1": PAPER_STATISTICS,
    "claims": f"{METRICS}, {INSPECTION}, {COST}",
    "against-baseline": f"{METRICS}, {SIGNIFICANCE}",
    "overlap": PAPER_WORDS,
    "lengths-retrieved": INSPECTION,
    "lengths-judged": PAPER_STATISTICS,
    "lengths-medians": f"{INSPECTION}, {PAPER_STATISTICS}",
    "bias": f"{RUN}, {QRELS}, {METRICS}",
    "efficiency": LATENCY,
}
"""By name of a table, the results that it was computed from; the rules make the same."""

FIGURES = {
    "against-baseline": ("Against the baseline (figure 3)", "On how many datasets each system is better or worse."),
    "overlap-heatmap": (
        "Overlap of words (figure 2, left)",
        "Similarity of every two datasets; the table overlap has the numbers.",
    ),
    "overlap-graph": ("Overlap of words (figure 2, right)", "Datasets as points; near ones have many words in common."),
    "lengths-retrieved": ("Lengths of retrieved documents (appendix)", "A violin for each system on every dataset."),
    "lengths-judged": ("Lengths of judged documents (figure 4)", "A violin for each grade."),
}
"""By name of a figure, its title and the text for people who do not see it."""

WHOLE = (
    "Latencies and index sizes of the paper (section 4.1) are as quoted elsewhere: no copy of the printed table was at hand.",
    "Recall@100 stands without the printed values of the appendix: no checked copy of them was at hand.",
    "Titles, training and development queries of table 1 stand without the printed values, for the same reason.",
    "The 980 further judgements of TREC-COVID are not public; what the paper found with them is beside ours.",
)
"""What is missing, whatever is configured."""


def write_paper(
    *, folder: str, other_paths: Sequence[str], manifest_path: str, page_path: str, record_path: str, job: Job
) -> None:
    """Write the page, and a record of it and of all that it shows.

    Args:
        folder: Where tables and figures are.
        other_paths: What ``count_corpus`` and ``measure_latency`` wrote, for the record.
        manifest_path: ``manifest.json`` of the results.
        page_path: HTML to write.
        record_path: The record to write.
        job: The job, for the record.
    """
    facts = load_facts()
    tables = {name: read_named_csv(_file(folder, PAPER_TABLE(table=name))) for name in PARTS}
    ours = [name.removeprefix("here ") for name in tables["table-2"].columns if name.startswith("here ")]
    notes = {name: Notes() for name in (*MEASURES, "table-1", "efficiency")}
    sections: list[tuple[Any, list[str]]] = [(claims_table(tables["claims"]), [])]
    sections += [
        (scores_table(name, measure, tables[name], notes[name]), notes[name].lines()) for name, measure in MEASURES.items()
    ]
    sections[1][1].extend(f"Printed scores of {facts.label(name)}: {note}." for name, note in facts.made_otherwise.items())
    sections.append((statistics_table(tables["table-1"], notes["table-1"]), notes["table-1"].lines()))
    sections.append((efficiency_table(tables["efficiency"], notes["efficiency"]), notes["efficiency"].lines()))
    sections += [(bias_table(tables["bias"]), []), (medians_table(tables["lengths-medians"]), [])]
    manifest = read_json(manifest_path)
    values = {
        "title": "beirflow: the BEIR paper",
        "written": manifest["written"].partition("T")[0],
        "standing": [(facts.label(name), system) for name, system in facts.standing(ours).items()],
        "missing": [*_missing(facts, ours, tables["table-2"]), *WHOLE],
        "barred": [(facts.datasets[name]["label"], entry["reason"]) for name, entry in facts.not_comparable.items()],
        "sections": [(table, lines) for table, lines in sections if table],
        "figures": [_figure(folder, name) for name in FIGURES],
        "parts": [(f"{name}.csv", source) for name, source in PARTS.items()],
        "own": [system for system in ours if system not in facts.standing(ours).values()],
    }
    write_page("paper.html.j2", page_path, values)
    written = [_file(folder, PAPER_TABLE(table=name)) for name in PARTS]
    written += [_file(folder, kind(figure=name)) for name in FIGURES for kind in (PAPER_FIGURE_PDF, PAPER_FIGURE_SVG)]
    paths = [page_path, *written, *other_paths]
    printed = facts_digests()
    record_files_for_reading(paths=paths, manifest_path=manifest_path, record_path=record_path, job=job, printed=printed)


def _file(folder: str, path: str) -> str:
    """A file of the paper, by its path below the results."""
    return str(Path(folder, Path(path).name))


def _missing(facts: PaperFacts, ours: Sequence[str], table: pd.DataFrame) -> list[str]:
    """Systems and datasets of the paper that are not here, in sentences."""
    systems = [facts.label(name) for name in facts.systems if name not in facts.standing(ours)]
    here = [name for name in facts.datasets if _has_scores(table, name)]
    datasets = [entry["label"] for name, entry in facts.datasets.items() if name not in here and name not in facts.not_public]
    private = [facts.datasets[name]["label"] for name in facts.not_public if name not in here]
    found = [f"Systems of the paper that are not here: {', '.join(systems)}."] if systems else []
    found += [f"Datasets of the paper that are not here: {', '.join(datasets)}."] if datasets else []
    return [*found, f"Not public, and not here: {', '.join(private)}."] if private else found


def _has_scores(table: pd.DataFrame, name: str) -> bool:
    row = table[table["dataset"] == name]
    return bool(row[[column for column in table.columns if column.startswith("here ")]].notna().any(axis=None))


def _figure(folder: str, name: str) -> Mapping[str, str]:
    """A figure as the template needs it: inside the page as an image, so that nothing in it touches the page."""
    title, alt = FIGURES[name]
    data = b64encode(Path(_file(folder, PAPER_FIGURE_SVG(figure=name))).read_bytes()).decode()
    return {"title": title, "alt": alt, "pdf": f"{name}.pdf", "svg": f"{name}.svg", "data": data}


def counted_files(words_paths: Sequence[str], statistics_paths: Sequence[str], latency_paths: Sequence[str]) -> list[str]:
    """Join what ``count_corpus`` and ``measure_latency`` wrote, for the record of the page."""
    return [*words_paths, *statistics_paths, *latency_paths]
