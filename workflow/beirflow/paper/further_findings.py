"""The findings of the BEIR paper outside the numbered paragraphs: functions as in :mod:`beirflow.paper.findings`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from beirflow.paper.dense_findings import DENSE
from beirflow.paper.evidence import (
    FEW_DATASETS,
    FEW_SYSTEMS,
    Conclusion,
    Evidence,
    conclude,
    dataset_labels,
    is_or_are,
    without_datasets,
)
from beirflow.paper.facts import BM25
from beirflow.report.pages import counted, listed

STUDIED = "trec-covid"
GRADED = ("trec-covid", "nfcorpus", "dbpedia-entity", "webis-touche2020")
"""The public datasets whose relevant documents have several grades."""

LEXICAL, SPARSE = (BM25, "doct5query"), (BM25, "deepct", "doct5query", "sparta")
SLOW = ("bm25+ce", "colbert")
MEASURED = ("dbpedia-entity",)
"""The dataset of section 5.1: a million of its documents."""

FASTER = 20
"""Times that dense systems are at least faster than the re-ranker; section 5.1: "20-30x faster"."""

SMALL = 3
"""Gigabytes; section 5.1: "< 3GB". Its table has 3, rounded."""

FEWEST = 2  # of which one is the best
NO_PAIR = "No two systems here compare the same vectors by the cosine and by the dot product."


def best_everywhere(evidence: Evidence) -> Conclusion:
    """Test that no system has the highest score on every dataset."""
    systems, names = evidence.systems, evidence.scores.common(*evidence.systems)
    if len(systems) < FEWEST:
        return Conclusion(FEW_SYSTEMS, f"Only {evidence.labels(systems)} {is_or_are(systems)} here.")
    if not names:
        return without_datasets("any but the training data")
    highest = {name: max(evidence.scores.values[system, name] for system in systems) for name in names}
    best = Counter(system for system in systems for name in names if evidence.scores.values[system, name] == highest[name])
    counts = listed([f"{evidence.label(system)} on {n}" for system, n in best.most_common()])
    sentence = f"Of {counted(len(names), 'dataset')}, the highest score: {counts}."
    return conclude(max(best.values()) < len(names), sentence, {"most": max(best.values()), "datasets": len(names)}, names)


def low_overlap(evidence: Evidence) -> Conclusion:
    """Test that datasets of different domains have fewer words in common than those of one domain, in the median."""
    domains = {name: entry["domain"] for name, entry in evidence.facts.datasets.items() if "domain" in entry}
    known = {pair: value for pair, value in evidence.overlap.items() if set(pair) <= set(domains) and value == value}
    within, across = ([value for (a, b), value in known.items() if (domains[a] == domains[b]) == same] for same in (True, False))
    if not within or not across:
        return Conclusion(FEW_DATASETS, "There are no similarities of words within and across domains.")
    inside, outside = float(np.median(within)), float(np.median(across))
    sentence = (
        f"The median similarity of {len(across)} pairs across domains is {outside:.2f} (at most {max(across):.2f}), and of "
        f"{len(within)} within a domain {inside:.2f}."
    )
    names = list(dict.fromkeys(name for pair in known for name in pair))
    return conclude(outside < inside, sentence, {"across": outside, "within": inside, "most across": max(across)}, names)


def cost_of_quality(evidence: Evidence) -> Conclusion:
    """Test that BM25+CE and ColBERT take more time for a query than every dense system, on the same kind of device."""
    for device in ("gpu_ms", "cpu_ms"):
        slow, fast = (_known(evidence, names, device) for names in (SLOW, DENSE))
        if slow and fast:
            sentence = f"{_words(evidence, device)}: {_listed(evidence, slow | fast, 'ms')}."
            numbers = {"least of these, ms": min(slow.values()), **slow, **fast}
            return conclude(min(slow.values()) > max(fast.values()), sentence, numbers, [evidence.measured_on])
    missing = "BM25+CE or ColBERT" if not any(_known(evidence, SLOW, each) for each in ("gpu_ms", "cpu_ms")) else "a dense system"
    return Conclusion(FEW_SYSTEMS, f"There are no latencies of {missing}.")


def fast_dense(evidence: Evidence) -> Conclusion:
    """Test that every dense system is at least 20 times as fast as BM25+CE on a GPU."""
    slow, fast = (_known(evidence, names, "gpu_ms") for names in (("bm25+ce",), DENSE))
    if not slow or not fast:
        return Conclusion(FEW_SYSTEMS, "There are no latencies of BM25+CE and of dense systems on a GPU.")
    times = {system: slow["bm25+ce"] / value for system, value in fast.items()}
    sentence = (
        f"{_words(evidence, 'gpu_ms')}: {_listed(evidence, slow | fast, 'ms')}; {_listed(evidence, times, 'times as fast')}."
    )
    numbers = {"least, times": min(times.values()), "most, times": max(times.values()), "most, ms": max(fast.values())}
    return conclude(numbers["least, times"] >= FASTER, sentence, numbers, [evidence.measured_on])


def fast_sparse(evidence: Evidence) -> Conclusion:
    """Test that lexical and sparse systems are faster than all others on a CPU."""
    fast = _known(evidence, SPARSE, "cpu_ms")
    others = _known(evidence, [system for system in evidence.latencies if system not in SPARSE], "cpu_ms")
    if not fast or not others:
        return Conclusion(FEW_SYSTEMS, "There are no latencies of sparse and of other systems on a CPU.")
    sentence = f"{_words(evidence, 'cpu_ms')}: {_listed(evidence, fast | others, 'ms')}."
    numbers = {"least, ms": min(fast.values()), "most, ms": max(fast.values()), "least of others, ms": min(others.values())}
    return conclude(numbers["most, ms"] < numbers["least of others, ms"], sentence, numbers, [evidence.measured_on])


def small_indexes(evidence: Evidence) -> Conclusion:
    """Test that lexical systems, dense ones and the re-ranker need at most 3 GB, in whole gigabytes."""
    sizes = _known(evidence, (BM25, "bm25+ce", *DENSE), "index_gb")
    if not sizes:
        return Conclusion(FEW_SYSTEMS, "There are no sizes of indexes of lexical, re-ranking or dense systems.")
    sentence = f"On {_place(evidence)}: {_listed(evidence, sizes, 'GB')}."
    return conclude(round(max(sizes.values())) <= SMALL, sentence, {"most, GB": max(sizes.values())}, [evidence.measured_on])


def large_indexes(evidence: Evidence) -> Conclusion:
    """Test that the index of ColBERT is the largest and that of SPARTA the second largest."""
    sizes = _known(evidence, evidence.latencies, "index_gb")
    if missing := [system for system in ("colbert", "sparta") if system not in sizes]:
        return Conclusion(FEW_SYSTEMS, f"There is no index of {evidence.labels(missing)}.")
    order = sorted(sizes, key=lambda system: -sizes[system])
    sentence = f"On {_place(evidence)}: {_listed(evidence, {system: sizes[system] for system in order}, 'GB')}."
    return conclude(order[:2] == ["colbert", "sparta"], sentence, sizes, [evidence.measured_on])


def fewer_lexical_holes(evidence: Evidence) -> Conclusion:
    """Test that lexical systems retrieve fewer unjudged documents than ANCE and TAS-B, on TREC-COVID."""
    lexical, dense = (
        {system: 100 * evidence.holes[system]["hole"] for system in names if "hole" in evidence.holes.get(system, {})}
        for names in (LEXICAL, ("ance", "tas-b"))
    )
    if not lexical or not dense:
        return Conclusion(FEW_SYSTEMS, "There are no holes of lexical and of dense systems.")
    sentence = f"Hole@10 on {dataset_labels(evidence, [STUDIED])}, in percent: {_listed(evidence, lexical | dense, '')}."
    return conclude(max(lexical.values()) < min(dense.values()), sentence, {**lexical, **dense}, [STUDIED])


def biased_pool(evidence: Evidence) -> Conclusion:
    """Test that additional judgements raise ANCE above BM25, and more than docT5query."""
    needed = (BM25, "doct5query", "ance")
    both = {
        system: values
        for system, values in evidence.holes.items()
        if {"before", "after"} <= {name for name, value in values.items() if value == value}
    }
    if missing := [system for system in needed if system not in both]:
        return Conclusion(FEW_SYSTEMS, f"There are no scores with further judgements of {evidence.labels(missing)}.")
    gains = {system: 100 * (values["after"] - values["before"]) for system, values in both.items()}
    ahead = 100 * (both["ance"]["after"] - both[BM25]["after"])
    sentence = f"Points gained: {_listed(evidence, gains, '')}; ANCE is then {ahead:.1f} points above BM25."
    holds = ahead > 0 and gains["ance"] > gains["doct5query"]
    return conclude(
        holds, sentence, {"ance above BM25": ahead, **{f"{system} gains": gain for system, gain in gains.items()}}, [STUDIED]
    )


def lengths_of_grades(evidence: Evidence) -> Conclusion:
    """Test that the median length rises with the grade on some datasets and falls on others."""
    names = [name for name in GRADED if len(evidence.grades.get(name, {})) > 1]
    if not names:
        return without_datasets("several grades")
    medians = {name: [evidence.grades[name][grade] for grade in sorted(evidence.grades[name])] for name in names}
    rising = [name for name, words in medians.items() if all(low < high for low, high in pairwise(words))]
    falling = [name for name, words in medians.items() if all(low > high for low, high in pairwise(words))]
    each = listed(
        [
            f"{', '.join(f'{value:.0f}' for value in words)} on {dataset_labels(evidence, [name])}"
            for name, words in medians.items()
        ]
    )
    sentence = f"Median words by rising grade: {each}. Lengths rise on {len(rising)} and fall on {len(falling)}."
    return conclude(bool(rising and falling), sentence, {"rising": len(rising), "falling": len(falling)}, names)


def cosine_shorter(evidence: Evidence) -> Conclusion:
    """Test that the cosine retrieves shorter documents than the dot product of the same vectors, on every dataset."""
    if not evidence.similarities:
        return Conclusion(FEW_SYSTEMS, NO_PAIR)
    words = {name: (row["cosine_words"], row["dot_words"]) for name, row in evidence.similarities.items()}
    shorter = [name for name, (cosine, dot) in words.items() if cosine < dot]
    medians = listed(
        [f"{cosine:.0f} and {dot:.0f} on {dataset_labels(evidence, [name])}" for name, (cosine, dot) in words.items()]
    )
    sentence = (
        f"The cosine retrieves shorter documents on {len(shorter)} of {counted(len(words), 'dataset')}; medians: {medians}."
    )
    return conclude(len(shorter) == len(words), sentence, {"shorter": len(shorter), "datasets": len(words)}, list(words))


def dot_product_mixed(evidence: Evidence) -> Conclusion:
    """Test that the dot product is better than the cosine on TREC-COVID, and worse on more than half of the other datasets."""
    if not evidence.similarities:
        return Conclusion(FEW_SYSTEMS, NO_PAIR)
    points = {name: 100 * row["difference"] for name, row in evidence.similarities.items()}
    others = [name for name in points if name not in (STUDIED, *evidence.facts.in_domain)]
    if STUDIED not in points or not others:
        return without_datasets("TREC-COVID and others")
    worse = [name for name in others if points[name] < 0]
    sentence = (
        f"By the dot product, NDCG@10 changes by {points[STUDIED]:+.1f} points on TREC-COVID; it is lower on {len(worse)} of "
        f"{counted(len(others), 'other dataset')}."
    )
    numbers = {STUDIED: points[STUDIED], "worse": len(worse), "others": len(others)}
    return conclude(points[STUDIED] > 0 and 2 * len(worse) > len(others), sentence, numbers, [STUDIED, *others])


def titles_alone(evidence: Evidence) -> Conclusion:
    """Test that about 42 of 171 thousand documents of TREC-COVID have no abstract, to half a thousand."""
    if STUDIED not in evidence.without_text:
        return Conclusion(FEW_DATASETS, "There are no counts of the documents of TREC-COVID.")
    without, documents = (value / 1000 for value in evidence.without_text[STUDIED])
    sentence = f"Of {documents:.1f} thousand documents of TREC-COVID, {without:.1f} thousand have a title alone."
    return conclude(round(without) == 42, sentence, {"thousands without": without, "thousands": documents}, [STUDIED])


def _known(evidence: Evidence, systems: Sequence[str] | Mapping[str, object], key: str) -> dict[str, float]:
    """Return by system the known values among its latencies."""
    values = {system: evidence.latencies.get(system, {}).get(key, np.nan) for system in systems}
    return {system: value for system, value in values.items() if value == value}


def _words(evidence: Evidence, device: str) -> str:
    return f"Milliseconds of a query on a {device[:3].upper()}, on {_place(evidence)}"


def _place(evidence: Evidence) -> str:
    return "a million documents of DBPedia" if evidence.measured_on in MEASURED else evidence.measured_on


def _listed(evidence: Evidence, values: Mapping[str, float], unit: str) -> str:
    return listed([f"{evidence.label(system)} {value:.3g} {unit}".rstrip() for system, value in values.items()])
