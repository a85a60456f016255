"""Variants of a system: its vectors, encoded once, are compressed, searched and priced."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from beirflow.families.dense.compression import Compression
from workflow_runs import Workflow

VARIANTS = {
    "bytes": {"variant_of": "tiny", "vectors": "int8", "dimensions": 20},
    "bits": {"variant_of": "tiny", "vectors": "binary"},
}
GOALS = ("results/summary.csv", "results/cost.csv")


@pytest.fixture(scope="module")
def varied(finished_once: tuple[Workflow, str], tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The finished run, with variants of its system; not to be changed."""
    workflow = finished_once[0].copied(tmp_path_factory.mktemp("varied") / "varied")
    workflow.config["custom"]["systems"] |= VARIANTS
    workflow.config["systems"] = ["tiny", *VARIANTS]
    planned = workflow.planned(*GOALS)
    assert planned.keys() & {"encode_chunk", "encode_queries", "fetch_model"} == set()
    assert planned["find_ranges"] == 1
    workflow.run(*GOALS)
    return workflow


def stored(folder: Path, name: str, ranges: np.ndarray | None = None) -> np.ndarray:
    """Give the vectors that a variant of ``tiny``, whose similarity is the dot product, stores of a file of vectors."""
    how = VARIANTS[name]
    compression = Compression(str(how.get("vectors", "float32")), how.get("dimensions"), False, ranges)  # type: ignore[arg-type]
    return compression.compressed(np.load(folder))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_run_of_a_variant_is_that_of_brute_force_over_what_is_stored(varied: Workflow, name: str) -> None:
    folder = varied.result("embeddings/tiny/small")
    chunks = [folder / f"chunk-{chunk}.npy" for chunk in range(3)]
    whole = np.concatenate([np.load(chunk) for chunk in chunks])[:, : VARIANTS[name].get("dimensions")]  # type: ignore[misc]
    ranges = np.stack([whole.min(axis=0), whole.max(axis=0)])
    queries = stored(folder / "queries.npy", name, ranges).astype(np.float64)
    documents = np.concatenate([stored(chunk, name, ranges) for chunk in chunks]).astype(np.float64)
    ids = pd.read_parquet(varied.result("corpora/small/documents.parquet"))["doc_id"]
    run = pd.read_parquet(varied.result(f"runs/{name}/small.parquet"))
    for query, row in enumerate((queries @ documents.T).astype(np.float32)):
        expected = sorted(zip(row.tolist(), ids, strict=True), reverse=True)[:20]
        found = run[run["query_id"] == f"q{query}"].sort_values("rank")
        assert list(zip(found["score"].tolist(), found["doc_id"], strict=True)) == expected


def test_the_cost_of_a_variant_is_that_of_what_it_stores(varied: Workflow) -> None:
    sizes = pd.read_csv(varied.result("cost.csv")).set_index("system")["index_bytes"]
    ranges = varied.result("embeddings/tiny/small/ranges-20.npy").stat().st_size
    assert dict(sizes) == {
        "tiny": sum(path.stat().st_size for path in varied.result("embeddings/tiny/small").glob("chunk-*.npy")),
        "bytes": 30 * 20 + ranges,
        "bits": 30 * 4,
    }
