"""The choice of datasets: by name, by property, by split, or as a sample of their queries or documents.

Another split, another treatment of self matches, and a sample are datasets of their own, whose names say what they are, in every
table, record and path: ``nfcorpus.dev``, ``nfcorpus.sample-50``, ``nfcorpus.dev.sample-50-seed-7``,
``dbpedia-entity.documents-1000000``, ``arguana.self-matches-kept``. So their scores cannot be mistaken for those of the whole.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from beirflow.data.catalogue.catalogue import COMMERCIAL, KINDS, Catalogue
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.catalogue.schema import Problems, choices, nearest

PART = re.compile(
    r"(?P<whole>.+?)(\.self-matches-(?P<how>kept|dropped))?"
    r"(\.documents-(?P<sample_documents>[1-9]\d*)(-seed-(?P<documents_seed>[1-9]\d*))?)?"
    r"(\.sample-(?P<sample_queries>[1-9]\d*)(-seed-(?P<sample_seed>[1-9]\d*))?)?"
)
"""Name of a dataset, of another treatment of self matches in it, of a sample of its documents, or of its queries."""

OF_THE_PAPER = "dbpedia-entity"  # the corpus that the paper's efficiency was measured on a part of

Rows = Mapping[str, tuple[Dataset, ...]]


def corpora_named(name: str, rows: Rows) -> tuple[Dataset, ...] | None:
    """Return the corpora, one or one a forum, of a dataset, of another split of it, or of a sample of it; None if unknown.

    For a part, ``.<split>``, ``.self-matches-kept`` or ``.self-matches-dropped``, ``.documents-<n>``, ``.sample-<n>`` follow the
    name in this order.
    """
    if name in rows:
        return rows[name]
    if not (part := PART.fullmatch(name)):
        return None
    changes: dict[str, Any] = {"drop_self_matches": part["how"] == "dropped"} if part["how"] else {}
    for count, seed in (("sample_queries", "sample_seed"), ("sample_documents", "documents_seed")):
        changes |= {count: int(part[count]), seed: int(part[seed] or 0)} if part[count] else {}
    corpora = _split_named(part["whole"], rows)
    # The usual treatment has the plain name, so that no corpus has two.
    if corpora and changes.get("drop_self_matches") is corpora[0].drop_self_matches:
        return None
    return tuple(_part(corpus, name, **changes) for corpus in corpora) if corpora and changes else corpora


def self_matches_named(row: str) -> bool:
    """Test whether the name of a dataset states the treatment of self matches."""
    return ".self-matches-" in row


def _split_named(name: str, rows: Rows) -> tuple[Dataset, ...] | None:
    """Return the corpora of a dataset or of another split of it; None if there is none."""
    if name in rows:
        return rows[name]
    whole, _, split = name.rpartition(".")
    if whole not in rows or rows[whole][0].part_of:
        return None
    usual = rows[whole][0]
    # The usual split has the plain name, so that no corpus has two.
    if (
        split == usual.split
        or (usual.form and not usual.form.has_splits)
        or ((usual.archive or usual.collection) and split not in usual.other_splits)
    ):
        return None
    changes = {"split": split, "queries": usual.other_splits.get(split)}
    return tuple(
        _part(corpus, name, **changes, files={path: digest for path, digest in corpus.files.items() if "/" not in path})
        for corpus in rows[whole]
    )


def _part(corpus: Dataset, row: str, **changes: Any) -> Dataset:
    """Return a part of a corpus, under the name of its own."""
    name = f"{row}-{corpus.forum}" if corpus.forum else row
    return replace(corpus, name=name, row=row, part_of=corpus.whole_row, **changes)


def chosen_names(config: Mapping[str, Any], catalogue: Catalogue, problems: Problems) -> list[str] | str:
    """Return the datasets of a checked configuration, each with the sample that is asked for; ``all`` for all without a sample.

    The name of a collection means its members. Asked again with these names, it returns the same. Mistakes are added to
    ``problems``.
    """
    selection, queries, seeds = config["datasets"], config["sample_queries"], config["sample_seed"]
    if selection == "all" and queries is None:
        return "all"
    if isinstance(selection, Mapping):
        names = _in_common(selection, catalogue, problems)
    else:
        several = {"all": catalogue.datasets, **{name: each.members for name, each in catalogue.newer.collections.items()}}
        names = list(
            dict.fromkeys(
                each for name in ([selection] if isinstance(selection, str) else selection) for each in several.get(name, [name])
            )
        )
    if queries is None:
        return names
    seeds = seeds if isinstance(seeds, list) else [seeds]
    endings = [f".sample-{queries}" + (f"-seed-{seed}" if seed else "") for seed in seeds]
    return [each for name in names for each in ([name] if ".sample-" in name else [name + ending for ending in endings])]


def _in_common(wanted: Mapping[str, Any], catalogue: Catalogue, problems: Problems) -> list[str]:
    """Return the datasets of the catalogue that have all the properties asked for."""
    problems_before = len(problems.lines)
    rows, collections, of = catalogue.known_datasets, catalogue.newer.collections, wanted.get("collection")
    of = [of] if isinstance(of, str) else of
    for name in (name for name in of or () if name not in collections):
        problems.add("datasets.collection", name, choices(name, collections))
    among = list(catalogue.datasets)
    if of is not None:
        among = [member for name in of if name in collections for member in collections[name].members]
    having = {}  # by property, the datasets that have it
    for kind in (kind for kind in KINDS if kind in wanted):
        values = _known_values(kind, wanted[kind], among, catalogue, problems)
        having[kind] = [name for name in among if catalogue.kinds[name][kind] in values]
    if "licence" in wanted:
        having["licence"] = [name for name in among if all(corpus.licence in COMMERCIAL for corpus in rows[name])]
    if "largest" in wanted:
        having["largest"] = [name for name in among if sum(corpus.documents or 0 for corpus in rows[name]) <= wanted["largest"]]
    names = [name for name in among if all(name in each for each in having.values())]
    if "split" in wanted:
        names = _with_split(wanted["split"], names, among, catalogue, problems)
    if not names and len(problems.lines) == problems_before:
        alone = "; ".join(f"{key}: {', '.join(each) or 'none'}" for key, each in having.items())
        problems.add("datasets", dict(wanted), f"no dataset has all these properties; by each alone, {alone}")
    return names


def _known_values(
    kind: str, requested: str | Iterable[str], among: Iterable[str], catalogue: Catalogue, problems: Problems
) -> set[str]:
    """Return values of a kind as the catalogue writes them for some datasets."""
    known = {(value := catalogue.kinds[name][kind]).lower(): value for name in among}
    values = [requested] if isinstance(requested, str) else list(requested)
    for value in (value for value in values if value.lower() not in known):
        allowed = f"allowed are {', '.join(known.values())}{nearest(value, known.values())}"
        problems.add(f"datasets.{kind}", value, allowed)
    return {known.get(value.lower(), value) for value in values}


def _with_split(split: str, names: Iterable[str], among: Iterable[str], catalogue: Catalogue, problems: Problems) -> list[str]:
    """Return those of some datasets that have a split, under the names of this split."""
    rows = catalogue.known_datasets
    splits = dict.fromkeys(each for name in among for each in (rows[name][0].split, *rows[name][0].other_splits))
    if split not in splits:
        problems.add("datasets.split", split, f"allowed are {', '.join(splits)}{nearest(split, splits)}")
    first = {name: rows[name][0] for name in names}
    named = {name: name if corpus.split == split else f"{name}.{split}" for name, corpus in first.items()}
    return [each for name, each in named.items() if split in (first[name].split, *first[name].other_splits)]


def check_own_names(rows: Rows, catalogue: Catalogue, problems: Problems) -> None:
    """Note names of the user's own datasets that another has, or that would be taken for a part of another."""
    known = catalogue.known_datasets
    taken = {corpus.name for corpora in known.values() for corpus in corpora} | set(known)
    for row, corpora in rows.items():
        for name in {row, *(corpus.name for corpus in corpora)}:
            if name in taken:
                problems.add(f"custom.datasets.{row}", name, "another dataset or forum has this name; choose another")
            taken.add(name)
    for name in rows:
        part = PART.fullmatch(name)
        if (part and part["whole"] != name) or (name not in known and corpora_named(name, known)):
            problems.add(
                f"custom.datasets.{name}", name, "this is the name of a split or a sample of another dataset; choose another"
            )


def corpus_for_latency(documents: Mapping[str, int]) -> str:
    """Return the corpus that latency is measured on for the table of efficiency, from the number of documents of each.

    It is that of the paper, a sample of its documents first; else the largest.
    """
    of_paper = [name for name in documents if name.partition(".")[0] == OF_THE_PAPER]
    sampled = [name for name in of_paper if ".documents-" in name]
    return (sampled or of_paper or [max(documents, key=documents.__getitem__)])[0]
