"""Vectors of a tiny model, written out, are a system that gives the runs of the model: through Snakemake, and in an audit."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from beirflow.audit.audit import run_checks
from beirflow.audit.checks import FAILED, NOT_CHECKED
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from refusals import problems_of
from without_extension import without_extension
from workflow_runs import Workflow

SUMMARY = "results/summary.csv"
TYPES = {"documents": np.float64, "queries": np.float32}

AUDIT = """
from beirflow.audit.audit import run_checks
from beirflow.config.load import load_experiment
_, sections = run_checks(pathlib.Path(sys.argv[3]), load_experiment({"device": "cpu"}), 0, 0)
print(json.dumps([[check.status, check.found] for checks in sections.values() for check in checks]))
"""


def write_given(workflow: Workflow, folder: Path) -> dict[str, tuple[list[str], np.ndarray]]:
    """Write the vectors of a system with one of a text that the dataset does not have, in another order; return them with ids."""
    (folder / "small").mkdir(parents=True)
    embeddings, found = workflow.result("embeddings/tiny/small"), {}
    for name, key, pattern in (("documents", "doc_id", "chunk-?.npy"), ("queries", "query_id", "queries.npy")):
        vectors = np.concatenate([np.load(path) for path in sorted(embeddings.glob(pattern))])
        ids = pq.read_table(workflow.result(f"corpora/small/{name}.parquet"))[key].to_pylist()
        more = np.concatenate([vectors, np.ones((1, vectors.shape[1]))])[::-1]
        np.save(folder / "small" / f"{name}.npy", more.astype(TYPES[name]))
        (folder / "small" / f"{name}.txt").write_text("".join(f"{each}\n" for each in [*ids, "elsewhere"][::-1]))
        found[name] = ids, vectors
    return found


def statuses(workflow: Workflow, auditor: Experiment, sample: int = 5) -> dict[str, str]:
    """The findings of an audit with their statuses."""
    _, sections = run_checks(workflow.result(""), auditor, sample, 0)
    return {check.found: check.status for checks in sections.values() for check in checks}


def configured(workflow: Workflow, folder: Path) -> None:
    """Add the vectors in a folder to the configured systems."""
    given = {"given": {"vectors": str(folder), "similarity": "dot"}}
    given["index"] = {"approximate": "given", "index": "sq", "bits": 16, "rescore": 5}
    workflow.config["systems"] = [*workflow.config["systems"], *given]
    workflow.config["custom"]["systems"] |= given


def test_a_run_is_that_of_the_model_and_an_audit_says_what_nobody_can_repeat(finished: Workflow, tmp_path: Path) -> None:
    folder, others = tmp_path / "theirs", load_experiment({"device": "cpu"})
    texts = write_given(finished, folder)
    configured(finished, folder)
    jobs = {"check_vectors": 1, "take_query_vectors": 1, "take_chunk_vectors": 3, "search_vectors": 3, "merge_chunks": 1}
    assert jobs.items() <= finished.planned(SUMMARY).items()
    finished.run(SUMMARY, "results/cost.csv", "results/latency/index/small.json")
    run, of_index, of_model = (
        pq.read_table(finished.result(f"runs/{name}/small.parquet")) for name in ("given", "index", "tiny")
    )
    assert run.equals(of_model)
    assert of_index.equals(run), "the index has two bytes a dimension, and exact scores decide"
    latency = finished.read("latency/index/small.json")
    assert "given was made outside, so it cannot answer queries" in json.dumps(latency)
    (doc_ids, documents), (query_ids, queries) = texts["documents"], texts["queries"]
    exact = (queries.astype(np.float64) @ documents.astype(np.float64).T).astype(np.float32)
    for query, scores in zip(query_ids, exact, strict=True):
        ranked = sorted(zip(scores.tolist(), doc_ids, strict=True), reverse=True)[:20]
        hits = [(row["score"], row["doc_id"]) for row in run.to_pylist() if row["query_id"] == query]
        assert hits == ranked
    cost = {row["system"]: row for row in csv.DictReader(finished.result("cost.csv").open())}
    assert cost["given"]["index_bytes"] == cost["tiny"]["index_bytes"]
    assert [cost["given"][f"{stage}_seconds"] for stage in ("queries", "index")] == ["", ""]

    said = statuses(finished, load_experiment(finished.config))
    assert FAILED not in said.values()
    unrepeated = "given vectors come from elsewhere and cannot be computed again: 1 dataset, e.g. documents with"
    assert [status for found, status in said.items() if found.startswith(unrepeated)] == [NOT_CHECKED]
    assert finished.read("vectors/given/small.json")["files"]["documents.npy"] in " ".join(said)

    said = statuses(finished, others)
    assert FAILED not in said.values()
    for file in ("vectors/given/small.json", "embeddings/given/small/queries.json"):
        assert said[f"{file} was not rebuilt: the model or file of given is not known here"] == NOT_CHECKED
    unknown = (
        "given on small: the model or file that makes vectors/given/small.json is not known here; name it under custom.systems"
    )
    assert said[unknown] == NOT_CHECKED
    without = without_extension("vectors", tmp_path / "extensions", AUDIT, str(finished.result("")))
    assert [found for status, found in without if status == FAILED] == []
    assert [NOT_CHECKED, "given needs an extension that is not installed: vectors"] in without

    np.save(folder / "small/documents.npy", np.load(folder / "small/documents.npy") + 1)
    said = statuses(finished, load_experiment(finished.config), sample=0)
    assert [found for found, status in said.items() if status == FAILED and "vectors/given/small.json" in found]
    assert finished.planned("results/metrics/given/small.json") == {**jobs, "evaluate_run": 1} | {"take_query_vectors": 1}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (
            {"vectors": "{folder}/theirs", "similarity": "dot"},
            "vectors: found '{folder}/theirs'; there is no file {folder}/theirs/",
        ),
        ({"vectors": "{folder}/theirs"}, "similarity: "),
        (
            {"vectors": "/theirs/<dataset>", "similarity": "dot"},
            "vectors: found '/theirs/<dataset>'; expected a folder that holds",
        ),
        ({"vectors": "{folder}", "similarity": "dot", "pooling": "mean"}, "pooling: "),
    ],
    ids=["missing", "no similarity", "placeholder", "no encoder"],
)
def test_an_entry_that_cannot_be_used_is_refused(entry: dict[str, str], says: str, small: Path, tmp_path: Path) -> None:
    entry = json.loads(json.dumps(entry).replace("{folder}", str(tmp_path)))
    (tmp_path / "theirs/small").mkdir(parents=True)
    custom = {"systems": {"given": entry}, "datasets": {"small": {"path": str(small)}}}
    problems = problems_of({"systems": ["given"], "datasets": ["small"], "custom": custom})
    assert [
        problem for problem in problems if problem.startswith("custom.systems.given." + says.replace("{folder}", str(tmp_path)))
    ]
