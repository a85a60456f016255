"""Tables of the report that compare datasets with their twins."""

from collections.abc import Iterator

import pandas as pd

from beirflow.evaluation.ranks import FEWEST_SYSTEMS
from beirflow.extensions.twins.twins import pairs_of
from beirflow.report.pages import DATASET, Columns, Table, framed, numbers, texts, words
from beirflow.report.registry import table
from beirflow.report.results import Results

DECONTAMINATED = ("beir-decontaminated.", "beir-decontaminated-fever.")
NANO = ("nanobeir.",)

HAKARI = 0.973
"""Spearman's correlation of the order of models on HAKARI-Bench's Nano sets with that on BEIR's full datasets, over common models
and tasks, as its paper states it (arXiv 2606.22778, abstract)."""

EASIER = (
    "Texts that are in the training data of mGTE are removed, from queries and corpus: a smaller corpus is easier, so a higher"
    " score does not say that a system is cleaner. Compare changes of ranks between systems."
)
SMALLER = (
    "NanoBEIR has fifty queries and some thousand documents of each dataset: scores are higher, and orders are to be compared."
)


@table("results")
def decontaminated(results: Results) -> Iterator[Table]:
    """Yield the scores of every system on each dataset and on its decontaminated twin, and their means."""
    yield from _compared(results, DECONTAMINATED, "Decontaminated", EASIER)


@table("results")
def nano_sets(results: Results) -> Iterator[Table]:
    """Yield the scores of every system on each dataset and on NanoBEIR's sample of it, and their means."""
    yield from _compared(results, NANO, "NanoBEIR", SMALLER)


@table("results")
def orders(results: Results) -> Iterator[Table]:
    """Yield how far the orders of systems on datasets and on their twins agree; none of fewer than three systems."""
    kinds = {"Decontaminated": DECONTAMINATED, "NanoBEIR": NANO}
    found = {kind: pairs_of(results, prefixes) for kind, prefixes in kinds.items()}
    rows = pd.DataFrame([{"kind": kind, **pair.order()} for kind, pairs in found.items() for pair in pairs])
    if not len(rows) or len(results.system_names) < FEWEST_SYSTEMS:
        return
    of_mean = (rows["kind"] == "NanoBEIR") & rows["dataset"].str.startswith("mean of ")
    columns: Columns = {
        "dataset": DATASET,
        **texts(kind="Twin"),
        "Spearman": numbers("+.3f", rho="Ranks", rho_low="95 % from", rho_high="to", stated="HAKARI-Bench states"),
        "Kendall": numbers("+.3f", tau="tau-b", tau_low="95 % from", tau_high="to"),
        **numbers(".0f", systems="Systems"),
        **texts("prose", verdict="Verdict"),
    }
    caption = f"{results.main_measure}: correlation of the orders of systems on a dataset and on its twin"
    yield framed("Orders on twins", caption, rows.assign(stated=of_mean.map({True: HAKARI})), columns)


def _compared(results: Results, prefixes: tuple[str, ...], label: str, note: str) -> Iterator[Table]:
    pairs = pairs_of(results, prefixes)
    if not pairs:
        return
    columns: Columns = {
        "dataset": DATASET,
        "system": words("System"),
        **numbers(".4f", whole="Whole", twin=label),
        **numbers("+.4f", difference="Difference", low="95 % from", high="to"),
        "Rank": numbers(".3g", rank="Whole", twin_rank=label),
        "Change of rank": numbers("+.3g", change="Found", change_low="95 % from", change_high="to"),
    }
    rows = pd.concat([pair.rows() for pair in pairs], ignore_index=True)
    caption = f"{results.main_measure} of every system on whole datasets and on their twins; bootstrap over the queries of both"
    yield framed(f"{label} and whole datasets", caption, rows, columns, tall=True, notes=[note])
