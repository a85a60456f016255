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

from beirflow.core.layout import CHUNK_VECTORS, CHUNK_VECTORS_RECORD, INDEX_RECORD, QUERY_VECTORS, RUN, RUN_RECORD
from beirflow.core.records import read_json
from beirflow.families.approximate.build_index import trained_index
from beirflow.families.approximate.exact_share import count_exact
from beirflow.families.approximate.neighbours import find_neighbours, pairs_of
from beirflow.families.approximate.settings import ApproximateSettings
from beirflow.families.dense.compression import Compression
from beirflow.families.dense.run_check import read_vectors, rounding, scaled
from beirflow.families.spot_checks.compared_ranks import compare_ranks
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, SpotCheck, Subject, draw, places_in
from beirflow.ranking.ranking import byte_order
from beirflow.ranking.searched import excluded_rows

MOST_DOCUMENTS = 20_000  # of a corpus whose index is built again: seconds to a minute, in one thread

SAME = 0.98
"""Least share of the found documents that an index built again finds; other processors and versions round in other places."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the check that an index is built again and finds the same documents."""
    path = RUN(system=subject.system.name, dataset=subject.dataset)
    return [
        SpotCheck("an index built again finds the same documents", path, partial(_check_found, subject, sample, random)),
    ]


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of scores, of the exact hits that the record of a run counts, and of the record of the index."""
    path, run = (pattern(system=subject.system.name, dataset=subject.dataset) for pattern in (RUN_RECORD, RUN))
    settings: ApproximateSettings = subject.system.settings
    index = INDEX_RECORD(system=settings.approximate, dataset=subject.dataset, index=settings.built.name)
    return [
        SpotCheck("documents found by an index have their exact scores", run, partial(_check_scores, subject, sample, random)),
        SpotCheck("exact hits are those of the two runs", path, partial(_check_counts, subject)),
        SpotCheck("an index is what its name and its vectors say", index, partial(_check_index, subject, index)),
    ]


def _check_scores(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    """Compute the scores of the documents of some queries again, in float64."""
    settings: ApproximateSettings = subject.system.settings
    names = {"system": settings.approximate, "dataset": subject.dataset}
    cosine = read_json(subject.file(INDEX_RECORD(**names, index=settings.built.name)))["similarity"] == "cosine"
    vectors = read_vectors(subject, QUERY_VECTORS(**names))
    rows = draw(len(vectors), sample, random)
    query_ids = subject.queries["query_id"].combine_chunks().take(pa.array(rows))
    run = subject.run.filter(pc.field("query_id").isin(query_ids))
    doc_ids, places = subject.documents_among(pc.unique(run["doc_id"].combine_chunks()))
    parts = [read_vectors(subject, CHUNK_VECTORS(**names, chunk=chunk))[place] for chunk, place in enumerate(places)]
    queries, documents = scaled(vectors[rows], cosine=cosine), np.concatenate(parts)
    query, document = places_in(run, "query_id", query_ids, doc_ids)
    scores, longest, largest = np.full((len(rows), len(doc_ids)), -np.inf), [0.0], [0.0]
    for number, vector in enumerate(queries):
        own = document[(query == number) & (document >= 0)]
        found = scaled(documents[own], cosine=cosine)
        scores[number, own] = found @ vector
        longest.append(float(np.linalg.norm(found, axis=1).max(initial=0.0)))
        largest.append(float(np.abs(found).max(initial=0.0)))
    slack = rounding(queries, max(longest), max(largest), cosine=cosine)
    expected = "the products of the stored vectors, ranked"
    return compare_ranks(subject, query_ids.to_pylist(), [(doc_ids, scores)], lambda: slack, expected)


def _check_found(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    """Build the index again, and search some queries; raise NotHereError if that takes long or decides nothing."""
    settings: ApproximateSettings = subject.system.settings
    names = {"system": settings.approximate, "dataset": subject.dataset}
    doc_ids = pa.concat_arrays([subject.doc_ids(chunk) for chunk in range(subject.chunks)])
    unknown = f"which documents the index of {subject.name} finds was not compared"
    if len(doc_ids) > MOST_DOCUMENTS or settings.built.build_threads != 1:
        raise NotHereError(f"{unknown}: only for {MOST_DOCUMENTS:,} documents and one thread is it built again")
    cosine = read_json(subject.file(INDEX_RECORD(**names, index=settings.built.name)))["similarity"] == "cosine"
    vectors = np.concatenate([read_vectors(subject, CHUNK_VECTORS(**names, chunk=chunk)) for chunk in range(subject.chunks)])
    queries = read_vectors(subject, QUERY_VECTORS(**names))
    rows = draw(len(queries), sample, random)
    query_ids = subject.queries["query_id"].combine_chunks().take(pa.array(rows))
    excluded = excluded_rows(subject.queries, doc_ids, drop_self_matches=subject.drop_self_matches)
    index = trained_index(settings.built, Compression("float32", None, cosine).shortened(vectors))
    candidates = subject.top_k * settings.rescore
    wanted = candidates + int((excluded >= 0).sum(axis=1).max())
    neighbours = find_neighbours(index, np.array(queries[rows]), wanted, settings, cosine=cosine, threads=1)
    query, row = pairs_of(neighbours, excluded[rows], candidates)
    if settings.rescore > 1:
        scores = (scaled(queries[rows], cosine=cosine)[query] * scaled(vectors, cosine=cosine)[row]).sum(axis=1)
        best = np.lexsort((-byte_order(doc_ids)[row], -scores.astype(np.float32), query))
        places = np.arange(len(best)) - np.searchsorted(query[best], query[best])
        query, row = (each[best][places < subject.top_k] for each in (query, row))
    again = set(zip(query_ids.take(pa.array(query)).to_pylist(), doc_ids.take(pa.array(row)).to_pylist(), strict=True))
    run = subject.run.filter(pc.field("query_id").isin(query_ids))
    stored = set(zip(*(run[name].to_pylist() for name in ("query_id", "doc_id")), strict=True))
    both, either = len(again & stored), len(again | stored)
    compared = f"{subject.name}: {both} of {either} documents of {len(rows)} queries"
    if SAME * either <= both < either:
        raise NotHereError(f"{unknown}: an index built again has in common {compared}, as after other rounding")
    return Finding(both == either, compared, "all that either finds")


def _check_counts(subject: Subject) -> Finding:
    """Count the exact hits of the two runs again."""
    settings: ApproximateSettings = subject.system.settings
    exact, run = pq.read_table(subject.file(RUN(system=settings.approximate, dataset=subject.dataset))), subject.run
    record = read_json(subject.file(RUN_RECORD(system=settings.name, dataset=subject.dataset)))
    counted = count_exact(exact, run, subject.top_k) | {"incomplete_queries": _incomplete(subject, run)}
    recorded = {key: record["counts"].get(key) for key in counted}
    return Finding(recorded == counted, f"{subject.name}: {_in_words(recorded)}", _in_words(counted))


def _incomplete(subject: Subject, run: pa.Table) -> int:
    """Count the queries that have fewer documents than they could have."""
    query_ids = subject.queries["query_id"].combine_chunks()
    hits, chunks = dict.fromkeys(query_ids.to_pylist(), 0), [subject.doc_ids(chunk) for chunk in range(subject.chunks)]
    hits |= {row["values"]: row["counts"] for row in run["query_id"].combine_chunks().value_counts().to_pylist()}
    excluded = excluded_rows(subject.queries, pa.concat_arrays(chunks), drop_self_matches=subject.drop_self_matches)
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
