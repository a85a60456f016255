"""Training data of systems: the datasets on which a score is not zero-shot."""

from collections.abc import Iterable, Mapping, Sequence

from beirflow.catalogue.dataset import Dataset
from beirflow.experiment.dependencies import needed
from beirflow.experiment.families import FAMILIES
from beirflow.runs.system import System


def trained_on(system: str, systems: Mapping[str, System], tuned: Mapping[str, Iterable[Dataset]]) -> dict[str, str] | None:
    """Return by dataset the split that a system, or one that it reads, was trained or tuned on; None if not stated.

    ``tuned`` has by system the corpora whose queries decide over its settings.
    """
    splits: dict[str, str] = {}
    for name in needed([system], systems):
        known = systems[name]
        if known.trained_on.datasets is None and FAMILIES[known.family].learns(known.settings):
            return None
        splits |= known.trained_on.datasets or {}
        for corpus in tuned.get(name, ()):
            splits.setdefault(corpus.whole_row, f"{corpus.split} (tuned)")
    return splits


def trained_rows(splits: Mapping[str, str] | None, rows: Mapping[str, Sequence[Dataset]]) -> dict[str, str] | None:
    """Return the datasets, other splits and samples of one included, that a system was trained on, with the split."""
    wholes = {row: corpora[0].whole_row for row, corpora in rows.items()}
    return None if splits is None else {row: splits[whole] for row, whole in wholes.items() if whole in splits}


def independent(rows: Mapping[str, Sequence[Dataset]]) -> list[list[str]]:
    """Return the names of datasets, those of one corpus or with shared texts together."""
    by_corpus: dict[str, list[str]] = {}
    for row, corpora in rows.items():
        by_corpus.setdefault(corpora[0].shares_texts_with or corpora[0].whole_row, []).append(row)
    return list(by_corpus.values())
