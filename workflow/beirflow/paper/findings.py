"""The findings of the BEIR paper: the test of each, and a verdict that knows what is missing.

What the paper says, and what decides over it, is in ``workflow/catalogue/paper.yaml``. A test is a function from results to a
sentence, its numbers and a verdict: :mod:`beirflow.paper.score_findings` has those of scores, and
:mod:`beirflow.paper.further_findings` the others. A count is over the datasets on which all systems that it names have a score,
those that systems were trained on left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from beirflow.paper import further_findings, score_findings
from beirflow.paper.evidence import FAILS, HOLDS, UNDECIDED, Conclusion, Evidence, Names, NotEnoughError, is_or_are
from beirflow.paper.facts import PaperFacts
from beirflow.report.pages import listed

Test = Callable[[Evidence, Names, Names], Conclusion]
"""A test of results by the systems and datasets that a finding is about; it raises NotEnoughError where it cannot be made."""

TESTS: Mapping[str, Test] = {
    "section 1": score_findings.best_everywhere,
    "section 3.1": further_findings.low_overlap,
    "1a": score_findings.in_domain_leads,
    "1b": score_findings.bm25_in_domain,
    "1c": score_findings.bm25_elsewhere,
    "2a": score_findings.above_bm25(lambda above, n: n - above >= score_findings.NEARLY_ALL * n),
    "2b": score_findings.above_bm25(lambda above, n: 18 * above >= 11 * n),
    "3a": score_findings.above_bm25(lambda above, n: 0 < 2 * above < n),
    "3b": score_findings.dense_shifted,
    "3c": score_findings.dpr_worst,
    "4a": score_findings.above_bm25(lambda above, n: above >= score_findings.NEARLY_ALL * n),
    "4b": score_findings.above_bm25(lambda above, n: 2 * above >= n),
    "5": score_findings.strong_training,
    "6a": score_findings.below_ance,
    "6b": further_findings.short_documents,
    "7": score_findings.adaptation,
    "section 5.1a": further_findings.cost_of_quality,
    "section 5.1b": further_findings.fast_dense,
    "section 5.1c": further_findings.fast_sparse,
    "section 5.1d": further_findings.small_indexes,
    "section 5.1e": further_findings.large_indexes,
    "section 6a": further_findings.fewer_lexical_holes,
    "section 6b": further_findings.biased_pool,
    "figure 4a": further_findings.longer_arguments,
    "figure 4b": further_findings.lengths_of_grades,
    "appendix D, lengths": further_findings.cosine_shorter,
    "appendix D, scores": further_findings.dot_product_mixed,
    "appendix D": further_findings.titles_alone,
}
"""By number of a finding in ``paper.yaml``, its test."""


@dataclass(frozen=True)
class Finding:
    """A finding of the paper; the keys of ``paper.yaml`` are described in its schema."""

    number: str
    test: Test
    says: str
    decided_by: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    systems: Names = ()
    datasets: Names = ()

    def judge(self, evidence: Evidence) -> Conclusion:
        """Return the conclusion with its coverage, undecided where what the sentence is about is missing."""
        facts = evidence.facts
        try:
            conclusion = self.test(evidence, self.systems, self.datasets)
        except NotEnoughError as lack:
            conclusion = lack.conclusion
        about = self.datasets or facts.zero_shot
        covered = [name for name in about if name in conclusion.datasets]
        coverage = f"{len(covered)} of {len(about)}"
        # A verdict must be possible without the datasets that are not public.
        needed = [name for name in about if self.datasets or name not in facts.not_public]
        lacking = [facts.label(name) for name in self.systems if name not in evidence.systems]
        lacking += [str(facts.datasets[name]["label"]) for name in needed if name not in covered]
        if conclusion.verdict not in (HOLDS, FAILS) or not lacking:
            return replace(conclusion, coverage=coverage)
        sentence = f"{conclusion.sentence} For a verdict, {listed(lacking)} {is_or_are(lacking)} missing."
        return replace(conclusion, verdict=UNDECIDED, sentence=sentence, coverage=coverage)

    def disagreement(self, computed: Mapping[str, float], origin: str) -> str:
        """Return a sentence on the printed numbers that differ by over half a unit of their last digit from computed ones."""
        apart = [
            f"{printed:g} ({name}), but {origin} {computed[name]:.3g}"
            for name, printed in self.numbers.items()
            if name in computed and abs(computed[name] - printed) > (0.5 if printed == round(printed) else 0.05) + 1e-9
        ]
        return f" The paper says {listed(apart)}." if apart else ""


def all_findings(facts: PaperFacts) -> list[Finding]:
    """Return the findings, in the order of the paper."""
    return [Finding(number, TESTS[number], **finding) for number, finding in facts.findings.items()]
