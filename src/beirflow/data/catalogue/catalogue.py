"""The known datasets and published scores, read from YAML."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from beirflow.core.addresses import address_below
from beirflow.data.catalogue.dataset import Collections, Dataset, check_shared_texts, corpora_of, load_collections
from beirflow.data.catalogue.schema import CATALOGUE, Problems, read_yaml

KINDS = ("task", "domain", "language")  # by which datasets can be chosen

COMMERCIAL = ("Apache 2.0", "BSD 3-Clause", "CC BY 4.0", "CC BY-SA 3.0", "CC BY-SA 4.0", "CC0 1.0", "EUPL 1.2", "GPL 3.0", "MIT")
"""Licences of data that allow commercial use; a licence that is not stated allows nothing."""


AVERAGES = (
    ("BEIR", ()),
    ("BEIR without msmarco", ("msmarco",)),
    ("BEIR without msmarco and cqadupstack", ("msmarco", "cqadupstack")),
)
"""The three averages of the literature, by what they leave out."""

ZERO_SHOT = "zero-shot mean of"

OF_SEEDS = re.compile(r"(?P<whole>.+\.sample-\d+)(-seed-\d+)?|(?P<system>.+)-seed-\d+")
"""Names of samples of a dataset, and of systems, that differ in their seed alone."""

PUBLISHED = ("NDCG@10", "Recall@100", "Recall@1000")
"""The measures of scores in ``published.yaml``, in their order there."""

MACHINES = 0.0003
"""Difference that libraries and processors may cause in the float32 of a model.

