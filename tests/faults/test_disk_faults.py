"""A disk that is full or read-only is an error that says so; with room again the run goes on to the same result."""

import re
from pathlib import Path

import pytest

from faults_at_work import filled, results, small_disk, unfinished, unlock
from workflow_runs import Workflow, small_dataset

BLOCK = 4096
"""Of a disk in memory."""


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
