"""Files outside the results, such as datasets and models, compared with the digests and the content that were recorded of them.

Where they are is taken from the configuration of the person who audits, never from the results. What is not here is not checked.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, RecordError
from beirflow.audit.chain.reading import part, read_columns, read_rows
from beirflow.audit.facts.corpora import DIGEST, Prepared, digests_of, documents_of
from beirflow.audit.facts.stated import stated_system
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.errors import BeirflowError, DataError
from beirflow.core.extensions import extensions
from beirflow.core.patterns import Pattern
from beirflow.data.catalogue.dataset import Dataset
from beirflow.data.corpus_files import EXCLUDED_ROWS
from beirflow.data.corpus_reader import read_batches
from beirflow.data.judged_queries import read_judged_queries
from beirflow.data.sampling import drawn, judged_among, sampled_queries
from beirflow.data.sources.forms import HubForm
from beirflow.data.sources.hub_source import HubSource
from beirflow.data.sources.opening import open_source
from beirflow.data.sources.source import DatasetSource
from beirflow.families.expansions.files import COLUMNS
from beirflow.families.expansions.given import given_values
from beirflow.families.expansions.models import expansion_digests
from beirflow.families.expansions.settings import Expansion
from beirflow.families.family import Family
from beirflow.ranking.searched import EXPANSION_SOURCE

REPAIR = "put the files back that were used; or, if these are right, run again: {again}"

SOURCES, MODELS = "corpora are those of their source", "models are those that were used"
"""Names of the checks of sources and of models."""

CARDS = "records say what the files of models say"

Names = Mapping[str, str]


class Here(NamedTuple):
    """Files outside the results that are here."""

    where: str  # their place
    facts: Any  # their digests or recipe, in the form of a record
    # path of the results and its problem, where these do not hold what the files do; None without one
    differs: Callable[[], tuple[str, str] | None] = lambda: None


class Outside(NamedTuple):
    """A kind of files outside the results, whose digests records state."""

    name: str  # of the check
    record: Pattern  # path of the records
    key: str  # where they state these facts of the files
    here: Callable[[Chain, Names], Here | str]  # finds the files by the names in the path; words where they are not here
    todo: str = "name it under custom.systems to have it compared"


def check_outside(chain: Chain) -> list[Check]:
    """Compare archives, datasets, models, and runs and expansions from elsewhere, where they are here, with their records."""
    checks = []
    for kind in _kinds():
        for path in sorted(chain.claims):
            names = kind.record.names_in(path)
            # Records of later chunks say the same as that of the first.
            if names is not None and names.get("chunk", "0") == "0" and kind.key in (chain.records.get(path) or {}):
                checks.append(_check(chain, kind, path, names))
    return checks


def _check(chain: Chain, kind: Outside, path: str, names: Names) -> Check:
    """Compare facts of the files, then content."""
    results, repair = chain.affected(path), REPAIR.format(again=chain.repairs.make_again([], [layout.SUMMARY]))
    try:
        recorded, here = chain.record(path)[kind.key], kind.here(chain, names)
        if isinstance(here, str):
            return Check(kind.name, NOT_CHECKED, here, "", (path,), results, kind.todo)
        chain.note(path, kind.key, recorded, here.where)
        if here.facts != recorded:
            found, expected = _other(here.facts, recorded), _other(recorded, here.facts)
            return Check(kind.name, FAILED, f"{here.where} has {found}", f"{path} says {expected}", (path,), results, repair)
        if differs := here.differs():
            return chain.failed(kind.name, differs[0], " ".join(differs), f"what {here.where} holds", results)
    except (BeirflowError, *UNREADABLE) as error:
        return chain.unreadable(kind.name, path, error, results, None if getattr(error, "path", None) else repair)
    return Check(kind.name, PASSED, f"{here.where}: the {kind.key} of {path}, and the same content", files=(path,))


def _other(facts: Any, others: Any) -> str:
    """Say which facts are others, or nothing."""
    if not isinstance(facts, Mapping) or not isinstance(others, Mapping):
        return str(facts)
    names = sorted({*facts, *others})
    return ", ".join(f"{name} {facts.get(name)}" for name in names if facts.get(name) != others.get(name))


def _dataset(chain: Chain, names: Names) -> Here | str:
    """Read the dataset that a corpus was made from, as the person who audits knows it: the configured one, or its archive."""
    name, record = names["dataset"], chain.record(layout.CORPUS(**names))
    known = chain.setup.datasets.get(name)
    source = _source(chain, known, record) if known else ""
    if known is None or isinstance(source, str):
        return f"the source of {name} is not here{source}"
    if isinstance(source, HubSource) and source.digests_of_all != record["source_sha256"]:
        return Here(str(source.path), source.digests_of_all)
    tables, here = _of_source(source, known)
    for key in ("assumed", "split"):
        chain.note(layout.CORPUS(**names), key, record.get(key), str(source.path))
    return Here(str(source.path), source.digests, lambda: _other_corpus(chain, names, source, tables, here))


def _other_corpus(
    chain: Chain, names: Names, source: DatasetSource, tables: tuple[pa.Table, pa.Table], here: np.ndarray
) -> tuple[str, str] | None:
    """Return where a corpus is not that of its source, of which the tables and digests of documents are given."""
    path, name = layout.CORPUS(**names), names["dataset"]
    if source.assumed != (assumed := chain.record(path).get("assumed", {})):
        return path, f"says {assumed}, but {source.assumed} has to be assumed"
    if isinstance(source, HubSource) and (problem := _other_fetched(chain, name, source)):
        return layout.HUB_DATASET(**names), problem
    if problem := _other_documents(here, documents_of(chain, name)):
        return layout.DOCUMENTS(**names), f"has {problem}"
    for table, where in zip(tables, (layout.QUERIES(**names), layout.QRELS(**names)), strict=True):
        stored = read_columns(chain.file(where), where)
        # Rows of excluded documents are compared with the ids instead: they depend on the chunks, too.
        stored = stored.select([column for column in stored.column_names if column != EXCLUDED_ROWS])
        with suppress(pa.ArrowInvalid):  # from values that are none of this type
            if table.equals(stored.cast(table.schema)):
                continue
        return where, "is not what the source holds"
    return None


def _source(chain: Chain, known: Dataset, record: Mapping[str, Any]) -> DatasetSource | str:
    """Open the source of a dataset; if it is not here, return the reason, empty without one.

    Nothing of the results says which files of a hub it has. Raises RecordError if the results hold another archive than the
    catalogue's.
    """
    if isinstance(known.form, HubForm):
        try:
            source = HubSource.in_cache(known.form, known.split)
        except DataError as error:
            return f": {error}"
        own, stated = source.digests_of_all, part(record, "source_sha256", kind=dict)
        # A cache with fewer files may be incomplete; one with others has what the layout names.
        if lacking := sorted(stated.keys() - own.keys()) if own.items() < stated.items() else []:
            return f": the cache of the hub's library lacks {', '.join(lacking[:3])}"
        return source
    if (folder := chain.setup.folder(known.name)) and Path(folder).exists():
        return open_source(folder, known.forum, known.form)
    archive = layout.ARCHIVE(archive=known.archive) if known.archive else ""
    if archive not in chain.listing.files and not (archive and chain.listing.oddity(archive)):
        return ""
    if (md5 := file_digest(chain.file(archive), "md5")) != known.md5:
        raise RecordError(f"has the md5 {md5}, but that of the catalogue is {known.md5}", archive)
    return open_source(chain.file(archive), known.forum, known.form)


def _other_fetched(chain: Chain, name: str, source: HubSource) -> str:
    """Return the difference between the record of what was fetched and a source; empty without one."""
    path = layout.HUB_DATASET(dataset=name)
    record = chain.record(path)
    place = {key: getattr(source.form, key) for key in ("hub", "revision", "subset", "layout")}
    for key, expected in {**place, "split": source.split, "files": source.files}.items():
        chain.note(path, key, record.get(key), str(source.path))
        if record.get(key) != expected:
            return f"says {key} {_other(record.get(key), expected)}, expected {_other(expected, record.get(key))}"
    return ""


def _of_source(source: DatasetSource, corpus: Dataset) -> tuple[tuple[pa.Table, pa.Table], np.ndarray]:
    """Return the queries, judgements and document digests that a corpus must share with its source."""
    tables = read_judged_queries(source, corpus.split)
    digests, ids = [np.empty((0, 2), np.uint64)], [pa.array([], pa.string())]
    for batch in read_batches(source, threads=1):
        columns = [batch.documents[key].to_pylist() for key in ("doc_id", "text", "title_bytes")]
        digests.append(digests_of(*columns))
        ids.append(batch.documents["doc_id"])
    here = np.concatenate(digests)
    if corpus.sample_documents:
        doc_ids = pa.chunked_array(ids).combine_chunks()
        rows = drawn(doc_ids.to_pylist(), wanted=corpus.sample_documents, seed=corpus.documents_seed or 0)
        tables, here = judged_among(*tables, doc_ids.take(pa.array(rows))), here[rows]
    if corpus.sample_queries:
        tables = sampled_queries(*tables, wanted=corpus.sample_queries, seed=corpus.sample_seed or 0)
    return tables, here


def _other_documents(here: np.ndarray, prepared: Prepared) -> str:
    """Return the difference between a source's documents, given by their digests, and the prepared ones; empty without one."""
    if len(here) != len(prepared.ids):
        return f"{len(prepared.ids):,} documents, the source has {len(here):,}"
    pair = np.dtype([("first", np.uint64), ("second", np.uint64)])
    ours, theirs = (np.ascontiguousarray(each).view(pair).ravel() for each in (prepared.digests, here))
    strange = np.flatnonzero(~np.isin(ours, theirs))
    if len(strange):
        return f"{len(strange):,} documents that the source has not, the first is {prepared.ids[int(strange[0])].as_py()!r}"
    return ""


