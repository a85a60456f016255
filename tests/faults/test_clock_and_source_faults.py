"""Clocks that are wrong, and sources that are replaced behind Snakemake's back, make no result wrong."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from beirflow.core.digests import SMALL_BYTES, file_digest
from tiny_bert import save_tiny_bert
from workflow_runs import Workflow, small_dataset

DAY = 86_400
CORPUS = "results/corpora/small/corpus.json"


@pytest.fixture
def own(workflow: Workflow) -> Path:
    """A dataset that a test may change; its corpus is so large that Snakemake goes by its time alone."""
    folder = small_dataset(workflow.folder / "own")
    with (folder / "corpus.jsonl").open("a") as stream:
        stream.write(json.dumps({"_id": "long", "text": "w1 " * (SMALL_BYTES // 3)}) + "\n")
    workflow.config["custom"]["datasets"]["small"] = {"path": str(folder)}
    return folder


def date(path: Path, seconds: float) -> None:
    """Set the time of the last change."""
    os.utime(path, (seconds, seconds))


def test_a_source_dated_tomorrow_is_refused_until_it_is_touched(workflow: Workflow, own: Path) -> None:
    date(own / "corpus.jsonl", time.time() + DAY)
    output = workflow.run(CORPUS, ok=False)
    assert f"{own / 'corpus.jsonl'} is dated " in output
    assert not workflow.result("corpora/small/corpus.json").exists()
    (touch,) = [line for line in output.splitlines() if line.startswith("    find ")]
    subprocess.run(["bash", "-c", touch], check=True)
    assert time.time() - 10 * 60 < (own / "corpus.jsonl").stat().st_mtime <= time.time()
    workflow.run(CORPUS)
    assert workflow.planned(CORPUS) == {}


@pytest.mark.parametrize(("name", "old", "new"), [("corpus.jsonl", "w1 w1", "w2 w2"), ("qrels/test.tsv", "\t2\r", "\t1\r")])
def test_another_source_of_the_same_name_and_size_is_noticed_however_old_it_is(
    workflow: Workflow, own: Path, name: str, old: str, new: str
) -> None:
    workflow.run(CORPUS)
    (own / "queries.jsonl").touch()
    assert workflow.planned(CORPUS) == {}
    text = (own / name).read_bytes()
    (own / name).write_bytes(text.replace(old.encode(), new.encode()))
    date(own / name, time.time() - 1000 * DAY)
    assert (own / name).stat().st_size == len(text)
    workflow.run(CORPUS)
    assert workflow.read("corpora/small/corpus.json")["source_sha256"][name] == file_digest(own / name)


def test_other_weights_under_the_same_path_are_noticed_however_old_they_are_and_encode_again(workflow: Workflow) -> None:
    target, vectors = (folder / "embeddings/tiny/small/queries.npy" for folder in (Path("results"), workflow.result("")))
    model = save_tiny_bert(workflow.folder / "model")
    workflow.config["custom"]["systems"]["tiny"]["model"] = str(model)
    workflow.run(str(target))
    before = vectors.read_bytes()
    save_tiny_bert(model, seed=1)
    for path in model.iterdir():
        date(path, time.time() - 1000 * DAY)
    workflow.run(str(target))
    recorded = workflow.read("models/tiny.json")["files"]
    assert recorded["model.safetensors"] == file_digest(model / "model.safetensors")
    assert vectors.read_bytes() != before
