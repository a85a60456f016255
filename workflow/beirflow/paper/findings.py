"""The findings of the BEIR paper, each a function from results to a sentence, its numbers and a verdict.

A count is over the datasets on which all systems that it names have a score, those that systems were trained on left out.
:mod:`beirflow.paper.dense_findings` has those of section 5 that are about dense systems alone, and
:mod:`beirflow.paper.further_findings` those of other sections.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import scipy

from beirflow.paper import dense_findings, further_findings
from beirflow.paper import evidence as verdicts
from beirflow.paper.facts import BM25
from beirflow.report.pages import counted, listed

NEARLY_ALL = 16 / 18  # section 5, paragraph 4: "almost all (16/18) datasets"

LEAST_IN_DOMAIN = 7 - 0.5
"""Points that BM25 is at least below the others in-domain; the text, paragraph 1: "7-18 points", rounded."""

AVAILABLE = ("deepct", "sparta", "doct5query", "dpr", "ance", "tas-b", "genq", "bm25+ce", BM25)
"""Systems of a finding on all of them: those of the paper but ColBERT, which no hub has."""

FEWEST = 2  # datasets of an interval
NONE_AHEAD = "No system that was trained there is here."
TRAINED_ELSEWHERE = ("dpr",)  # all but BM25, which was not trained, were trained on MS MARCO


@dataclass(frozen=True)
class Finding:
    """A finding of the paper."""

    number: str  # that of the paragraph in section 5, or another section, with a letter where it says several things
    says: str  # what it says, shortened
    test: Callable[[verdicts.Evidence], verdicts.Conclusion]  # computes it from results
    decided_by: str  # the threshold of the verdict, and the place in the paper or elsewhere that states it
    numbers: Mapping[str, float] = field(default_factory=dict)  # those of its numbers that the paper prints
    systems: tuple[str, ...] = ()  # those that the sentence is about, without which the verdict is undecided
    datasets: tuple[str, ...] = ()  # those that it is about, if not all that nobody was trained on; every one is needed
    over_all: bool = True  # it is over all datasets that nobody was trained on; those that are public are needed

    def judge(self, evidence: verdicts.Evidence) -> verdicts.Conclusion:
        """Return the conclusion with its coverage, undecided where what the sentence is about is missing."""
        conclusion, facts = self.test(evidence), evidence.facts
        about = facts.zero_shot if self.over_all else self.datasets
        covered = [name for name in about if name in conclusion.datasets]
        coverage = f"{len(covered)} of {len(about)}" if about else ""
        # A verdict must be possible without the datasets that are not public.
        needed = [name for name in about if not self.over_all or name not in facts.not_public]
        lacking = [facts.label(name) for name in self.systems if name not in evidence.systems]
        lacking += [str(facts.datasets[name]["label"]) for name in needed if name not in covered]
        if conclusion.verdict not in (verdicts.HOLDS, verdicts.FAILS) or not lacking:
            return replace(conclusion, coverage=coverage)
        sentence = f"{conclusion.sentence} For a verdict, {listed(lacking)} {verdicts.is_or_are(lacking)} missing."
        return replace(conclusion, verdict=verdicts.UNDECIDED, sentence=sentence, coverage=coverage)

    def disagreement(self, computed: Mapping[str, float], origin: str) -> str:
        """Return a sentence on the printed numbers that differ by over half a unit of their last digit from computed ones."""
        apart = [
            f"{printed:g} ({name}), but {origin} {computed[name]:.3g}"
            for name, printed in self.numbers.items()
            if name in computed and abs(computed[name] - printed) > (0.5 if printed == round(printed) else 0.05) + 1e-9
        ]
        return f" The paper says {listed(apart)}." if apart else ""


def in_domain_leads(evidence: verdicts.Evidence) -> verdicts.Conclusion:
    """Test that leads over BM25 in-domain do not persist: the interval of most, over the other datasets, excludes the least lead.

    It is the 95 % interval of the paired t-test, the datasets as the sample.
    """
    if missing := verdicts.without_systems(evidence, BM25):
        return missing
    scores, ahead = evidence.scores, _leads(evidence)
    systems = [system for system, points in ahead.items() if points >= LEAST_IN_DOMAIN]
    if not systems:
        trained = evidence.facts.in_domain[0]
        here = (BM25, trained) in scores.values
        return (
            verdicts.Conclusion(verdicts.FEW_SYSTEMS, NONE_AHEAD)
            if here
            else verdicts.without_datasets(evidence.facts.datasets[trained]["label"])
        )
    names = scores.common(BM25, *systems)
    if len(names) < FEWEST:
        return replace(verdicts.without_datasets(f"at least {FEWEST} datasets but the training data"), datasets=names)
    lost, kept = list[str](), list[str]()
    for system in systems:
        points = 100 * np.array([scores.values[system, name] - scores.values[BM25, name] for name in names])
        low, high = scipy.stats.ttest_1samp(points, 0).confidence_interval(0.95)
        lost += [system] * bool(high < LEAST_IN_DOMAIN)
        kept += [system] * bool(low >= LEAST_IN_DOMAIN)
    sentence = (
        f"Of {counted(len(systems), 'system')} that lead BM25 by 7 points on MS MARCO, {len(lost)} lose it and {len(kept)} "
        f"keep it: the 95 % interval of the difference over {counted(len(names), 'dataset')} lies below it, or above."
    )
    holds = True if 2 * len(lost) > len(systems) else False if 2 * len(kept) > len(systems) else None
    return verdicts.conclude(holds, sentence, {"lost": len(lost), "kept": len(kept), "systems": len(systems)}, names)


def _leads(evidence: verdicts.Evidence) -> dict[str, float]:
    """Return by system that was trained on MS MARCO its points above BM25 there."""
    values, trained = evidence.scores.values, evidence.facts.in_domain[0]
    others = [system for system in evidence.systems if system not in (BM25, *TRAINED_ELSEWHERE)]
    pairs = {system: ((system, trained), (BM25, trained)) for system in others}
    return {system: 100 * (values[own] - values[base]) for system, (own, base) in pairs.items() if {own, base} <= set(values)}


def bm25_in_domain(evidence: verdicts.Evidence) -> verdicts.Conclusion:
    """Test that BM25 is below every system that was trained on MS MARCO, there."""
    trained, ahead = evidence.facts.in_domain[0], _leads(evidence)
    if missing := verdicts.without_systems(evidence, BM25):
        return missing
    if (BM25, trained) not in evidence.scores.values:
        return verdicts.without_datasets(evidence.facts.datasets[trained]["label"])
    if not ahead:
        return verdicts.Conclusion(verdicts.FEW_SYSTEMS, NONE_AHEAD)
    low, high = min(ahead.values()), max(ahead.values())
    sentence = f"On MS MARCO, {len(ahead)} systems that were trained on it are {low:.1f} to {high:.1f} points above BM25."
    return verdicts.conclude(low >= LEAST_IN_DOMAIN, sentence, {"least": low, "most": high, "systems": len(ahead)}, [trained])


def bm25_elsewhere(evidence: verdicts.Evidence) -> verdicts.Conclusion:
    """Test that BM25 is above more than half of the others in the mean."""
    if missing := verdicts.without_systems(evidence, BM25):
        return missing
    others, names = [system for system in evidence.systems if system != BM25], evidence.scores.common(*evidence.systems)
    if not others:
        return verdicts.Conclusion(verdicts.FEW_SYSTEMS, "BM25 is the only system of the paper that is here.")
    if not names:
        return verdicts.without_datasets("any but the training data")
    below = [system for system in others if evidence.scores.mean(system, names) < evidence.scores.mean(BM25, names)]
    over, share = counted(len(names), "dataset"), f"{len(below)} of {len(others)} others"
    sentence = f"In the mean of {over}, BM25 is above {share}: {evidence.labels(below)}."
    return verdicts.conclude(2 * len(below) > len(others), sentence, {"below": len(below), "others": len(others)}, names)


def term_weighting(evidence: verdicts.Evidence) -> verdicts.Conclusion:
    """Test that DeepCT and SPARTA are below BM25 on nearly all datasets."""
    return verdicts.counts_above_bm25(evidence, ("deepct", "sparta"), lambda above, n: n - above >= NEARLY_ALL * n)


def expansion(evidence: verdicts.Evidence) -> verdicts.Conclusion:
    """Test that docT5query is above BM25 on at least 11 of 18 datasets, or as large a share."""
    return verdicts.counts_above_bm25(evidence, ("doct5query",), lambda above, n: 18 * above >= 11 * n)


def reranking(evidence: verdicts.Evidence) -> verdicts.Conclusion:
    """Test that BM25+CE is above BM25 on nearly all datasets."""
    return verdicts.counts_above_bm25(evidence, ("bm25+ce",), lambda above, n: above >= NEARLY_ALL * n)


def late_interaction(evidence: verdicts.Evidence) -> verdicts.Conclusion:
    """Test that ColBERT is above BM25 on at least half of the datasets."""
    return verdicts.counts_above_bm25(evidence, ("colbert",), lambda above, n: 2 * above >= n)


FINDINGS = (
    Finding(
        "section 1",
        "No single approach outperforms the others on all datasets.",
        further_findings.best_everywhere,
        "no system has the highest score on all datasets (section 1)",
        systems=AVAILABLE,
    ),
    Finding(
        "section 3.1",
        "Datasets of different domains have few words in common.",
        further_findings.low_overlap,
        "fewer than those of one domain, in the median; the text has no number",
    ),
    Finding(
        "1a",
        "In-domain performance is not a good indicator for out-of-domain generalization.",
        in_domain_leads,
        "for more than half of the systems (caption of figure 3), the 95 % interval excludes a lead of 7 points (paragraph 1)",
        systems=AVAILABLE,
    ),
    Finding(
        "1b",
        "In-domain, BM25 is 7 to 18 points below the neural approaches.",
        bm25_in_domain,
        "at least 7 points (paragraph 1), rounded",
        {"least": 7, "most": 18},
        AVAILABLE,
        ("msmarco",),
        over_all=False,
    ),
    Finding(
        "1c",
        "Elsewhere, BM25 is above many more complex approaches.",
        bm25_elsewhere,
        "more than half of the systems; the text says many",
        systems=AVAILABLE,
    ),
    Finding(
        "2a",
        "Term weighting (DeepCT, SPARTA) is below BM25 on nearly all datasets.",
        term_weighting,
        "16 of 18, which paragraph 4 calls almost all",
        systems=("deepct", "sparta"),
    ),
    Finding(
        "2b",
        "Document expansion (docT5query) is above BM25 on 11 of 18 datasets.",
        expansion,
        "11 of 18 (paragraph 2)",
        {"doct5query above": 11},
    ),
    Finding(
        "3a",
        "Dense retrieval (ANCE, TAS-B) is strong on some datasets and worse than BM25 on many.",
        dense_findings.dense_mixed,
        "above BM25 on some, on less than half (caption of figure 3)",
        systems=("ance", "tas-b"),
    ),
    Finding(
        "3b",
        "Dense retrieval is below BM25 under a large shift: BioASQ, Touché-2020.",
        dense_findings.dense_shifted,
        "each of them, on both (paragraph 3)",
        systems=dense_findings.DENSE,
        datasets=dense_findings.SHIFTED,
        over_all=False,
    ),
    Finding(
        "3c",
        "DPR, which was not trained on MS MARCO, generalizes worst.",
        dense_findings.dpr_worst,
        "the lowest mean of all (paragraph 3)",
        systems=AVAILABLE,
    ),
    Finding(
        "4a",
        "Re-ranking (BM25+CE) is above BM25 on 16 of 18 datasets.",
        reranking,
        "16 of 18 (paragraph 4)",
        {"bm25+ce above": 16},
    ),
    Finding(
        "4b",
        "Late interaction (ColBERT) is above BM25 on 9 of 18 datasets.",
        late_interaction,
        "9 of 18 (paragraph 4)",
        {"colbert above": 9},
    ),
    Finding(
        "5",
        "TAS-B is the best dense system, above ANCE on 14 and above DPR on 17 of 18 datasets.",
        dense_findings.strong_training,
        "the highest mean, 14 and 17 of 18 (paragraph 5)",
        {"above ance": 14, "above dpr": 17},
        dense_findings.DENSE,
    ),
    Finding(
        "6a",
        "TAS-B is below ANCE on two datasets: TREC-COVID by 17.3 and Touché-2020 by 7.8 points.",
        dense_findings.below_ance,
        "below on both (paragraph 6)",
        {"trec-covid": 17.3, "webis-touche2020": 7.8, "datasets below ANCE": 2},
        datasets=dense_findings.LENGTHS,
        over_all=False,
    ),
    Finding(
        "6b",
        "TAS-B retrieves shorter documents than ANCE.",
        dense_findings.short_documents,
        "shorter on both (paragraph 6)",
        datasets=dense_findings.LENGTHS,
        over_all=False,
    ),
    Finding(
        "7",
        "GenQ is above TAS-B in special domains and below it in broader ones, such as Wikipedia.",
        dense_findings.adaptation,
        "on more than half of either kind; the text has no number",
        datasets=dense_findings.SPECIAL_AND_GENERAL,
        over_all=False,
    ),
    Finding(
        "section 5.1a",
        "Quality costs time: BM25+CE and ColBERT (more than 350 ms) are slower than dense systems.",
        further_findings.cost_of_quality,
        "slower than each of them",
        {"least of these, ms": 350},
        datasets=further_findings.MEASURED,
        over_all=False,
    ),
    Finding(
        "section 5.1b",
        "Dense systems are 20 to 30 times as fast as the re-ranker (less than 20 ms).",
        further_findings.fast_dense,
        "at least 20 times (section 5.1)",
        {"most, times": 30, "most, ms": 20},
        ("bm25+ce", *dense_findings.DENSE),
        further_findings.MEASURED,
        over_all=False,
    ),
    Finding(
        "section 5.1c",
        "On a CPU, sparse systems are the fastest (20 to 25 ms).",
        further_findings.fast_sparse,
        "faster than every other system (section 5.1)",
        {"least, ms": 20, "most, ms": 25},
        (*further_findings.SPARSE, *dense_findings.DENSE),
        further_findings.MEASURED,
        over_all=False,
    ),
    Finding(
        "section 5.1d",
        "Indexes of lexical, re-ranking and dense systems are the smallest (less than 3 GB).",
        further_findings.small_indexes,
        "3 GB, in whole gigabytes as its table has them (section 5.1)",
        systems=(BM25, "bm25+ce", *dense_findings.DENSE),
        datasets=further_findings.MEASURED,
        over_all=False,
    ),
    Finding(
        "section 5.1e",
        "ColBERT needs the largest index, SPARTA the second largest.",
        further_findings.large_indexes,
        "that order (section 5.1)",
        systems=("colbert", "sparta"),
        datasets=further_findings.MEASURED,
        over_all=False,
    ),
    Finding(
        "section 6a",
        "Lexical systems retrieve fewer unjudged documents of TREC-COVID (6.4 and 2.8 %) than ANCE and TAS-B (14.4 and 31.8 %).",
        further_findings.fewer_lexical_holes,
        "each fewer than each (section 6)",
        {BM25: 6.4, "doct5query": 2.8, "ance": 14.4, "tas-b": 31.8},
        (BM25, "doct5query", "ance", "tas-b"),
        (further_findings.STUDIED,),
        over_all=False,
    ),
    Finding(
        "section 6b",
        "With further judgements, ANCE is 6.7 points above BM25 on TREC-COVID; docT5query gains 0.1, ColBERT 5.8.",
        further_findings.biased_pool,
        "ANCE is above BM25, and gains more than docT5query (section 6)",
        {"ance above BM25": 6.7, "doct5query gains": 0.1, "colbert gains": 5.8},
        (BM25, "doct5query", "ance"),
        (further_findings.STUDIED,),
        over_all=False,
    ),
    Finding(
        "figure 4",
        "On some datasets, longer documents are judged more relevant, on others shorter ones (appendix D).",
        further_findings.lengths_of_grades,
        "medians rise with every grade on one dataset at least, and fall on one; the text has no number",
        datasets=further_findings.GRADED,
        over_all=False,
    ),
    Finding(
        "appendix D, lengths",
        "The cosine prefers shorter documents than the dot product, on all datasets (there of two models, here of one).",
        further_findings.cosine_shorter,
        "on all (appendix D)",
    ),
    Finding(
        "appendix D, scores",
        "By the dot product, TREC-COVID gains 15.3 points; most other datasets lose (there of two models, here of one).",
        further_findings.dot_product_mixed,
        "above on TREC-COVID, below on a majority of the others (appendix D)",
        {further_findings.STUDIED: 15.3},
    ),
    Finding(
        "appendix D",
        "About 42 of 171 thousand documents of TREC-COVID have no abstract.",
        further_findings.titles_alone,
        "42 thousand, rounded",
        {"thousands without": 42, "thousands": 171},
        datasets=(further_findings.STUDIED,),
        over_all=False,
    ),
)
"""In the order of the paper."""
