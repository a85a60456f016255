"""Checks of approximate runs for an audit: every score is the exact product, and the counted exact hits follow from the runs.

The index itself is not opened, since faiss trusts what it reads. If the corpus is small, the documents found are compared with
those of an index built again from the stored vectors: one that left out rivals of relevant documents would pass all else.
"""

from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.approximate.build_index import trained_index
from beirflow.approximate.exact_share import count_exact
from beirflow.approximate.neighbours import find_neighbours, pairs_of
from beirflow.approximate.settings import ApproximateSettings
from beirflow.dense.compression import Compression
from beirflow.files.layout import CHUNK_VECTORS, CHUNK_VECTORS_RECORD, INDEX_RECORD, QUERY_VECTORS, RUN, RUN_RECORD
from beirflow.files.records import read_json
from beirflow.runs.compared_ranks import as_block, compare_ranks
from beirflow.runs.ranking import byte_order
from beirflow.runs.searched import excluded_rows
from beirflow.runs.spot_check import Finding, NotHereError, SpotCheck, Subject, draw

ROUNDING = 4 * 2.0**-24  # largest difference of two float32 scores, relative to the product of the lengths of the two vectors
MOST_DOCUMENTS = 20_000  # of a corpus whose index is built again: seconds to a minute, in one thread

SAME = 0.98
"""Least share of the found documents that an index built again finds; other processors and versions round in other places."""

SHORTEST = 1e-60  # length to divide by in place of 0


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the check that documents found for some queries are scored again with the stored vectors."""
    path = RUN(system=subject.system.name, dataset=subject.dataset)
    return [
        SpotCheck("documents found by an index have their exact scores", path, partial(_check_scores, subject, sample, random)),
        SpotCheck("an index built again finds the same documents", path, partial(_check_found, subject, sample, random)),
    ]


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of the exact hits that the record of a run counts, for all queries, and of the record of the index."""
    path = RUN_RECORD(system=subject.system.name, dataset=subject.dataset)
    settings: ApproximateSettings = subject.system.settings
    index = INDEX_RECORD(system=settings.approximate, dataset=subject.dataset, index=settings.built.name)
    return [
        SpotCheck("exact hits are those of the two runs", path, partial(_check_counts, subject)),
        SpotCheck("an index is what its name and its vectors say", index, partial(_check_index, subject, index)),
    ]


