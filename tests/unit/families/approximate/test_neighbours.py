"""Neighbours in an index: pairs, and indexes that do not fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beirflow.core.errors import DataError
from beirflow.families.approximate.build_index import trained_index
from beirflow.families.approximate.neighbours import find_neighbours, pairs_of, read_index
from beirflow.families.approximate.settings import ApproximateSettings

faiss: Any = pytest.importorskip("faiss")

SETTINGS = ApproximateSettings("own", "dense", "ivf-flat", nlist=12, nprobe=3)
RNG = np.random.default_rng(4)
VECTORS = RNG.standard_normal((500, 8)).astype(np.float32)
QUERIES = RNG.standard_normal((300, 8)).astype(np.float32)


def test_a_query_alone_finds_what_it_finds_among_others() -> None:
    index, before = trained_index(SETTINGS, VECTORS), faiss.cvar.distance_compute_blas_threshold
    together = find_neighbours(index, QUERIES, 20, SETTINGS, cosine=False, threads=2)
    alone = [find_neighbours(index, query[None], 20, SETTINGS, cosine=False, threads=1)[0] for query in QUERIES]
    np.testing.assert_array_equal(together, alone)
    assert faiss.cvar.distance_compute_blas_threshold == before


def test_signs_find_the_documents_with_the_fewest_other_signs() -> None:
    """The bits are those of sentence-transformers' ``quantize_embeddings``; which of equally many come first is faiss's."""
    from sentence_transformers.util.quantization import quantize_embeddings

    settings = ApproximateSettings("own", "dense", "binary", rescore=4)
    vectors, queries = (RNG.standard_normal((n, 64)).astype(np.float32) for n in (500, 30))
    rows = find_neighbours(trained_index(settings, vectors), queries, 40, settings, cosine=True, threads=2)
    packed = [quantize_embeddings(each, "ubinary") for each in (queries, vectors)]
    other = np.unpackbits(packed[0][:, None] ^ packed[1][None], axis=2).sum(axis=2)
    np.testing.assert_array_equal(np.take_along_axis(other, rows, 1), np.sort(other, axis=1)[:, :40])
    alone = [
        find_neighbours(trained_index(settings, vectors), query[None], 40, settings, cosine=True, threads=1)[0]
        for query in queries
    ]
    np.testing.assert_array_equal(rows, alone)


def test_pairs_leave_out_what_was_not_found_and_the_excluded_row() -> None:
    rows = np.array([[4, -1, 2, 3], [2, 7, 4, 9], [-1, -1, -1, -1]])
    query, row = pairs_of(rows, np.array([-1, 7, 3]), 2)
    assert (query.tolist(), row.tolist()) == ([0, 0, 1, 1], [4, 2, 2, 4])
    query, row = pairs_of(rows, np.array([[4, 3], [-1, -1], [1, -1]]), 2)
    assert (query.tolist(), row.tolist()) == ([0, 1, 1], [2, 2, 7])


def test_queries_of_other_dimensions_and_indexes_of_other_documents_are_refused(tmp_path: Path) -> None:
    index = trained_index(SETTINGS, VECTORS)
    with pytest.raises(DataError, match="the queries' vectors have 5 dimensions, the documents' 8"):
        find_neighbours(index, QUERIES[:, :5], 3, SETTINGS, cosine=False, threads=1)
    path = str(tmp_path / "own.faiss")
    faiss.write_index(index, path)
    assert read_index(path, 500).ntotal == 500
    with pytest.raises(DataError, match="found an index of 500 documents, expected 501"):
        read_index(path, 501)
