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
from beirflow.core.records import Job, read_json, together
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.evaluation.systems import in_words
from beirflow.run.by_name import by_name
from beirflow.run.job import LOAD as LOAD

STAGES = ("load", "queries", "expand", *forms(), "index", "build", "search", "merge", "fuse", "rerank", "evaluate")

MEBIBYTE = 1 << 20  # the unit of Snakemake's ``max_rss``

Records = tuple[dict[str, Any], dict[str, Any]]  # of the means of a system on a corpus, and of its run


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
    of_corpus: dict[str, dict[str, Records]] = {}
    for means_path, record_path in zip(means_paths, record_paths, strict=True):
        means = read_json(means_path)
        of_corpus.setdefault(means["system"], {})[means["dataset"]] = means, read_json(record_path)
    add = [partial(by_name(name), job.results, **values) for name, values in additions.items()]
    table = pd.DataFrame(
        [
            {"system": system, "dataset": dataset, **_costs([records[corpus] for corpus in corpora], job.results, add)}
            | _published(system, dataset)
            for system, records in of_corpus.items()
            for dataset, corpora in rows.items()
        ]
    )
    write_csv(table, costs_path)


def _published(system: str, dataset: str) -> dict[str, Any]:
    """Return the seconds that a source of published scores prints, with its name; both empty if none does."""
    sources = load_catalogue().published.get(system, ())
    printed = [(source["seconds"][dataset], source["source"]) for source in sources if dataset in source.get("seconds", {})]
    return dict(zip(("published_seconds", "published_source"), (printed or [(np.nan, "")])[0], strict=True))


def _costs(records: Sequence[Records], results: Path, add: Iterable[Callable[..., Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the cost of one system on one dataset, from the records of its means and of its run on each corpus."""
    every_means, runs = zip(*records, strict=True)
    jobs = [[*run.get("jobs", ()), run["job"], means["job"]] for means, run in records]
    row: dict[str, Any] = {key: sum(means["counts"][key] for means in every_means) for key in ("documents", "queries")}
    for stage in STAGES:
        row[f"{stage}_seconds"] = sum(means["seconds"].get(stage, np.nan) for means in every_means)
    row["seconds"] = sum(sum(means["seconds"].values()) for means in every_means)
    seconds, reused = row["index_seconds"] or np.nan, sum(run.get("counts", {}).get("documents_reused", 0) for run in runs)
    row["documents_per_second"] = row["documents"] / seconds
    row["documents_reused"] = reused
    row["new_documents_per_second"] = (row["documents"] - reused) / seconds
    row["index_bytes"] = sum(run.get("bytes", {}).get("index", np.nan) for run in runs)
    row |= _measured([results / BENCHMARK(job=job) for of_corpus in jobs for job in of_corpus])
    for columns in add:
        row |= columns(jobs)
    for column, key in (("precision", "precision"), ("devices", "device")):
        made = together({key: run["made"][key]} for run in runs if key in run.get("made", {}))
        row[column] = in_words(made.get(key)) or ""
    return row


def _measured(paths: Sequence[Path]) -> dict[str, float]:
    """Return the highest memory in some benchmarks, not-a-number if one is missing, which could have it, and the highest load."""
    tables = [pd.read_csv(path, sep="\t") for path in paths if path.is_file()]
    highest = pd.concat(tables or [pd.DataFrame()]).reindex(columns=["max_rss", LOAD]).max()
    peak = float(highest["max_rss"]) * MEBIBYTE if len(tables) == len(paths) else np.nan
    return {"peak_memory_bytes": peak, LOAD: float(highest[LOAD])}


def on_front(scores: np.ndarray, costs: np.ndarray) -> list[bool]:
    """Test by system whether it is on the Pareto front: its cost is known, and no other system dominates it.

    Higher scores and lower costs are better; unknown costs are not-a-number.
    """
    as_good, as_cheap = scores >= scores[:, None], costs <= costs[:, None]
    better = (scores > scores[:, None]) | (costs < costs[:, None])
    # Comparisons with not-a-number are false, so an unknown cost beats no other.
    beaten = (as_good & as_cheap & better).any(axis=1)
    return [bool(value) for value in ~beaten & ~np.isnan(costs)]
