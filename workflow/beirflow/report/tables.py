"""Tables of the report: scores, significance, cost and datasets, arranged for reading."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import pandas as pd
from scipy.constants import hour, kilo

from beirflow.catalogue.catalogue import load_catalogue
from beirflow.catalogue.schema import CATALOGUE
from beirflow.evaluation.summary import CHARACTERS, PUBLISHED
from beirflow.report.pages import Cell, Column, Notes, Table, number

NAME = Column("Dataset", number=False, classes="stub")
SYSTEM = Column("System", number=False, classes="stub")
FIRST = "number group"
MOST_FLAT = 6  # with more columns their headers are upright, so that a table fits a page

HOLES = "Hole@10"
MEBIBYTE = 1 << 20

SIGNIFICANCE = {
    "difference": ("Difference", "+.4f"),
    "low": ("95 % from", "+.4f"),
    "high": ("to", "+.4f"),
    "p_holm": ("p corrected", ".5f"),
    "effect_size": ("Effect size", "+.2f"),
    "p": ("p", ".5f"),
    "detectable": ("Detectable", ".4f"),
    "queries": ("Queries", ",.0f"),
}
"""Columns of ``significance.csv`` that hold numbers: their headers, and how they are written."""

COST: dict[str, dict[str, tuple[str, str, float]]] = {
    "Documents": {
        "documents": ("Number", ",.0f", 1),
        "documents_reused": ("Reused", ",.0f", 1),
        "documents_per_second": ("Per second", ",.0f", 1),
    },
    "Seconds of all jobs": {
        "expand_seconds": ("Expand", ",.1f", 1),
        "train_seconds": ("Train", ",.1f", 1),
        "index_seconds": ("Index", ",.1f", 1),
        "queries_seconds": ("Queries", ",.1f", 1),
        "search_seconds": ("Search", ",.1f", 1),
        "rerank_seconds": ("Re-rank", ",.1f", 1),
        "evaluate_seconds": ("Evaluate", ",.1f", 1),
        "seconds": ("All", ",.1f", 1),
    },
    "MiB": {"peak_memory_bytes": ("Peak memory", ",.0f", MEBIBYTE), "index_bytes": ("Index size", ",.1f", MEBIBYTE)},
}
"""By group, columns of ``cost.csv`` that hold numbers: their headers, how they are written, and what they are divided by."""

ENERGY: dict[str, tuple[str, str, float]] = {
    "processor_joules": ("Processors, kWh", ",.4f", kilo * hour),
    "gpu_joules": ("GPUs, kWh", ",.4f", kilo * hour),
    "processor_share": ("Share", ".2f", 1),
    "co2_grams": ("CO₂, g", ",.1f", 1),
}
"""Columns of energy in ``cost.csv``, likewise."""

RARE = ("expand_seconds", "train_seconds", "rerank_seconds")  # left out if no system has such a stage

NOT_COUNTED = (
    "Energy and emissions are not known: no job found counters of energy that it may read (Linux has those of processors and"
    " memory in /sys/class/powercap, on most machines for root only; NVIDIA's driver has those of GPUs)."
)
COUNTED = (
    "Energy is what processors with memory (by RAPL) and GPUs (by NVML) used while the jobs of a system ran. That of processors"
    " is attributed to a job by its share of the processor time of all processes meanwhile, so that jobs side by side add up to"
    " no more than the machine used; share is that of all jobs. Jobs on one GPU have equal parts of its energy."
)

COST_WORDS = {"system": "Name", "precision": "Precision", "devices": "Device"}  # columns of words, which come first
BEIR = "beir"  # among the citations, which are by dataset otherwise

ENTRY = re.compile(r"^@\w+\{([\w.-]+),\n.*?^\}\n", re.MULTILINE | re.DOTALL)


class Sources(Notes):
    """The citations of published scores, each named by a letter."""

    def __init__(self) -> None:
        super().__init__()
        published = load_catalogue().published
        self._citations = {
            (system, entry["source"]): f"{entry['citation']}; version: {entry['version']}; values: {entry['place']}"
            + (f"; {entry['note']}" if "note" in entry else "")
            for system, entries in published.items()
            for entry in entries
        }

    def cite(self, system: str, source: object) -> str:
        """Return the letter of a source of a system; none for an unknown source."""
        return self.letter(self._citations.get((system, source)))


def main_measures(summary: pd.DataFrame) -> list[str]:
    """Return the measures that have a table of their own: the main one, which is the first, and those that are published."""
    names = [str(name) for name in summary.columns if "@" in str(name)]
    return list(dict.fromkeys([names[0], *(name for name in PUBLISHED if name in names)]))


def holes_table(summary: pd.DataFrame) -> Table | None:
    """Return Hole@10 of every system on every dataset; None if it was not measured."""
    if HOLES not in summary:
        return None
    of_datasets = summary[summary["split"].notna()]
    datasets = list(dict.fromkeys(of_datasets["dataset"]))
    upright = "number upright" if len(datasets) > MOST_FLAT else "number"
    columns = [SYSTEM, *(Column(dataset, classes=upright) for dataset in datasets)]
    rows = [
        [Cell(str(system)), *map(number, part.set_index("dataset")[HOLES].reindex(datasets))]
        for system, part in of_datasets.groupby("system", sort=False)
    ]
    return Table("holes", "Unjudged documents", f"{HOLES} of every system on every dataset", columns, rows, close=True)


def significance_table(comparison: pd.DataFrame) -> Table | None:
    """Return every pair of systems on every dataset and mean; None for a single system."""
    if comparison.empty:
        return None
    names = [NAME, *(Column(label, number=False, classes="") for label in ("Measure", "Systems"))]
    columns = names + [Column(label) for label, _ in SIGNIFICANCE.values()]
    rows = []
    for row in comparison.to_dict("records"):
        pair = row["system_a"], row["system_b"]
        cells = [number(row[name], form) for name, (_, form) in SIGNIFICANCE.items()]
        name = str(row["dataset"]).partition(" (")[0]  # of a mean, without its datasets
        rows.append([Cell(name), Cell(row["measure"]), Cell(f"{pair[0]} − {pair[1]}"), *cells])
    caption = "The first system minus the second: the first is better where the difference is above 0"
    return Table("significance-table", "Significance", caption, columns, rows, tall=True)


def energy_note(costs: pd.DataFrame) -> str:
    """Return a note on the energy in the table of costs, or on its absence."""
    if energy_table(costs) is None:
        return NOT_COUNTED
    intensity = costs["carbon_intensity"].iloc[0]
    by = "are not known without carbon_intensity" if pd.isna(intensity) else f"are those of {intensity:g} g of CO₂ a kWh"
    return f"{COUNTED} Emissions {by}."


def cost_table(costs: pd.DataFrame) -> Table:
    """Return time, memory and disk use of every system on every dataset."""
    columns = [
        NAME,
        *(Column(label, number=False, classes="group" if key == "system" else "") for key, label in COST_WORDS.items()),
    ]
    shown = {
        name: {key: form for key, form in group.items() if key not in RARE or _has(costs, key)} for name, group in COST.items()
    }
    for group in shown.values():
        columns += [Column(label, classes="number" if i else FIRST) for i, (label, *_) in enumerate(group.values())]
    numbers = [(key, form, unit) for group in shown.values() for key, (_, form, unit) in group.items()]
    rows = []
    for row in costs.to_dict("records"):
        words = [Cell("" if pd.isna(row[key]) else str(row[key])) for key in COST_WORDS]
        rows.append([Cell(str(row["dataset"])), *words, *(number(row[key] / unit, form) for key, form, unit in numbers)])
    groups = [("System", len(COST_WORDS)), *((label, len(group)) for label, group in shown.items())]
    caption = "What every system needed on every dataset"
    return Table("cost-table", "Cost", caption, columns, rows, groups, tall=True)


def _has(costs: pd.DataFrame, key: str) -> bool:
    """Test that any system has a value in a column."""
    return key in costs and bool(costs[key].notna().any())


def energy_table(costs: pd.DataFrame) -> Table | None:
    """Return energy and emissions of every system on every dataset, without empty columns; None if nobody counted any."""
    counted = {key: "processor_joules" if key == "processor_share" else key for key in ENERGY}
    shown = [key for key, source in counted.items() if source in costs and (costs[source] > 0).any()]
    columns = [NAME, Column("System", number=False, classes=""), *(Column(ENERGY[key][0]) for key in shown)]
    rows = []
    for row in costs.to_dict("records"):
        values = {key: row[key] / ENERGY[key][2] for key in shown}
        cells = [Cell("not known") if pd.isna(value) else number(value, ENERGY[key][1]) for key, value in values.items()]
        rows.append([Cell(str(row["dataset"])), Cell(str(row["system"])), *cells])
    caption = "Energy of the jobs of every system, summed over all of them"
    return Table("energy-table", "Energy", caption, columns, rows, tall=True) if shown else None


def counts(means: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts of a dataset that do not depend on the system."""
    return {name: means["counts"][name] for name in ("documents", "queries", "judgements") if name in means["counts"]}


