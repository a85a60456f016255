"""Summarise the metrics of all systems on all datasets in one table."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd

from beirflow.config.main_measure import MAIN_MEASURE, cutoff_of
from beirflow.core.csv_files import write_csv
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.losses import loss_in_words
from beirflow.core.records import ASSUMED
from beirflow.data.catalogue.catalogue import PUBLISHED, Catalogue, load_catalogue, mean_of_seeds, of_seeds
from beirflow.evaluation.scores import most_documents, read_means

SHOWN = (MAIN_MEASURE, "Recall@100", "MAP@100", "R_cap@100", "MRR@10", "P@10", "Hole@10")
LAST = ("documents_per_second", "seconds", "metrics_sha256")
BETWEEN = "; "  # between the assumptions of a row, sentences without a semicolon

COMPARED = ("published_", "as_source_", "difference_", "tolerance_", "source_", "conventions_")
"""Beginnings of columns of a published score.

They are the value, ours under the conventions of the source, ours by our own rule minus the published one, the tolerance of a
match, the source, and the name of its conventions.
"""

PRECISION = "precision"  # column of the precisions in which models computed a run
INDEX_BYTES = "_index_bytes"  # end of the name of a count: the bytes of an index that a system has besides its representations

SEEDS, DEVIATION = "seeds", "deviation_"
"""Column of the number of seeds of a mean over them, and beginning of those of the standard deviation of a measure."""

SUMS = ("documents", "queries", "index_seconds", "seconds")

OWN_MEASURE, OWN_SCORE = "own_measure", "own_score"
"""Columns of the measure by which the authors of a dataset compare systems, and of its value, where it is not the main one."""

UNREACHABLE = "unreachable"
"""Column of the relevant documents that no system can find, with the reasons; only there where a dataset has some."""

CHARACTERS, TRUNCATED = "characters_per_document", "truncated_share"
"""Columns of the mean length of a document, and the share of truncated documents or pairs."""

MOST_DOCUMENTS = "most_documents"
"""Column of the maximum number of documents per query in a run, if the corpus has more; of a mean, the minimum."""

NOT_AVERAGED = "not averaged: "
"""Beginning of ``own_measure`` in a mean over datasets whose authors do not average their measures together."""

TRAINED_ON = "trained_on"
NOT_STATED, NOT_TRAINED = "not stated", "no"
"""Values of the column ``trained_on`` other than splits, such as ``train``, and in means ``2 of 15``, members with one."""

TrainedOn = Mapping[str, Mapping[str, str] | None]
"""By system, the evaluated datasets that it was trained on with their splits; None if its training data are unknown."""


def summarize(
    *,
    means_paths: Sequence[str],
    summary_path: str,
    main_measure: str = MAIN_MEASURE,
    trained_on: TrainedOn | None = None,
    kept: Collection[str] = (),
) -> pd.DataFrame:
    """Write ``summary.csv``, and return it.

    Raise DataError if a file was changed after it was written, belongs elsewhere, or lacks the main measure.
    """
    for path in means_paths:
        if main_measure not in (measures := read_means(path)["measures"]):
            known = ", ".join(measures)
            problem = f"found no {main_measure}, the main measure, but {known}"
            raise DataError(f"{path}: {problem}; set another main_measure, or leave this dataset out")
    table = summary_table(means_paths, main_measure, trained_on, kept)
    write_csv(table, summary_path)
    return table


def summary_table(
    means_paths: Sequence[str],
    main_measure: str = MAIN_MEASURE,
    trained_on: TrainedOn | None = None,
    kept: Collection[str] = (),
) -> pd.DataFrame:
    """Return a row per system and dataset, then the averages of each system; the column of the main measure is the first one.

    Systems that differ in a seed alone, as their names say, have the mean of their rows, too, as a further system.
    Without ``trained_on`` there is no column of training data. ``kept`` are the datasets in which systems can find the document
    with the id of the query.
    """
    catalogue = load_catalogue()
    by_system: dict[str, list[dict[str, Any]]] = {}
    for path in means_paths:
        means = read_means(path)
        row = _dataset_row(catalogue, means, main_measure) | {"metrics_sha256": file_digest(path)}
        drops, of_forums = row["dataset"] not in kept, "forums" in means
        if lost := loss_in_words(means["counts"], drop_self_matches=drops, of_forums=of_forums):
            row[UNREACHABLE] = lost
        if trained_on is not None:
            splits = trained_on.get(row["system"])
            row[TRAINED_ON] = NOT_STATED if splits is None else splits.get(row["dataset"], NOT_TRAINED)
        by_system.setdefault(row["system"], []).append(row)
    seen = {dataset for splits in (trained_on or {}).values() for dataset in splits or ()}
    by_system = {system: rows + _average_rows(catalogue, rows, seen, main_measure) for system, rows in by_system.items()}
    table = pd.DataFrame([row for rows in (*by_system.values(), *_rows_of_seeds(by_system)) for row in rows])
    table["documents_per_second"] = table["documents"] / table.pop("index_seconds")
    for column in {SEEDS, MOST_DOCUMENTS} & {*table.columns}:
        table[column] = table[column].astype("Int64")
    first = [name for name in ("system", "dataset", "split", TRAINED_ON) if name in table]
    return table[[*first, *(name for name in table.columns if name not in (*first, *LAST)), *LAST]]


def _dataset_row(catalogue: Catalogue, means: Mapping[str, Any], main_measure: str) -> dict[str, Any]:
    """Return the shown measures of one dataset, the main one first, with published scores."""
    measures = means["measures"]
    row: dict[str, Any] = {key: means[key] for key in ("system", "dataset", "split")}
    counts = means["counts"]
    row |= {key: counts[key] for key in ("documents", "queries")}
    row |= {name: measures[name] for name in dict.fromkeys((main_measure, *SHOWN, *PUBLISHED)) if name in measures}
    own = catalogue.own_measure(means["dataset"])
    if own not in (None, main_measure):
        row |= {OWN_MEASURE: own, OWN_SCORE: measures.get(own, np.nan)}
    for name in PUBLISHED:
        # Only data that are known to be others are not compared; unknown data are.
        comparable = means["official_data"] is not False and name in measures
        reference = catalogue.reference(means["system"], means["dataset"], name) if comparable else None
        values = (
            (
                reference.value,
                reference.ours(means),
                measures[name] - reference.value,
                reference.tolerance(means["precisions"], of_forums="forums" in means),
                reference.source,
                reference.conventions,
            )
            if reference
            else repeat(None)
        )
        row |= {f"{start}{name}": value for start, value in zip(COMPARED, values, strict=False)}
    if means["precisions"]:  # those of models
        row[PRECISION] = BETWEEN.join(means["precisions"])
    if means["assumed"]:
        row[ASSUMED] = BETWEEN.join(means["assumed"])
    row[CHARACTERS] = counts.get("characters", np.nan) / counts["documents"]
    # Systems without a limit have no share.
    texts = "pairs" if "truncated_pairs" in counts else "documents"
    row[TRUNCATED] = counts.get(f"truncated_{texts}", np.nan) / counts[texts]
    # A system that indexes nothing has no speed, rather than an infinite one.
    seconds = means["seconds"]
    if (most := most_documents(means)) is not None:
        row[MOST_DOCUMENTS] = most
    row |= _of_an_index(counts, seconds)
    return row | {"index_seconds": seconds.get("index", np.nan) or np.nan, "seconds": sum(seconds.values())}


def _of_an_index(counts: Mapping[str, int], seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the share of exact hits that an approximate search found, and the cost of its index; empty without these."""
    totals = {key.removeprefix("exact_"): total for key, total in counts.items() if re.fullmatch(r"exact_\d+", key) and total}
    row: dict[str, Any] = {f"exact@{cutoff}": counts[f"exact_{cutoff}_found"] / total for cutoff, total in totals.items()}
    if sizes := {name: size for name, size in counts.items() if name.endswith(INDEX_BYTES)}:
        row |= {"build_seconds": seconds["build"], **sizes}
    return row


