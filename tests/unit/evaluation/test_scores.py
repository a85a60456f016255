"""The values of every query in long form."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.records import Job
from beirflow.evaluation.scores import collect_scores, read_per_query
from results_writer import write_metrics


def collect(folder: Path) -> Path:
    paths = [
        write_metrics(folder, system, dataset, {"NDCG@10": np.arange(size) / 10, "P@1": np.ones(size)})
        for system in ("b", "a")
        for dataset, size in (("small", 2), ("large", 5))
    ]
    (means, per_query), target = zip(*paths, strict=True), folder / "scores.parquet"
    collect_scores(means_paths=means, per_query_paths=per_query, scores_path=str(target), job=Job(folder, code="c0de"))
    return target


def test_every_value_of_every_query_has_a_row(tmp_path: Path) -> None:
    table = pd.read_parquet(collect(tmp_path))
    assert len(table) == 2 * (2 + 5) * 2
    of_one = table[(table["system"] == "b") & (table["dataset"] == "large")].astype({"query_id": str, "measure": str})
    expected = pd.read_parquet(tmp_path / "metrics/b/large.parquet").melt("query_id", var_name="measure")
    assert of_one[["query_id", "measure", "value"]].to_numpy().tolist() == expected.to_numpy().tolist()


def test_names_are_dictionaries_and_a_row_group_is_one_system_on_one_corpus(tmp_path: Path) -> None:
    file = pq.ParquetFile(collect(tmp_path))
    assert [str(field.type) for field in file.schema_arrow][:4] == [str(pa.dictionary(pa.int32(), pa.string()))] * 4
    groups = [file.read_row_group(group).to_pandas() for group in range(file.metadata.num_row_groups)]
    names = [tuple(group.iloc[0][["system", "dataset"]]) for group in groups]
    assert names == [(system, dataset) for system in ("b", "a") for dataset in ("small", "large")]
    assert [len(group) for group in groups] == [4, 10, 4, 10]


def test_the_file_names_what_it_was_collected_from(tmp_path: Path) -> None:
    record = json.loads(pq.read_schema(collect(tmp_path)).metadata[b"beirflow"])
    assert record["code"] == "c0de"
    names = [f"metrics/{system}/{dataset}.parquet" for system in ("b", "a") for dataset in ("small", "large")]
    assert record["inputs"] == {name: file_digest(tmp_path / name) for name in names}
    assert len({file_digest(collect(tmp_path)) for _ in range(2)}) == 1


def test_values_that_were_changed_are_refused(tmp_path: Path) -> None:
    means_path, path = write_metrics(tmp_path, "a", "small", {"NDCG@10": [0.5]})
    pq.write_table(pa.table({"query_id": ["q0"], "NDCG@10": [0.75]}), path)
    with pytest.raises(DataError, match="replaced after it was written") as caught:
        read_per_query(means_path, path)
    assert str(caught.value).startswith(f"{path}: sha256 ")
