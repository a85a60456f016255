"""The findings of the BEIR paper about scores: tests as ``findings.py`` describes them.

Means over datasets decide by themselves, as in the paper; beside them is the 95 % interval of their difference, that of the
paired t-test with the datasets as the sample.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np
import scipy

from beirflow.evaluation.paired_tests import HIGHER, LOWER
from beirflow.extensions.paper.evidence import (
    FEW_SYSTEMS,
    Conclusion,
    Evidence,
    Names,
    NotEnoughError,
    conclude,
    is_or_are,
    no_scores,
)
from beirflow.extensions.paper.printed_values import BM25
from beirflow.report.pages import counted, listed

LEAST_IN_DOMAIN = 7 - 0.5
"""Points that BM25 is at least below the others in-domain; the text, paragraph 1: "7-18 points", rounded."""

FEWEST = 2  # datasets of an interval, and systems of which one is the best
TRAINED_ELSEWHERE = ("dpr",)  # all but BM25, which was not trained, were trained on MS MARCO
SPECIAL, GENERAL = ("Scientific", "Finance", "StackExchange"), ("Wikipedia",)  # domains, as table 1 names them


def best_everywhere(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that no system has the highest score on every dataset."""
    systems, names = _several(evidence, FEWEST)
    highest = {name: max(evidence.scores.values[system, name] for system in systems) for name in names}
    best = Counter(system for system in systems for name in names if evidence.scores.values[system, name] == highest[name])
    counts = listed([f"{evidence.label(system)} on {n}" for system, n in best.most_common()])
    sentence = f"Of {counted(len(names), 'dataset')}, the highest score: {counts}."
    return conclude(max(best.values()) < len(names), sentence, {"most": max(best.values()), "datasets": len(names)}, names)