def _average_rows(
    catalogue: Catalogue, rows: Sequence[Mapping[str, Any]], seen: Collection[str], main_measure: str
) -> list[dict[str, Any]]:
    """Return means over datasets, named by what they are means of; none for a single dataset."""
    collections = [list(collection.members) for collection in catalogue.newer.collections.values()]
    made = []
    for label, members in catalogue.averages([row["dataset"] for row in rows], seen).items():
        of_members = [row for row in rows if row["dataset"] in members]
        over_seeds = label.startswith(f"{mean_of_seeds(members)} ")
        made.append(_average_row(label, of_members) | (_spread(of_members) if over_seeds else {}))
        made[-1] |= _own_average(of_members, main_measure, members in collections)
    return made


def _own_average(rows: Sequence[Mapping[str, Any]], main_measure: str, is_collection: bool) -> dict[str, Any]:
    """Return the mean of the authors' measures, if these are one measure, or if the authors average them themselves."""
    own = [row.get(OWN_MEASURE, main_measure) for row in rows]
    if set(own) == {main_measure}:
        return {}
    names = ", ".join(dict.fromkeys(own))
    if len(set(own)) > 1 and not is_collection:
        return {OWN_MEASURE: f"{NOT_AVERAGED}{names}"}
    return {OWN_MEASURE: names, OWN_SCORE: sum(row.get(OWN_SCORE, row.get(main_measure, np.nan)) for row in rows) / len(rows)}


