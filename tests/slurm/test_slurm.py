"""The profile for SLURM on a real cluster of one node: same results as a local run, whatever happens to jobs.

Most tests start from a finished local run of BM25, without the files of the step that something happens to, and run that step
alone: a job of SLURM starts Snakemake two or three times, two seconds each of a core, and one that encodes also starts torch.
"""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from slurm_cluster import Cluster, wait_for
from workflow_runs import REPOSITORY, Workflow

PROFILE = REPOSITORY / "workflow/profiles/slurm"
CORPUS = [f"corpora/small/{name}.parquet" for name in ("documents", "queries", "qrels")]
QUERIES = ["embeddings/tiny/small/queries.npy"]
STATISTICS = ["postings/lucene-english/small/statistics.parquet"]
CHUNKS = [f"postings/lucene-english/small/chunk-{i}.arrow" for i in range(2)]

# Columns of the summary that hold times, or the digest of a file that holds some.
TIMES = ["documents_per_second", "seconds", "metrics_sha256"]


def arguments(*targets: str, profile: Path = PROFILE) -> list[str]:
    return [*(f"results/{target}" for target in targets), "--profile", str(profile)]


def changed_profile(folder: Path, rule: str, resources: Mapping[str, Any]) -> Path:
    """A copy of the profile in which a rule asks for something else."""
    profile = yaml.safe_load((PROFILE / "profile.yaml").read_text())
    profile["set-resources"][rule] |= resources
    folder.mkdir()
    (folder / "profile.yaml").write_text(yaml.safe_dump(profile))
    return folder


