"""A run that is killed goes on where it was."""

import os
import signal
import subprocess
import time

from workflow_runs import Workflow, small_dataset


def test_a_run_killed_in_the_middle_keeps_finished_chunks_and_ends_the_same(workflow: Workflow, finished: Workflow) -> None:
    chunks, logs = workflow.result("embeddings/tiny/small"), workflow.result("logs/encode_chunk/tiny/small")
    process = subprocess.Popen(
        workflow.command("results/runs/tiny/small.parquet", cores=1),
        cwd=workflow.repository,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    # On one core a job begins after the one before it has ended: one chunk is done, and the next has begun.
    while not 1 <= len(list(chunks.glob("chunk-*.json"))) < len(list(logs.glob("*.log"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = {path: path.stat().st_mtime_ns for path in chunks.glob("chunk-*.npy")}
    assert 1 <= len(done) < 3
    workflow.run("--unlock")
    workflow.run("results/runs/tiny/small.parquet")
    assert {path: path.stat().st_mtime_ns for path in done} == done
    for name in ("runs/tiny/small.parquet", "corpora/small/documents.parquet"):
        assert workflow.result(name).read_bytes() == finished.result(name).read_bytes()
    assert not [path for path in workflow.result("").rglob("*") if ".partial" in path.name]


def test_a_failed_job_leaves_nothing_half_written_and_the_repaired_run_goes_on(workflow: Workflow) -> None:
    folder = small_dataset(workflow.folder / "own")
    workflow.config["custom"]["datasets"]["small"] = {"path": str(folder), "documents": 30}
    whole = (folder / "corpus.jsonl").read_text()
    (folder / "corpus.jsonl").write_text(whole[:-20] + "\n")
    output = workflow.run("results/corpora/small/corpus.json", ok=False)
    assert f"{folder}/corpus.jsonl:30: expected a JSON object on one line" in output
    assert not [path for path in workflow.result("corpora").rglob("*") if path.is_file()]
    (folder / "corpus.jsonl").write_text(whole)
    workflow.run("results/corpora/small/corpus.json")
