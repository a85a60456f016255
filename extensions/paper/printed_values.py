"""The printed values of the BEIR paper: its file among the papers, and ``catalogue/paper.yaml`` here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from beirflow.core.digests import file_digest
from beirflow.data.catalogue.catalogue import Catalogue, load_catalogue
from beirflow.data.catalogue.schema import CATALOGUE, read_yaml
from beirflow.extensions.papers.files import FOLDER
from beirflow.extensions.papers.findings import Comparison, parse

STUDIED = "trec-covid"  # the dataset whose unjudged documents the paper studies
BM25 = "bm25-multifield"  # the paper's baseline
PRINTED = (Path(__file__).parent / "catalogue/paper.yaml", FOLDER / "beir-2021.yaml")


@dataclass(frozen=True)
class Paper:
    """The printed values of the paper."""

    # by name, in the order of table 2: ``label``, ``kind``, ``ours`` and more
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
    in_domain: Sequence[str]  # the datasets that systems of the paper were trained on, which its averages leave out
    comparisons: Mapping[str, Sequence[Comparison]]  # by number of a finding, those that decide over it
    made_otherwise: Mapping[str, str]  # by system, how its values were made otherwise than ours, where that is so
    # every part of the paper, ``part``: the tables and figures ``here``, and the reason for what is ``missing``
    scope: Sequence[Mapping[str, Any]]

    @property
    def out_of_scope(self) -> list[str]:
        """Return sentences on the parts that are missing whatever is configured."""
        return [f"{entry['part']}: {entry['missing']}." for entry in self.scope if "missing" in entry]

    @property
    def zero_shot(self) -> list[str]:
        """Return the other datasets."""
        return [name for name, entry in self.datasets.items() if name not in self.in_domain]

    @property
    def not_public(self) -> list[str]:
        """Return the datasets that nobody may hand out."""
        return [name for name in self.datasets if name in load_catalogue().own_copies]

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
    content, table = map(read_yaml, PRINTED)
    catalogue = load_catalogue(folder)
    names = {entry["label"]: name for name, entry in content["systems"].items()}
    alone = {name: content[name] for name in ("efficiency", "median_words", "places", "findings", "not_comparable", "scope")}
    return Paper(
        systems=content["systems"],
        datasets={name: {**_known(catalogue, name), **entry} for name, entry in content["datasets"].items()},
        ndcg={(names[label], row): ndcg for label, entry in table["systems"].items() for row, (ndcg,) in entry["scores"].items()},
        in_domain=table["in_domain"],
        comparisons={each["number"]: _comparisons(each["compare"], names) for each in table["findings"]},
        made_otherwise={names[label]: entry["note"] for label, entry in table["systems"].items() if "note" in entry},
        **alone,
    )


def _comparisons(sentences: str | Sequence[str], names: Mapping[str, str]) -> list[Comparison]:
    """Return the comparisons that sentences state, by the names of systems here."""
    parsed = map(parse, [sentences] if isinstance(sentences, str) else sentences)
    return [replace(each, first=names[each.first], second=names[each.second]) for each in parsed if each]


def printed_digests() -> dict[str, str]:
    """Return the sha256 of the files that hold the printed values, by name."""
    return {path.name: file_digest(path) for path in PRINTED}


def _known(catalogue: Catalogue, name: str) -> dict[str, Any]:
    """Return the facts of ``datasets.yaml`` that the paper prints as well."""
    corpora = catalogue.datasets.get(name, ())
    totals = {key: sum(getattr(corpus, key) for corpus in corpora) for key in ("documents", "queries")} if corpora else {}
    return {**catalogue.kinds.get(name, {}), **totals}
