"""The cost of every system on every dataset: ``cost.csv`` of ``docs/files.md``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beirflow.core.csv_files import write_csv
from beirflow.core.extensions import forms
from beirflow.core.layout import BENCHMARK
from beirflow.core.records import Job, read_json
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.run.benchmark import LOAD as LOAD
from beirflow.run.by_name import by_name

STAGES = ("load", "queries", "expand", *forms(), "index", "build", "search", "merge", "fuse", "rerank", "evaluate")

MEBIBYTE = 1 << 20  # the unit of Snakemake's ``max_rss``
JOBS = "jobs"  # names of jobs of a corpus, in whose place a row has the columns of extensions

HIGHEST: Mapping[str, Callable[[Any], Any]] = {"peak_memory_bytes": np.max, LOAD: np.fmax.reduce}
"""Columns of which several corpora have the highest value; a load that is not known of all is that of the others."""


def collect_costs(
    *,
    means_paths: Sequence[str],
    record_paths: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    costs_path: str,
    job: Job,
    additions: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write ``cost.csv`` from the means and the run records of every system on every corpus, both in the same order.

    ``rows`` has the corpora of every dataset. ``additions`` has functions that return further columns of a row from the folder of
    results and the names of the jobs of each corpus, and, by their names, their other arguments.
    """
    of_corpus: dict[str, dict[str, dict[str, Any]]] = {}
    for means_path, record_path in zip(means_paths, record_paths, strict=True):
        means = read_json(means_path)
        corpora = of_corpus.setdefault(means["system"], {})
        corpora[means["dataset"]] = _of_corpus(means, read_json(record_path), job.results)
    add = [partial(by_name(name), job.results, **values) for name, values in additions.items()]
    table = pd.DataFrame(
        [
            {"system": system, "dataset": dataset, **_together([costs_of[corpus] for corpus in corpora], add)}
            | _published(system, dataset)
            for system, costs_of in of_corpus.items()
            for dataset, corpora in rows.items()
        ]
    )
    write_csv(table, costs_path)


def _published(system: str, dataset: str) -> dict[str, Any]:
    """Return the seconds that a source of published scores prints, with its name; both empty if none does."""
    sources = load_catalogue().published.get(system, ())
    printed = [(source["seconds"][dataset], source["source"]) for source in sources if dataset in source.get("seconds", {})]
    return dict(zip(("published_seconds", "published_source"), (printed or [(np.nan, "")])[0], strict=True))


def _of_corpus(means: Mapping[str, Any], run: Mapping[str, Any], results: Path) -> dict[str, Any]:
    """Return the cost of one system on one corpus, from the records of its means and of its run."""
    made = run.get("made", {})
    jobs = [*run.get("jobs", ()), run["job"], means["job"]]
    return {
        **{key: means["counts"][key] for key in ("documents", "queries")},
        **{f"{stage}_seconds": means["seconds"].get(stage, np.nan) for stage in STAGES},
        "seconds": sum(means["seconds"].values()),
        "documents_reused": run.get("counts", {}).get("documents_reused", 0),
        "index_bytes": run.get("bytes", {}).get("index", np.nan),
        **_measured([results / BENCHMARK(job=job) for job in jobs]),
        JOBS: jobs,
        "precision": _values(made.get("precision")),
        "devices": _values(made.get("device")),
    }


def _values(made: str | list[str] | None) -> set[str]:
    """Return the devices or versions that computed something, as a set."""
    return set(made) if isinstance(made, list) else {made} - {None}  # type: ignore[return-value]


def _measured(paths: Sequence[Path]) -> dict[str, float]:
    """Return the highest memory in some benchmarks, not-a-number if one is missing, which could have it, and the highest load."""
    tables = [pd.read_csv(path, sep="\t") for path in paths if path.is_file()]
    highest = pd.concat(tables or [pd.DataFrame()]).reindex(columns=["max_rss", LOAD]).max()
    peak = float(highest["max_rss"]) * MEBIBYTE if len(tables) == len(paths) else np.nan
    return {"peak_memory_bytes": peak, LOAD: float(highest[LOAD])}


def _together(corpora: Sequence[Mapping[str, Any]], add: Iterable[Callable[..., Mapping[str, Any]]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for key, first in corpora[0].items():
        values = [corpus[key] for corpus in corpora]
        if key == JOBS:
            for columns in add:
                row |= columns(values)
        elif isinstance(first, set):
            row[key] = ", ".join(sorted(str(name) for name in set().union(*values) if name))
        else:
            row[key] = HIGHEST[key](values) if key in HIGHEST else sum(values)
        # Ratios of sums, and not sums of ratios.
        if key == "seconds":
            row["documents_per_second"] = row["documents"] / (row["index_seconds"] or np.nan)
        if key == "documents_reused":
            row["new_documents_per_second"] = (row["documents"] - row[key]) / (row["index_seconds"] or np.nan)
    return row
