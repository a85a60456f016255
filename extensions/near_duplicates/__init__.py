"""Near-duplicates of a test set in another corpus, such as training data, and the scores without them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.core.extensions import Extension
from beirflow.core.keys import Texts
from beirflow.core.layout import RESULTS
from beirflow.core.patterns import patterns_in
from beirflow.extensions.near_duplicates import layout


@dataclass(frozen=True)
class Keys:
    """Keys of the configuration."""

    near_duplicates: dict[str, Texts] = field(default_factory=dict)
    """By configured dataset or forum, the datasets or forums whose near-duplicates the report shows beside its scores."""


def _pairs(experiment: Any) -> Iterator[tuple[str, str]]:
    for dataset, others in experiment.config["near_duplicates"].items():
        yield from ((dataset, other) for other in ([others] if isinstance(others, str) else others))


def _check(experiment: Any, problems: Any) -> None:
    from beirflow.data.catalogue.schema import choices

    for dataset, other in _pairs(experiment):
        if dataset not in experiment.chosen_datasets:
            problems.add(f"near_duplicates.{dataset}", dataset, choices(dataset, experiment.chosen_datasets))
        if other == dataset or other not in experiment.datasets:
            allowed = choices(other, [name for name in experiment.datasets if name != dataset])
            problems.add(f"near_duplicates.{dataset}", other, allowed)


def _shown(experiment: Any) -> list[str]:
    return [layout.SCORES.below(RESULTS).format(dataset=dataset, other=other) for dataset, other in _pairs(experiment)]


EXTENSION = Extension(
    folder=Path(__file__).parent,
    keys=Keys,
    patterns=patterns_in(layout),
    check=_check,
    shown=_shown,
)
