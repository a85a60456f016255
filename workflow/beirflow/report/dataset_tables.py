"""Tables of the datasets: facts, licences and citations."""

import re
from collections.abc import Iterable
from functools import cache

import pandas as pd

from beirflow.catalogue.catalogue import load_catalogue
from beirflow.catalogue.schema import CATALOGUE
from beirflow.report.pages import Cell, Column, Table, number

NAME = Column("Dataset", number=False, classes="stub")

BEIR = "beir"
"""The benchmark among the citations, which are by dataset otherwise."""

ENTRY = re.compile(r"^@\w+\{([\w-]+),\n.*?^\}\n", re.MULTILINE | re.DOTALL)


@cache
def citations() -> dict[str, str]:
    """BibTeX by the name of the dataset, or ``beir``."""
    text = (CATALOGUE / "citations.bib").read_text(encoding="utf-8")
    return {found[1]: found[0] for found in ENTRY.finditer(text)}


def of_catalogue(name: str) -> str | None:
    """The dataset of the catalogue that is meant, also by the name of another split or a sample of it; None for any other."""
    for known, corpora in load_catalogue().known_datasets.items():
        splits = "|".join(map(re.escape, corpora[0].other_splits))
        if re.fullmatch(rf"{re.escape(known)}(\.({splits}))?(\.sample-\d+(-\w+)*)?", name):
            return known
    return None


def datasets_table(summary: pd.DataFrame) -> Table:
    """A row a dataset: its size, its kind, its licence, and its entry in ``datasets.bib``.

    Args:
        summary: What ``summary.csv`` holds.

    Returns:
        The table; what is only known of datasets of the catalogue is empty for others.
    """
    catalogue = load_catalogue()
    labels = ("Task", "Domain", "Licence", "Entry of BibTeX")
    columns = [NAME, Column("Split", number=False, classes=""), Column("Documents"), Column("Queries")]
    columns += [Column(label, number=False, classes="prose") for label in labels]
    rows = []
    for row in summary[summary["split"].notna()].drop_duplicates("dataset").to_dict("records"):
        known = of_catalogue(str(row["dataset"]))
        kinds = catalogue.kinds.get(known or "", {})
        licence = catalogue.known_datasets[known][0].licence if known else None
        words = (kinds.get("task"), kinds.get("domain"), licence, known if known in citations() else None)
        sizes = (number(row[key], ",.0f") for key in ("documents", "queries"))
        rows.append([Cell(str(row["dataset"])), Cell(str(row["split"])), *sizes, *(Cell(str(word or "")) for word in words)])
    return Table("datasets-table", "Datasets", "What every dataset is; licences as the BEIR paper names them", columns, rows)


def bibtex(names: Iterable[str]) -> str:
    """How datasets are cited.

    Args:
        names: Their names in ``summary.csv``.

    Returns:
        An entry for BEIR and for each dataset of the catalogue; empty if none of them is.
    """
    known = dict.fromkeys(found for name in names if (found := of_catalogue(name)) in citations())
    return "\n".join(citations()[str(name)] for name in (BEIR, *known)) if known else ""
