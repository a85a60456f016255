"""The findings of section 5 of the BEIR paper about dense systems: functions as in :mod:`beirflow.paper.findings`.

"Many datasets" is more than half, the only share that the paper has in words (caption of figure 3).
"""

from beirflow.paper.evidence import (
    FEW_SYSTEMS,
    Conclusion,
    Evidence,
    conclude,
    counts_above_bm25,
    dataset_labels,
    is_or_are,
    without_datasets,
    without_systems,
)
from beirflow.paper.facts import BM25
from beirflow.report.pages import counted, listed

DENSE = ("dpr", "ance", "tas-b", "genq")
SHIFTED = ("bioasq", "webis-touche2020")
LENGTHS = ("trec-covid", "webis-touche2020")
SPECIAL, GENERAL = ("Scientific", "Finance", "StackExchange"), ("Wikipedia",)  # domains, as table 1 names them

SPECIAL_AND_GENERAL = (
    *("scidocs", "scifact", "fiqa", "cqadupstack"),
    *("nq", "hotpotqa", "dbpedia-entity", "fever", "climate-fever"),
)
"""The datasets of these domains."""


def dense_mixed(evidence: Evidence) -> Conclusion:
    """Test that ANCE and TAS-B are above BM25 on some datasets and below it on many."""
    return counts_above_bm25(evidence, ("ance", "tas-b"), lambda above, n: 0 < 2 * above < n)


def dense_shifted(evidence: Evidence) -> Conclusion:
    """Test that every dense system is below BM25 on BioASQ and Touché."""
    here = [system for system in DENSE if system in evidence.systems]
    if missing := without_systems(evidence, BM25) or (None if here else without_systems(evidence, *DENSE)):
        return missing
    scores = evidence.scores
    names = [name for name in SHIFTED if name in scores.common(BM25, *here)]
    if not names:
        return without_datasets("BioASQ and Touché-2020")
    above = {system: scores.above(system, BM25, names) for system in here}
    ahead = [system for system in here if above[system]]
    sentence = f"On {dataset_labels(evidence, names)}, of {evidence.labels(here)} above BM25: {evidence.labels(ahead)}."
    return conclude(not ahead, sentence, {"above": len(ahead), "systems": len(here)}, names)


def dpr_worst(evidence: Evidence) -> Conclusion:
    """Test that DPR has the lowest mean of all."""
    if missing := without_systems(evidence, "dpr"):
        return missing
    systems, names = evidence.systems, evidence.scores.common(*evidence.systems)
    if len(systems) <= 2:  # the lowest of two says little
        return Conclusion(FEW_SYSTEMS, f"Only {evidence.labels(systems)} {is_or_are(systems)} here.")
    if not names:
        return without_datasets("any but the training data")
    means = {system: evidence.scores.mean(system, names) for system in systems}
    lowest = min(means, key=lambda system: means[system])
    over = f"{len(systems)} systems over {counted(len(names), 'dataset')}"
    sentence = f"The lowest mean of {over} is that of {evidence.label(lowest)}, {means[lowest]:.3f}."
    return conclude(lowest == "dpr", sentence, {"dpr": means["dpr"], "lowest": means[lowest]}, names)


def strong_training(evidence: Evidence) -> Conclusion:
    """Test that TAS-B has the highest mean of the dense systems, and is above ANCE on 14 and DPR on 17 of 18 (or shares)."""
    here = [system for system in DENSE if system in evidence.systems]
    if missing := without_systems(evidence, "tas-b") or (without_systems(evidence, "ance", "dpr") if len(here) == 1 else None):
        return missing
    scores, names = evidence.scores, evidence.scores.common(*here)
    if not names:
        return without_datasets("any but the training data")
    least = {"ance": 14, "dpr": 17}
    best = max(here, key=lambda system: scores.mean(system, names))
    ahead = {system: len(scores.above("tas-b", system, names)) for system in here if system in least}
    counts = " and ".join(
        f"above {evidence.label(system)} on {n} of {counted(len(names), 'dataset')}" for system, n in ahead.items()
    )
    highest = f"the highest mean of {evidence.labels(here)} is that of {evidence.label(best)}"
    sentence = f"TAS-B is {counts or 'compared with GenQ alone'}; {highest}."
    holds = best == "tas-b" and all(18 * n >= least[system] * len(names) for system, n in ahead.items())
    return conclude(holds, sentence, {**{f"above {system}": n for system, n in ahead.items()}, "datasets": len(names)}, names)


