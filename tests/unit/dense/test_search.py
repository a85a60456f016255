"""A chunk is searched in the vectors that were recorded, and its candidates say in which."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beir_writer import write_corpus_record
from beirflow.dense import search
from beirflow.dense.ranges import find_ranges
from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import Job, read_json, write_json, write_record
from beirflow.runs.candidates import read_candidates
from by_name import call


@pytest.fixture
def chunk(tmp_path: Path) -> dict[str, Any]:
    """Arguments to search the second of two chunks; d4, which is also a query, stands in it, d1 does not."""
    ids, query_ids = [f"d{i}" for i in range(8)], ["d1", "d4", "q"]
    pq.write_table(pa.table({"query_id": query_ids}), tmp_path / "queries.parquet")
    pq.write_table(pa.table({"doc_id": ids}), tmp_path / "documents.parquet", row_group_size=3)
    write_corpus_record(tmp_path)
    write_json(tmp_path / "model.json", {})
    for name, vectors in (("queries", np.ones((3, 4))), ("chunk", np.ones((3, 4)) * [[1], [3], [2]])):
        store(tmp_path / f"{name}.npy", vectors)
    return {
        "system": "toy",
        "model_path": str(tmp_path / "model.json"),
        "queries_path": str(tmp_path / "queries.parquet"),
        "documents_path": str(tmp_path / "documents.parquet"),
        "chunk": 1,
        "query_vectors_path": str(tmp_path / "queries.npy"),
        "chunk_vectors_path": str(tmp_path / "chunk.npy"),
        "output_path": str(tmp_path / "candidates.npz"),
        "similarity": "dot",
        "top_k": 2,
        "drop_self_matches": True,
        "job": Job(tmp_path, "search_chunk/toy", "c0de"),
        "device": "cpu",
        "threads": 1,
    }


SOURCES = {"queries.npy": "queries.parquet", "chunk.npy": "documents.parquet"}


def store(path: Path, vectors: np.ndarray) -> None:
    np.save(path, vectors.astype(np.float32))
    inputs = {path.with_name(name): file_digest(path.with_name(name)) for name in ("model.json", SOURCES[path.name])}
    write_record(
        path.with_suffix(".json"),
        Job(path.parent, f"encode/{path.stem}"),
        inputs=inputs,
        outputs={path: file_digest(path)},
        made={"precision": "float32", "device": "cpu"},
        seconds={"load": 1.0},
        sizes={"index": path.stat().st_size},
        counts={"tokens": 5},
        system="toy",
        rows=len(vectors),
    )


@pytest.mark.parametrize(("drop", "dropped", "of_d4"), [(True, 1, [(2, 8.0), (0, 4.0)]), (False, 0, [(1, 12.0), (2, 8.0)])])
def test_self_matches_are_dropped_before_the_cut_and_counted(
    chunk: dict[str, Any], drop: bool, dropped: int, of_d4: list[tuple[int, float]]
) -> None:
    call(search.search_chunk, **chunk | {"drop_self_matches": drop})
    found, _ = read_candidates(chunk["output_path"])
    hits = list(zip(found.query.tolist(), found.row.tolist(), found.score.tolist(), strict=True))
    assert found.self_matches == dropped
    others = [(1, 12.0), (2, 8.0)]
    assert hits == [(q, *hit) for q, of_query in enumerate([others, of_d4, others]) for hit in of_query]


def test_candidates_say_what_they_were_found_in_by_which_job(chunk: dict[str, Any], tmp_path: Path) -> None:
    call(search.search_chunk, **chunk)
    _, found = read_candidates(chunk["output_path"])
    assert (found.system, found.chunk, found.top_k, found.made) == ("toy", 1, 2, {})
    assert (found.job, found.code) == ("search_chunk/toy", "c0de")
    assert 0 < found.seconds < 60
    read = ["model.json", "queries.parquet", "documents.parquet", "queries.npy", "queries.json", "chunk.npy", "chunk.json"]
    assert found.inputs == {name: file_digest(tmp_path / name) for name in read}
    shared = {"made": {"precision": "float32", "device": "cpu"}, "seconds": {"load": 1.0}, "counts": {"tokens": 5}}
    assert found.sources == {
        f"{name}.json": {**shared, "bytes": {"index": (tmp_path / f"{name}.npy").stat().st_size}, "job": f"encode/{name}"}
        for name in ("queries", "chunk")
    }


CHANGES: dict[str, dict[str, Any]] = {
    "system": {"system": "other"},
    "model": {"inputs": {"model.json": "0" * 64}},
    "corpus": {"inputs": {"documents.parquet": "0" * 64}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_vectors_that_were_made_from_something_else_are_refused_by_name(
    chunk: dict[str, Any], tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "chunk.json"
    record = read_json(path)
    write_json(path, record | change | {"inputs": record["inputs"] | change.get("inputs", {})})
    with pytest.raises(DataError) as caught:
        call(search.search_chunk, **chunk)
    assert str(caught.value).startswith(f"{path}: it was made from the ")
    assert str(caught.value).endswith(f"rm {path}")
    assert not Path(chunk["output_path"]).exists()


def test_queries_and_documents_of_two_precisions_are_refused(chunk: dict[str, Any], tmp_path: Path) -> None:
    record = read_json(tmp_path / "chunk.json")
    write_json(tmp_path / "chunk.json", record | {"made": {**record["made"], "precision": "bfloat16"}})
    with pytest.raises(DataError) as caught:
        call(search.search_chunk, **chunk)
    paths = f"{tmp_path / 'chunk.npy'} has precision bfloat16, but {tmp_path / 'queries.npy'} has float32; "
    assert str(caught.value).startswith(paths)
    assert str(caught.value).endswith(f"set one precision in the configuration, or remove one and encode again: rm {tmp_path}/*")
    assert not Path(chunk["output_path"]).exists()


def a_variant(chunk: dict[str, Any], **how: Any) -> dict[str, Any]:
    """Arguments to search the same vectors as a variant, with the ranges of the chunk."""
    folder = Path(chunk["output_path"]).parent
    ranges = {**chunk, "chunk_vectors_paths": [chunk["chunk_vectors_path"]], "output_path": str(folder / "ranges-all.npy")}
    names = ("system", "documents_path", "model_path", "chunk_vectors_paths", "output_path", "similarity", "job")
    find_ranges(**{name: ranges[name] for name in names}, dimensions=None)
    return chunk | {"system": "small", "variant_of": "toy", "vectors": "int8", "ranges_path": ranges["output_path"]} | how


def test_a_variant_searches_the_vectors_of_another_system_compressed(chunk: dict[str, Any], tmp_path: Path) -> None:
    """Of each dimension 1 is the least value, -128, and 3 the largest, 127; 2 lies in step 127 of 0 to 255."""
    call(search.search_chunk, **a_variant(chunk))
    hits, found = read_candidates(chunk["output_path"])
    assert (found.system, found.made) == ("small", {"vectors": "int8", "dimensions": "4"})
    assert set(found.inputs) > {"ranges-all.npy", "ranges-all.json", "chunk.npy", "chunk.json", "queries.npy", "model.json"}
    sizes = {name: source["bytes"] for name, source in found.sources.items()}
    assert sizes["chunk.json"] == {"index": 3 * 4}
    assert sizes["queries.json"] == {"queries": 3 * 4}
    assert sizes["ranges-all.json"] == {"index": (tmp_path / "ranges-all.npy").stat().st_size}
    of_q = hits.query == 2
    assert list(zip(hits.row[of_q].tolist(), hits.score[of_q].tolist(), strict=True)) == [(0, 4.0 * 128 * 128), (2, 4.0 * 128)]


def test_ranges_of_other_vectors_are_refused(chunk: dict[str, Any], tmp_path: Path) -> None:
    arguments = a_variant(chunk)
    store(tmp_path / "chunk.npy", np.ones((3, 4)) * [[1], [4], [2]])
    with pytest.raises(DataError) as caught:
        call(search.search_chunk, **arguments)
    assert str(caught.value).startswith(f"{tmp_path / 'ranges-all.json'}: it was made from the chunk.npy ")


def test_ranges_for_another_similarity_are_refused(chunk: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="it was made from the similarity dot, but cosine is used here"):
        call(search.search_chunk, **a_variant(chunk) | {"similarity": "cosine"})


def test_vectors_of_another_system_than_the_variant_names_are_refused(chunk: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="it was made from the system toy, but other is used here"):
        call(search.search_chunk, **a_variant(chunk, variant_of="other"))


def flip_one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_damaged_ranges_are_refused(chunk: dict[str, Any], tmp_path: Path) -> None:
    arguments = a_variant(chunk)
    flip_one_bit(tmp_path / "ranges-all.npy")
    with pytest.raises(DataError, match=r"ranges-all\.npy: .*rm .*ranges-all\.npy"):
        call(search.search_chunk, **arguments)


@pytest.mark.parametrize("name", ["queries.npy", "chunk.npy"])
@pytest.mark.parametrize("damage", [flip_one_bit, cut_in_half, lambda path: store(path, np.ones((2, 4)))])
def test_damaged_vectors_are_refused_with_the_command_that_helps(
    chunk: dict[str, Any], tmp_path: Path, damage: Any, name: str
) -> None:
    damage(tmp_path / name)
    with pytest.raises(DataError) as caught:
        call(search.search_chunk, **chunk)
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert str(caught.value).endswith(f"rm {tmp_path / name}")
    assert not Path(chunk["output_path"]).exists()
