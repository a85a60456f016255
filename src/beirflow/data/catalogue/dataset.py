"""A dataset: the facts about one corpus with its queries and judgements, from the catalogue or the configuration.

Members of a collection newer than BEIR are datasets, ``<collection>.<member>``.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beirflow.data.catalogue.schema import Problems, nearest, read_yaml
from beirflow.data.sources.forms import Form, HubForm

OF_A_DATASET = (
    *("split", "documents", "queries", "licence", "drop_self_matches", "relevant_from", "excluded_pairs", "relevant_pairs"),
    *("files", "reason", "shares_texts_with", "other_splits"),
)
"""Keys of a dataset, its collection or a forum that say something of a corpus."""


@dataclass(frozen=True)
class Dataset:
    """One corpus with its queries and judgements: a dataset, or one forum of a dataset."""

    name: str  # its name in paths; for a forum ``<dataset>-<forum>``
    row: str  # the dataset that it belongs to, which is its row in the summary
    forum: str | None = None  # the forum's folder inside the dataset; None if the dataset has no forums
    split: str = "test"  # the qrels that are used, ``qrels/<split>.tsv``
    documents: int | None = None  # number of documents of the corpus; None if it must be counted
    queries: int | None = None  # number of queries with judgements in the split; None where it is not known
    archive: str | None = None  # stem of the official archive; None for a dataset of the user's own
    md5: str | None = None  # digest of that archive
    archive_bytes: int | None = None  # its size
    licence: str | None = None  # under which licence it is, as far as its authors say; None for a dataset of the user's own
    path: str | None = None  # folder, archive or file of a dataset of the user's own; None for one of the catalogue
    form: Form | None = None  # its form, which also says where on a hub it is; None for that of BEIR
    # sha256 of the source files, where they are known, by their path inside the dataset
    files: Mapping[str, str] = field(default_factory=dict)
    own_copy: bool = False  # whether it may not be redistributed, or only the user can put it into BEIR form: in ``data_dir``
    reason: str | None = None  # of ``own_copy``; None if it may not be redistributed
    drop_self_matches: bool = True  # whether a document whose id is the query's id is dropped before the cut at k
    collection: str | None = None  # the collection of the catalogue that it belongs to; None for any other dataset
    relevant_from: int | None = None  # grade from which a document is relevant, for measures without grades; None for 1
    excluded_pairs: int | None = None  # documents that queries exclude from their rankings, in all; None where that is not known
    relevant_pairs: int | None = None  # judgements above 0; None where that is not known
    shares_texts_with: str | None = None  # dataset that has most of the same texts; None if no such is known
    # other judgements in its archive, with the number of judged queries, None where that is not known
    other_splits: Mapping[str, int | None] = field(default_factory=dict)
    part_of: str | None = None  # the dataset of which this is another split or a sample; None if it is whole
    sample_queries: int | None = None  # judged queries of a sample, at most; None if it has all of the split
    sample_seed: int | None = None  # which ones
    sample_documents: int | None = None  # documents of a sample, at most; None if it has all
    documents_seed: int | None = None  # which ones

    @property
    def whole_row(self) -> str:
        """Return the name of the dataset, whichever part of it this is: what folders, instructions and catalogues call it."""
        return self.part_of or self.row

    @property
    def whole_name(self) -> str:
        """Return the same of the corpus."""
        return f"{self.whole_row}-{self.forum}" if self.forum else self.whole_row


def corpora_of(row: str, facts: Mapping[str, Any], **more: Any) -> tuple[Dataset, ...]:
    """Return the corpora of a dataset of the catalogue: one, or one a forum, each with ``more`` attributes."""
    if "forums" not in facts:
        return (_corpus(row, facts, name=row, **more),)
    # What a forum states itself wins over what its dataset states.
    forums = facts["forums"].items()
    return tuple(_corpus(row, {**facts, **own}, name=f"{row}-{forum}", forum=forum, **more) for forum, own in forums)


def _corpus(row: str, facts: Mapping[str, Any], **more: Any) -> Dataset:
    form = HubForm.of(facts) if "hub" in facts else None
    return Dataset(row=row, form=form, **more, **{key: facts[key] for key in OF_A_DATASET if key in facts})


def check_shared_texts(names: Iterable[str], rows: Mapping[str, tuple[Dataset, ...]], path: str, problems: Problems) -> None:
    """Note each of ``names`` that cannot share texts with the dataset it names; ``path`` is the key of the datasets' entries."""
    for name in names:
        other = rows[name][0].shares_texts_with
        if other is not None and (problem := _sharing_problem(name, other, rows)):
            problems.add(f"{path}.{name}.shares_texts_with", other, problem)


def _sharing_problem(name: str, other: str, rows: Mapping[str, tuple[Dataset, ...]]) -> str | None:
    """Return why a dataset cannot reuse the vectors of the other, and what it can name instead."""
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


@dataclass(frozen=True)
class Collection:
    """Datasets that belong together."""

    members: tuple[str, ...]  # names of its datasets
    citation: str  # its entry of ``citations.bib``


@dataclass(frozen=True)
class Collections:
    """The content of ``collections.yaml``."""

    collections: Mapping[str, Collection] = field(default_factory=dict)  # by name
    # by name of a member, its corpora: one, or one a forum
    members: Mapping[str, tuple[Dataset, ...]] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by name of a member, all its keys


def load_collections(folder: Path, beir: Mapping[str, Mapping[str, Any]]) -> Collections:
    """Read ``collections.yaml``; versions of a dataset of BEIR have the task and domain of its entry in ``beir``.

    The parts and tasks of a collection in a table are collections too.
    """
    content = read_yaml(folder / "collections.yaml")
    collections: dict[str, Collection] = {}
    members: dict[str, tuple[Dataset, ...]] = {}
    facts: dict[str, dict[str, Any]] = {}
    for name, entry in content["collections"].items():
        shared = {key: value for key, value in entry.items() if key not in ("members", "parts")}
        own_keys = _members_in(folder / entry["table"], entry) if "table" in entry else entry["members"]
        parts: dict[str, list[str]] = {}
        for member, own in own_keys.items():
            row = f"{name}.{member}"
            of_beir = {key: beir[member][key] for key in ("task", "domain")} if entry.get("of_beir") else {}
            facts[row] = {**of_beir, **shared, **own}
            members[row] = corpora_of(row, facts[row], collection=name)
            for part in dict.fromkeys((own["task"], own["part"])) if "table" in entry else ():
                parts.setdefault(f"{name}.{part}", []).append(row)
        parts = {name: [f"{name}.{member}" for member in own_keys if member not in entry.get("outside", ())], **parts}
        collections |= {part: Collection(tuple(rows), entry.get("citation", name)) for part, rows in parts.items()}
    return Collections(collections, members, facts)


def _members_in(table: Path, collection: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the keys of each member of a table by its name: those of its part, and those of its row.

    The dataset of a part on the hub has its name, as has the task, unless the part names another.
    """
    members: dict[str, dict[str, Any]] = {}
    with table.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            part = row["part"]
            own = {key: int(value) if value.isdecimal() else value for key, value in row.items()}
            of_part = {"task": part, "hub": f"{collection['hub']}/{part}", **collection["parts"].get(part, {})}
            members[f"{part}.{row['split']}"] = {**of_part, **own}
    return members
