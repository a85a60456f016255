"""The findings of the BEIR paper about words, lengths, times, sizes and holes: tests for ``findings.py``."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from beirflow.data.catalogue.choice import OF_THE_PAPER
from beirflow.extensions.paper.evidence import (
    FEW_DATASETS,
    FEW_SYSTEMS,
    Conclusion,
    Evidence,
    Names,
    NotEnoughError,
    conclude,
    no_scores,
)
from beirflow.extensions.paper.printed_values import BM25, STUDIED
from beirflow.report.pages import counted, listed

DENSE, SPARSE = ("dpr", "ance", "tas-b", "genq"), (BM25, "deepct", "doct5query", "sparta")
SLOW = ("bm25+ce", "colbert")
LEXICAL = (BM25, "doct5query")
FASTER = 20  # times that dense systems are at least faster than the re-ranker; section 5.1: "20-30x faster"

SMALL = 3
"""Gigabytes; section 5.1: "< 3GB". Its table has 3, rounded."""

NO_PAIR = "No two systems compare the same vectors by cosine and by dot product."


def low_overlap(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that datasets of different domains have fewer words in common than those of one domain, in the median."""
    domains = {name: entry["domain"] for name, entry in evidence.paper.datasets.items() if "domain" in entry}
    known = {pair: value for pair, value in evidence.overlap.items() if set(pair) <= set(domains) and value == value}
    within, across = ([value for (a, b), value in known.items() if (domains[a] == domains[b]) == same] for same in (True, False))
    if not within or not across:
        raise NotEnoughError(FEW_DATASETS, "There are no similarities of words within and across domains.")
    inside, outside = float(np.median(within)), float(np.median(across))
    sentence = (
        f"The median similarity of {len(across)} pairs across domains is {outside:.2f} (at most {max(across):.2f}), and of "
        f"{len(within)} within a domain {inside:.2f}."
    )
    names = list(dict.fromkeys(name for pair in known for name in pair))
    return conclude(outside < inside, sentence, {"across": outside, "within": inside, "most across": max(across)}, names)


def short_documents(evidence: Evidence, systems: Names, datasets: Names) -> Conclusion:
    """Test that TAS-B retrieves shorter documents than ANCE: on those of the paper's two datasets here, else on most."""
    both = {name: words for name, words in evidence.median_words.items() if {*systems} <= set(words)}
    if not both:
        evidence.need(*systems)
        raise NotEnoughError(FEW_DATASETS, "There are no lengths of documents that TAS-B and ANCE retrieved.")
    of_paper = [name for name in datasets if name in both]
    names = of_paper or list(both)
    shorter = [name for name in names if both[name]["tas-b"] < both[name]["ance"]]
    medians = [
        f"{both[name]['tas-b']:.0f} against {both[name]['ance']:.0f} words on {evidence.dataset_labels([name])}" for name in names
    ]
    holds = shorter == names if of_paper else 2 * len(shorter) > len(names)
    numbers = {f"{system} {name}": both[name][system] for name in names for system in systems}
    return conclude(holds, f"Medians of TAS-B and ANCE: {listed(medians)}.", numbers, names)


