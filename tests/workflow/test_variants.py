"""Variants of a system: its vectors, encoded once, are compressed, searched and priced."""

import pandas as pd
import pytest

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


def test_the_cost_of_a_variant_is_that_of_what_it_stores(varied: Workflow) -> None:
    sizes = pd.read_csv(varied.result("cost.csv")).set_index("system")["index_bytes"]
    ranges = varied.result("embeddings/tiny/small/ranges-20.npy").stat().st_size
    assert dict(sizes) == {
        "tiny": sum(path.stat().st_size for path in varied.result("embeddings/tiny/small").glob("chunk-*.npy")),
        "bytes": 30 * 20 + ranges,
        "bits": 30 * 4,
    }
