"""What the project knows: datasets, systems and published scores, read from YAML and from the configuration."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from beirflow.datasets.opening import Form
from beirflow.dense.settings import INSTRUCTION
from beirflow.experiment.families import DEFAULT, family_of
from beirflow.experiment.schema import Problems, nearest, problems_with, read_yaml
from beirflow.experiment.scorers import with_scorers
from beirflow.runs.family import System
from beirflow.training.settings import Training

CATALOGUE = Path(__file__).parents[2] / "catalogue"

KINDS = ("task", "domain", "language")
"""By which datasets can be chosen."""


@dataclass(frozen=True)
class Dataset:
    """One corpus with its queries and judgements: a dataset, or one forum of a dataset.

    Attributes:
        name: Its name in paths; for a forum ``<dataset>-<forum>``.
        row: The dataset that it belongs to, which is its row in the summary.
        forum: The forum's folder inside the dataset; None if the dataset has no forums.
        split: The qrels that are used, ``qrels/<split>.tsv``.
        documents: Number of documents of the corpus; None if it must be counted.
        queries: Number of queries with judgements in the split; None where it is not known.
        archive: Stem of the official archive; None for a dataset of the user's own.
        md5: Digest of that archive.
        archive_bytes: Its size.
        licence: Under which licence it is, as far as its authors say; None for a dataset of the user's own.
        path: Folder, archive or file of a dataset of the user's own; None for one of the catalogue.
        form: Its form, which also says where on a hub it is; None for that of BEIR.
        files: sha256 of the source files, where they are known, by their path inside the dataset.
        own_copy: Whether nobody may hand it out, so that it must be in ``data_dir``.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut at k.
        shares_texts_with: Dataset that has most of the same texts; None if no such is known.
        other_splits: Other judgements in its archive, with the number of judged queries, None where that is not known.
        part_of: The dataset of which this is another split or a sample; None if it is whole.
        sample_queries: Judged queries of a sample, at most; None if it has all of the split.
        sample_seed: Which ones.
        sample_documents: Documents of a sample, at most; None if it has all.
        documents_seed: Which ones.
    """

    name: str
    row: str
    forum: str | None = None
    split: str = "test"
    documents: int | None = None
    queries: int | None = None
    archive: str | None = None
    md5: str | None = None
    archive_bytes: int | None = None
    licence: str | None = None
    path: str | None = None
    form: Form | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    own_copy: bool = False
    drop_self_matches: bool = True
    shares_texts_with: str | None = None
    other_splits: Mapping[str, int | None] = field(default_factory=dict)
    part_of: str | None = None
    sample_queries: int | None = None
    sample_seed: int | None = None
    sample_documents: int | None = None
    documents_seed: int | None = None

    @property
    def whole_row(self) -> str:
        """Name of the dataset, whichever part of it this is: what folders, instructions and catalogues call it."""
        return self.part_of or self.row

    @property
    def whole_name(self) -> str:
        """The same of the corpus."""
        return f"{self.whole_row}-{self.forum}" if self.forum else self.whole_row


@dataclass(frozen=True)
class Reference:
    """A published score: its value, its source, and how many decimals of the fraction are printed there."""

    value: float
    source: str
    citation: str
    decimals: int


@dataclass(frozen=True)
class MtebTask:
    """A task of MTEB: its name, what model cards call its data, and the language as the catalogue names it."""

    name: str
    dataset: str
    language: str


@dataclass(frozen=True)
class Catalogue:
    """The content of ``workflow/catalogue``.

    Attributes:
        host: Base URL of the official archives.
        systems: By name.
        datasets: By the name of the dataset, its corpora: one, or one a forum.
        own_copies: The same of datasets that nobody may hand out, so that only those who have a copy can evaluate on them.
        published: By system, its sources, the most precise first, as in ``published.yaml``.
        words: By dataset, mean words of its ``documents`` and ``queries``.
        kinds: By dataset, its ``task`` and its ``domain``, as the paper of BEIR names them, and its ``language``.
        mteb: By dataset and by forum, in their order, the task of MTEB with the same queries.
    """

    host: str
    systems: Mapping[str, System]
    datasets: Mapping[str, tuple[Dataset, ...]]
    published: Mapping[str, list[dict[str, Any]]]
    own_copies: Mapping[str, tuple[Dataset, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    mteb: Mapping[str, MtebTask] = field(default_factory=dict)

    @property
    def known_datasets(self) -> dict[str, tuple[Dataset, ...]]:
        """All of them, public or not."""
        return {**self.datasets, **self.own_copies}

    def reference(self, system: str, dataset: str, measure: str) -> Reference | None:
        """The most precise published score that may be compared with ours.

        Args:
            system: Name of the system.
            dataset: Name of the dataset (not of a forum).
            measure: ``NDCG@10`` or ``Recall@100``.

        Returns:
            The score, or None if there is none or if every one that there is must not be compared.
        """
        for source in self.published.get(system, ()):
            barred = source.get("not_comparable", {}).get(dataset, {}).get("measures", ())
            scores = dict(zip(("NDCG@10", "Recall@100"), source["scores"].get(dataset, ()), strict=False))
            value = scores.get(measure)
            if value is not None and measure not in barred:
                return Reference(value, source["source"], source["citation"], source["decimals"])
        return None


@cache
def load_catalogue(folder: Path = CATALOGUE) -> Catalogue:
    """Read and check the catalogue.

    Args:
        folder: Holds ``datasets.yaml``, ``systems.yaml`` and ``published.yaml``.

    Returns:
        The catalogue.

    Raises:
        ConfigError: A file does not follow its schema, or names a dataset that texts cannot be shared with.
    """
    datasets, systems, published = (_load(folder / f"{name}.yaml", name) for name in ("datasets", "systems", "published"))
    rows = {name: official_dataset(name, entry) for name, entry in datasets["datasets"].items()}
    problems = Problems()
    check_shared_texts(rows, rows, "datasets", problems)
    problems.raise_if_any(f"catalogue file {folder / 'datasets.yaml'}")
    made = make_systems(systems, {}, "systems", problems)
    problems.raise_if_any(f"catalogue file {folder / 'systems.yaml'}")
    known = {**datasets["datasets"], **datasets["own_copies"]}
    return Catalogue(
        host=datasets["host"],
        systems=made,
        datasets=rows,
        published=published["systems"],
        own_copies={name: (own_copy(name, entry),) for name, entry in datasets["own_copies"].items()},
        words={name: entry["words"] for name, entry in known.items()},
        kinds={name: {kind: entry[kind] for kind in KINDS} for name, entry in known.items()},
        mteb=_mteb_tasks(datasets["datasets"]),
    )


def _mteb_tasks(datasets: Mapping[str, Mapping[str, Any]]) -> dict[str, MtebTask]:
    """By dataset and forum, its task of MTEB."""
    found = {}
    for name, entry in datasets.items():
        forums = {f"{name}-{forum}": each for forum, each in entry.get("forums", {}).items()}
        for each, facts in {name: entry, **forums}.items():
            if "mteb" in facts:
                found[each] = MtebTask(facts["mteb"]["task"], facts["mteb"]["dataset"], entry["language"])
    return found


def _load(path: Path, schema: str) -> Any:
    value = read_yaml(path)
    problems_with(value, schema).raise_if_any(f"catalogue file {path}")
    return value


def make_system(name: str, entry: Mapping[str, Any]) -> System:
    """A system of the catalogue or of the user's own.

    Args:
        name: Its name.
        entry: Its entry, which its schema has checked.

    Returns:
        The system, with the settings of its family.
    """
    if INSTRUCTION in str(entry.get("query_prefix", "")):
        entry = {**entry, "instructions": {**_instructions(), **entry.get("instructions", {})}}
    return family_of(entry).system(name, entry)


@cache
def _instructions() -> dict[str, str]:
    """By dataset, what its queries are for."""
    instructions: dict[str, str] = _load(CATALOGUE / "instructions.yaml", "instructions")["instructions"]
    return instructions


def make_systems(
    entries: Mapping[str, Mapping[str, Any]], known: Mapping[str, System], path: str, problems: Problems
) -> dict[str, System]:
    """Systems from their entries; a variant, or one that is trained, has the settings of the system that it names, and its own.

    A reranker may name a system in place of a model.

    Args:
        entries: By name, entries that their schema has checked.
        known: Systems that are defined elsewhere.
        path: Path of the key that holds the entries.
        problems: Where what is wrong is added.

    Returns:
        By name, the systems, without variants of what cannot be varied, and without those trained from what cannot be trained.
    """
    trained = {name: entry for name, entry in entries.items() if "base" in entry}
    variants = {name: entry for name, entry in entries.items() if "variant_of" in entry}
    systems = {name: make_system(name, entry) for name, entry in entries.items() if name not in {**variants, **trained}}
    possible = {
        name: system
        for name, system in {**known, **systems}.items()
        if system.family == DEFAULT and not system.settings.variant_of
    }
    for name, entry in trained.items():
        base = entry["base"]
        if isinstance(base, Mapping) or base in possible:
            settings = make_system(name, base).settings if isinstance(base, Mapping) else possible[base].settings
            systems[name] = System(name, DEFAULT, replace(settings, name=name, train=Training(**entry["train"])))
        else:
            allowed = f"allowed are the settings of an encoder, and dense systems that encode, {', '.join(possible)}"
            problems.add(f"{path}.{name}.base", base, f"{allowed}{nearest(base, possible)}")
    possible |= {name: systems[name] for name in trained if name in systems}
    for name, entry in variants.items():
        other = entry["variant_of"]
        if other in possible:
            names = {"dimensions": "stored_dimensions"}
            given = {names.get(key, key): value for key, value in entry.items() if key != "family"}
            systems[name] = System(name, DEFAULT, replace(possible[other].settings, name=name, **given))
        else:
            allowed = f"allowed are dense systems that encode, {', '.join(possible)}{nearest(other, possible)}"
            problems.add(f"{path}.{name}.variant_of", other, allowed)
    return with_scorers({name: systems[name] for name in entries if name in systems}, entries, known, path, problems)


def official_dataset(name: str, entry: Mapping[str, Any]) -> tuple[Dataset, ...]:
    """The corpora of a dataset of the catalogue: one, or one a forum."""
    common = {
        "split": entry["split"],
        "archive": name,
        "md5": entry["archive"]["md5"],
        "archive_bytes": entry["archive"]["bytes"],
        "licence": entry["licence"],
        "drop_self_matches": entry.get("drop_self_matches", True),
        "shares_texts_with": entry.get("shares_texts_with"),
        "other_splits": entry.get("other_splits", {}),
    }
    if "forums" not in entry:
        counts = {key: entry[key] for key in ("documents", "queries")}
        return (Dataset(name=name, row=name, files=entry.get("files", {}), **counts, **common),)
    return tuple(
        Dataset(name=f"{name}-{forum}", row=name, forum=forum, documents=of["documents"], queries=of["queries"], **common)
        for forum, of in entry["forums"].items()
    )


def own_copy(name: str, entry: Mapping[str, Any]) -> Dataset:
    """The corpus of a dataset of which only the user can have a copy."""
    facts = {key: entry[key] for key in ("split", "documents", "queries", "licence")}
    return Dataset(name=name, row=name, own_copy=True, **facts)


def check_shared_texts(names: Iterable[str], rows: Mapping[str, tuple[Dataset, ...]], path: str, problems: Problems) -> None:
    """Note where a dataset names another that it cannot share texts with.

    Args:
        names: The datasets to check.
        rows: Every known dataset by name with its corpora.
        path: Path of the key that holds the datasets' entries.
        problems: Where what is wrong is added.
    """
    for name in names:
        other = rows[name][0].shares_texts_with
        if other is not None and (problem := _sharing_problem(name, other, rows)):
            problems.add(f"{path}.{name}.shares_texts_with", other, problem)


def _sharing_problem(name: str, other: str, rows: Mapping[str, tuple[Dataset, ...]]) -> str | None:
    """Why a dataset cannot reuse the vectors of the other, and what it can name instead."""
    possible = [row for row, corpora in rows.items() if row != name and not (corpora[0].forum or corpora[0].shares_texts_with)]
    allowed = f"allowed are {', '.join(possible)}"
    if rows[name][0].forum:
        return f"{name} has forums, each with texts of its own, so it shares them with no dataset; remove the key"
    if other == name:
        return f"a dataset does not share its texts with itself; {allowed}"
    if other not in rows:
        return f"{allowed}{nearest(other, possible)}"
    if rows[other][0].forum:
        return f"{other} has forums, each with texts of its own; {allowed}"
    if rows[other][0].shares_texts_with:
        return f"{other} shares its own texts with {rows[other][0].shares_texts_with!r}; name that one instead"
    return None
