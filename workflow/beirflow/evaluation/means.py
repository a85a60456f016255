"""The means of a dataset, for other steps."""

from pathlib import Path
from typing import Any

from beirflow.files.records import read_json
from beirflow.files.verified import damaged


def read_means(path: str) -> dict[str, Any]:
    """Read the means of a dataset.

    Args:
        path: ``metrics/<system>/<dataset>.json``.

    Returns:
        What ``evaluate_run`` or ``average_forums`` wrote.

    Raises:
        DataError: The file was changed after it was written, or belongs to another system or dataset.
    """
    means, (system, dataset) = read_json(path), Path(path).with_suffix("").parts[-2:]
    found = means["system"], means["dataset"]
    if found != (system, dataset):
        raise damaged(path, f"it belongs to {found[0]} on {found[1]}")
    return means
