"""The losses of a training, as ``systems.csv`` and the pages have them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

LOSSES = 10  # number of shown means


def losses(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield how the loss went, from the record of a model that was trained."""
    if found := record.get("training", {}).get("losses"):
        parts = np.array_split(found, min(LOSSES, len(found)))
        yield "training_loss", [f"{part.mean():.4g}" for part in parts]
