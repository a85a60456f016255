"""The facts of prepared corpora, and the check of their files.

Documents are compared as a set: every id once, with its text and the length of its title. A digest of 128 bits represents each,
so that memory holds some bytes a document.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check, RecordError
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.chain.reading import open_parquet, part, read_columns
from beirflow.audit.facts.relations import AS_NONE, Expected, Place, Relation, Row, computed
from beirflow.core.layout import CORPUS, DOCUMENTS, MANIFEST, QRELS, QUERIES
from beirflow.core.losses import KINDS, RELEVANT
from beirflow.core.patterns import Pattern
from beirflow.data.corpus_files import EXCLUDED_ROWS, FOOTER, OWN_CANDIDATES, RELEVANT_FROM, footer_digest, relevant_from
from beirflow.data.prepare import excluded_rows_of, length_statistics
from beirflow.data.sources.forms import CANDIDATES, EXCLUDED, SamplesForm
from beirflow.data.unreachable import counts_of, unreachable

DIGEST = 16  # bytes of the digest of a document
COLUMNS = ("doc_id", "text", "title_bytes")


class Prepared(NamedTuple):
    """Memory of one pass over the documents of a corpus."""

    ids: pa.Array  # ids, in the order of the file
    digests: np.ndarray  # a digest of each document, in the order of the file; uint64 of shape (n, 2)
    texts: int  # number of different texts
    characters: np.ndarray  # lengths of the texts, int64 of shape (n,)
    chunks: int  # row groups


COUNTS_OF_DOCUMENTS: Mapping[str, Callable[[Prepared], int]] = {
    "documents": lambda documents: len(documents.ids),
    "characters": lambda documents: int(documents.characters.sum()),
    "distinct_texts": lambda documents: documents.texts,
}


def documents_of(chain: Chain, name: str) -> Prepared:
    """Return the documents of a corpus, which are read once; raise RecordError if they cannot be read."""
    if name not in chain.documents:
        path = DOCUMENTS(dataset=name)
        try:
            chain.documents[name] = _read_documents(chain, path)
        except (pa.ArrowException, RuntimeError, ValueError, KeyError, TypeError) as error:
            raise RecordError(f"cannot be read, {type(error).__name__}: {str(error)[:200]}", path) from error
    found: Prepared = chain.documents[name]
    return found


def digests_of(ids: Iterable[str], texts: Iterable[str], title_bytes: Iterable[int]) -> np.ndarray:
    """Return a digest of each of n documents, its id, title and text, and how long the title is; uint64 of shape (n, 2)."""
    whole = b"".join(
        hashlib.blake2b(f"{len(doc_id)} {title} {doc_id}{text}".encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
        for doc_id, text, title in zip(ids, texts, title_bytes, strict=True)
    )
    return np.frombuffer(whole, np.uint64).reshape(-1, 2)


def _read_documents(chain: Chain, path: str) -> Prepared:
    """Read all documents once, some at a time."""
    parts: list[tuple[pa.Array, np.ndarray, np.ndarray, np.ndarray]] = []
    with open_parquet(chain.file(path), path) as file:
        if further := sorted({*file.schema_arrow.names} - {*COLUMNS}):
            raise RecordError(f"has further columns, {', '.join(further)}", path)
        for batch in file.iter_batches(columns=list(COLUMNS)):
            ids, texts, titles = (batch[name] for name in COLUMNS)
            if any(column.null_count for column in (ids, texts, titles)):
                raise RecordError("has a row with nothing in a column", path)
            found = texts.to_pylist()
            digests = digests_of(ids.to_pylist(), found, titles.to_pylist())
            of_texts = digests_of(repeat("", len(found)), found, repeat(0, len(found)))
            parts.append((ids.cast(pa.large_string()), digests, of_texts, pc.utf8_length(texts).to_numpy().astype(np.int64)))
        chunks = file.metadata.num_row_groups
    if not parts:
        raise RecordError("has no documents", path)
    all_ids, *numbers = zip(*parts, strict=True)
    digests, of_texts, characters = map(np.concatenate, numbers)
    return Prepared(pa.concat_arrays(all_ids), digests, len(np.unique(of_texts, axis=0)), characters, chunks)


def of_documents(value: Callable[[Prepared], Any]) -> Relation:
    """Expect what a function computes from the documents."""
    return computed(lambda place: value(documents_of(place.chain, place.dataset)), "its documents")


def of_corpus(name: str, default: Any = None) -> Relation:
    """Expect what the manifest says of the corpus."""
    return computed(lambda place: place.chain.corpora[place.dataset].get(name, default))


def of_sample(**names: str) -> Relation:
    """Expect what the manifest says of a sample, by the names of both."""
    return computed(
        lambda place: {key: place.chain.corpora[place.dataset].get(name) for key, name in names.items()},
        said=lambda place, found: {key: (found or {}).get(key) for key in names},
    )


OF_JUDGEMENTS = ("queries", "judgements", "positives", "judgements_without_document", RELEVANT, *KINDS)


def counts_of_judgements(place: Place) -> dict[str, int]:
    """Count queries and judgements."""
    qrels, doc_ids = _columns(place, QRELS), documents_of(place.chain, place.dataset).ids
    there = pc.sum(pc.is_in(qrels["doc_id"].cast(pa.large_string()), value_set=doc_ids)).as_py() or 0
    positives = pc.sum(pc.greater(qrels["score"], 0)).as_py() or 0
    queries = _columns(place, QUERIES)
    counts = queries.num_rows, qrels.num_rows, positives, qrels.num_rows - there
    return dict(zip(OF_JUDGEMENTS, counts, strict=False)) | counts_of(qrels, unreachable(qrels, queries, doc_ids))


def chunks_as_configured(place: Place, key: str, found: Any) -> Iterator[Expected]:
    """Expect as many as the configuration asks for."""
    most = part(place.chain.manifest, "configuration", "chunk_documents", kind=int)
    expected = max(1, math.ceil(part(place.record, "counts", "documents", kind=int) / most))
    by = f"the configuration in {MANIFEST}, chunk_documents {most}"
    yield Expected(found, expected, by, [(MANIFEST, "configuration/chunk_documents", most)])


def is_official(place: Place) -> bool | None:
    """Return whether the data are official: only those of which the catalogue has digests can be; None where it has none."""
    corpora = place.chain.setup.catalogue.known_datasets.values()
    known = next((corpus for of_row in corpora for corpus in of_row if corpus.name == place.dataset), None)
    files, digests = (dict(known.files) if known else {}), part(place.record, "source_sha256", kind=dict)
    read = ("corpus.jsonl", "queries.jsonl", f"qrels/{part(place.record, 'split')}.tsv")
    same = all(digests.get(key) == digest for key, digest in files.items() if key in read)
    counts = known is None or known.queries in (None, part(place.record, "counts", "queries"))
    is_part = place.chain.corpora[place.dataset].get("part_of")
    return False if is_part or not (same and counts) else (True if files else None)


def has_own_candidates(place: Place) -> bool:
    """Return whether each query ranks only the documents that are judged for it."""
    return (place.chain.corpora[place.dataset].get("form") or {}).get("kind") == SamplesForm.kind


def _columns(place: Place, pattern: Pattern) -> pa.Table:
    path = pattern(dataset=place.dataset)
    # Columns that queries do not have are left out.
    further = ["doc_id", "score"] if pattern == QRELS else [EXCLUDED, CANDIDATES]
    return read_columns(place.chain.file(path), path, ["query_id", *further])


OF_A_CORPUS = (
    Row("split", of_corpus("split")),
    *(Row(f"counts/{key}", of_documents(count)) for key, count in COUNTS_OF_DOCUMENTS.items()),
    Row(
        "counts",
        computed(
            counts_of_judgements,
            "its queries and judgements",
            lambda place, found: {key: found[key] for key in OF_JUDGEMENTS if key in found},
        ),
    ),
    Row("chunks", of_documents(lambda documents: documents.chunks)),
    Row("chunks", chunks_as_configured),
    Row("characters", of_documents(lambda documents: length_statistics(documents.characters))),
    Row(FOOTER, computed(lambda place: footer_digest(place.chain.file(DOCUMENTS(dataset=place.dataset))), "its documents")),
    Row("official", computed(is_official, "the catalogue here")),
    Row("part_of", of_corpus("part_of"), AS_NONE),
    Row(OWN_CANDIDATES, computed(has_own_candidates, said=lambda place, found: bool(found)), AS_NONE),
    Row(RELEVANT_FROM, of_corpus(RELEVANT_FROM), AS_NONE),
    Row("sample", of_sample(queries="sample_queries", seed="sample_seed"), AS_NONE),
    Row("document_sample", of_sample(documents="sample_documents", seed="documents_seed"), AS_NONE),
)
"""Facts of the record of a corpus."""


def check_corpora(chain: Chain) -> list[Check]:
    """Check that the files of every corpus are ones that can be: ids once and in order, and queries that are judged."""
    facts = Comparison(chain, "corpora are in order")
    facts.each([CORPUS(dataset=name) for name in chain.prepared], _check_files)
    return facts.finished()


def _check_files(facts: Comparison, path: str) -> None:
    place = Place(facts, path, CORPUS.names_in(path) or {}, facts.chain.record(path))
    documents, queries_path, qrels_path = (pattern(**place.names) for pattern in (DOCUMENTS, QUERIES, QRELS))
    ids, qrels = documents_of(facts.chain, place.dataset).ids, _columns(place, QRELS)
    queries = _columns(place, QUERIES)["query_id"].to_pylist()
    pairs = list(zip(qrels["query_id"].to_pylist(), qrels["doc_id"].to_pylist(), strict=True))
    facts.same(documents, "ids that come twice", len(ids) - len(pc.unique(ids)), 0, "what an id is")
    # Code points of Python sort as bytes of UTF-8 do.
    for where, rows in ((queries_path, queries), (qrels_path, pairs)):
        facts.same(where, "rows that are not in order, or come twice", sum(a >= b for a, b in pairwise(rows)), 0, "their ids")
    are_judged = sorted({query for query, _ in pairs}) == queries
    facts.same(queries_path, "ids", are_judged, True, f"{qrels_path}: other queries are judged")
    least = facts.chain.corpora[place.dataset].get(RELEVANT_FROM) or 1
    facts.same(qrels_path, RELEVANT_FROM, relevant_from(qrels), least, MANIFEST)
    with open_parquet(facts.chain.file(queries_path), queries_path) as file:
        lists = file.read([EXCLUDED, EXCLUDED_ROWS])
    if lists.num_columns:
        same = lists.num_columns == 2 and lists[EXCLUDED_ROWS].combine_chunks().equals(
            excluded_rows_of(lists[EXCLUDED].combine_chunks(), ids)
        )
        facts.same(queries_path, f"{EXCLUDED_ROWS} are those of {EXCLUDED}", same, True, documents)