def _rows_of_seeds(by_system: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterable[list[dict[str, Any]]]:
    """Yield the rows of means over systems that differ in a seed alone; every number is a mean, measures have a deviation."""
    for whole, systems in of_seeds(by_system).items():
        by_dataset: dict[str, list[Mapping[str, Any]]] = {}
        for row in (row for system in systems for row in by_system[system]):
            by_dataset.setdefault(row["dataset"], []).append(row)
        yield [
            {key: value for key, value in rows[0].items() if isinstance(value, str) or key in SUMS[:2]}
            | {
                key: float(np.mean([row[key] for row in rows]))
                for key in rows[0]
                if key in (*SUMS[2:], OWN_SCORE) or is_measure(key)
            }
            | {"system": f"{whole} ({mean_of_seeds(systems)})", **_spread(rows), **_of_all(rows)}
            for rows in by_dataset.values()
        ]


def _spread(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the number of seeds, and by measure the standard deviation over them, of a sample (n - 1)."""
    values = {key: np.std([row[key] for row in rows], ddof=1) for key in rows[0] if is_measure(key)}
    return {SEEDS: len(rows)} | {DEVIATION + key: float(value) for key, value in values.items()}


def is_measure(column: str) -> bool:
    """Test whether a column has a measure of these results."""
    return "@" in column and not column.startswith((*COMPARED, DEVIATION))


def _average_row(label: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    average: dict[str, Any] = {"system": rows[0]["system"], "dataset": label}
    if TRAINED_ON in rows[0]:
        splits = [row[TRAINED_ON] for row in rows]
        average[TRAINED_ON] = NOT_STATED if NOT_STATED in splits else f"{len(rows) - splits.count(NOT_TRAINED)} of {len(rows)}"
    average |= {key: sum(row[key] for row in rows) for key in SUMS}
    average |= {key: sum(row[key] for row in rows) / len(rows) for key in rows[0] if is_measure(key)}
    for column in (PRECISION, ASSUMED):
        if values := distinct(row.get(column) for row in rows):
            average[column] = BETWEEN.join(values)
    if lost := {row["dataset"]: row[UNREACHABLE] for row in rows if UNREACHABLE in row}:
        average[UNREACHABLE] = BETWEEN.join(f"{dataset}: {words}" for dataset, words in lost.items())
    return average | _of_all(rows)


def _of_all(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the digest of all rows of a mean, and the minimum of :data:`MOST_DOCUMENTS`, if any has it."""
    digests = "".join(row["metrics_sha256"] for row in rows)
    known = [row[MOST_DOCUMENTS] for row in rows if MOST_DOCUMENTS in row]
    least = {MOST_DOCUMENTS: min(known)} if known else {}
    return least | {"metrics_sha256": hashlib.sha256(digests.encode()).hexdigest()}


def by_pair(table: pd.DataFrame, column: str) -> dict[Any, Any]:
    """Return the known values of a column of ``summary.csv`` by system and dataset; empty without the column."""
    return table.set_index(["system", "dataset"])[column].dropna().to_dict() if column in table else {}


def ending_early(table: pd.DataFrame, measure: str) -> dict[tuple[str, str], int]:
    """Return, by system and dataset, the maximum number of documents per query where it is below the cutoff of a measure."""
    return {key: int(most) for key, most in by_pair(table, MOST_DOCUMENTS).items() if most < cutoff_of(measure)}


def distinct(cells: Iterable[Any]) -> list[str]:
    """Return the distinct entries of some cells of the column ``assumed`` or ``precision``, in order of their first mention."""
    return list(dict.fromkeys(sentence for cell in cells if isinstance(cell, str) for sentence in cell.split(BETWEEN)))


def of_datasets(summary: pd.DataFrame) -> list[str]:
    """Return a sentence on each dataset with relevant documents that no system can find."""
    if UNREACHABLE not in summary:
        return []
    rows = summary[summary["split"].notna() & summary[UNREACHABLE].notna()].drop_duplicates("dataset")
    return [f"{dataset}: {words}" for dataset, words in zip(rows["dataset"], rows[UNREACHABLE], strict=True)]


def kept_self_matches(datasets: Mapping[str, Sequence[Mapping[str, Any]]]) -> set[str]:
    """Return those of the datasets of a manifest in which systems can find the document with the id of the query."""
    return {row for row, corpora in datasets.items() if not any(corpus["drop_self_matches"] for corpus in corpora)}


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of rows without the datasets of means, unless two means would have one name."""
    every = dict.fromkeys(names)
    short = {name: name.partition(" (")[0] if "mean of " in name else name for name in every}
    return short if len({*short.values()}) == len(short) else {name: name for name in every}


def trained(summary: pd.DataFrame) -> set[tuple[str, str]]:
    """Return systems with the datasets that they were trained on."""
    splits = by_pair(summary[summary["split"].notna()], TRAINED_ON)
    return {key for key, split in splits.items() if split not in (NOT_TRAINED, NOT_STATED)}
