"""Values that the BEIR paper prints besides scores, from ``catalogue/beir-paper.yaml``; a file of papers names its systems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from beirflow.core.digests import file_digest
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.data.catalogue.schema import CATALOGUE, read_yaml
from beirflow.extensions.beir_paper.registry import PRINTED


@dataclass(frozen=True)
class Paper:
    """The printed values of the paper."""

    systems: Mapping[str, str]  # by system here, the one of the paper that it represents, in the order of table 2
    # by name, in the order of table 1, those that are not public too: ``task``, ``domain``, ``documents``, ``queries`` and more
    datasets: Mapping[str, Mapping[str, Any]]
    # by column of a table here, or table, the values by system or column and dataset
    numbers: Mapping[str, Mapping[tuple[str, str], float]]
    places: Mapping[str, str]  # by table, the place of its printed values in the paper
    findings: Sequence[Mapping[str, Any]]  # in the form that findings in the files of papers have
    # every part of the paper, ``part``: the tables and figures ``here``, and the reason for what is ``missing``
    scope: Sequence[Mapping[str, Any]]

    def printed(self, column: str, system: str, dataset: str) -> float | None:
        """Return the value of the system of the paper that one here represents; None if there is none."""
        return self.numbers[column].get((self.systems.get(system, ""), dataset))


@cache
def load_paper(folder: Path = CATALOGUE) -> Paper:
    """Read the printed values of the paper."""
    content, scores = map(read_yaml, PRINTED)
    datasets = {name: {**_known(folder, name), **entry} for name, entry in content["datasets"].items()}
    printed = {
        column: {(system, name): value for name, values in of_column.items() for system, value in values.items()}
        for column, of_column in content["printed"].items()
    }
    statistics = {(key, name): value for name, entry in datasets.items() for key, value in entry.items()}
    return Paper(
        systems={entry["system"]: label for label, entry in scores["systems"].items() if "system" in entry},
        datasets=datasets,
        numbers={**printed, "table-1": {key: value for key, value in statistics.items() if not isinstance(value, str)}},
        **{name: content[name] for name in ("places", "findings", "scope")},
    )


def printed_digests() -> dict[str, str]:
    """Return the sha256 of the files that hold the printed values, by name."""
    return {path.name: file_digest(path) for path in PRINTED}


def _known(folder: Path, name: str) -> dict[str, Any]:
    """Return the facts of ``datasets.yaml`` that the paper prints as well."""
    catalogue = load_catalogue(folder)
    words, corpora = catalogue.words[name], catalogue.known_datasets[name]
    totals = {key: sum(getattr(corpus, key) for corpus in corpora) for key in ("documents", "queries")}
    return {**catalogue.kinds[name], **totals, "query_words": words["queries"], "document_words": words["documents"]}
