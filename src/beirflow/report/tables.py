"""Tables of the report: scores, significance, cost, systems and datasets, arranged for reading."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

import pandas as pd

from beirflow.core.extensions import forms
from beirflow.core.records import ASSUMED
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import CATALOGUE
from beirflow.evaluation.summary import CHARACTERS, PUBLISHED, UNREACHABLE
from beirflow.evaluation.systems import PROMPTS, RECORD, TRUNCATED
from beirflow.report.pages import Cell, Column, Notes, Table, framed, number, words

SYSTEM = words("System", "stub")
MOST_FLAT = 6  # number of columns above which headers are rotated

HOLES = "Hole@10"

RARE = ("expand_seconds", *(f"{key}_seconds" for key in forms()), "rerank_seconds", "load_per_core")
"""Columns that are left out if no system has a value, such as the seconds of an unused stage."""

SAID_BY = {"configuration": "configuration", "model": "files of the model", "record": "record of the run"}

OF_ITS_OWN = (
    *("family", "model", "query_model", "revision", "query_revision", "offline", "weights", "weights_sha256", "model_sha256"),
    *("steps", "trained_on", *PROMPTS.values()),
)
"""Settings with their own column, or only in the table of all settings."""

RECORDED = ("tuned_on", "lossy", ASSUMED)  # settings only in records that affect scores
SHOWN_OF_A_REVISION = 10  # digits; the table of all settings has all of them

BEIR = "beir"  # key of BEIR's own citation

ENTRY = re.compile(r"^@\w+\{([\w.-]+),\n.*?^\}\n", re.MULTILINE | re.DOTALL)


class Sources(Notes):
    """Lettered citations of published scores."""

    def cite(self, system: str, source: object) -> str:
        """Return the letter of a source of a system; none for an unknown source."""
        for entry in load_catalogue().published.get(system, ()):
            if entry["source"] == source:
                more = f"; {entry['note']}" if "note" in entry else ""
                return self.letter(f"{entry['citation']}; version: {entry['version']}; values: {entry['place']}{more}")
        return ""


def main_measures(summary: pd.DataFrame) -> list[str]:
    """Return the measures with their own table: the main one first, then those with published scores."""
    names = [str(name) for name in summary.columns if "@" in str(name)]
    return list(dict.fromkeys([names[0], *(name for name in PUBLISHED if name in names)]))


def number_columns(labels: Iterable[str], first: int = 0) -> list[Column]:
    """Return columns of numbers, with a separator before number ``first``; many columns have rotated headers."""
    names = list(labels)
    upright = " upright" if len(names) > MOST_FLAT else ""
    return [
        Column(label, classes=("number group" if first and i == first else "number") + upright) for i, label in enumerate(names)
    ]


def holes_table(summary: pd.DataFrame) -> Table | None:
    """Return Hole@10 of every system on every dataset; None if it was not measured."""
    if HOLES not in summary:
        return None
    of_datasets = summary[summary["split"].notna()]
    datasets = list(dict.fromkeys(of_datasets["dataset"]))
    columns = [SYSTEM, *number_columns(datasets)]
    rows = [
        [Cell(str(system)), *map(number, part.set_index("dataset")[HOLES].reindex(datasets))]
        for system, part in of_datasets.groupby("system", sort=False)
    ]
    return Table("holes", "Documents judged for no query", f"{HOLES} of every system on every dataset", columns, rows, close=True)


def significance_table(comparison: pd.DataFrame) -> Table | None:
    """Return every pair of systems on every dataset and mean; None for a single system."""
    if comparison.empty:
        return None
    systems = comparison["system_a"] + " − " + comparison["system_b"]
    return framed("significance-table", with_short_names(comparison).assign(systems=systems))


def with_short_names(table: pd.DataFrame) -> pd.DataFrame:
    """Shorten the names of means over datasets."""
    return table.assign(dataset=table["dataset"].map(lambda name: name.partition(" (")[0]))


def cost_table(costs: pd.DataFrame) -> Table:
    """Return time, memory and disk use of every system on every dataset."""
    return framed("cost-table", costs, without=[key for key in RARE if key not in costs or costs[key].isna().all()])


def systems_table(settings: pd.DataFrame) -> Table:
    """Return one row per system from ``systems.csv``: family, settings, and number of truncated texts."""
    known = settings.assign(value=settings["value"].fillna("").astype(str))
    rows = [{"system": system} | _row(part) for system, part in known.groupby("system", sort=False)]
    return framed("systems-table", pd.DataFrame(rows))


def _row(settings: pd.DataFrame) -> dict[str, str]:
    values = {str(name): part for name, part in settings.groupby("setting", sort=False)}
    shown = [name for name, part in values.items() if _is_shown(name.partition(" of ")[0], part, values)]
    cut = {name.removeprefix(TRUNCATED): part["value"].astype(int).sum() for name, part in values.items() if TRUNCATED in name}
    return {
        **{name: _one(values, name) for name in ("family", "precision", "trained_on")},
        "model": _model(values),
        "settings": " · ".join(f"{name} {_one(values, name)}{_instead(values[name])}" for name in shown),
        **{name: _prompt(values, name) for name in PROMPTS.values()},
        "cut": ", ".join(f"{count:,} {kind}" for kind, count in cut.items()),
    }


def _is_shown(name: str, part: pd.DataFrame, values: Mapping[str, pd.DataFrame]) -> bool:
    """Test whether the column of settings shows a setting: configured ones, and recorded ones that affect scores."""
    if name == "weights":  # of a fused system; those of a model are the name of a file
        return "model" not in values
    return name in RECORDED or (name not in OF_ITS_OWN and set(part["said_by"]) != {RECORD})


def _one(values: Mapping[str, pd.DataFrame], name: str) -> str:
    """Return the value of a setting; all values if datasets differ."""
    return " or ".join(values[name]["value"].unique()) if name in values else ""


def _model(values: Mapping[str, pd.DataFrame]) -> str:
    """Return the model with its revision, and that of the queries if they have one."""
    models = []
    for model, revision in (("model", "revision"), ("query_model", "query_revision")):
        if name := _one(values, model):
            pinned = _one(values, revision)[:SHOWN_OF_A_REVISION]
            models.append(f"{name} at {pinned}" if pinned else name)
    return "; queries: ".join(models)


def _instead(part: pd.DataFrame) -> str:
    """Return the value in the model files where the configuration differs."""
    other = part["model_says"][part["model_says"].notna() & (part["model_says"] != part["value"])].unique()
    return f" (model files: {', '.join(other)})" if len(other) else ""


def _prompt(values: Mapping[str, pd.DataFrame], name: str) -> str:
    """Return a prompt in quotes, so that a trailing space is visible; the number of prompts if they differ by dataset."""
    prompts = values[name]["value"].unique() if name in values else ()
    if len(prompts) > 1:
        return f"{len(prompts)} prompts by dataset: see all settings"
    return "".join(f"“{prompt}”{_instead(values[name])}" if prompt else "none" for prompt in prompts)


def settings_table(settings: pd.DataFrame) -> Table:
    """Return every setting of every system from ``systems.csv``, with its source."""
    datasets = settings["dataset"].fillna("").replace("", "all")
    return framed("settings-table", settings.assign(dataset=datasets, said_by=settings["said_by"].map(SAID_BY)))


@cache
def citations() -> dict[str, str]:
    """Return BibTeX by the name of the dataset, or ``beir``."""
    text = (CATALOGUE / "citations.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in ENTRY.finditer(text)}


def of_catalogue(name: str) -> str | None:
    """Return the dataset of the catalogue for a name, which may be another split or a sample of it; None without one."""
    for known, corpora in load_catalogue().known_datasets.items():
        splits = "|".join(map(re.escape, corpora[0].other_splits))
        if re.fullmatch(rf"{re.escape(known)}(\.({splits}))?(\.sample-\d+(-\w+)*)?", name):
            return known
    return None


def citation_of(known: str | None) -> str | None:
    """Return the BibTeX key of a dataset of the catalogue, or of its collection; None without one."""
    if collection := load_catalogue().newer.collections.get((known or "").partition(".")[0]):
        return collection.citation
    return known if known in citations() else None


def datasets_table(summary: pd.DataFrame) -> Table:
    """Return size, kind, licence and BibTeX entry of every dataset of ``summary.csv``, as far as the catalogue has them."""
    catalogue = load_catalogue()
    sizes = ["dataset", "split", "documents", "queries", CHARACTERS, UNREACHABLE]
    datasets = summary[summary["split"].notna()].drop_duplicates("dataset").reindex(columns=sizes)
    known = [of_catalogue(name) for name in datasets["dataset"]]
    columns = {kind: [catalogue.kinds.get(name or "", {}).get(kind, "") for name in known] for kind in ("task", "domain")}
    columns["licence"] = [(catalogue.known_datasets[name][0].licence if name else "") or "" for name in known]
    without = [] if datasets[UNREACHABLE].notna().any() else [UNREACHABLE]
    return framed("datasets-table", datasets.assign(**columns, citation=[citation_of(name) or "" for name in known]), without)


def bibtex(names: Iterable[str]) -> str:
    """Return the BibTeX of BEIR and of the named datasets of the catalogue; empty if none of the names is one."""
    datasets = dict.fromkeys(entry for name in names if (entry := citation_of(of_catalogue(name))))
    return "\n".join(citations()[str(name)] for name in (BEIR, *datasets)) if datasets else ""
