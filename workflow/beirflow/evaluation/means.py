"""The means of a dataset, for other steps."""

from pathlib import Path
from typing import Any

from beirflow.files.records import read_json
from beirflow.files.verified import damaged


def read_means(path: str) -> dict[str, Any]:
    """Read ``metrics/<system>/<dataset>.json``; raise DataError if it was changed, or belongs to another system or dataset."""
    means, (system, dataset) = read_json(path), Path(path).with_suffix("").parts[-2:]
    found = means["system"], means["dataset"]
    if found != (system, dataset):
        raise damaged(path, f"it belongs to {found[0]} on {found[1]}")
    return means