def _model(facts: Callable[[Family, Any], Mapping[str, Any]], chain: Chain, names: Names) -> Here | str:
    """Find the model of a system, and read some facts of its files."""
    name, known = names["system"], chain.setup.systems.get(names["system"])
    family = chain.setup.families[known.family] if known else None
    if known is None or family is None or family.model_record(known.settings) is None:
        return f"it is not known here where the model of {name} is"
    return files_here(name, known.settings.source, partial(facts, family, known.settings))


def _model_of_expansion(chain: Chain, names: Names) -> Here | str:
    """Find the model of an expansion."""
    added = _added(chain, names["expansion"])
    if added is None:
        return f"it is not known here where the model of {names['expansion']} is"
    return files_here(names["expansion"], str(added.model), partial(expansion_digests, added))


def files_here(name: str, where: str, facts: Callable[[], Mapping[str, Any]]) -> Here | str:
    """Read facts of the files of a model, if they are here."""
    try:
        return Here(where, facts())
    except BeirflowError as error:
        return f"the model of {name} is not here: {error}"


def _run(chain: Chain, names: Names) -> Here | str:
    """Find the file that a run was read from."""
    is_known = names["system"] in chain.setup.systems and names["dataset"] in chain.setup.datasets
    source = chain.setup.run_file(**names) if is_known else None
    if source is None or not Path(source).is_file():
        return f"the file of {names['system']} on {names['dataset']} is not here"
    return Here(source, file_digest(source))


