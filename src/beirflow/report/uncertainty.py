"""Uncertainty of means and ranks: of the leaderboard's first column, and of every number."""

from collections.abc import Iterator
from itertools import repeat
from math import ceil, floor

import numpy as np
import pandas as pd

from beirflow.evaluation.paired_tests import LEVEL
from beirflow.evaluation.uncertainty import FEWEST, QUERIES
from beirflow.report.pages import DATASET, SYSTEM, Cell, Column, Scale, Table, framed, numbers, texts
from beirflow.report.registry import table
from beirflow.report.results import Results

STEPS, MOST_STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2), 6  # between ticks of an axis of means, and how many there are


@table("results")
def ranks(results: Results) -> Iterator[Table]:
    """Yield the uncertainty of the first column of each leaderboard, best system first, where the measure was tested.

    That column is the first mean over datasets, or a single dataset. The draws are those of queries.
    """
    for measure in results.main_measures:
        tested = results.uncertainty[results.uncertainty["measure"] == measure]
        if (of_measure := tested[tested["resampled"] == QUERIES]).empty:
            continue
        names = list(of_measure["dataset"].unique())
        dataset = next((name for name in names if "mean of " in name), names[0])
        label, several = dataset.partition(" (")[0], len(set(of_measure["system"])) > 1
        rows = _with_spans(of_measure[of_measure["dataset"] == dataset].sort_values("rank", kind="stable"))
        scale = _scale(rows, results.baseline)
        spans = map(scale.cell, rows["low"], rows["mean"], rows["high"], _like_the_first(rows["groups"]))
        rows = rows.assign(plot=pd.Series([*spans], rows.index))
        columns = {
            "system": SYSTEM,
            "mean": Column(label),
            "plot": Column("Mean and interval", classes="plot number"),
            **numbers(".4f", interval="95 %", ranks="Rank"),
            **numbers(".2f", first="P(best)"),
            **texts(groups="Group"),
        }
        alone = () if several else ("ranks", "first", "groups")
        caption = f"{measure}, {label}, with 95 % intervals"
        if several:
            caption += (
                f". Filled: not significantly different from {rows['system'].iloc[0]}. Dashed: {results.baseline}, the baseline"
            )
        yield framed(f"{measure}: means and ranks", caption, rows, columns, without=alone, close=True, scale=scale)


def _scale(rows: pd.DataFrame, baseline: str) -> Scale:
    """Return an axis with round ends for some means and their bounds."""
    bounds = rows[["low", "mean", "high"]].to_numpy(float)
    low, high = float(np.nanmin(bounds)), float(np.nanmax(bounds))
    step = next(step for step in STEPS if high - low <= MOST_STEPS * step)
    first = floor(low / step)
    last = max(ceil(high / step), first + 1)
    return Scale(first * step, last * step, step, rows["mean"][rows["system"] == baseline].max())


def _like_the_first(groups: pd.Series) -> list[bool]:
    """Test whether systems share a letter with the first one, which always does."""
    letters = [{*str(each).split()} for each in groups]
    return [
        place == 0 or (each == each and bool(of & letters[0]))
        for place, (each, of) in enumerate(zip(groups, letters, strict=True))
    ]


def uncertainty_notes(uncertainty: pd.DataFrame | None) -> list[str]:
    """Return notes on the columns of ranks, and on the power of each dataset; none without intervals."""
    if uncertainty is None or uncertainty.empty:
        return []
    interval = "95 %: confidence interval of the mean (bootstrap over queries)"
    sentences = [f"{interval}; unknown for fewer than {FEWEST} queries, and where all have the same value."]
    if uncertainty["system"].nunique() < 2:
        return sentences
    sentences.append(
        "Rank: its 95 % interval over the same draws. P(best): the share of draws in which the system is the best. Group:"
        " systems that share a letter are not significantly different after Holm's correction for all pairs."
    )
    measure = str(uncertainty["measure"].iloc[0])
    known = with_short_names(uncertainty[uncertainty["measure"] == measure].dropna(subset="detectable"))
    by_dataset = dict(zip(known["dataset"], known["detectable"], strict=True))
    detectable = ", ".join(f"{name} {value:.4f}" for name, value in by_dataset.items())
    power = f"Minimum detectable difference in {measure} (80 % power, a single test at level {LEVEL}, median of all pairs)"
    larger = "Marks and letters are corrected for the number of tests, so they need larger ones."
    return [*sentences, f"{power}: {detectable}. {larger}"] if detectable else sentences


@table("uncertainty")
def uncertainty(results: Results) -> Iterator[Table]:
    """Yield ``uncertainty.csv``: every system on every dataset and in every mean."""
    columns = {
        "dataset": DATASET,
        **texts(measure="Measure", resampled="Resampled", system="System"),
        **numbers(".4f", mean="Mean", interval="95 %"),
        **numbers("g", rank="Rank"),
        **numbers(".4f", ranks="95 % of ranks"),
        **numbers(".3f", first="P(best)"),
        **texts(groups="Group"),
        **numbers(".4f", detectable="Detectable"),
    }
    rows = _with_spans(with_short_names(results.uncertainty))
    yield framed("Uncertainty", "Means and ranks with their 95 % intervals", rows, columns, tall=True)


def with_short_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Shorten the names of means over datasets."""
    return frame.assign(dataset=frame["dataset"].map(lambda name: name.partition(" (")[0]))


def _with_spans(uncertainty: pd.DataFrame) -> pd.DataFrame:
    """Add the columns ``interval`` and ``ranks``, cells of the bounds of means and of ranks."""
    means = map(span_of, uncertainty["low"], uncertainty["high"], repeat(".4f"))
    ranks = map(span_of, uncertainty["rank_low"], uncertainty["rank_high"])
    return uncertainty.assign(interval=pd.Series([*means], uncertainty.index), ranks=pd.Series([*ranks], uncertainty.index))


def span_of(low: float, high: float, form: str = "g") -> Cell:
    """Return the cell of an interval: one number if both bounds are printed alike, words if they are unknown."""
    first, last = (format(bound, form) for bound in (low, high))
    return Cell("unknown" if low != low else first if first == last else f"{first}–{last}", low)
