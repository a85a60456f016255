"""The printed values of the BEIR paper, from ``catalogue/paper.yaml`` here and ``published.yaml`` of the catalogue."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from beirflow.core.digests import file_digest
from beirflow.data.catalogue.catalogue import Catalogue, load_catalogue
from beirflow.data.catalogue.schema import CATALOGUE, read_yaml

STUDIED = "trec-covid"  # the dataset whose unjudged documents the paper studies
BM25 = "bm25-multifield"  # the paper's baseline, by its name in ``published.yaml``
PRINTED = Path(__file__).parent / "catalogue/paper.yaml"


@dataclass(frozen=True)
class Paper:
    """The printed values of the paper."""

    # by name in ``published.yaml``, in the order of table 2: ``label``, ``kind``, ``ours`` and more
    systems: Mapping[str, Mapping[str, Any]]
    # by name, in the order of table 2, those that are not public too: ``label``, ``task``, ``domain``, ``documents``, ``queries``
    # and more
    datasets: Mapping[str, Mapping[str, Any]]
    ndcg: Mapping[tuple[str, str], float]  # by system and dataset, NDCG@10
    # by system ``gpu_ms`` and ``cpu_ms``, milliseconds of a query, and ``index_gb``, as quoted elsewhere
    efficiency: Mapping[str, Mapping[str, float]]
    median_words: Mapping[str, Mapping[str, float]]  # by dataset and system, the median words of what is retrieved
    places: Mapping[str, str]  # by table, where its printed values stand in the paper
    findings: Mapping[str, Mapping[str, Any]]  # by number, what the paper finds, and what decides over it
    # by dataset, the ``measures`` whose values may not be compared, and the ``reason``
    not_comparable: Mapping[str, Mapping[str, Any]]
    made_otherwise: Mapping[str, str]  # by system, how its values were made otherwise than ours, where that is so
    # every part of the paper, ``part``: the tables and figures ``here``, and the reason for what is ``missing``
    scope: Sequence[Mapping[str, Any]]

    @property
    def out_of_scope(self) -> list[str]:
        """Return sentences on the parts that are missing whatever is configured."""
        return [f"{entry['part']}: {entry['missing']}." for entry in self.scope if "missing" in entry]

    @property
    def in_domain(self) -> list[str]:
        """Return the datasets that systems of the paper were trained on, which its averages leave out."""
        return [name for name, entry in self.datasets.items() if entry.get("in_domain")]

    @property
    def zero_shot(self) -> list[str]:
        """Return the other datasets."""
        return [name for name, entry in self.datasets.items() if not entry.get("in_domain")]

    @property
    def not_public(self) -> list[str]:
        """Return the datasets that nobody may hand out."""
        return [name for name, entry in self.datasets.items() if "ndcg" in entry]

    def reason(self, dataset: str, measure: str) -> str:
        """Return the reason why values of a dataset may not be compared; empty if they may."""
        barred = self.not_comparable.get(dataset, {"measures": ()})
        return str(barred["reason"]) if measure in barred["measures"] else ""

    def absence(self, dataset: str) -> str:
        """Return the reason why there are no values of ours on a dataset."""
        return "not public, so it needs a copy of one's own" if dataset in self.not_public else "not evaluated here"

    def label(self, system: str) -> str:
        """Return the name of a system in the paper."""
        return str(self.systems[system]["label"])

    def standing(self, configured: Iterable[str]) -> dict[str, str]:
        """Return, by system of the paper, the configured system that represents it, if there is one."""
        names = list(configured)
        candidates = {system: [name for name in entry["ours"] if name in names] for system, entry in self.systems.items()}
        return {system: ours[0] for system, ours in candidates.items() if ours}


@cache
def load_paper(folder: Path = CATALOGUE) -> Paper:
    """Read the printed values of the paper."""
    content, catalogue = read_yaml(PRINTED), load_catalogue(folder)
    datasets = {name: {**_known(catalogue, name), **entry} for name, entry in content["datasets"].items()}
    ndcg: dict[tuple[str, str], float] = {}
    made_otherwise: dict[str, str] = {}
    for place, system in enumerate(content["systems"]):
        for source in (*catalogue.published.get(system, ()), *catalogue.printed.get(system, ())):
            if source["citation"].startswith(content["citation"]):
                ndcg |= {(system, name): scores[0] for name, scores in source["scores"].items() if scores[0] is not None}
                made_otherwise |= {system: source["note"]} if "note" in source else {}
        ndcg |= {(system, name): entry["ndcg"][place] for name, entry in datasets.items() if "ndcg" in entry}
    alone = {name: content[name] for name in ("efficiency", "median_words", "places", "findings", "not_comparable", "scope")}
    return Paper(content["systems"], datasets, ndcg, made_otherwise=made_otherwise, **alone)


def printed_digests(folder: Path = CATALOGUE) -> dict[str, str]:
    """Return the sha256 of the files of the catalogue that hold the printed values, by name."""
    return {path.name: file_digest(path) for path in (PRINTED, folder / "published.yaml")}


def _known(catalogue: Catalogue, name: str) -> dict[str, Any]:
    """Return the facts of ``datasets.yaml`` that the paper prints as well."""
    corpora = catalogue.datasets.get(name, ())
    totals = {key: sum(getattr(corpus, key) for corpus in corpora) for key in ("documents", "queries")} if corpora else {}
    return {**catalogue.kinds.get(name, {}), **totals}
