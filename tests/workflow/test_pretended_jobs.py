"""Runs whose jobs only pretend: the highest use of the disk, and how many jobs that may compute on a GPU run at once."""

from itertools import accumulate
from pathlib import Path

import pytest

from workflow_runs import Workflow, small_dataset, tiny_system

CHUNK_BYTES = 1000
CHUNKS = 3

PRETEND = f"""
from pathlib import Path
from beirflow.run.rule_job import read_job

def main(path, threads, log):
    for path in map(Path, read_job(path, int(threads), log).output):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes({CHUNK_BYTES} if path.match("embeddings/*/*/chunk-*.npy") else 1))
    found = sum(path.stat().st_size for path in Path("results/embeddings").rglob("*") if path.suffix == ".npy")
    with Path("use.txt").open("a") as stream:
        stream.write(f"{{found}}\\n")
"""


@pytest.fixture
def pretended(workflow: Workflow, own_copy: Path, tiny_bert: Path) -> Workflow:
    """Two datasets of three chunks each, of which nothing is computed."""
    (own_copy / "src/beirflow/run/rule_call.py").write_text(PRETEND)
    datasets = {name: {"path": str(small_dataset(workflow.folder / name))} for name in ("small", "other")}
    custom = {"systems": {"tiny": tiny_system(tiny_bert)}, "datasets": datasets}
    workflow.config |= {"datasets": list(datasets), "custom": custom, "chunk_documents": 30 // CHUNKS}
    workflow.repository = own_copy
    return workflow


def test_vectors_of_one_chunk_lie_on_the_disk_where_they_are_not_kept(pretended: Workflow) -> None:
    pretended.config["keep_representations"] = False
    pretended.run("results/summary.csv", cores=1)
    use = [int(line) for line in (pretended.folder / "use.txt").read_text().split()]
    assert CHUNK_BYTES <= max(use) < 2 * CHUNK_BYTES
    assert use.count(max(use)) >= 2 * CHUNKS
    vectors = pretended.result("embeddings/tiny")
    assert list(vectors.rglob("chunk-*.npy")) == []
    assert len(list(vectors.rglob("chunk-*.json"))) == 2 * CHUNKS
    assert pretended.planned("results/summary.csv") == {}
    pretended.config["keep_representations"] = True
    assert pretended.planned("results/summary.csv") == {}


# In the place of encode_chunk. The first two wait for each other, and then a while for a third, which must not come.
JOB = """
import time
from pathlib import Path
from beirflow.run.rule_job import read_job

def note(line):
    with open("events", "a") as events:
        events.write(line)

def main(path, threads, log):
    note(f"+1 {threads}\\n")
    deadline = time.monotonic() + 600
    while Path("events").read_text().count("+1") < 2:
        assert time.monotonic() < deadline, "no other job began"
        time.sleep(0.01)
    if "-1" not in Path("events").read_text():
        time.sleep(2)
    note(f"-1 {threads}\\n")
    for path in read_job(path, int(threads), log).output:
        Path(path).touch()
"""


def test_as_many_jobs_as_gpus_are_allowed_run_at_once_and_share_the_cores(finished: Workflow, own_copy: Path) -> None:
    (own_copy / "src/beirflow/run/rule_call.py").write_text(JOB)
    finished.repository = own_copy
    finished.config["device"] = "auto"
    vectors = [f"results/embeddings/tiny/small/chunk-{i}.npy" for i in range(3)]
    finished.run("--forcerun", "encode_chunk", "--allowed-rules", "encode_chunk", "--resources", "gpu=2", "--", *vectors, cores=3)
    events = [line.split() for line in (finished.folder / "events").read_text().splitlines()]
    assert len(events) == 6
    assert max(accumulate(int(change) for change, _ in events)) == 2
    assert {threads for _, threads in events} == {"1"}
