"""The page of the BEIR paper: every part, its sources, the missing parts, and the limits of the comparison."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from beirflow.files.csv_files import read_named_csv
from beirflow.files.layout import PAPER_FIGURE_PDF, PAPER_FIGURE_SVG, PAPER_TABLE
from beirflow.files.records import Job, read_json
from beirflow.paper.corpus_tables import MEDIANS, NUMBERS
from beirflow.paper.efficiency import GIGABYTE
from beirflow.paper.facts import PaperFacts, facts_digests, load_facts
from beirflow.report.pages import Cell, Column, Notes, Table, number, record_files_for_reading, write_page
from beirflow.report.registry import PAPER_FIGURES, PAPER_TABLES, SCORE_TABLES

PRINTED, HERE = "printed ", "here "  # prefixes of the columns of table 2


class Shown(NamedTuple):
    """A column of a CSV on the page: its header, the format of its numbers, empty for text, and names for the style."""

    label: str
    form: str = ""
    classes: str = ""


COUNTED = {
    "queries": Shown("Queries", ",.0f"),
    "documents": Shown("Documents", ",.0f"),
    "relevant_per_query": Shown("Relevant a query", ",.1f"),
    "query_words": Shown("Words of a query", ",.2f"),
    "document_words": Shown("Words of a document", ",.2f"),
}
"""Numbers of table 1 that are here and printed."""

STUB = Shown("Dataset", classes="stub")

COLUMNS: Mapping[str, Mapping[str, Shown]] = {
    "claims": {
        "finding": Shown("Finding", classes="stub"),
        "says": Shown("The paper says", classes="prose"),
        "source": Shown("In"),
        "verdict": Shown("Verdict"),
        "coverage": Shown("Datasets"),
        "sentence": Shown("Computed", classes="prose"),
        "decided_by": Shown("Decided by", classes="prose"),
    },
    "table-1": {
        "dataset": STUB,
        "task": Shown("Task"),
        "domain": Shown("Domain"),
        "relevancy": Shown("Relevancy"),
        "titles": Shown("Titles", ".0%", "number"),
        "without_text": Shown("Title alone", ",.0f", "number"),
        **{
            prefix + name: Shown(label, COUNTED[name].form, classes)
            for name in NUMBERS
            for prefix, label, classes in (("", "here", "number group"), ("printed_", "printed", "number"))
        },
    },
    "efficiency": {
        "system": Shown("System", classes="stub"),
        "source": Shown("Source"),
        "dataset": Shown("Dataset"),
        "documents": Shown("Documents", ",.0f", "number upright"),
        "gpu_ms": Shown("GPU, ms", ",.1f", "number upright"),
        "gpu_p95_ms": Shown("GPU, 95th percentile", ",.1f", "number upright"),
        "cpu_ms": Shown("CPU, ms", ",.1f", "number upright"),
        "cpu_p95_ms": Shown("CPU, 95th percentile", ",.1f", "number upright"),
        "gpu_batch_queries_per_second": Shown("GPU, queries a second in a batch", ",.1f", "number upright"),
        "cpu_batch_queries_per_second": Shown("CPU, queries a second in a batch", ",.1f", "number upright"),
        "queries": Shown("Queries", ",.0f", "number upright"),
        "index_bytes": Shown("Index, GB", ",.3g", "number upright"),
    },
    "bias": {
        "dataset": STUB,
        "system": Shown("System"),
        "hole": Shown("Hole@10", ".4f", "number upright"),
        "unjudged": Shown("Unjudged for the query", ".4f", "number upright"),
        "ndcg": Shown("NDCG@10", ".4f", "number upright"),
        "ndcg_holes_relevant": Shown("if holes were relevant", ".4f", "number upright"),
        "ndcg_condensed": Shown("without holes", ".4f", "number upright"),
        "bpref": Shown("bpref", ".4f", "number upright"),
        "extra_by": Shown("Extra judgements by"),
        "hole_extra": Shown("Hole@10, with extra judgements", ".4f", "number upright"),
        "ndcg_extra": Shown("NDCG@10, with them", ".4f", "number upright"),
        "printed_hole": Shown("Hole@10, printed", ".4f", "number upright"),
        "printed_ndcg": Shown("NDCG@10, printed", ".4f", "number upright"),
        "printed_ndcg_annotated": Shown("annotated, printed", ".4f", "number upright"),
    },
    "similarities": {
        "dataset": STUB,
        "cosine": Shown("Cosine"),
        "dot": Shown("Dot product"),
        "cosine_ndcg": Shown("NDCG@10, cosine", ".4f", "number"),
        "dot_ndcg": Shown("Dot product", ".4f", "number"),
        "difference": Shown("Difference", "+.4f", "number"),
        "printed": Shown("Printed", "+.3f", "number"),
        "cosine_words": Shown("Median words, cosine", ",.0f", "number"),
        "dot_words": Shown("Dot product", ",.0f", "number"),
    },
    MEDIANS: {
        "dataset": STUB,
        "of": Shown("Of"),
        "documents": Shown("Documents", ",.0f", "number"),
        "median": Shown("Median words", ",.0f", "number"),
        "printed": Shown("Printed", ",.0f", "number"),
    },
}
"""By table, the columns that the page shows, from left to right."""

SECTIONS: Mapping[str, Mapping[str, Any]] = {
    "claims": {"title": "Findings", "caption": "What the paper finds, and whether it holds"},
    "table-1": {
        "title": "Datasets (table 1)",
        "caption": "Statistics of the datasets",
        "groups": [("", 5), *((COUNTED[name].label, 2) for name in NUMBERS)],
        "close": True,
    },
    "efficiency": {
        "title": "Latency and index (section 5.1)",
        "caption": "Milliseconds of one query, and the size of the index",
        "close": True,
    },
    "bias": {
        "title": "Annotation bias (section 6)",
        "caption": "Unjudged documents where judgements are pooled",
        "close": True,
    },
    "similarities": {
        "title": "Two similarities (appendix D)",
        "caption": "The same vectors, compared by the cosine and by the dot product",
        "close": True,
    },
    MEDIANS: {"title": "Lengths of documents", "caption": "Median words of retrieved and judged documents", "tall": True},
}
"""By table, attributes of :class:`~beirflow.report.pages.Table`."""

Record = Mapping[Any, Any]  # a row of a CSV


def write_paper(
    *, folder: str, other_paths: Sequence[str], manifest_path: str, page_path: str, record_path: str, job: Job
) -> None:
    """Write the page, and a record of it and of all that it shows; ``other_paths`` are further files for the record."""
    facts = load_facts()
    tables = {name: read_named_csv(_file(folder, PAPER_TABLE(table=name))) for name in PAPER_TABLES}
    ours = [name.removeprefix(HERE) for name in tables["table-2"].columns if name.startswith(HERE)]
    sections: list[tuple[Table, list[str]]] = [page_table("claims", tables["claims"])]
    sections += [scores_table(name, measure, tables[name]) for name, measure in SCORE_TABLES.items()]
    sections[1][1].extend(f"Printed scores of {facts.label(name)}: {note}." for name, note in facts.made_otherwise.items())
    sections.append(page_table("table-1", tables["table-1"], lambda row: row["note"]))
    sections.append(efficiency_table(tables["efficiency"]))
    bias = tables["bias"]
    pooled = bias[bias["pooled"].astype(bool) | bias["extra"].notna()]
    sections += [page_table("bias", pooled)] if len(pooled) else []
    sections += [page_table("similarities", pairs)] if len(pairs := tables["similarities"]) else []
    sections.append(page_table(MEDIANS, tables[MEDIANS]))
    for table, lines in sections:
        lines += [f"Printed values: {facts.places[table.name]}."] if table.name in facts.places else []
    standing = facts.standing(ours)
    values = {
        "title": "beirflow: the BEIR paper",
        "written": read_json(manifest_path)["written"].partition("T")[0],
        "standing": [(facts.label(name), system) for name, system in standing.items()],
        "missing": [*_missing(facts, ours, tables["table-2"]), *facts.out_of_scope],
        "barred": [(facts.datasets[name]["label"], entry["reason"]) for name, entry in facts.not_comparable.items()],
        "sections": sections,
        "figures": [_figure(folder, name) for name in PAPER_FIGURES],
        "parts": [(f"{name}.csv", table.sources) for name, table in PAPER_TABLES.items()],
        "own": [system for system in ours if system not in standing.values()],
    }
    write_page("paper.html.j2", page_path, values)
    written = [_file(folder, PAPER_TABLE(table=name)) for name in PAPER_TABLES]
    written += [_file(folder, kind(figure=name)) for name in PAPER_FIGURES for kind in (PAPER_FIGURE_PDF, PAPER_FIGURE_SVG)]
    paths = [page_path, *written, *other_paths]
    printed = facts_digests()
    record_files_for_reading(paths=paths, manifest_path=manifest_path, record_path=record_path, job=job, printed=printed)


def page_table(name: str, table: pd.DataFrame, note: Callable[[Record], object] = lambda _: "") -> tuple[Table, list[str]]:
    """Arrange the content of a CSV for the page; ``note`` returns the note of a row. Return the table and its notes."""
    notes, rows = Notes(), []
    for row in table.to_dict("records"):
        cells = [_cell(row[key], column.form) for key, column in COLUMNS[name].items()]
        rows.append([replace(cells[0], note=notes.letter(note(row))), *cells[1:]])
    columns = [Column(column.label, bool(column.form), column.classes) for column in COLUMNS[name].values()]
    return Table(name, columns=columns, rows=rows, **SECTIONS[name]), notes.lines()


def _cell(value: Any, form: str) -> Cell:
    return number(value, form) if form else Cell(value if isinstance(value, str) else "")


def efficiency_table(table: pd.DataFrame) -> tuple[Table, list[str]]:
    """Arrange the table of latency and index size for the page, with the machine of each measurement in a note."""

    def note(row: Record) -> str:
        cores = "" if row["threads"] != row["threads"] else f"{row['threads']:.0f} threads of {row['processor']}"
        return "; ".join(filter(None, [cores, *(row[key] for key in ("gpu", "note") if isinstance(row[key], str))]))

    return page_table("efficiency", table.assign(index_bytes=table["index_bytes"] / GIGABYTE), note)


def scores_table(name: str, measure: str, table: pd.DataFrame) -> tuple[Table, list[str]]:
    """Arrange table 2 for the page: printed values, then ours, the best of each row marked among either.

    The notes name the datasets of every average.
    """
    systems = {prefix: [column for column in table.columns if column.startswith(prefix)] for prefix in (PRINTED, HERE)}
    notes, rows = Notes(), []
    for row in table.to_dict("records"):
        label, _, members = str(row["dataset"]).partition(": ")
        note = [f"over {members.removesuffix(')')}"] if members else []
        note += [row["note"]] if isinstance(row["note"], str) else []
        cells = [Cell(label + (")" if members else ""), note=notes.letter(". ".join(note)))]
        for prefix, names in systems.items():
            best = str(row.get(f"best_{prefix.strip()}", "")).split(", ")
            form = "+.1%" if label.startswith("difference") else ".3f" if prefix == PRINTED else ".4f"
            cells += [replace(number(row[column], form), best=column.removeprefix(prefix) in best) for column in names]
        rows.append(cells)
    columns = [Column("Dataset", number=False, classes="stub")]
    for prefix, names in systems.items():
        classes = ["number upright group", *["number upright"] * len(names)]
        columns += [Column(column.removeprefix(prefix), classes=kind) for column, kind in zip(names, classes, strict=False)]
    groups = [(label, len(systems[prefix])) for label, prefix in (("Printed", PRINTED), ("Here", HERE)) if systems[prefix]]
    caption = f"{measure} of every system on every dataset"
    return Table(name, f"{measure} (table 2)", caption, columns, rows, groups, close=True), notes.lines()


def _file(folder: str, path: str) -> str:
    """Return the path of a file of the paper, given below the results."""
    return str(Path(folder, Path(path).name))


def _missing(facts: PaperFacts, ours: Sequence[str], table: pd.DataFrame) -> list[str]:
    """Return sentences on the systems and datasets of the paper that are not here."""
    systems = [facts.label(name) for name in facts.systems if name not in facts.standing(ours)]
    absent = {name: str(entry["label"]) for name, entry in facts.datasets.items() if not _has_scores(table, name)}
    datasets = [label for name, label in absent.items() if name not in facts.not_public]
    private = [label for name, label in absent.items() if name in facts.not_public]
    kinds = {
        "Systems of the paper that are not here": systems,
        "Datasets of the paper that are not here": datasets,
        "Not public, and not here": private,
    }
    return [f"{kind}: {', '.join(labels)}." for kind, labels in kinds.items() if labels]


def _has_scores(table: pd.DataFrame, name: str) -> bool:
    row = table[table["dataset"] == name]
    return bool(row[[column for column in table.columns if column.startswith(HERE)]].notna().any(axis=None))


def _figure(folder: str, name: str) -> Mapping[str, str]:
    """Return a figure for the template: inside the page as an image, so that nothing in it touches the page."""
    figure = PAPER_FIGURES[name]
    data = b64encode(Path(_file(folder, PAPER_FIGURE_SVG(figure=name))).read_bytes()).decode()
    return {"title": figure.title, "alt": figure.alt, "pdf": f"{name}.pdf", "svg": f"{name}.svg", "data": data}


def counted_files(words_paths: Sequence[str], statistics_paths: Sequence[str], latency_paths: Sequence[str]) -> list[str]:
    """Join the files of ``count_corpus`` and ``measure_latency``, for the record of the page."""
    return [*words_paths, *statistics_paths, *latency_paths]