def in_domain_leads(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that leads over BM25 in-domain do not persist: of most, the interval over other datasets excludes the least lead."""
    systems = [system for system, points in _leads(evidence).items() if points >= LEAST_IN_DOMAIN]
    if not systems:
        raise NotEnoughError(FEW_SYSTEMS, "No system leads BM25 by 7 points on MS MARCO.")
    names = evidence.scores.common(BM25, *systems)
    if len(names) < FEWEST:
        raise no_scores(f"at least {FEWEST} datasets but the training data", names)
    intervals = [_interval(evidence, system, BM25, names) for system in systems]
    lost, kept = sum(high < LEAST_IN_DOMAIN for _, high in intervals), sum(low >= LEAST_IN_DOMAIN for low, _ in intervals)
    sentence = (
        f"Of {counted(len(systems), 'system')} that lead BM25 by 7 points on MS MARCO, {lost} lose it and {kept} "
        f"keep it: the 95 % interval of the difference over {counted(len(names), 'dataset')} lies below it, or above."
    )
    holds = True if 2 * lost > len(systems) else False if 2 * kept > len(systems) else None
    return conclude(holds, sentence, {"lost": lost, "kept": kept, "systems": len(systems)}, names)


def bm25_in_domain(evidence: Evidence, _systems: Names, datasets: Names) -> Conclusion:
    """Test that BM25 is below every system that was trained on MS MARCO, there."""
    ahead = _leads(evidence)
    low, high = min(ahead.values()), max(ahead.values())
    sentence = f"On MS MARCO, {len(ahead)} systems that were trained on it are {low:.1f} to {high:.1f} points above BM25."
    return conclude(low >= LEAST_IN_DOMAIN, sentence, {"least": low, "most": high, "systems": len(ahead)}, datasets)


def _leads(evidence: Evidence) -> dict[str, float]:
    """Return by system that was trained on MS MARCO its points above BM25 there."""
    evidence.need(BM25)
    values, trained = evidence.scores.values, evidence.paper.in_domain[0]
    if (BM25, trained) not in values:
        raise no_scores(evidence.dataset_labels([trained]))
    others = [name for name in evidence.systems if name not in (BM25, *TRAINED_ELSEWHERE) and (name, trained) in values]
    if not others:
        raise NotEnoughError(FEW_SYSTEMS, "There are no scores of systems that were trained on MS MARCO.")
    return {system: 100 * (values[system, trained] - values[BM25, trained]) for system in others}


def bm25_elsewhere(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that BM25 is above more than half of the others in the mean."""
    evidence.need(BM25)
    systems, names = _several(evidence, FEWEST)
    means = {system: evidence.scores.mean(system, names) for system in systems}
    below = [system for system in systems if means[system] < means[BM25]]
    surely = sum(_interval(evidence, system, BM25, names)[1] < 0 for system in below)
    sentence = f"In the mean of {counted(len(names), 'dataset')}, BM25 is above {len(below)} of {len(systems) - 1} others: "
    sentence += f"{evidence.labels(below)}; of {surely}, the 95 % interval of the difference lies below 0."
    numbers = {"below": len(below), "surely below": surely, "others": len(systems) - 1}
    return conclude(2 * len(below) > len(systems) - 1, sentence, numbers, names)


def above_bm25(number: str) -> Callable[[Evidence, Names, Names], Conclusion]:
    """Return a test of the number of datasets on which each system of a finding that is here is above BM25, or below it."""

    def test(evidence: Evidence, systems: Names, _datasets: Names) -> Conclusion:
        """Count the datasets of each system."""
        here = [system for system in systems if system in evidence.systems]
        evidence.need(BM25, *(() if here else systems))
        names = evidence.shared(BM25, *here)
        above = {system: len(evidence.scores.above(system, BM25, names)) for system in here}
        counts = listed([f"{evidence.label(system)} on {n}" for system, n in above.items()])
        lacking = [system for system in systems if system not in here]
        rest = f" {evidence.labels(lacking)} {is_or_are(lacking)} missing." if lacking else ""
        sentence = f"Of {counted(len(names), 'dataset')}, above BM25: {counts}.{_significant_counts(evidence, here, names)}{rest}"
        numbers = {**{f"{system} above": n for system, n in above.items()}, "datasets": len(names)}
        return conclude(_holds(evidence, number, names), sentence, numbers, names)

    return test


def _holds(evidence: Evidence, number: str, names: Names) -> bool:
    """Test whether every count of a finding whose systems are here is as large over some datasets, as a share of them."""
    counted = [each for each in evidence.paper.comparisons[number] if {each.first, each.second} <= {*evidence.systems}]
    above = ((each, len(evidence.scores.above(each.first, each.second, names))) for each in counted if each.of)
    return all(each.of * n >= each.least * len(names) for each, n in above)


def _significant_counts(evidence: Evidence, systems: Names, names: Names) -> str:
    """Return a sentence on the significant differences to BM25; empty if nothing was tested."""
    if evidence.significant is None:
        return ""
    marks = {system: [evidence.significant.get((system, name)) for name in names] for system in systems}
    counts = [
        f"{evidence.label(system)} on {of_system.count(HIGHER)} above and {of_system.count(LOWER)} below"
        for system, of_system in marks.items()
    ]
    return f" The difference is significant for {listed(counts)}."


def dense_shifted(evidence: Evidence, systems: Names, datasets: Names) -> Conclusion:
    """Test that every dense system is below BM25 on BioASQ and Touché."""
    evidence.need(BM25)
    here = evidence.here(systems)
    names = evidence.shared(BM25, *here, among=datasets)
    ahead = [system for system in here if evidence.scores.above(system, BM25, names)]
    sentence = f"On {evidence.dataset_labels(names)}, of {evidence.labels(here)} above BM25: {evidence.labels(ahead)}."
    return conclude(not ahead, sentence, {"above": len(ahead), "systems": len(here)}, names)


def dpr_worst(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that DPR has the lowest mean of all."""
    evidence.need("dpr")
    systems, names = _several(evidence, FEWEST + 1)  # the lowest of two says little
    means = {system: evidence.scores.mean(system, names) for system in systems}
    lowest, next_lowest = sorted(systems, key=lambda system: means[system])[:2]
    over = f"{len(systems)} systems over {counted(len(names), 'dataset')}"
    sentence = f"The lowest mean of {over} is that of {evidence.label(lowest)}, {means[lowest]:.3f}"
    sentence += _difference(evidence, lowest, next_lowest, names)
    return conclude(lowest == "dpr", sentence, {"dpr": means["dpr"], "lowest": means[lowest]}, names)


def strong_training(evidence: Evidence, systems: Names, _datasets: Names) -> Conclusion:
    """Test that TAS-B has the highest mean of the dense systems, and is above ANCE on 14 and DPR on 17 of 18 (or shares)."""
    evidence.need("tas-b")
    here = evidence.here(systems)
    if len(here) < FEWEST:
        evidence.need("ance", "dpr")
    scores, names = evidence.scores, evidence.shared(*here)
    compared = ("ance", "dpr")
    best, next_best = sorted(here, key=lambda system: -scores.mean(system, names))[:2]
    ahead = {system: len(scores.above("tas-b", system, names)) for system in here if system in compared}
    counts = [f"above {evidence.label(system)} on {n} of {counted(len(names), 'dataset')}" for system, n in ahead.items()]
    highest = f"the highest mean of {evidence.labels(here)} is that of {evidence.label(best)}"
    sentence = f"TAS-B is {' and '.join(counts) or 'compared with GenQ alone'}; {highest}"
    sentence += _difference(evidence, best, next_best, names)
    holds = best == "tas-b" and _holds(evidence, "5", names)
    return conclude(holds, sentence, {**{f"above {system}": n for system, n in ahead.items()}, "datasets": len(names)}, names)


def below_ance(evidence: Evidence, systems: Names, datasets: Names) -> Conclusion:
    """Test that TAS-B is below ANCE on TREC-COVID and Touché."""
    evidence.need(*systems)
    scores, names = evidence.scores, evidence.shared(*systems, among=datasets)
    points = {name: 100 * (scores.values["ance", name] - scores.values["tas-b", name]) for name in names}
    others = [name for name in scores.above("ance", "tas-b") if name not in names]
    differences = listed([f"{value:.1f} points on {evidence.dataset_labels([name])}" for name, value in points.items()])
    rest = f"on {len(others)}{': ' + evidence.dataset_labels(others) if others else ''}"
    sentence = f"TAS-B is below ANCE by {differences}; of the other datasets, {rest}."
    return conclude(min(points.values()) > 0, sentence, {**points, "datasets below ANCE": len(names) + len(others)}, names)


def adaptation(evidence: Evidence, systems: Names, datasets: Names) -> Conclusion:
    """Test that GenQ is above TAS-B on most datasets of special domains, and below it on most of Wikipedia."""
    evidence.need(*systems)
    scores, every = evidence.scores, evidence.paper.datasets
    special, general = (
        evidence.shared(*systems, among=[name for name in datasets if every[name]["domain"] in domains])
        for domains in (SPECIAL, GENERAL)
    )
    up, down = scores.above("genq", "tas-b", special), scores.above("tas-b", "genq", general)
    sentence = (
        f"GenQ is above TAS-B on {len(up)} of {len(special)} special datasets ({evidence.dataset_labels(special)}) and below "
        f"it on {len(down)} of {len(general)} of Wikipedia ({evidence.dataset_labels(general)})."
    )
    holds = 2 * len(up) > len(special) and 2 * len(down) > len(general)
    numbers = {"above": len(up), "special": len(special), "below": len(down), "general": len(general)}
    return conclude(holds, sentence, numbers, [*special, *general])


def _several(evidence: Evidence, least: int) -> tuple[list[str], list[str]]:
    """Return all systems that are here, at least so many, and the datasets that they share; raise NotEnoughError without them."""
    systems = evidence.systems
    if len(systems) < least:
        raise NotEnoughError(FEW_SYSTEMS, f"Only {evidence.labels(systems)} {is_or_are(systems)} here.")
    return systems, evidence.shared(*systems)


def _interval(evidence: Evidence, system: str, other: str, names: Names) -> tuple[float, float]:
    """Return the 95 % interval of the points of a system above another; not-a-number over one dataset."""
    if len(names) < FEWEST:
        return np.nan, np.nan
    values = evidence.scores.values
    points = 100 * np.array([values[system, name] - values[other, name] for name in names])
    low, high = scipy.stats.ttest_1samp(points, 0).confidence_interval(0.95)
    return float(low), float(high)


def _difference(evidence: Evidence, system: str, other: str, names: Names) -> str:
    """Return the end of a sentence, on the difference of a mean to the next one."""
    low, high = _interval(evidence, system, other, names)
    interval = f", 95 % interval {low:+.1f} to {high:+.1f}" if low == low else ""
    points = 100 * (evidence.scores.mean(system, names) - evidence.scores.mean(other, names))
    return f" ({points:+.1f} points to {evidence.label(other)}{interval})."
