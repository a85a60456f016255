"""The input and the output of a finding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from beirflow.paper.facts import BM25, PaperFacts
from beirflow.paper.scores import Scores
from beirflow.report.leaderboard import HIGHER, LOWER

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
FEW_SYSTEMS, FEW_DATASETS = "not enough systems", "not enough datasets"
"""Verdicts."""


@dataclass(frozen=True)
class Evidence:
    """Results of systems under the names that the paper's systems have in ``published.yaml``.

    Attributes:
        scores: NDCG@10.
        facts: The printed values.
        median_words: By dataset and system, the median words of the documents in the first ten ranks.
        seconds: By system, seconds that jobs took for a query, from its text to its ranks.
        significant: By system and dataset, the mark of a significant difference to BM25; None where nothing was tested.
    """

    scores: Scores
    facts: PaperFacts
    median_words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    significant: Mapping[tuple[str, str], str] | None = None

    @property
    def systems(self) -> list[str]:
        """Systems that have scores."""
        return self.scores.systems

    def label(self, system: str) -> str:
        """Return the name of a system in the paper."""
        return self.facts.label(system)

    def labels(self, systems: Sequence[str]) -> str:
        """Return the names of some systems in the paper as a list in words."""
        return listed([self.label(system) for system in systems])


@dataclass(frozen=True)
class Conclusion:
    """The conclusion of a finding.

    Attributes:
        verdict: One of the verdicts.
        sentence: The facts, with their numbers.
        numbers: The numbers by name.
        datasets: The datasets that it is over.
        coverage: How many of the datasets that the paper's sentence is about are here; empty if it is about none.
    """

    verdict: str
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    datasets: Sequence[str] = ()
    coverage: str = ""


def conclude(holds: bool | None, sentence: str, numbers: Mapping[str, float], datasets: Sequence[str]) -> Conclusion:
    """Return the conclusion of a finding that could be tested; undecided if None."""
    return Conclusion(UNDECIDED if holds is None else HOLDS if holds else FAILS, sentence, numbers, datasets)


def without_systems(evidence: Evidence, *needed: str) -> Conclusion | None:
    """Return the conclusion that some systems are missing, which names them; None if none is."""
    missing = [system for system in needed if system not in evidence.systems]
    return Conclusion(FEW_SYSTEMS, f"{evidence.labels(missing)} {is_or_are(missing)} not here.") if missing else None


def without_datasets(names: str) -> Conclusion:
    """Return the conclusion that some datasets are missing."""
    return Conclusion(FEW_DATASETS, f"Of {names} there are no scores here.")


def is_or_are(names: Sequence[str]) -> str:
    """Return the verb after a list."""
    return "is" if len(names) == 1 else "are"


def datasets(n: int) -> str:
    """Return a number of datasets in words."""
    return f"{n} dataset{'s' if n != 1 else ''}"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def counts_above_bm25(evidence: Evidence, systems: tuple[str, ...], holds: Callable[[int, int], bool]) -> Conclusion:
    """Test a condition on the number of datasets on which a system is above BM25, for each of some systems that is here."""
    here = [system for system in systems if system in evidence.systems]
    if missing := without_systems(evidence, BM25, *(systems if not here else ())):
        return missing
    names = evidence.scores.common(BM25, *here)
    if not names:
        return without_datasets("any but the training data")
    above = {system: len(evidence.scores.above(system, BM25, names)) for system in here}
    counts = listed([f"{evidence.label(system)} on {n}" for system, n in above.items()])
    lacking = [system for system in systems if system not in here]
    rest = f" {evidence.labels(lacking)} {is_or_are(lacking)} not here." if lacking else ""
    sentence = f"Of {datasets(len(names))}, above BM25: {counts}.{_significant_counts(evidence, here, names)}{rest}"
    numbers = {**{f"{system} above": n for system, n in above.items()}, "datasets": len(names)}
    return conclude(all(holds(n, len(names)) for n in above.values()), sentence, numbers, names)


def _significant_counts(evidence: Evidence, systems: Sequence[str], names: Sequence[str]) -> str:
    """Return a sentence on the significant differences to BM25; empty if nothing was tested."""
    if evidence.significant is None:
        return ""
    marks = {system: [evidence.significant.get((system, name)) for name in names] for system in systems}
    counts = [
        f"{evidence.label(system)} on {found.count(HIGHER)} above and {found.count(LOWER)} below"
        for system, found in marks.items()
    ]
    return f" The difference is significant for {listed(counts)}."


def dataset_labels(evidence: Evidence, names: Sequence[str]) -> str:
    """Return the names of some datasets in the paper as a list in words."""
    return listed([str(evidence.facts.datasets.get(name, {"label": name})["label"]) for name in names])
