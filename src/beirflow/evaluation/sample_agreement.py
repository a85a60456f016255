"""Agreement of NanoBEIR's order of systems with that of the full datasets: ``nanobeir.csv`` of ``docs/files.md``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from beirflow.evaluation.uncertainty import DECIMALS, EQUAL, FEWEST, Values, resampled_means, tail

COLUMNS = ("dataset", "measure", "systems", "tau", "low", "high", "verdict")
SAMPLE = "nanobeir."  # before the name of a dataset of BEIR
FEWEST_SYSTEMS = 3  # whose orders are compared; two have the same order by chance in every second case


def agreement_table(values: Mapping[str, Values], rows: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return the content of ``nanobeir.csv`` from the values by measure; ``rows`` are the corpora by dataset."""
    names = [row for row in rows if SAMPLE + row in rows]
    labels = [*names, *([f"mean of {len(names)} ({', '.join(names)})"] if len(names) > 1 else [])]
    table: list[dict[str, Any]] = []
    for measure, of in values.items():
        systems = list(dict.fromkeys(system for system, _ in of))
        known = {"measure": measure, "systems": len(systems)}
        if len(systems) < FEWEST_SYSTEMS:
            known["verdict"] = f"undecided: {len(systems)} systems, at least {FEWEST_SYSTEMS} are needed"
            table += [{"dataset": label, **known} for label in labels]
            continue
        pairs = [[_means(of, systems, rows[row]) for row in (SAMPLE + name, name)] for name in names]
        pairs += [list(np.mean(pairs, axis=0))] if len(names) > 1 else []
        sizes = [[len(of[systems[0], corpus]) for row in (SAMPLE + name, name) for corpus in rows[row]] for name in names]
        sizes += [[size for each in sizes for size in each]] if len(names) > 1 else []
        for label, (sample, full), of_each in zip(labels, pairs, sizes, strict=True):
            table.append({"dataset": label, **known, **_agreement(sample, full, tail(of_each))})
    return pd.DataFrame(table, columns=list(COLUMNS))


def _means(values: Values, systems: Sequence[str], corpora: Sequence[str]) -> np.ndarray:
    """Return the means of the systems on a dataset, and below them those of all draws."""
    parts = []
    for corpus in corpora:
        of_corpus = np.stack([values[system, corpus] for system in systems], axis=1)
        parts.append(np.vstack([of_corpus.mean(axis=0), resampled_means(of_corpus, corpus)]))
    mean: np.ndarray = np.mean(parts, axis=0)
    return mean


def _agreement(sample: np.ndarray, full: np.ndarray, share: float) -> dict[str, float | str]:
    """Return tau, its bounds and the verdict, from means as :func:`_means` has them and the share of draws beyond each bound."""
    tau, *drawn = tau_b(sample, full).tolist()
    if np.isnan(tau):
        return {"verdict": "undecided: all systems are equal on one of the two"}
    if np.isnan(share):
        return {"tau": tau, "verdict": f"undecided: one of the two has fewer than {FEWEST} queries"}
    low, high = np.nanquantile(drawn, (share, 1 - share)).round(DECIMALS).tolist()
    verdict = "the orders agree" if low > 0 else "the orders disagree" if high < 0 else "undecided: the interval has 0 in it"
    return {"tau": tau, "low": low, "high": high, "verdict": verdict}


def tau_b(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return Kendall's tau-b of every row of scores of shape (rows, systems); not-a-number where all in a row are equal."""
    counts = np.zeros((3, len(one)))
    for place in range(one.shape[1] - 1):
        a, b = (np.sign((of[:, place, None] - of[:, place + 1 :]).round(EQUAL)) for of in (one, other))
        counts += [(a * b).sum(axis=1), np.abs(a).sum(axis=1), np.abs(b).sum(axis=1)]
    same, in_one, in_other = counts
    tau: np.ndarray = np.divide(same, root := np.sqrt(in_one * in_other), out=np.full(len(one), np.nan), where=root > 0)
    return tau
