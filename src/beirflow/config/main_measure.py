"""The main measure: by it systems are ranked, compared, drawn and tuned."""

from collections.abc import Mapping
from typing import Any

MAIN_MEASURE = "NDCG@10"  # of the BEIR paper
TABULATED = (MAIN_MEASURE, "Recall@100")  # measures with tables and exports of their own


def main_measure(configuration: Mapping[str, Any]) -> str:
    """Return the configured main measure; else NDCG@10, or if 10 is no cutoff, NDCG at the nearest one, the lower of two."""
    if configured := configuration.get("main_measure"):
        return str(configured)
    return f"NDCG@{min(configuration['cutoffs'], key=lambda cutoff: (abs(cutoff - 10), cutoff))}"


def name_of(measure: str) -> str:
    """Return the name of a measure without its cutoff, e.g. NDCG of NDCG@10."""
    return measure.partition("@")[0]


def cutoff_of(measure: str) -> int:
    """Return the k of a measure, e.g. 10 of NDCG@10."""
    return int(measure.partition("@")[2])
