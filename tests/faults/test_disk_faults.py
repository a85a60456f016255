"""A disk that is full or read-only is an error that says so; with room again the run goes on to the same result."""

import hashlib
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from faults_at_work import filled, read_only, results, small_disk, unfinished, unlock
from http_servers import FileServer
from workflow_runs import REPOSITORY, Workflow, small_dataset

BLOCK = 4096
"""Of a disk in memory."""

DOWNLOAD = """
import sys
from beirflow.run.job import surroundings
with surroundings(sys.argv[1]):
    from beirflow.data.sources.download import download_dataset
    download_dataset(urls=[sys.argv[2]], md5=sys.argv[3], size=500_000, output_path=sys.argv[4])
"""


@pytest.fixture
def larger(lexical: Workflow) -> Workflow:
    """Every step of it writes more than a block of the disk."""
    folder = small_dataset(lexical.folder / "own", documents=1500, queries=60)
    lexical.config["custom"]["datasets"]["small"] = {"path": str(folder)}
    lexical.config["chunk_documents"] = 750
    return lexical


def says(disk: Path, file: str) -> str:
    """The message about a file without room, as an expression."""
    refused = r"the disk is full \(.*No space left on device.*\)"
    return rf"{disk}/{file}: {refused}; free there, not counting the unfinished files of this job: [\d.]+ MB;"


def test_a_full_disk_is_named_in_every_step_and_the_result_is_the_same_afterwards(larger: Workflow) -> None:
    larger.run("results/metrics/tiny/small.json")
    corpus, postings = "corpora/small/corpus.json", "postings/lucene-english/small/chunk-1.arrow"
    run = "runs/tiny/small.parquet"
    with small_disk(larger.folder / "small-disk", "8m") as disk:
        larger.config["pathvars"] = {"results": str(disk)}
        for before, target, log, file, left in (
            ([], corpus, "prepare_corpus/small.log", r"corpora/small/\.partial-prepare\.\w+", 3 * BLOCK),
            ([corpus], postings, "index_chunk/lucene-english/small/chunk-1.log", postings, 2 * BLOCK),
            ([f"candidates/tiny/small/chunk-{i}.arrow" for i in range(2)], run, "merge_chunks/tiny/small.log", run, BLOCK),
        ):
            if before:
                larger.run(*(f"{disk}/{name}" for name in before))
            with filled(disk, left):
                output = larger.run(f"{disk}/{target}", ok=False)
            assert re.search(f"ERROR: {says(disk, file)}", output), output
            assert re.search(says(disk, file), (disk / "logs" / log).read_text())
            assert "Traceback" not in output
            assert unfinished(disk) == []
            assert not (disk / target).exists()
        larger.run(f"{disk}/metrics/tiny/small.json")
        assert results(disk) == results(larger.result(""))


def test_a_download_on_a_full_disk_keeps_what_has_arrived_and_fetches_the_rest_later(tmp_path: Path) -> None:
    archive = random.Random(5).randbytes(500_000)
    md5 = hashlib.md5(archive, usedforsecurity=False).hexdigest()
    with FileServer({"/a.zip": archive}) as server, small_disk(tmp_path / "disk", "1m") as disk:
        command = [sys.executable, "-c", DOWNLOAD, tmp_path / "log", f"{server.url}/a.zip", md5, disk / "a.zip"]
        path = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
        with filled(disk, 8 * BLOCK):
            done = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert re.fullmatch(rf"ERROR: {says(disk, 'a.zip.part')}.*\n", done.stderr), done.stderr
        assert re.search(says(disk, "a.zip.part"), (tmp_path / "log").read_text())
        have = (disk / "a.zip.part").stat().st_size
        assert 0 < have < len(archive)
        subprocess.run(command, env=path, check=True)
        assert server.ranges == [None, f"bytes={have}-"]
        assert (disk / "a.zip").read_bytes() == archive
        assert unfinished(disk) == []


def test_without_room_for_logs_and_for_snakemake_itself_no_result_is_wrong(lexical: Workflow, finished_lexical: Workflow) -> None:
    target = "results/postings/lucene-english/small/chunk-0.arrow"
    with small_disk(lexical.folder / "small-disk", "4m") as disk:
        full = Workflow(disk, lexical.config)
        full.run("results/corpora/small/corpus.json")
        for left in (0, BLOCK, 4 * BLOCK):
            with filled(disk, left):
                assert "No space left on device" in full.run(target, ok=False)
            unlock(full)
        full.run(target)
        assert unfinished(full.result("")) == []
        expected = results(finished_lexical.result(""))
        assert {name: expected[name] for name in results(full.result(""))} == results(full.result(""))


def test_results_that_cannot_be_written_are_named_and_stay_as_they_are(finished_lexical: Workflow) -> None:
    finished = finished_lexical
    before = results(finished.result(""))
    finished.config["cutoffs"] = [1, 5]
    with read_only(finished.result("")):
        output = finished.run("results/summary.csv", ok=False)
    assert "Write-protected output files for rule" in output
    # Snakemake names those of the first of the two rules that it looks at, whichever that is.
    assert any(name in output for name in ("results/summary.csv", "results/metrics/tiny/small.json"))
    assert results(finished.result("")) == before
