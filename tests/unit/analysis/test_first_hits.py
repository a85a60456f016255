"""The part of a run that is looked at."""

from pathlib import Path

import pytest
from beirflow.analysis import first_hits
from beirflow.analysis.first_hits import read_first_hits
from beirflow.files.errors import DataError
from results_writer import write_run

RANKED = {"q1": ["d3", "d1", "d2"], "q2": ["d1"], "q3": [f"d{number}" for number in range(30)]}


@pytest.mark.parametrize("rows", [4, 1000])
def test_the_first_ranks_of_all_queries_and_all_ranks_of_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(first_hits, "RUN_ROWS", rows)
    digest = write_run(tmp_path / "run.parquet", RANKED)
    found = read_first_hits(str(tmp_path / "run.parquet"), digest, "means.json", 2, ["q3", "q9", "q2"])
    assert found.doc_ids.to_pylist() == ["d3", "d1", "d1", "d0", "d1"]
    assert list(found.ranked["q3"]) == RANKED["q3"]
    assert found.ranked["q2"] == {"d1": (1, 1.0)}
    assert found.ranked["q3"]["d3"] == (4, 0.25)
    assert found.ranked["q9"] == {}
    assert "q1" not in found.ranked


def test_a_run_that_was_changed_after_it_was_evaluated_is_refused(tmp_path: Path) -> None:
    write_run(tmp_path / "run.parquet", RANKED)
    with pytest.raises(DataError, match=r"means\.json says abc") as caught:
        read_first_hits(str(tmp_path / "run.parquet"), "abc", "means.json", 2, [])
    assert str(caught.value).endswith(f"rm {tmp_path}/run.parquet")
