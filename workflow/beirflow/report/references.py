"""Published results of others in MTEB's layout, which the leaderboard shows as they are: nothing here verified them.

``docs/files.md`` describes ``references.csv``.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.files.csv_files import write_csv
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.report.mteb import MEASURES, mteb_name


def collect_references(
    *, reference_paths: Sequence[str], tasks: Mapping[str, Sequence[str]], measures: Sequence[str], table_path: str
) -> None:
    """Write ``references.csv`` from the JSON of tasks; ``tasks`` has by task the dataset and its evaluated split.

    Raise DataError if a file is no result of its task, or a score is no fraction.
    """
    rows = [_row(Path(path), tasks[Path(path).stem], measures) for path in reference_paths]
    columns = ("model", "revision", "dataset", "mteb_version", "dataset_revision", "sha256", *measures)
    write_csv(pd.DataFrame(rows, columns=list(columns)), table_path)


def _row(path: Path, of_task: Sequence[str], measures: Sequence[str]) -> dict[str, Any]:
    dataset, split = of_task
    try:
        result = json.loads(path.read_bytes())
        (scores,) = (each for each in result["scores"][split] if each["hf_subset"] == "default")
        versions = {key: str(result.get(key) or "") for key in ("mteb_version", "dataset_revision")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"it is no result of {path.stem} on the split {split} as MTEB writes it ({error!r})"
        raise DataError(f"{path}: {problem}; remove it, or name another folder in references") from error
    names = {measure: mteb_name(measure) for measure in measures if measure.partition("@")[0] in MEASURES}
    values = {measure: scores[name] for measure, name in names.items() if name in scores}
    for measure, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
            raise DataError(f"{path}: {names[measure]} is {value!r}, and a fraction was expected; remove it from references")
    model = path.parts[-3].replace("__", "/")
    return {"model": model, "revision": path.parts[-2], "dataset": dataset, **versions, "sha256": file_digest(path), **values}
