"""The input and the output of a finding: scores of systems, ours and the paper's in one form, and a conclusion."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from beirflow.evaluation.scores import read_means
from beirflow.extensions.paper.printed_values import Paper
from beirflow.report.pages import listed

NDCG = "NDCG@10"
Names = Sequence[str]  # of systems or datasets

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
FEW_SYSTEMS, FEW_DATASETS = "not enough systems", "not enough datasets"  # verdicts


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


def printed_scores(paper: Paper) -> Scores:
    """Return NDCG@10 as the paper prints it, on the datasets in its order."""
    values = {(system, name): paper.ndcg[system, name] for system in paper.systems for name in paper.datasets}
    return Scores(values, NDCG, paper.in_domain)


def read_scores(means_paths: Sequence[str], measure: str, paper: Paper) -> Scores:
    """Read a measure of all systems on all datasets, where it was measured, from their ``metrics`` JSON."""
    every = [read_means(path) for path in means_paths]
    values = {(means["system"], means["dataset"]): means["measures"][measure] for means in every if measure in means["measures"]}
    return Scores(values, measure, paper.in_domain)


@dataclass(frozen=True)
class Evidence:
    """Results of systems under the names that ``paper.yaml`` has for the paper's systems."""

    scores: Scores  # NDCG@10
    paper: Paper  # the printed values
    # by dataset and system, the median words of the documents in the first ten ranks
    median_words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # by system and dataset, the mark of a significant difference to BM25; None where nothing was tested
    significant: Mapping[tuple[str, str], str] | None = None
    # by system, ``gpu_ms`` and ``cpu_ms`` of a query and ``index_gb``, as far as they are known
    latencies: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    measured_on: str = ""  # the dataset of these; that of the paper is ``dbpedia-entity``, a million documents of it
    # by system, on TREC-COVID, ``hole``, and NDCG@10 ``before`` and ``after`` additional judgements, as far as known
    holes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    overlap: Mapping[tuple[str, str], float] = field(default_factory=dict)  # by pair of datasets, the similarity of their words
    # by dataset and grade, the median words of the documents that were judged so
    grades: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    # by dataset, the documents that have a title alone, and all documents
    without_text: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    # by dataset, the columns of ``similarities.csv`` for one pair of systems
    similarities: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """Return the systems that have scores."""
        return self.scores.systems

    def label(self, system: str) -> str:
        """Return the name of a system in the paper."""
        return self.paper.label(system)

    def labels(self, systems: Sequence[str]) -> str:
        """Return the names of some systems in the paper as a list in words."""
        return listed([self.label(system) for system in systems])

    def dataset_labels(self, names: Sequence[str]) -> str:
        """Return the names of some datasets in the paper as a list in words."""
        return listed([str(self.paper.datasets.get(name, {"label": name})["label"]) for name in names])

    def need(self, *systems: str) -> None:
        """Raise NotEnoughError, which names them, if some systems are missing."""
        if missing := [system for system in systems if system not in self.systems]:
            raise NotEnoughError(FEW_SYSTEMS, f"{self.labels(missing)} {is_or_are(missing)} missing.")

    def here(self, systems: Sequence[str]) -> list[str]:
        """Return those of some systems that are here; raise NotEnoughError if none is."""
        if not (found := [system for system in systems if system in self.systems]):
            self.need(*systems)
        return found

    def shared(self, *systems: str, among: Sequence[str] = ()) -> list[str]:
        """Return the datasets, of all or among some, on which all systems have a score; raise NotEnoughError if there is none."""
        names = [name for name in self.scores.common(*systems) if not among or name in among]
        if not names:
            raise no_scores(self.dataset_labels(among) if among else "any but the training data")
        return names

    def known(self, systems: Iterable[str], key: str) -> dict[str, float]:
        """Return by system what is known under a key of ``latencies``."""
        values = {system: self.latencies.get(system, {}).get(key, float("nan")) for system in systems}
        # Not-a-number, which is what a table has for an empty cell, differs from itself.
        return {system: value for system, value in values.items() if value == value}


@dataclass(frozen=True)
class Conclusion:
    """The conclusion of a finding."""

    verdict: str  # one of the verdicts
    sentence: str  # what holds, with the numbers
    numbers: Mapping[str, float] = field(default_factory=dict)  # the numbers by name
    datasets: Sequence[str] = ()  # the datasets that it is over
    coverage: str = ""  # how many of the datasets that the paper's sentence is about are here; empty if it is about none


class NotEnoughError(Exception):
    """The end of a test for which systems or datasets are missing; it has the conclusion."""

    def __init__(self, verdict: str, sentence: str, datasets: Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.conclusion = Conclusion(verdict, sentence, datasets=datasets)


def no_scores(names: str, over: Sequence[str] = ()) -> NotEnoughError:
    """Return the error that scores on some datasets, named in words, are missing; ``over`` are those that are here."""
    return NotEnoughError(FEW_DATASETS, f"There are no scores on {names}.", over)


def conclude(holds: bool | None, sentence: str, numbers: Mapping[str, float], datasets: Sequence[str]) -> Conclusion:
    """Return the conclusion of a finding that could be tested; undecided if None."""
    return Conclusion(UNDECIDED if holds is None else HOLDS if holds else FAILS, sentence, numbers, datasets)


def is_or_are(names: Sequence[str]) -> str:
    """Return the verb after a list."""
    return "is" if len(names) == 1 else "are"