def cost_of_quality(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that BM25+CE and ColBERT take more time for a query than every dense system, on the same kind of device."""
    for device in ("gpu_ms", "cpu_ms"):
        slow, fast = (evidence.known(names, device) for names in (SLOW, DENSE))
        if slow and fast:
            sentence = f"{_milliseconds_on(evidence, device)}: {_listed(evidence, slow | fast, 'ms')}."
            numbers = {"least of these, ms": min(slow.values()), **slow, **fast}
            return conclude(min(slow.values()) > max(fast.values()), sentence, numbers, [evidence.measured_on])
    slow = evidence.known(SLOW, "gpu_ms") | evidence.known(SLOW, "cpu_ms")
    raise NotEnoughError(FEW_SYSTEMS, f"There are no latencies of {'a dense system' if slow else 'BM25+CE or ColBERT'}.")


def fast_dense(evidence: Evidence, systems: Names, _datasets: Names) -> Conclusion:
    """Test that every dense system is at least 20 times as fast as BM25+CE on a GPU."""
    slow, fast = evidence.known(systems[:1], "gpu_ms"), evidence.known(systems[1:], "gpu_ms")
    if not slow or not fast:
        raise NotEnoughError(FEW_SYSTEMS, "There are no latencies of BM25+CE and of dense systems on a GPU.")
    times = {system: slow["bm25+ce"] / value for system, value in fast.items()}
    measured = _listed(evidence, slow | fast, "ms")
    sentence = f"{_milliseconds_on(evidence, 'gpu_ms')}: {measured}; {_listed(evidence, times, 'times as fast')}."
    numbers = {"least, times": min(times.values()), "most, times": max(times.values()), "most, ms": max(fast.values())}
    return conclude(numbers["least, times"] >= FASTER, sentence, numbers, [evidence.measured_on])


def fast_sparse(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that lexical and sparse systems are faster than all others on a CPU."""
    fast = evidence.known(SPARSE, "cpu_ms")
    others = evidence.known([system for system in evidence.latencies if system not in SPARSE], "cpu_ms")
    if not fast or not others:
        raise NotEnoughError(FEW_SYSTEMS, "There are no latencies of sparse and of other systems on a CPU.")
    sentence = f"{_milliseconds_on(evidence, 'cpu_ms')}: {_listed(evidence, fast | others, 'ms')}."
    numbers = {"least, ms": min(fast.values()), "most, ms": max(fast.values()), "least of others, ms": min(others.values())}
    return conclude(numbers["most, ms"] < numbers["least of others, ms"], sentence, numbers, [evidence.measured_on])


def small_indexes(evidence: Evidence, systems: Names, _datasets: Names) -> Conclusion:
    """Test that lexical systems, dense ones and the re-ranker need at most 3 GB, in whole gigabytes."""
    sizes = evidence.known(systems, "index_gb")
    if not sizes:
        raise NotEnoughError(FEW_SYSTEMS, "There are no sizes of indexes of lexical, re-ranking or dense systems.")
    sentence = f"On {_place(evidence)}: {_listed(evidence, sizes, 'GB')}."
    return conclude(round(max(sizes.values())) <= SMALL, sentence, {"most, GB": max(sizes.values())}, [evidence.measured_on])


def large_indexes(evidence: Evidence, systems: Names, _datasets: Names) -> Conclusion:
    """Test that the index of ColBERT is the largest and that of SPARTA the second largest."""
    sizes = evidence.known(evidence.latencies, "index_gb")
    if missing := [system for system in systems if system not in sizes]:
        raise NotEnoughError(FEW_SYSTEMS, f"There is no index of {evidence.labels(missing)}.")
    order = sorted(sizes, key=lambda system: -sizes[system])
    sentence = f"On {_place(evidence)}: {_listed(evidence, {system: sizes[system] for system in order}, 'GB')}."
    return conclude(order[:2] == [*systems], sentence, sizes, [evidence.measured_on])


def fewer_lexical_holes(evidence: Evidence, systems: Names, datasets: Names) -> Conclusion:
    """Test that lexical systems retrieve fewer unjudged documents than ANCE and TAS-B, on TREC-COVID."""
    holes = {name: 100 * evidence.holes[name]["hole"] for name in systems if "hole" in evidence.holes.get(name, {})}
    lexical, dense = ([value for name, value in holes.items() if (name in LEXICAL) == wanted] for wanted in (True, False))
    if not lexical or not dense:
        raise NotEnoughError(FEW_SYSTEMS, "There are no holes of lexical and of dense systems.")
    sentence = f"Hole@10 on {evidence.dataset_labels(datasets)}, in percent: {_listed(evidence, holes, '')}."
    return conclude(max(lexical) < min(dense), sentence, holes, datasets)


def biased_pool(evidence: Evidence, systems: Names, datasets: Names) -> Conclusion:
    """Test that additional judgements raise ANCE above BM25, and more than docT5query."""
    both = {
        system: values
        for system, values in evidence.holes.items()
        if {"before", "after"} <= {name for name, value in values.items() if value == value}
    }
    if missing := [system for system in systems if system not in both]:
        raise NotEnoughError(FEW_SYSTEMS, f"There are no scores with further judgements of {evidence.labels(missing)}.")
    gains = {system: 100 * (values["after"] - values["before"]) for system, values in both.items()}
    ahead = 100 * (both["ance"]["after"] - both[BM25]["after"])
    sentence = f"Points gained: {_listed(evidence, gains, '')}; ANCE is then {ahead:.1f} points above BM25."
    numbers = {"ance above BM25": ahead, **{f"{system} gains": gain for system, gain in gains.items()}}
    return conclude(ahead > 0 and gains["ance"] > gains["doct5query"], sentence, numbers, datasets)


def longer_arguments(evidence: Evidence, _systems: Names, datasets: Names) -> Conclusion:
    """Test that the median length of the documents of grade 2 is larger than that of grade 1."""
    words = evidence.grades.get(datasets[0], {})
    if not {1, 2} <= set(words):
        raise NotEnoughError(FEW_DATASETS, f"There are no lengths by grade of {evidence.dataset_labels(datasets)}.")
    sentence = f"Median words on {evidence.dataset_labels(datasets)}: {words[1]:.0f} of grade 1, {words[2]:.0f} of grade 2."
    return conclude(words[1] < words[2], sentence, {"grade 1": words[1], "grade 2": words[2]}, datasets)


def lengths_of_grades(evidence: Evidence, _systems: Names, datasets: Names) -> Conclusion:
    """Test that the median length rises with the grade on some datasets and falls on others."""
    names = [name for name in datasets if len(evidence.grades.get(name, {})) > 1]
    if not names:
        raise NotEnoughError(FEW_DATASETS, "There are no lengths by grade.")
    medians = {name: [evidence.grades[name][grade] for grade in sorted(evidence.grades[name])] for name in names}
    rising = [name for name, words in medians.items() if all(low < high for low, high in pairwise(words))]
    falling = [name for name, words in medians.items() if all(low > high for low, high in pairwise(words))]
    each = [
        f"{', '.join(f'{value:.0f}' for value in words)} on {evidence.dataset_labels([name])}" for name, words in medians.items()
    ]
    sentence = f"Median words by rising grade: {listed(each)}. Lengths rise on {len(rising)} and fall on {len(falling)}."
    return conclude(bool(rising and falling), sentence, {"rising": len(rising), "falling": len(falling)}, names)


def cosine_shorter(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that the cosine retrieves shorter documents than the dot product of the same vectors, on every dataset."""
    if not evidence.similarities:
        raise NotEnoughError(FEW_SYSTEMS, NO_PAIR)
    words = {name: (row["cosine_words"], row["dot_words"]) for name, row in evidence.similarities.items()}
    shorter = [name for name, (cosine, dot) in words.items() if cosine < dot]
    medians = [f"{cosine:.0f} and {dot:.0f} on {evidence.dataset_labels([name])}" for name, (cosine, dot) in words.items()]
    over = f"{len(shorter)} of {counted(len(words), 'dataset')}"
    sentence = f"The cosine retrieves shorter documents on {over}; medians: {listed(medians)}."
    return conclude(len(shorter) == len(words), sentence, {"shorter": len(shorter), "datasets": len(words)}, list(words))


def dot_product_mixed(evidence: Evidence, _systems: Names, _datasets: Names) -> Conclusion:
    """Test that the dot product is better than the cosine on TREC-COVID, and worse on more than half of the other datasets."""
    if not evidence.similarities:
        raise NotEnoughError(FEW_SYSTEMS, NO_PAIR)
    points = {name: 100 * row["difference"] for name, row in evidence.similarities.items()}
    others = [name for name in points if name not in (STUDIED, *evidence.paper.in_domain)]
    if STUDIED not in points or not others:
        raise no_scores("TREC-COVID and others")
    worse = [name for name in others if points[name] < 0]
    sentence = (
        f"By the dot product, NDCG@10 changes by {points[STUDIED]:+.1f} points on TREC-COVID; it is lower on {len(worse)} of "
        f"{counted(len(others), 'other dataset')}."
    )
    numbers = {STUDIED: points[STUDIED], "worse": len(worse), "others": len(others)}
    return conclude(points[STUDIED] > 0 and 2 * len(worse) > len(others), sentence, numbers, [STUDIED, *others])


def titles_alone(evidence: Evidence, _systems: Names, datasets: Names) -> Conclusion:
    """Test that about 42 of 171 thousand documents of TREC-COVID have no abstract, to half a thousand."""
    if STUDIED not in evidence.without_text:
        raise NotEnoughError(FEW_DATASETS, "There are no counts of the documents of TREC-COVID.")
    without, documents = (value / 1000 for value in evidence.without_text[STUDIED])
    sentence = f"Of {documents:.1f} thousand documents of TREC-COVID, {without:.1f} thousand have a title alone."
    return conclude(round(without) == 42, sentence, {"thousands without": without, "thousands": documents}, datasets)


def _milliseconds_on(evidence: Evidence, device: str) -> str:
    return f"Milliseconds of a query on a {device[:3].upper()}, on {_place(evidence)}"


def _place(evidence: Evidence) -> str:
    return "a million documents of DBPedia" if evidence.measured_on == OF_THE_PAPER else evidence.measured_on


def _listed(evidence: Evidence, values: Mapping[str, float], unit: str) -> str:
    return listed([f"{evidence.label(system)} {_short(value)} {unit}".rstrip() for system, value in values.items()])


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