def below_ance(evidence: Evidence) -> Conclusion:
    """Test that TAS-B is below ANCE on TREC-COVID and Touché."""
    if missing := without_systems(evidence, "tas-b", "ance"):
        return missing
    scores, every = evidence.scores, evidence.scores.common("tas-b", "ance")
    names = [name for name in LENGTHS if name in every]
    if not names:
        return without_datasets("TREC-COVID and Touché-2020")
    points = {name: 100 * (scores.values["ance", name] - scores.values["tas-b", name]) for name in names}
    others = [name for name in scores.above("ance", "tas-b", every) if name not in names]
    differences = listed([f"{value:.1f} points on {dataset_labels(evidence, [name])}" for name, value in points.items()])
    rest = f"on {len(others)}{': ' + dataset_labels(evidence, others) if others else ''}"
    sentence = f"TAS-B is below ANCE by {differences}; of the other datasets, {rest}."
    return conclude(min(points.values()) > 0, sentence, {**points, "datasets below ANCE": len(names) + len(others)}, names)


def short_documents(evidence: Evidence) -> Conclusion:
    """Test that TAS-B retrieves shorter documents than ANCE: on those of the paper's two datasets here, else on most."""
    both = {name: words for name, words in evidence.median_words.items() if {"tas-b", "ance"} <= set(words)}
    if not both:
        return without_systems(evidence, "tas-b", "ance") or without_datasets("lengths of retrieved documents")
    names = [name for name in LENGTHS if name in both]
    shorter = [name for name in names or both if both[name]["tas-b"] < both[name]["ance"]]
    medians = [
        f"{both[name]['tas-b']:.0f} against {both[name]['ance']:.0f} words on {dataset_labels(evidence, [name])}"
        for name in names or both
    ]
    holds = shorter == names if names else 2 * len(shorter) > len(both)
    numbers = {f"{system} {name}": both[name][system] for name in names or both for system in ("tas-b", "ance")}
    return conclude(holds, f"Medians of TAS-B and ANCE: {listed(medians)}.", numbers, names or list(both))


def adaptation(evidence: Evidence) -> Conclusion:
    """Test that GenQ is above TAS-B on most datasets of special domains, and below it on most of Wikipedia."""
    if missing := without_systems(evidence, "genq", "tas-b"):
        return missing
    scores, domains = evidence.scores, {name: entry.get("domain") for name, entry in evidence.facts.datasets.items()}
    common = scores.common("genq", "tas-b")
    special, general = ([name for name in common if domains.get(name) in kinds] for kinds in (SPECIAL, GENERAL))
    if not special or not general:
        return without_datasets(listed(SPECIAL) if not special else listed(GENERAL))
    up, down = scores.above("genq", "tas-b", special), scores.above("tas-b", "genq", general)
    sentence = (
        f"GenQ is above TAS-B on {len(up)} of {len(special)} special datasets ({dataset_labels(evidence, special)}) and below "
        f"it on {len(down)} of {len(general)} of Wikipedia ({dataset_labels(evidence, general)})."
    )
    holds = 2 * len(up) > len(special) and 2 * len(down) > len(general)
    numbers = {"above": len(up), "special": len(special), "below": len(down), "general": len(general)}
    return conclude(holds, sentence, numbers, [*special, *general])
