"""Results of version 0.1.0 stay readable, and those of a newer format are refused.

tests/data/results-0.1.0 was written by that version: ``beirflow run my.yaml`` beside a copy of tests/data/demo/forums/garden,
without logs, benchmarks and energy. It is never made again after the release.
"""

import os
import shutil
import time
from pathlib import Path

import pytest
import yaml

import beirflow
from beirflow.core.errors import DataError
from beirflow.core.records import FORMAT, read_json, write_json
from workflow_runs import REPOSITORY, Workflow

KEPT = REPOSITORY / "tests/data/results-0.1.0"
NDCG, MRR = 0.6949515189680768, 0.6175925925925926  # at 10, as the release wrote them


@pytest.fixture
def kept(tmp_path: Path) -> Workflow:
    """A copy of the results and of their dataset, as new as each other: git keeps no times of files."""
    shutil.copytree(KEPT, tmp_path, dirs_exist_ok=True)
    shutil.copytree(REPOSITORY / "tests/data/demo/forums/garden", tmp_path / "garden")
    now = time.time()
    for path in tmp_path.rglob("*"):
        os.utime(path, (now, now))
    return Workflow(tmp_path, yaml.safe_load((KEPT / "my.yaml").read_text()))


def test_the_library_reads_results_of_the_first_release(kept: Workflow) -> None:
    results = beirflow.Results(kept.folder / "results")
    (row,) = results.summary.to_dict("records")
    assert (row["NDCG@10"], row["MRR@10"]) == (NDCG, MRR)
    assert results.means.loc[("bm25", "garden"), "NDCG@10"] == NDCG
    per_query = results.scores
    assert per_query[per_query["measure"] == "NDCG@10"]["value"].mean() == pytest.approx(NDCG, abs=1e-15)
    hits = results.hits("bm25", "garden", k=1, texts=True)
    assert len(hits) == row["queries"]
    assert hits["text"].str.len().min() > 0


def test_they_are_audited_with_every_number_made_again(kept: Workflow) -> None:
    output = kept.run("--", "audit")
    assert "The audit of results passed" in output
    assert "replayed: yes" in output


def test_a_run_resumes_on_them(kept: Workflow) -> None:
    """Nothing of them is made again; a further system uses their corpus, postings and statistics."""
    assert kept.planned("--", "summary") == {}
    kept.config["systems"] = ["bm25", "again"]
    kept.config["custom"]["systems"] = {"again": {"family": "lexical"}}
    assert kept.planned("--", "summary") == dict.fromkeys(("search_index", "merge_chunks", "evaluate_run", "summarize"), 1)
    kept.run("--", "summary")
    assert dict(beirflow.Results(kept.folder / "results").summary.set_index("system")["NDCG@10"]) == {"bm25": NDCG, "again": NDCG}


def test_results_of_a_newer_format_are_refused_with_what_to_do(kept: Workflow) -> None:
    for path in ("manifest.json", "corpora/garden/corpus.json"):
        write_json(kept.result(path), read_json(kept.result(path)) | {"format": FORMAT + 1})
    refusal = (
        f"has the format {FORMAT + 1}, and this beirflow reads the format {FORMAT}: use the one that wrote it, or a newer one"
    )
    with pytest.raises(DataError, match=f"manifest.json {refusal}"):
        beirflow.Results(kept.folder / "results")
    audit = kept.run("--", "audit", ok=False)
    assert f"manifest.json: {refusal}" in audit
    assert "mkdir" not in audit  # what a newer version wrote is not moved away
    # A job that would read such a file; neither is it made again.
    output = kept.run("--rerun-triggers", "mtime", "--forcerun", "evaluate_run", "--", "summary", ok=False)
    assert f"corpus.json {refusal}" in output