def _expansion(chain: Chain, names: Names) -> Here | str:
    """Find the file that an expansion was read from."""
    added, corpus = _added(chain, names["expansion"]), chain.setup.datasets.get(names["dataset"])
    source = added.file(corpus.whole_name if corpus else names["dataset"]) if added else None
    if added is None or source is None or not source.is_file():
        return f"the file of {names['expansion']} on {names['dataset']} is not here"
    return Here(str(source), file_digest(source), partial(_other_additions, chain, names, added.kind, str(source)))


def _added(chain: Chain, name: str) -> Expansion | None:
    """Return an expansion, by its name in the results, as the person who audits configured it; None if it is unknown."""
    for system in part(chain.manifest, "systems", kind=dict):
        known, stated = chain.setup.systems.get(system), stated_system(chain, system)
        own = chain.setup.families[known.family].added(known.settings) if known else None
        if own and stated and stated.added and stated.added.name == name:
            return own
    return None


def _other_additions(chain: Chain, names: Names, kind: str, source: str) -> tuple[str, str] | None:
    """Return where the results have other additions to documents than a file."""
    ids = documents_of(chain, names["dataset"]).ids
    expected = np.zeros((len(ids), DIGEST), np.uint8)
    for place, value in given_values(source, kind, ids):
        columns = [list(value), list(value.values())] if isinstance(value, dict) else [value]
        expected[place] = np.frombuffer(_digest(columns), np.uint8)
    row, path = 0, ""
    for chunk in range(part(chain.record(layout.CORPUS(dataset=names["dataset"])), "chunks", kind=int)):
        path = layout.EXPANSION(expansion=names["expansion"], dataset=names["dataset"], chunk=chunk)
        for doc_id, *values in read_rows(chain.file(path), path, COLUMNS[kind].names):
            if row >= len(ids) or doc_id != ids[row].as_py() or expected[row].tobytes() != _digest(values):
                return path, f"adds to {doc_id!r} what the file does not"
            row += 1
    return None if row == len(ids) else (path, f"ends after {row:,} of {len(ids):,} documents")


def _digest(values: list[Any]) -> bytes:
    """Return the digest of what is added to a document, with weights as the numbers that are stored."""
    texts = [[float(each) if isinstance(each, int) else each for each in column] for column in values]
    return hashlib.blake2b(repr(texts).encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


def _kinds() -> list[Outside]:
    """Return the kinds of files, those of extensions behind models."""
    return [
        Outside(
            SOURCES, layout.CORPUS, "source_sha256", _dataset, "name it under data_dir or custom.datasets to have it compared"
        ),
        Outside(MODELS, layout.MODEL, "files", partial(_model, lambda family, settings: family.model_digests(settings))),
        # Where no setting names the similarity, a run follows from the recipe of the model.
        Outside(CARDS, layout.MODEL, "card", partial(_model, lambda family, settings: family.model_card(settings))),
        Outside(MODELS, layout.EXPANSION_MODEL, "files", _model_of_expansion),
        *(kind for extension in extensions() for kind in extension.outside()),
        Outside("runs of elsewhere are those that were read", layout.RUN_RECORD, "source_sha256", _run),
        Outside("expansions are those of their files", layout.EXPANSION_RECORD, EXPANSION_SOURCE, _expansion),
    ]