def _check_scores(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    """Compute the scores of the documents of some queries again, in float64."""
    settings: ApproximateSettings = subject.system.settings
    names = {"system": settings.approximate, "dataset": subject.dataset}
    index = subject.file(INDEX_RECORD(**names, index=settings.built.name))
    cosine = read_json(index)["similarity"] == "cosine"
    vectors = _read(subject, QUERY_VECTORS(**names))
    rows = draw(len(vectors), sample, random)
    query_ids = subject.queries()["query_id"].take(rows).to_pylist()
    queries = dict(zip(query_ids, _scaled(vectors[rows], cosine=cosine), strict=True))
    run = pq.read_table(
        subject.file(RUN(system=subject.system.name, dataset=subject.dataset)), filters=[("query_id", "in", query_ids)]
    )
    wanted = pa.array(sorted(set(run["doc_id"].to_pylist())), pa.string())
    doc_ids, places = subject.documents_among(wanted)
    parts = [_read(subject, CHUNK_VECTORS(**names, chunk=chunk))[place] for chunk, place in enumerate(places)]
    documents = dict(zip(doc_ids.to_pylist(), _scaled(np.concatenate(parts), cosine=cosine), strict=True))
    scores: dict[str, dict[str, float]] = {query_id: {} for query_id in query_ids}
    for row in run.select(["query_id", "doc_id"]).to_pylist():
        if row["doc_id"] in documents:
            score = np.float32(queries[row["query_id"]] @ documents[row["doc_id"]])
            scores[row["query_id"]][row["doc_id"]] = float(score)
    longest = max((float(np.linalg.norm(vector)) for vector in documents.values()), default=0.0)
    lengths = np.array([np.linalg.norm(queries[query_id]) for query_id in query_ids])
    expected = "the products of the stored vectors, ranked"
    return compare_ranks(subject, query_ids, [as_block(list(scores.values()))], lambda: ROUNDING * lengths * longest, expected)


def _check_found(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    """Build the index again, and search some queries; raise NotHereError if that takes long or decides nothing."""
    settings: ApproximateSettings = subject.system.settings
    names = {"system": settings.approximate, "dataset": subject.dataset}
    doc_ids = pa.concat_arrays([subject.doc_ids(chunk) for chunk in range(subject.chunks)])
    unknown = f"which documents the index of {subject.name} finds was not compared"
    if len(doc_ids) > MOST_DOCUMENTS or settings.built.build_threads != 1:
        raise NotHereError(f"{unknown}: only for {MOST_DOCUMENTS:,} documents and one thread is it built again")
    cosine = read_json(subject.file(INDEX_RECORD(**names, index=settings.built.name)))["similarity"] == "cosine"
    vectors = np.concatenate([_read(subject, CHUNK_VECTORS(**names, chunk=chunk)) for chunk in range(subject.chunks)])
    queries = _read(subject, QUERY_VECTORS(**names))
    rows = draw(len(queries), sample, random)
    query_ids = subject.queries()["query_id"].combine_chunks().take(pa.array(rows))
    excluded = excluded_rows(subject.queries(), doc_ids, drop_self_matches=subject.drop_self_matches)
    index = trained_index(settings.built, Compression("float32", None, cosine).shortened(vectors))
    candidates = subject.top_k * settings.rescore
    wanted = candidates + int((excluded >= 0).sum(axis=1).max())
    neighbours = find_neighbours(index, np.array(queries[rows]), wanted, settings, cosine=cosine, threads=1)
    query, row = pairs_of(neighbours, excluded[rows], candidates)
    if settings.rescore > 1:
        scores = (_scaled(queries[rows], cosine=cosine)[query] * _scaled(vectors, cosine=cosine)[row]).sum(axis=1)
        best = np.lexsort((-byte_order(doc_ids)[row], -scores.astype(np.float32), query))
        places = np.arange(len(best)) - np.searchsorted(query[best], query[best])
        query, row = (each[best][places < subject.top_k] for each in (query, row))
    again = set(zip(query_ids.take(pa.array(query)).to_pylist(), doc_ids.take(pa.array(row)).to_pylist(), strict=True))
    run = pq.read_table(subject.file(RUN(system=settings.name, dataset=subject.dataset)), columns=["query_id", "doc_id"])
    run = run.filter(pc.is_in(run["query_id"], value_set=query_ids))
    stored = set(zip(*(run[name].to_pylist() for name in ("query_id", "doc_id")), strict=True))
    same = len(again & stored) / max(1, len(again | stored))
    compared = f"{subject.name}: {len(again & stored)} of {len(again | stored)} documents of {len(rows)} queries"
    if SAME <= same < 1:
        raise NotHereError(f"{unknown}: an index built again has in common {compared}, as after other rounding")
    return Finding(same == 1, compared, "all that either finds")


def _check_counts(subject: Subject) -> Finding:
    """Count the exact hits of the two runs again."""
    settings: ApproximateSettings = subject.system.settings
    names = (settings.approximate, settings.name)
    exact, run = (pq.read_table(subject.file(RUN(system=name, dataset=subject.dataset))) for name in names)
    record = read_json(subject.file(RUN_RECORD(system=settings.name, dataset=subject.dataset)))
    counted = count_exact(exact, run, subject.top_k) | {"incomplete_queries": _incomplete(subject, run)}
    recorded = {key: record["counts"].get(key) for key in counted}
    return Finding(recorded == counted, f"{subject.name}: {_in_words(recorded)}", _in_words(counted))


def _incomplete(subject: Subject, run: pa.Table) -> int:
    """Count the queries that have fewer documents than they could have."""
    query_ids = subject.queries()["query_id"].combine_chunks()
    hits, chunks = dict.fromkeys(query_ids.to_pylist(), 0), [subject.doc_ids(chunk) for chunk in range(subject.chunks)]
    hits |= {row["values"]: row["counts"] for row in run["query_id"].combine_chunks().value_counts().to_pylist()}
    excluded = excluded_rows(subject.queries(), pa.concat_arrays(chunks), drop_self_matches=subject.drop_self_matches)
    dropped = dict(zip(query_ids.to_pylist(), (excluded >= 0).sum(axis=1).tolist(), strict=True))
    documents = sum(map(len, chunks))
    return sum(count < min(subject.top_k, documents - dropped[query]) for query, count in hits.items())


def _check_index(subject: Subject, path: str) -> Finding:
    """Compare the record of the index with the settings and the records of the vectors."""
    settings: ApproximateSettings = subject.system.settings
    names = {"system": settings.approximate, "dataset": subject.dataset}
    vectors = [read_json(subject.file(CHUNK_VECTORS_RECORD(**names, chunk=chunk))) for chunk in range(subject.chunks)]
    record = read_json(subject.file(path))
    run = read_json(subject.file(RUN_RECORD(system=settings.name, dataset=subject.dataset)))
    expected = {
        "built": asdict(settings.built),
        "rows": sum(each["rows"] for each in vectors),
        "dim": vectors[0]["dim"],
        "reproducible": settings.built.build_threads == 1,
        "reproducible run": settings.built.build_threads == 1,
        "bytes": record["counts"].get("approximate_index_bytes"),
    }
    stated = {key: record.get(key) for key in ("built", "rows", "dim", "reproducible")}
    stated |= {"reproducible run": run.get("reproducible"), "bytes": record["bytes"].get("index")}
    return Finding(stated == expected, f"{path}: {_in_words(stated)}", _in_words(expected))


def _in_words(counts: dict[str, Any]) -> str:
    return ", ".join(f"{key} {count}" for key, count in counts.items())


def _read(subject: Subject, path: str) -> np.ndarray:
    """Return the vectors of a file, float32 of shape (n, dim)."""
    array: np.ndarray = np.load(subject.file(path), mmap_mode="r", allow_pickle=False)
    if array.ndim != 2 or array.dtype != np.float32:
        raise ValueError(f"{path} holds {array.dtype} of shape {array.shape}")
    return array


def _scaled(vectors: np.ndarray, *, cosine: bool) -> np.ndarray:
    """Return vectors in float64; for the cosine as a search rounds them, to length 1 in float32."""
    exact = np.asarray(vectors).astype(np.float64)
    if not cosine:
        return exact
    exact /= np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), SHORTEST)
    return exact.astype(np.float32).astype(np.float64)
