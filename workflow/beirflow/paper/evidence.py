"""The input and the output of a finding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from beirflow.paper.facts import BM25, PaperFacts
from beirflow.paper.scores import Scores

HOLDS, FAILS, FEW_SYSTEMS, FEW_DATASETS = "holds", "does not hold", "not enough systems", "not enough datasets"
"""Verdicts."""


@dataclass(frozen=True)
class Evidence:
    """Results of systems under the names that the paper's systems have in ``published.yaml``.

    Attributes:
        scores: NDCG@10.
        facts: What the paper prints.
        median_words: By dataset and system, the median words of the documents in the first ten ranks.
        seconds: By system, seconds that jobs took for a query, from its text to its ranks.
    """

    scores: Scores
    facts: PaperFacts
    median_words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """Systems that have scores."""
        return self.scores.systems

    def label(self, system: str) -> str:
        """What the paper calls a system."""
        return self.facts.label(system)

    def labels(self, systems: Sequence[str]) -> str:
        """The same of several, as words."""
        return listed([self.label(system) for system in systems])


@dataclass(frozen=True)
class Found:
    """What was found.

    Attributes:
        verdict: One of the verdicts.
        sentence: What is the case, with its numbers.
        numbers: The numbers by name.
        datasets: Those that it is over.
    """

    verdict: str
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    datasets: Sequence[str] = ()


def found(holds: bool, sentence: str, numbers: Mapping[str, float], datasets: Sequence[str]) -> Found:
    """A finding that could be told."""
    return Found(HOLDS if holds else FAILS, sentence, numbers, datasets)


def without_systems(evidence: Evidence, *needed: str) -> Found | None:
    """The answer where some systems are not here, which names them; None where all are."""
    missing = [system for system in needed if system not in evidence.systems]
    return Found(FEW_SYSTEMS, f"{evidence.labels(missing)} {is_or_are(missing)} not here.") if missing else None


def without_datasets(names: str) -> Found:
    """The answer where some datasets are not here."""
    return Found(FEW_DATASETS, f"Of {names} there are no scores here.")


def is_or_are(names: Sequence[str]) -> str:
    """The verb after a list."""
    return "is" if len(names) == 1 else "are"


def datasets(n: int) -> str:
    """A number of datasets."""
    return f"{n} dataset{'s' if n != 1 else ''}"


def listed(names: Sequence[str]) -> str:
    """Names as a list in words."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def counts_above_bm25(evidence: Evidence, systems: tuple[str, ...], holds: Callable[[int, int], bool]) -> Found:
    """On how many datasets each of some systems is above BM25; it holds where it holds for all of them that are here."""
    here = [system for system in systems if system in evidence.systems]
    if missing := without_systems(evidence, BM25, *(systems if not here else ())):
        return missing
    names = evidence.scores.common(BM25, *here)
    if not names:
        return without_datasets("any but the training data")
    above = {system: len(evidence.scores.above(system, BM25, names)) for system in here}
    said = listed([f"{evidence.label(system)} on {n}" for system, n in above.items()])
    lacking = [system for system in systems if system not in here]
    rest = f" {evidence.labels(lacking)} {is_or_are(lacking)} not here." if lacking else ""
    sentence = f"Of {datasets(len(names))}, above BM25: {said}.{rest}"
    numbers = {**{f"{system} above": n for system, n in above.items()}, "datasets": len(names)}
    return found(all(holds(n, len(names)) for n in above.values()), sentence, numbers, names)


def dataset_labels(evidence: Evidence, names: Sequence[str]) -> str:
    """What the paper calls some datasets."""
    return listed([str(evidence.facts.datasets.get(name, {"label": name})["label"]) for name in names])
