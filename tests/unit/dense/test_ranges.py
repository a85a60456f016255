"""The ranges of a corpus are the least and the largest value of each dimension, however it is chunked."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beir_writer import write_corpus_record
from beirflow.dense import ranges as module
from beirflow.dense.ranges import find_ranges, read_ranges
from beirflow.files.digests import file_digest
from beirflow.files.errors import ConfigError, DataError
from beirflow.files.records import Job, read_json, write_json, write_record
from pairs import pairs

VECTORS = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)


def arguments(folder: Path, bounds: list[int], **changes: Any) -> dict[str, Any]:
    """Arguments to find the ranges of vectors that are in one file or more."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"doc_id": [f"d{i}" for i in range(50)]}), folder / "documents.parquet")
    pq.write_table(pa.table({"query_id": ["q"]}), folder / "queries.parquet")
    write_corpus_record(folder)
    write_json(folder / "model.json", {})
    paths = []
    for number, rows in enumerate(np.split(VECTORS, bounds)):
        paths.append(str(folder / f"chunk-{number}.npy"))
        np.save(paths[-1], rows)
        inputs = {folder / name: file_digest(folder / name) for name in ("model.json", "documents.parquet")}
        outputs = {Path(paths[-1]): file_digest(paths[-1])}
        made = {"precision": "float32"}
        record = Path(paths[-1]).with_suffix(".json")
        write_record(record, Job(folder), inputs=inputs, outputs=outputs, made=made, system="toy", rows=len(rows))
    return {
        "system": "toy",
        "documents_path": str(folder / "documents.parquet"),
        "model_path": str(folder / "model.json"),
        "chunk_vectors_paths": paths,
        "output_path": str(folder / "ranges-all.npy"),
        "similarity": "dot",
        "dimensions": None,
        "job": Job(folder, "find_ranges/toy", "c0de"),
    } | changes


@pytest.mark.parametrize(
    ("bounds", "dimensions", "similarity"), pairs([[], [10, 30], [0, 1, 49, 50]], [None, 1, 6], ["dot", "cosine"])
)
def test_chunks_and_blocks_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bounds: list[int], dimensions: int | None, similarity: str
) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 7 * 6 * 4)
    find_ranges(**arguments(tmp_path, bounds, dimensions=dimensions, similarity=similarity))
    kept = VECTORS[:, :dimensions].astype(np.float64)
    if similarity == "cosine":
        kept /= np.sqrt((kept**2).sum(axis=1, keepdims=True))
    found = read_ranges(str(tmp_path / "ranges-all.npy"), {}, system="toy", similarity=similarity)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.stack([kept.min(axis=0), kept.max(axis=0)]).astype(np.float32))


def test_the_record_names_every_file_that_was_read(tmp_path: Path) -> None:
    find_ranges(**arguments(tmp_path, [10, 30]))
    record = read_json(tmp_path / "ranges-all.json")
    read = ["documents.parquet", "model.json", *(f"chunk-{i}.{kind}" for i in range(3) for kind in ("npy", "json"))]
    assert record["inputs"] == {name: file_digest(tmp_path / name) for name in read}
    assert record["outputs"] == {"ranges-all.npy": file_digest(tmp_path / "ranges-all.npy")}
    assert (record["made"], record["job"], record["code"]) == ({"precision": "float32"}, "find_ranges/toy", "c0de")
    assert record["bytes"]["index"] == (tmp_path / "ranges-all.npy").stat().st_size


def test_vectors_of_another_system_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="made from the system toy, but other is used here"):
        find_ranges(**arguments(tmp_path, [], system="other"))


def test_vectors_that_changed_are_refused(tmp_path: Path) -> None:
    made = arguments(tmp_path, [])
    np.save(tmp_path / "chunk-0.npy", VECTORS + 1)
    with pytest.raises(DataError, match=r"chunk-0\.npy"):
        find_ranges(**made)


def test_more_dimensions_than_there_are_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="dimensions: found 7, but the vectors have 6"):
        find_ranges(**arguments(tmp_path, [], dimensions=7))
    assert not (tmp_path / "ranges-all.npy").exists()