@cache
def citations() -> dict[str, str]:
    """Return BibTeX by the name of the dataset, or ``beir``."""
    text = (CATALOGUE / "citations.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in ENTRY.finditer(text)}


def of_catalogue(name: str) -> str | None:
    """Return the dataset of the catalogue behind a name, which may be of another split or a sample of it; None for any other."""
    for known, corpora in load_catalogue().known_datasets.items():
        splits = "|".join(map(re.escape, corpora[0].other_splits))
        if re.fullmatch(rf"{re.escape(known)}(\.({splits}))?(\.sample-\d+(-\w+)*)?", name):
            return known
    return None


def citation_of(known: str | None) -> str | None:
    """Return the entry of BibTeX of a dataset of the catalogue, or of its collection; None if there is none."""
    if collection := load_catalogue().newer.collections.get((known or "").partition(".")[0]):
        return collection.citation
    return known if known in citations() else None


def datasets_table(summary: pd.DataFrame) -> Table:
    """Return size, kind, licence and BibTeX entry of every dataset of ``summary.csv``, as far as the catalogue has them."""
    catalogue = load_catalogue()
    labels = ("Task", "Domain", "Licence", "Entry of BibTeX")
    columns = [NAME, Column("Split", number=False, classes=""), *map(Column, ("Documents", "Queries", "Characters a document"))]
    columns += [Column(label, number=False, classes="prose") for label in labels]
    rows = []
    for row in summary[summary["split"].notna()].drop_duplicates("dataset").to_dict("records"):
        known = of_catalogue(str(row["dataset"]))
        kinds = catalogue.kinds.get(known or "", {})
        licence = catalogue.known_datasets[known][0].licence if known else None
        words = (kinds.get("task"), kinds.get("domain"), licence, citation_of(known))
        sizes = (number(row.get(key, float("nan")), ",.0f") for key in ("documents", "queries", CHARACTERS))
        rows.append([Cell(str(row["dataset"])), Cell(str(row["split"])), *sizes, *(Cell(str(word or "")) for word in words)])
    return Table("datasets-table", "Datasets", "What every dataset is; licences as the BEIR paper names them", columns, rows)


def bibtex(names: Iterable[str]) -> str:
    """Return the BibTeX of BEIR and of the named datasets of the catalogue; empty if none of the names is one."""
    datasets = dict.fromkeys(entry for name in names if (entry := citation_of(of_catalogue(name))))
    return "\n".join(citations()[str(name)] for name in (BEIR, *datasets)) if datasets else ""
