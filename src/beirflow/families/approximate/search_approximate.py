"""Search an approximate index: a run with exact scores, compared with the exact run of the dense system."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from beirflow.core.artifact import Made, step
from beirflow.core.records import together, totals
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.approximate.exact_share import count_exact
from beirflow.families.approximate.neighbours import find_neighbours, pairs_of, read_index
from beirflow.families.approximate.settings import ApproximateSettings, IndexFile
from beirflow.families.dense.top_k import exact_of_pairs
from beirflow.families.dense.vectors import VectorFiles, Vectors, read_vectors, similarity_of
from beirflow.families.first_stages import FirstRun
from beirflow.models.model_record import ModelRecord
from beirflow.ranking.candidates import sources_of
from beirflow.ranking.ranking import Cut, byte_order, rank_hits
from beirflow.ranking.run_file import RUN, Run
from beirflow.ranking.searched import Retrieval, check_precision, excluded_rows, read_every_id


@dataclass(frozen=True)
class Searched:
    """The files that a search reads."""

    model: ModelRecord
    query_vectors: Vectors
    chunk_vectors: Sequence[Vectors]  # of chunk 0, 1, …
    index: IndexFile
    exact_run: FirstRun  # of the dense system


@dataclass(frozen=True)
class MadeRun:
    """Fields of the record of the run."""

    system: str
    dataset: str  # name of the corpus
    run_settings: Mapping[str, Any]  # those that determine it


@step(Run, stage="search", ancestors=None)
def search_approximate(
    queries: Queries,
    documents: Documents,
    searched: Searched,
    settings: ApproximateSettings,
    run: MadeRun,
    retrieval: Retrieval,
    similarity: str | None,
    threads: int = 1,
) -> Made:
    """Search all queries, and score the documents that are found exactly.

    A self match is dropped before the cut. ``similarity`` is ``dot`` or ``cosine``; None for what the record of the model says.
    Raises DataError for vectors of several precisions, an index with other settings, or an exact run of another length.
    """
    torch.set_num_threads(threads)
    vectors, top_k = [searched.query_vectors, *searched.chunk_vectors], retrieval.top_k
    check_precision(vectors, "encode")
    similarity = similarity_of(similarity, searched.model.path)
    _check(searched, settings, similarity, top_k)
    query_table = queries.read()
    query_ids = query_table["query_id"].combine_chunks()
    doc_ids, sizes = read_every_id(str(documents.path))
    excluded = excluded_rows(query_table, doc_ids, drop_self_matches=retrieval.drop_self_matches)
    left_out = (excluded >= 0).sum(axis=1)
    of_queries = np.array(read_vectors(searched.query_vectors.path, len(query_ids)))
    index = read_index(str(searched.index.path), len(doc_ids))
    start = time.perf_counter()
    candidates = top_k * settings.rescore
    wanted = candidates + int(left_out.max())  # each document that is left out may take a place
    rows = find_neighbours(index, of_queries, wanted, settings, cosine=similarity == "cosine", threads=threads)
    # The products of the stored vectors, as in exact search; on the CPU, like the index: the job holds no GPU.
    stored = VectorFiles([each.path for each in searched.chunk_vectors], sizes)
    cut, cpu = Cut(top_k, byte_order(doc_ids), excluded), torch.device("cpu")
    pairs = pairs_of(rows, excluded, candidates)
    found = exact_of_pairs(of_queries, stored, pairs, cut, similarity=similarity, device=cpu)
    hits = rank_hits([found], doc_ids, top_k)
    seconds = time.perf_counter() - start
    columns = (query_ids.take(pa.array(hits[0])), doc_ids.take(pa.array(hits[1])), *hits[2:])
    possible = np.minimum(len(doc_ids) - left_out, top_k)
    records = [*sources_of([*vectors, searched.index]).values()]
    return Made(
        [columns],
        made=together(record["made"] for record in records),
        seconds={**totals(records, "seconds"), "search": seconds},
        sizes=totals(records, "bytes"),
        counts={
            **totals(records, "counts"),
            "self_matches_dropped": int(left_out.sum()),
            "incomplete_queries": int((np.bincount(hits[0], minlength=len(query_ids)) < possible).sum()),
            **count_exact(searched.exact_run.read(), pa.table(list(columns), schema=RUN), top_k),
        },
        reproducible=searched.index.record["reproducible"],
        jobs=sorted({record["job"] for record in records}),
        system=run.system,
        dataset=run.dataset,
        top_k=top_k,
        settings=run.run_settings,
    )


def _check(searched: Searched, settings: ApproximateSettings, similarity: str, top_k: int) -> None:
    """Raise DataError unless index and vectors are those of the settings, and the exact run is as long as the new one."""
    facts = {"system": settings.approximate, "similarity": similarity, "built": settings.built}
    for each in (searched.index, searched.exact_run, searched.query_vectors, *searched.chunk_vectors):
        for name in facts.keys() & each.record.keys():
            if (found := each.record[name]) != facts[name]:
                raise damaged(each.record_path, f"it was made from the {name} {found}, but {facts[name]} is used here")
    if (kept := searched.exact_run.record["top_k"]) != top_k:
        raise damaged(searched.exact_run.record_path, f"it keeps {kept} documents of a query, expected {top_k}")
