"""A class of the user's own through the whole workflow: a change of it encodes again, and nothing else does."""

import json

import pytest
from workflow_runs import Workflow

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


@pytest.mark.long
def test_a_change_of_the_class_or_its_arguments_encodes_again(lexical: Workflow) -> None:
    workflow = lexical
    (workflow.folder / "of_mine.py").write_text(CLASS)
    (workflow.folder / "near_of_mine.py").write_text("SALT = 7\n")
    (workflow.folder / "far_of_mine.py").write_text("")
    system = {"encoder": "of_mine:Mine", "arguments": {"dim": 16}, "similarity": "cosine"}
    workflow.config["custom"]["systems"]["tiny"] = system
    workflow.run(SUMMARY)
    model = json.loads(workflow.result("models/tiny.json").read_text())
    assert sorted(model["files"]) == ["near_of_mine.py", "of_mine.py"]
    assert (model["encoder"], model["arguments"]) == ("of_mine:Mine", {"dim": 16})
    record = json.loads(workflow.result("embeddings/tiny/small/chunk-0.json").read_text())
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