def begin(workflow: Workflow, *words: str) -> subprocess.Popen[bytes]:
    """Start a run in the background; its output goes to output.txt."""
    with (workflow.folder / "output.txt").open("wb") as output:
        return subprocess.Popen(
            workflow.command(*words, cores=None),
            cwd=workflow.repository,
            env={**os.environ, **workflow.environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end(workflow: Workflow, process: subprocess.Popen[bytes], seconds: float = 300) -> str:
    """Wait for a run that was started in the background and give back what it printed."""
    process.wait(seconds)
    output = (workflow.folder / "output.txt").read_text()
    assert process.returncode == 0, output
    return output


def forget(workflow: Workflow, results: list[str]) -> None:
    """Remove results, so that they are made again."""
    for name in results:
        workflow.result(name).unlink()


def assert_same(workflow: Workflow, local: Workflow, results: list[str]) -> None:
    """The results are those of the local run, byte by byte, and nothing is left over."""
    for name in results:
        assert workflow.result(name).read_bytes() == local.result(name).read_bytes(), name
    assert not [path for path in workflow.result("").rglob("*") if ".partial" in path.name]


def wait_until_runs(cluster: Cluster, rule: str) -> str:
    """SLURM's id of a running job of a rule."""
    found: list[str] = []

    def runs() -> bool:
        found.extend(job for job, name in cluster.jobs("RUNNING").items() if name == rule)
        return bool(found)

    wait_for(runs, f"a running job of {rule}")
    return found[0]


def test_a_whole_run_on_slurm_gives_the_results_of_a_local_run(
    cluster: Cluster, workflow: Workflow, finished_once: tuple[Workflow, str]
) -> None:
    local = finished_once[0]
    workflow.submit_to(cluster.environment)
    before = len(cluster.ended())
    output = workflow.run(*arguments("summary.csv"), cores=None)

    ended = cluster.ended()[before:]
    assert {job["JobState"] for job in ended} == {"COMPLETED"}
    # What runs on the submitting host is not there; everything else is, once. Queries, chunks and searches get a GPU each.
    assert len(ended) == 1 + 1 + 3 + 3 + 1 + 1, "prepare, queries, chunks, searches, merge, evaluation"
    assert sum(job.get("TresPerJob") == "gres:gpu:1" for job in ended) == 1 + 3 + 3
    # Chunks that are ready together go as an array: by SLURM's record, the plugin's and the logs.
    tasks = [job["ArrayTaskId"] for job in ended if "ArrayJobId" in job]
    arrays = re.findall(r"array job with Snakemake IDs ([\d,]+) and SLURM job ID \d+", output)
    logs = workflow.folder / ".snakemake/slurm_logs"
    of_tasks = [path.parent.name for path in logs.rglob("*.log") if re.fullmatch(r"\d+_\d+", path.stem)]
    assert len(tasks) == sum(len(ids.split(",")) for ids in arrays) == len(of_tasks)
    assert of_tasks.count("rule_encode_chunk") == 3
    assert set(of_tasks) <= {"rule_encode_chunk", "rule_search_chunk"}
    assert len(list(logs.rglob("*.log"))) == len(ended)

    files = sorted(
        str(path.relative_to(local.result("")))
        for folder in ("runs", "metrics", "corpora", "embeddings")
        for suffix in ("parquet", "npy")
        for path in local.result(folder).rglob(f"*.{suffix}")
    )
    assert len(files) == 3 + 1 + 1 + 1 + 3
    assert_same(workflow, local, files)
    summaries = [pd.read_csv(run.result("summary.csv")).drop(columns=TIMES) for run in (local, workflow)]
    pd.testing.assert_frame_equal(*summaries, check_exact=True)


def test_tasks_of_an_array_do_not_depend_on_the_first_one(cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow) -> None:
    forget(on_cluster, CHUNKS)
    cluster.drain_node()
    process = begin(on_cluster, *arguments(*CHUNKS), "--latency-wait", "2")
    wait_for(lambda: list(cluster.jobs("PENDING").values()) == ["index_chunk"] * 2, "two waiting chunks")
    first = min(cluster.jobs("PENDING"))
    cluster.call("scontrol", "hold", first)
    cluster.resume_node()
    wait_for(lambda: on_cluster.result(CHUNKS[0]).exists() + on_cluster.result(CHUNKS[1]).exists() == 1, "the other chunk")
    wait_for(lambda: not cluster.jobs("RUNNING"), "its end")
    cluster.call("scontrol", "release", first)
    output = end(on_cluster, process)
    assert "Trying to restart job" not in output
    assert_same(on_cluster, lexical_once, CHUNKS)


def test_a_controller_that_is_away_is_waited_for(cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow) -> None:
    forget(on_cluster, STATISTICS)
    cluster.stop_controller()
    process = begin(on_cluster, *arguments(*STATISTICS))
    output = on_cluster.folder / "output.txt"
    wait_for(lambda: "SLURM does not answer, so it is called again" in output.read_text(), "a word about the controller")
    assert process.poll() is None
    cluster.start_controller()
    said = end(on_cluster, process)
    assert "Trying to restart job" not in said
    assert_same(on_cluster, lexical_once, STATISTICS)


def test_jobs_of_a_run_that_was_killed_keep_the_results_from_another(
    cluster: Cluster, encoding_on_cluster: Workflow, finished_once: tuple[Workflow, str]
) -> None:
    forget(encoding_on_cluster, QUERIES)
    process = begin(encoding_on_cluster, *arguments(*QUERIES))
    wait_for(lambda: bool(list(encoding_on_cluster.result("embeddings").rglob(".partial-*"))), "a job that writes")
    (job,) = cluster.jobs("RUNNING")
    cluster.call("scontrol", "suspend", job)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    encoding_on_cluster.run("--unlock")
    assert "jobs of a run since" in encoding_on_cluster.run(*arguments(*QUERIES), cores=None, ok=False)
    cluster.call("scontrol", "resume", job)
    wait_for(lambda: not cluster.call("squeue", "--noheader").strip(), "the end of the job")
    encoding_on_cluster.run(*arguments(*QUERIES), "--rerun-incomplete", cores=None)
    assert_same(encoding_on_cluster, finished_once[0], QUERIES)


def test_a_job_that_is_cancelled_runs_again(cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow) -> None:
    forget(on_cluster, CHUNKS)
    process = begin(on_cluster, *arguments(*CHUNKS))
    cluster.call("scancel", wait_until_runs(cluster, "index_chunk"))
    output = end(on_cluster, process)
    assert output.count("Trying to restart job") == 1
    assert_same(on_cluster, lexical_once, CHUNKS)


def test_a_job_that_exceeds_its_memory_gets_more(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow, tmp_path: Path
) -> None:
    forget(on_cluster, CORPUS)
    profile = changed_profile(tmp_path / "profile", "prepare_corpus", {"mem_mb": "60 if attempt == 1 else 3000 * attempt"})
    before = len(cluster.ended())
    on_cluster.run(*arguments(*CORPUS, profile=profile), cores=None)
    killed, repeated = cluster.ended()[before:]
    assert killed["JobState"] != "COMPLETED"
    assert "mem=60M" in killed["TRES"]
    assert repeated["JobState"] == "COMPLETED"
    assert "mem=6000M" in repeated["TRES"]
    assert_same(on_cluster, lexical_once, CORPUS)


@pytest.mark.long
def test_a_drained_node_holds_jobs_back_until_it_is_resumed(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    forget(on_cluster, [*CORPUS, CHUNKS[0]])
    process = begin(on_cluster, *arguments(CHUNKS[0]))
    wait_until_runs(cluster, "prepare_corpus")
    cluster.drain_node()
    wait_for(lambda: list(cluster.jobs("PENDING").values()) == ["index_chunk"], "a waiting job")
    assert process.poll() is None
    assert not cluster.jobs("RUNNING")
    cluster.resume_node()
    assert "Trying to restart job" not in end(on_cluster, process)
    assert_same(on_cluster, lexical_once, [*CORPUS, CHUNKS[0]])


@pytest.mark.long
def test_jobs_of_a_node_that_is_lost_run_again_when_it_is_back(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    forget(on_cluster, CHUNKS)
    process = begin(on_cluster, *arguments(*CHUNKS))
    wait_until_runs(cluster, "index_chunk")
    cluster.lose_node()
    assert process.poll() is None
    assert not cluster.jobs("RUNNING")
    cluster.start_node()
    end(on_cluster, process)
    assert_same(on_cluster, lexical_once, CHUNKS)


@pytest.mark.long
def test_a_submitting_process_that_is_killed_can_be_started_again(
    cluster: Cluster, on_cluster: Workflow, lexical_once: Workflow
) -> None:
    forget(on_cluster, CHUNKS)
    process = begin(on_cluster, *arguments(*CHUNKS))
    wait_until_runs(cluster, "index_chunk")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # As the README says.
    (name,) = set(cluster.call("squeue", "--me", "--noheader", "--Format=name:60").split())
    cluster.call("scancel", "--name", name)
    wait_for(lambda: not cluster.call("squeue", "--noheader").strip(), "the jobs to end")
    on_cluster.run("--unlock")
    on_cluster.run(*arguments(*CHUNKS), cores=None)
    assert_same(on_cluster, lexical_once, CHUNKS)
