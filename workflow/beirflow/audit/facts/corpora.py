"""Do the prepared corpora match their records and their sources?

Documents are compared as a set: every id once, with its text and the length of its title. A digest of 128 bits stands for each,
so that memory holds some bytes a document.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import Check, RecordError
from beirflow.audit.chain.facts import Comparison
from beirflow.audit.chain.reading import open_parquet, part, read_columns
from beirflow.audit.chain.setup import Setup
from beirflow.datasets.corpus_files import FOOTER, OWN_CANDIDATES, RELEVANT_FROM, footer_digest, relevant_from
from beirflow.datasets.prepare import length_statistics
from beirflow.files.layout import CORPUS, DOCUMENTS, MANIFEST, QRELS, QUERIES
from beirflow.sources.forms import SamplesForm

DIGEST = 16
"""Bytes of the digest of a document."""

COLUMNS = ("doc_id", "text", "title_bytes")

SAMPLES = {
    "sample": {"queries": "sample_queries", "seed": "sample_seed"},
    "document_sample": {"documents": "sample_documents", "seed": "documents_seed"},
}
"""Keys of samples in a record, and their names in a manifest."""


@dataclass
class Prepared:
    """Memory of one pass over the documents of a corpus."""

    ids: pa.Array  # ids, in the order of the file
    digests: np.ndarray  # a digest of each document, in the order of the file; uint64 of shape (n, 2)
    texts: int  # number of different texts
    characters: np.ndarray  # lengths of the texts, int64 of shape (n,)
    chunks: int  # row groups


@dataclass
class Corpora:
    """The documents of the corpora, each read once."""

    chain: Chain  # what records say
    read: dict[str, Prepared] = field(default_factory=dict)  # what was read, by name of the corpus

    def __getitem__(self, name: str) -> Prepared:
        """Return the documents of a corpus; raise RecordError if they cannot be read."""
        if name not in self.read:
            path = DOCUMENTS(dataset=name)
            try:
                self.read[name] = _read_documents(self.chain, path)
            except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
                raise RecordError(f"cannot be read, {type(error).__name__}: {str(error)[:200]}", path) from error
        return self.read[name]


def check_corpora(chain: Chain, setup: Setup, corpora: Corpora) -> list[Check]:
    """Compare the record of every corpus with its files, and with the official data of the catalogue."""
    facts = Comparison(chain, "corpora hold what their records say")

    def check(facts: Comparison, path: str) -> None:
        name = (CORPUS.names_in(path) or {})["dataset"]
        _check_documents(facts, path, name, corpora[name])
        _check_judgements(facts, path, name, corpora[name])
        _check_official(facts, path, name, setup)

    facts.each([CORPUS(dataset=name) for name in chain.prepared], check)
    return facts.finished()


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


def _check_documents(facts: Comparison, path: str, name: str, documents: Prepared) -> None:
    """Counts and lengths of the documents are those of the file, and no id comes twice."""
    record, file = facts.chain.record(path), DOCUMENTS(dataset=name)
    twice = len(documents.ids) - len(pc.unique(documents.ids))
    facts.same(file, "ids that come twice", twice, 0, "what an id is")
    counts = part(record, "counts", kind=dict)
    facts.same(path, "counts / documents", counts.get("documents"), len(documents.ids), file)
    facts.same(path, "counts / characters", counts.get("characters"), int(documents.characters.sum()), file)
    facts.same(path, "counts / distinct_texts", counts.get("distinct_texts"), documents.texts, file)
    facts.same(path, "chunks", part(record, "chunks"), documents.chunks, file)
    facts.same(path, "characters", part(record, "characters"), length_statistics(documents.characters), file)
    facts.same(path, FOOTER, part(record, FOOTER), footer_digest(facts.chain.file(file)), file)


def _check_judgements(facts: Comparison, path: str, name: str, documents: Prepared) -> None:
    """Queries and judgements are sorted, come once, belong together, and are as many as the record says."""
    counts = part(facts.chain.record(path), "counts", kind=dict)
    queries_path, qrels_path = QUERIES(dataset=name), QRELS(dataset=name)
    queries = read_columns(facts.chain.file(queries_path), queries_path, ["query_id"])["query_id"].to_pylist()
    qrels = read_columns(facts.chain.file(qrels_path), qrels_path, ["query_id", "doc_id", "score"])
    pairs = list(zip(qrels["query_id"].to_pylist(), qrels["doc_id"].to_pylist(), strict=True))
    # Code points of Python sort as bytes of UTF-8 do.
    for where, rows in ((queries_path, queries), (qrels_path, pairs)):
        facts.same(where, "rows that are not in order, or come twice", sum(a >= b for a, b in _neighbours(rows)), 0, "their ids")
    facts.same(
        queries_path, "ids", sorted({query for query, _ in pairs}) == queries, True, f"{qrels_path}: other queries are judged"
    )
    there = set(documents.ids.filter(pc.is_in(documents.ids, pc.unique(qrels["doc_id"]).cast(pa.large_string()))).to_pylist())
    expected: dict[str, Any] = {
        "queries": len(queries),
        "judgements": len(pairs),
        "positives": pc.sum(pc.greater(qrels["score"], 0)).as_py() or 0,
        "judgements_without_document": sum(doc_id not in there for _, doc_id in pairs),
    }
    for key, value in expected.items():
        facts.same(path, f"counts / {key}", counts.get(key), value, qrels_path)


def _check_official(facts: Comparison, path: str, name: str, setup: Setup) -> None:
    """Only data of which the catalogue has digests can be the official ones."""
    record = facts.chain.record(path)
    known = {corpus.name: corpus for corpora in setup.catalogue.known_datasets.values() for corpus in corpora}.get(name)
    files, digests = (dict(known.files) if known else {}), part(record, "source_sha256", kind=dict)
    read = ("corpus.jsonl", "queries.jsonl", f"qrels/{part(record, 'split')}.tsv")
    same = all(digests.get(key) == digest for key, digest in files.items() if key in read)
    counts = known is None or known.queries in (None, record["counts"]["queries"])
    part_of = facts.chain.corpora[name].get("part_of")
    own = (facts.chain.corpora[name].get("form") or {}).get("kind") == SamplesForm.kind
    facts.same(path, OWN_CANDIDATES, record.get(OWN_CANDIDATES, False), own, MANIFEST)
    least = facts.chain.corpora[name].get(RELEVANT_FROM)
    facts.same(path, RELEVANT_FROM, record.get(RELEVANT_FROM), least, MANIFEST)
    qrels = read_columns(facts.chain.file(QRELS(dataset=name)), QRELS(dataset=name), ["score"])
    facts.same(QRELS(dataset=name), RELEVANT_FROM, relevant_from(qrels), least or 1, MANIFEST)
    expected = False if part_of or not (same and counts) else (True if files else None)
    facts.same(path, "official", part(record, "official"), expected, "the catalogue here")
    facts.same(path, "part_of", record.get("part_of"), part_of, MANIFEST)
    for key, fields in SAMPLES.items():
        said = {field: facts.chain.corpora[name].get(of_manifest) for field, of_manifest in fields.items()}
        sample = {field: (record.get(key) or {}).get(field) for field in said}
        facts.same(path, key, sample, said, MANIFEST)


def _neighbours(rows: list[Any]) -> Iterator[tuple[Any, Any]]:
    return pairwise(rows)
