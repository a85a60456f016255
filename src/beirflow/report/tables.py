"""Tables of the report: scores, significance, cost, systems and datasets, arranged for reading."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import numpy as np
import pandas as pd

from beirflow.core.extensions import forms
from beirflow.core.records import ASSUMED
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import CATALOGUE
from beirflow.evaluation.summary import CHARACTERS, UNREACHABLE
from beirflow.evaluation.systems import PROMPTS, RECORD, TRUNCATED
from beirflow.report.pages import (
    DATASET,
    SYSTEM,
    Cell,
    Column,
    Columns,
    Table,
    framed,
    number,
    number_columns,
    numbers,
    texts,
    words,
)
from beirflow.report.registry import table
from beirflow.report.results import Results
from beirflow.report.uncertainty import with_short_names

HOLES = "Hole@10"

MEBI = 1 << 20
SECONDS = ",.1f"

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


@table("results")
def holes(results: Results) -> Iterator[Table]:
    """Yield Hole@10 of every system on every dataset, where it was measured."""
    if HOLES not in results.summary:
        return
    of_datasets = results.summary[results.summary["split"].notna()]
    datasets = list(of_datasets["dataset"].unique())
    rows = [
        [Cell(str(system)), *map(number, part.set_index("dataset")[HOLES].reindex(datasets))]
        for system, part in of_datasets.groupby("system", sort=False)
    ]
    columns, caption = [SYSTEM, *number_columns(datasets)], f"{HOLES} of every system on every dataset"
    yield Table("", "Documents judged for no query", caption, columns, rows, close=True)


@table("results")
def failures(results: Results) -> Iterator[Table]:
    """Yield the share of queries on which each system fails, and on which all fail: no other choice among them would help."""
    zeros = {key: values == 0 for key, values in results.per_query.items()}
    shares = {system: [zeros[system, row].mean() for row in results.rows] for system in results.system_names}
    if len(shares) > 1:
        shares["all of them"] = [np.all([zeros[system, row] for system in shares], axis=0).mean() for row in results.rows]
    rows = [[Cell(system), *(number(share, ".1%") for share in of_rows)] for system, of_rows in shares.items()]
    caption = f"Share of queries with {results.main_measure} of 0"
    yield Table("", "Failed queries", caption, [SYSTEM, *number_columns(results.rows)], rows, close=True)


@table("significance")
def significance(results: Results) -> Iterator[Table]:
    """Yield every pair of systems on every dataset and mean; none for a single system."""
    columns = {
        "dataset": DATASET,
        **texts(measure="Measure", systems="Systems"),
        **numbers("+.4f", difference="Difference", low="95 % from", high="to"),
        **numbers(".5f", p_holm="p corrected"),
        **numbers("+.2f", effect_size="Effect size"),
        **numbers(".5f", p="p"),
        **numbers(".4f", detectable="Detectable"),
        **numbers(",.0f", queries="Queries"),
    }
    pairs = with_short_names(results.significance)
    pairs = pairs.assign(systems=pairs["system_a"] + " − " + pairs["system_b"])
    if len(pairs):
        caption = "First system minus second; a difference above 0 favours the first"
        yield framed("Significance", caption, pairs, columns, tall=True)


@table("cost")
def cost(results: Results) -> Iterator[Table]:
    """Yield time, memory and disk use of every system on every dataset."""
    made = {f"{key}_seconds": Column(key.capitalize(), SECONDS) for key in forms()}
    columns: Columns = {
        "dataset": DATASET,
        "System": {"system": words("Name"), "precision": words("Precision"), "devices": words("Device")},
        "Documents": numbers(",.0f", documents="Number", documents_reused="Reused", documents_per_second="Per second"),
        "Seconds, all jobs": {
            **numbers(SECONDS, expand_seconds="Expand"),
            **made,
            **numbers(SECONDS, index_seconds="Index", queries_seconds="Queries", search_seconds="Search"),
            **numbers(SECONDS, rerank_seconds="Re-rank", evaluate_seconds="Evaluate", seconds="All"),
        },
        "MiB": {
            **numbers(",.0f", peak_memory_bytes="Peak memory", unit=MEBI),
            **numbers(",.1f", index_bytes="Index size", unit=MEBI),
        },
        "Machine": {"load_per_core": Column("Load per core", ".1f")},
    }
    yield framed("Cost", "Cost of every system on every dataset", results.costs, columns, tall=True, close=True)


@table("systems")
def systems(results: Results) -> Iterator[Table]:
    """Yield one row per system from ``systems.csv``: family, settings, and number of truncated texts."""
    columns = {
        "system": SYSTEM,
        **texts(family="Family"),
        **texts("prose", model="Model", settings="Settings", prompts="Prompts"),
        **texts(precision="Precision"),
        **texts("prose", cut="Truncated", trained_on="Trained on"),
    }
    known = results.systems.assign(value=results.systems["value"].fillna("").astype(str))
    rows = [{"system": system} | _row(part) for system, part in known.groupby("system", sort=False)]
    yield framed("Systems", "Systems with their settings", pd.DataFrame(rows), columns)


def _row(settings: pd.DataFrame) -> dict[str, str]:
    values = {str(name): part for name, part in settings.groupby("setting", sort=False)}
    shown = [name for name, part in values.items() if _is_shown(name.partition(" of ")[0], part, values)]
    cut = {name.removeprefix(TRUNCATED): part["value"].astype(int).sum() for name, part in values.items() if TRUNCATED in name}
    return {
        **{name: _one(values, name) for name in ("family", "precision", "trained_on")},
        "model": _model(values),
        "settings": " · ".join(f"{name} {_one(values, name)}{_instead(values[name])}" for name in shown),
        "prompts": "; ".join(f"{text}: {prompt}" for text, name in PROMPTS.items() if (prompt := _prompt(values, name))),
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


@table("systems")
def settings(results: Results) -> Iterator[Table]:
    """Yield every setting of every system from ``systems.csv``, with its source."""
    columns = {
        "system": SYSTEM,
        **texts(setting="Setting", dataset="Dataset"),
        **texts("prose", value="Value"),
        **texts(said_by="Source"),
        **texts("prose", model_says="Model files"),
    }
    every = results.systems
    datasets = every["dataset"].fillna("").replace("", "all")
    rows = every.assign(dataset=datasets, said_by=every["said_by"].map(SAID_BY))
    yield framed("All settings", "Every setting of every system, with its source", rows, columns, tall=True)


@cache
def citations() -> dict[str, str]:
    """Return BibTeX by the name of the dataset, or ``beir``."""
    text = (CATALOGUE / "citations.bib").read_text(encoding="utf-8")
    return {entry[1]: entry[0] for entry in ENTRY.finditer(text)}


def of_catalogue(name: str) -> str | None:
    """Return the dataset of the catalogue for a name, which may be another split or a sample of it; None without one."""
    for known, corpora in load_catalogue().known_datasets.items():
        if not name.startswith(known):
            continue
        splits = "|".join(map(re.escape, corpora[0].other_splits))
        if re.fullmatch(rf"{re.escape(known)}(\.({splits}))?(\.sample-\d+(-\w+)*)?", name):
            return known
    return None


def citation_of(known: str | None) -> str | None:
    """Return the BibTeX key of a dataset of the catalogue, or of its collection; None without one."""
    if collection := load_catalogue().newer.collections.get((known or "").partition(".")[0]):
        return collection.citation
    return known if known in citations() else None


@table("datasets")
def datasets(results: Results) -> Iterator[Table]:
    """Yield size, kind, licence and BibTeX key of every dataset of ``summary.csv``, as far as the catalogue has them."""
    shown = {
        "dataset": DATASET,
        **texts(split="Split"),
        **numbers(",.0f", documents="Documents", queries="Queries"),
        CHARACTERS: Column("Mean characters per document", ",.0f"),
        UNREACHABLE: words("Unreachable relevant documents", "prose"),
        **texts("prose", task="Task", domain="Domain", licence="Licence", citation="BibTeX key"),
    }
    catalogue, summary = load_catalogue(), results.summary
    rows = summary[summary["split"].notna()].drop_duplicates("dataset")
    rows = rows.reindex(columns=["dataset", "split", "documents", "queries", CHARACTERS, UNREACHABLE])
    known = [of_catalogue(name) for name in rows["dataset"]]
    about = {kind: [catalogue.kinds.get(name or "", {}).get(kind, "") for name in known] for kind in ("task", "domain")}
    about["licence"] = [(catalogue.known_datasets[name][0].licence if name else "") or "" for name in known]
    about["citation"] = [citation_of(name) or "" for name in known]
    yield framed("Datasets", "Datasets; licences as in the BEIR paper", rows.assign(**about), shown)


def bibtex(names: Iterable[str]) -> str:
    """Return the BibTeX of BEIR and of the named datasets of the catalogue; empty if none of the names is one."""
    datasets = dict.fromkeys(entry for name in names if (entry := citation_of(of_catalogue(name))))
    return "\n".join(citations()[str(name)] for name in (BEIR, *datasets)) if datasets else ""