The two published runs of contriever, Pyserini's and the one on an RTX 3090, differ by up to this on eight
datasets, beyond rounding.
"""

HALF_PRECISION = 0.0035
"""Difference that bfloat16 may cause: 0.0033 of all-minilm-l6-v2 on scifact, one relevant document, is the largest measured."""


@dataclass(frozen=True)
class Reference:
    """A published score.

    Attributes:
        measure: The measure that is printed.
        value: The printed value, a fraction.
        entry: The source in ``published.yaml``.
        dataset: Name of the dataset, not of a forum.
        barred: Why it cannot be compared with ours; empty if it can.
    """

    measure: str
    value: float
    entry: Mapping[str, Any]
    dataset: str
    barred: str = ""

    @property
    def source(self) -> str:
        """Name of the source."""
        return str(self.entry["source"])

    @property
    def decimals(self) -> int:
        """Number of decimals that are printed of the fraction."""
        return int(self.entry["decimals"])

    @property
    def conventions(self) -> str:
        """Name of the conventions by which the source evaluates."""
        return str(self.entry["conventions"])

    @property
    def computed(self) -> str:
        """Our name of the measure."""
        return str(self.entry.get("printed_as", {}).get(self.dataset, {}).get(self.measure, self.measure))

    def ours(self, means: Mapping[str, Any]) -> float | None:
        """Return our value under the conventions of the source, from the record of metrics; None if it was not computed."""
        values = means.get("conventions", {}).get(self.conventions, means["measures"])
        found: float | None = values.get(self.computed)
        return found

    def tolerance(self, precisions: Collection[str], *, of_forums: bool = False) -> float:
        """Return the difference that counts as a match with a result that was made in some precisions, none without a model.

        It is half a unit of the last printed digit, a whole one for a mean of printed values of forums; with a model also
        :data:`MACHINES`, and :data:`HALF_PRECISION` if any precision is lower than float32.
        """
        rounding = (1.0 if of_forums else 0.5) * 10.0**-self.decimals
        lower = HALF_PRECISION if {*precisions} - {"float32"} else 0.0
        return rounding + (MACHINES + lower if precisions else 0.0)


@dataclass(frozen=True)
class MtebTask:
    """A task of MTEB: its name, what model cards call its data, and the language as the catalogue names it."""

    name: str
    dataset: str
    language: str


@dataclass(frozen=True)
class Catalogue:
    """The content of ``workflow/catalogue``."""

    host: str  # base URL of the official archives
    datasets: Mapping[str, tuple[Dataset, ...]]  # by the name of the dataset, its corpora: one, or one a forum
    # by system of the catalogue, its sources, the most precise first, as in ``published.yaml``
    published: Mapping[str, list[dict[str, Any]]]
    # the same of datasets that may not be redistributed: only those who have a copy can evaluate on them
    own_copies: Mapping[str, tuple[Dataset, ...]] = field(default_factory=dict)
    # by dataset, its ``task`` and its ``domain``, as the paper of BEIR names them, and its ``language``
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # by dataset, mean words of its ``documents`` and ``queries``
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    # by dataset and by forum, in their order, the task of MTEB with the same queries
    mteb: Mapping[str, MtebTask] = field(default_factory=dict)
    newer: Collections = field(default_factory=Collections)  # collections of datasets newer than BEIR

    @property
    def known_datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """Return all of them, public or not."""
        return {**self.datasets, **self.own_copies, **self.newer.members}

    def own_measure(self, dataset: str) -> str | None:
        """Return the measure by which the authors of a dataset of a collection, or of a part of it, compare systems, if known."""
        name = dataset
        while name and name not in self.newer.facts:
            name = name.rpartition(".")[0]
        return self.newer.facts[name]["main_measure"] if name else None

    def references(self, system: str, dataset: str) -> list[Reference]:
        """Return the published scores of a system on a dataset, not a forum: source by source, the most precise first."""
        found = []
        for source in self.published.get(system, ()):
            barred = source.get("not_comparable", {}).get(dataset, {"measures": (), "reason": ""})
            for measure, value in zip(PUBLISHED, source["scores"].get(dataset, ()), strict=False):
                if value is not None:
                    reason = barred["reason"] if measure in barred["measures"] else ""
                    found.append(Reference(measure, value, source, dataset, reason))
        return found

    def reference(self, system: str, dataset: str, measure: str) -> Reference | None:
        """Return the most precise published score that may be compared with ours, if any."""
        found = (each for each in self.references(system, dataset) if each.measure == measure and not each.barred)
        return next(found, None)

    def averages(self, present: Sequence[str], seen: Collection[str] = ()) -> dict[str, list[str]]:
        """Return the datasets of every mean over datasets, by its label; none for a single dataset.

        ``present`` are the evaluated datasets, ``seen`` those that a compared system was trained on: if there are any, a mean
        over the others follows.
        """
        groups: dict[str, list[str]] = {}
        for label, excluded in AVERAGES:
            members = [name for name in self.datasets if name not in excluded]
            if set(members) <= set(present):
                groups[f"mean of {len(members)} ({label})"] = members
        for label, collection in self.newer.collections.items():
            if len(collection.members) > 1 and set(collection.members) <= set(present):
                groups[f"mean of {len(collection.members)} ({label})"] = list(collection.members)
        for whole, seeds in of_seeds(present).items():
            groups[f"{mean_of_seeds(seeds)} of {whole} ({', '.join(seeds)})"] = seeds
        if len(present) > 1 and set(present) not in map(set, groups.values()):
            groups[f"mean of {len(present)} ({', '.join(present)})"] = list(present)
        unseen = [name for name in present if name not in seen]
        if 1 < len(unseen) < len(present):
            groups[f"{ZERO_SHOT} {len(unseen)} ({', '.join(unseen)})"] = unseen
        return groups


@cache
def load_catalogue(folder: Path = CATALOGUE) -> Catalogue:
    """Read ``datasets.yaml``, ``collections.yaml`` and ``published.yaml``.

    Raises ConfigError if a dataset names another that texts cannot be shared with.
    """
    datasets, published = (read_yaml(folder / f"{name}.yaml") for name in ("datasets", "published"))
    rows = {
        name: corpora_of(name, entry, archive=name, md5=entry["archive"]["md5"], archive_bytes=entry["archive"]["bytes"])
        for name, entry in datasets["datasets"].items()
    }
    problems = Problems()
    check_shared_texts(rows, rows, "datasets", problems)
    problems.raise_if_any(f"catalogue file {folder / 'datasets.yaml'}")
    known = {**datasets["datasets"], **datasets["own_copies"]}
    newer = load_collections(folder, known)
    return Catalogue(
        host=datasets["host"],
        datasets=rows,
        published=published["systems"],
        own_copies={name: corpora_of(name, entry, own_copy=True) for name, entry in datasets["own_copies"].items()},
        words={name: entry["words"] for name, entry in known.items()},
        kinds={name: {kind: entry[kind] for kind in KINDS} for name, entry in {**known, **newer.facts}.items()},
        mteb=mteb_tasks(datasets["datasets"]),
        newer=newer,
    )


def archive_urls(config: Mapping[str, Any], archive: str) -> list[str]:
    """Return the addresses of an official archive in the order in which they are tried: the mirrors, then the official host."""
    return [address_below(base, f"{archive}.zip") for base in (*config["mirrors"], load_catalogue().host)]


def mteb_tasks(datasets: Mapping[str, Mapping[str, Any]]) -> dict[str, MtebTask]:
    """Return the tasks of MTEB by dataset and by forum, in the order of checked entries of ``datasets.yaml``."""
    tasks = {}
    for name, entry in datasets.items():
        forums = {f"{name}-{forum}": each for forum, each in entry.get("forums", {}).items()}
        for each, facts in {name: entry, **forums}.items():
            if "mteb" in facts:
                tasks[each] = MtebTask(facts["mteb"]["task"], facts["mteb"]["dataset"], entry["language"])
    return tasks


def of_seeds(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names, several each, that differ in a seed alone, by the rest of them."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if match := OF_SEEDS.fullmatch(name):
            groups.setdefault(match["whole"] or match["system"], []).append(name)
    return {whole: seeds for whole, seeds in groups.items() if len(seeds) > 1}


def mean_of_seeds(seeds: Collection[str]) -> str:
    """Return the beginning of the name of a mean over seeds."""
    return f"mean of {len(seeds)} seeds"
