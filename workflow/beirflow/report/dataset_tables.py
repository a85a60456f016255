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


def datasets_table(summary: pd.DataFrame) -> Table:
    """Return size, kind, licence and BibTeX entry of every dataset of ``summary.csv``, as far as the catalogue has them."""
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
    """Return the BibTeX of BEIR and of the named datasets of the catalogue; empty if none of the names is one."""
    datasets = dict.fromkeys(known for name in names if (known := of_catalogue(name)) in citations())
    return "\n".join(citations()[str(name)] for name in (BEIR, *datasets)) if datasets else ""
