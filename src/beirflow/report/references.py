"""Unverified results of others in MTEB's layout: ``references.csv`` of ``docs/files.md``."""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.core.csv_files import write_csv
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.ranking.measures.all_measures import MEASURES

logger = logging.getLogger(__name__)


def mteb_name(measure: str) -> str | None:
    """Return the name of a measure in MTEB; None if that has no such measure."""
    name, _, k = measure.partition("@")
    known = MEASURES.get(name)
    return f"{known.mteb}_at_{k}" if known and known.mteb else None


def collect_references(
    *, reference_paths: Sequence[str], tasks: Mapping[str, Sequence[str]], measures: Sequence[str], table_path: str
) -> None:
    """Write ``references.csv`` from the JSON of tasks; ``tasks`` has by task the dataset and its evaluated split.

    A dataset of several tasks gets their mean, if all are there. Raise DataError if a file is no result of its task or a score
    is no fraction.
    """
    found: dict[tuple[str, Path, str], dict[str, dict[str, Any]]] = {}
    for path in map(Path, dict.fromkeys(reference_paths)):
        if (row := _reference(path, tasks[path.stem], measures)) is None:
            continue
        found.setdefault((row["model"], path.parent, row["dataset"]), {})[path.stem] = row
    rows = []
    for (_, folder, dataset), parts in found.items():
        expected = sum(name == dataset for name, _ in tasks.values())
        if len(parts) == expected:
            rows.append(_mean_of([*parts.values()]))
        else:
            few = "%s: results of %d of %d forums of %s; a mean of fewer is not comparable, so it is left out"
            logger.warning(few, folder, len(parts), expected, dataset)
    columns = ("model", "revision", "dataset", "mteb_version", "dataset_revision", "sha256", *measures)
    write_csv(pd.DataFrame(rows, columns=list(columns)), table_path)


def _mean_of(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of a dataset from those of its tasks: means of common measures, joined texts."""
    row: dict[str, Any] = {}
    for key, value in parts[0].items():
        values = [part.get(key) for part in parts]
        if isinstance(value, str):
            row[key] = " ".join(dict.fromkeys(map(str, values)))
        elif None not in values:
            row[key] = sum(map(float, values)) / len(values)  # type: ignore[arg-type]
    return row


def _reference(path: Path, of_task: Sequence[str], measures: Sequence[str]) -> dict[str, Any] | None:
    """Return the row of a file; None, with a warning, for an older format of MTEB's."""
    dataset, split = of_task
    try:
        result = json.loads(path.read_bytes())
        if "scores" not in result and split in result:
            problem = "older format of MTEB's, without 'scores', left out"
            logger.warning("%s: %s; evaluate again with a newer MTEB to include it", path, problem)
            return None
        (scores,) = (each for each in result["scores"][split] if each["hf_subset"] == "default")
        versions = {key: str(result.get(key) or "") for key in ("mteb_version", "dataset_revision")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else repr(error)
        problem = f"it is no result of {path.stem} on the split {split} as MTEB writes it ({reason})"
        raise DataError(f"{path}: {problem}; remove it, or name another folder in references") from error
    names = {measure: name for measure in measures if (name := mteb_name(measure))}
    values = {measure: scores[name] for measure, name in names.items() if name in scores}
    for measure, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
            raise DataError(f"{path}: {names[measure]} is {value!r}, and a fraction was expected; remove it from references")
    model = path.parts[-3].replace("__", "/")
    return {"model": model, "revision": path.parts[-2], "dataset": dataset, **versions, "sha256": file_digest(path), **values}
