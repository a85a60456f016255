"""Scores of systems on datasets, ours and the paper's in one form, with counts and averages."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from beirflow.evaluation.means import read_means
from beirflow.paper.facts import PaperFacts

NDCG = "NDCG@10"


@dataclass(frozen=True)
class Scores:
    """Scores of some systems on some datasets by one measure; no average or count is over the datasets ``in_domain``."""

    values: Mapping[tuple[str, str], float]
    measure: str = NDCG
    in_domain: Sequence[str] = field(default=())

    @property
    def systems(self) -> list[str]:
        """Return their names, in order."""
        return list(dict.fromkeys(system for system, _ in self.values))

    @property
    def datasets(self) -> list[str]:
        """Return the names of all datasets, in order."""
        return list(dict.fromkeys(dataset for _, dataset in self.values))

    def common(self, *systems: str) -> list[str]:
        """Return the datasets, in-domain ones left out, on which all of some systems have a score."""
        return [
            name
            for name in self.datasets
            if name not in self.in_domain and all((system, name) in self.values for system in systems)
        ]

    def above(self, system: str, other: str, among: Iterable[str] | None = None) -> list[str]:
        """Return the datasets on which a system scores higher than another; equal scores are not higher."""
        names = self.common(system, other) if among is None else among
        return [name for name in names if self.values[system, name] > self.values[other, name]]

    def whole(self, datasets: Sequence[str]) -> list[str]:
        """Return the systems that have a score on all of some datasets."""
        return [system for system in self.systems if set(datasets) <= set(self.common(system))]

    def mean(self, system: str, datasets: Sequence[str]) -> float:
        """Return the plain mean over some datasets."""
        return sum(self.values[system, name] for name in datasets) / len(datasets)

    def difference(self, system: str, baseline: str, datasets: Sequence[str]) -> float:
        """Return the mean of a system over that of another, less one; not-a-number over nothing."""
        below = self.mean(baseline, datasets) if datasets else 0.0
        return self.mean(system, datasets) / below - 1 if below else float("nan")

    def named(self, names: Mapping[str, str]) -> "Scores":
        """Return the scores of some systems under other names, in their order; ``names`` has the present name by the new one."""
        values = {
            (new, dataset): self.values[old, dataset]
            for new, old in names.items()
            for dataset in self.datasets
            if (old, dataset) in self.values
        }
        return Scores(values, self.measure, self.in_domain)


def printed_scores(facts: PaperFacts) -> Scores:
    """Return NDCG@10 as the paper prints it, on the datasets in its order."""
    values = {(system, name): facts.ndcg[system, name] for system in facts.systems for name in facts.datasets}
    return Scores(values, NDCG, facts.in_domain)


def read_scores(means_paths: Sequence[str], measure: str, facts: PaperFacts) -> Scores:
    """Read a measure of all systems on all datasets, where it was measured, from their ``metrics`` JSON."""
    every = [read_means(path) for path in means_paths]
    values = {(means["system"], means["dataset"]): means["measures"][measure] for means in every if measure in means["measures"]}
    return Scores(values, measure, facts.in_domain)
