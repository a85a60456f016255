"""Jobs that run again after a change, and jobs that do not."""

from pathlib import Path

import pytest

from workflow_runs import Workflow, small_dataset

SUMMARY = "results/summary.csv"
CLASS = """
import numpy as np

from near_of_mine import SALT


class Mine:
    def __init__(self, dim):
        self.dim = dim

    def encode(self, sentences, **kw):
        return [np.bincount([(hash_of(word)) % self.dim for word in text.split()], minlength=self.dim) for text in sentences]


def hash_of(word):
    return sum(word.encode()) * SALT
"""


def test_only_a_change_of_what_decides_a_result_computes_it_again(finished: Workflow) -> None:
    finished.config["cutoffs"] = [1, 5, 10]
    assert finished.planned(SUMMARY) == {"evaluate_run": 1, "summarize": 1}
    finished.config |= {
        "cutoffs": [1, 10, 20],
        "device": "auto",
        "jobs_per_gpu": 2,
        "token_budget": 64,
        "mirrors": ["http://127.0.0.1:9"],
    }
    assert finished.planned(SUMMARY) == {}
    finished.config["precision"] = "bfloat16"
    assert finished.planned(SUMMARY)["encode_chunk"] == 3
    finished.config |= {"precision": "float32", "chunk_documents": 15}
    planned = finished.planned(SUMMARY)
    assert (planned["prepare_corpus"], planned["encode_chunk"]) == (1, 2)


def test_an_edit_to_the_encoder_encodes_again_and_one_to_the_summary_does_not(finished: Workflow, own_copy: Path) -> None:
    finished.repository = own_copy
    package = own_copy / "src/beirflow"
    encoder = package / "models/encoders/encoder.py"
    encoder.write_text('"""Other words."""\n\n# And more.\n' + encoder.read_text())
    for name in ("evaluation/summary", "core/progress"):
        (package / f"{name}.py").write_text((package / f"{name}.py").read_text() + "\nedited = True\n")
        assert finished.planned(SUMMARY) == {"summarize": 1}
    encoder.write_text(encoder.read_text() + "\nedited = True\n")
    planned = finished.planned(SUMMARY)
    assert planned["encode_chunk"] == 3
    assert "prepare_corpus" not in planned


def test_a_folder_that_was_only_touched_encodes_nothing_again(workflow: Workflow) -> None:
    corpus = small_dataset(workflow.folder / "own")
    workflow.config["custom"]["datasets"]["small"]["path"] = str(corpus)
    workflow.run("results/corpora/small/corpus.json")
    (corpus / "corpus.jsonl").touch()
    assert workflow.planned("results/corpora/small/corpus.json") == {}


@pytest.mark.long
def test_a_change_of_the_class_or_its_arguments_encodes_again(lexical: Workflow) -> None:
    workflow = lexical
    (workflow.folder / "of_mine.py").write_text(CLASS)
    (workflow.folder / "near_of_mine.py").write_text("SALT = 7\n")
    (workflow.folder / "far_of_mine.py").write_text("")
    system = {"encoder": "of_mine:Mine", "arguments": {"dim": 16}, "similarity": "cosine"}
    workflow.config["custom"]["systems"]["tiny"] = system
    workflow.run(SUMMARY)
    model = workflow.read("models/tiny.json")
    assert sorted(model["files"]) == ["near_of_mine.py", "of_mine.py"]
    assert (model["encoder"], model["arguments"]) == ("of_mine:Mine", {"dim": 16})
    record = workflow.read("embeddings/tiny/small/chunk-0.json")
    assert (record["dim"], record["made"]["precision"], record["encoder"]["arguments"]) == (16, "unknown", {"dim": 16})
    assert "tokens" not in record["counts"]
    (workflow.folder / "far_of_mine.py").write_text("# edited\n")
    assert workflow.planned(SUMMARY) == {}
    (workflow.folder / "near_of_mine.py").write_text("SALT = 11\n")
    planned = workflow.planned(SUMMARY)
    assert (planned["fetch_model"], planned["encode_chunk"], planned["encode_queries"]) == (1, 3, 1)
    (workflow.folder / "near_of_mine.py").write_text("SALT = 7\n")
    system["arguments"] = {"dim": 8}
    assert workflow.planned(SUMMARY)["encode_chunk"] == 3
    system |= {"arguments": {"dim": 16}, "encoder": "of_mine:Yours"}
    assert "custom.systems.tiny.encoder: found 'of_mine:Yours'" in workflow.run("--dry-run", SUMMARY, ok=False)
