"""Results of a class of one's own, with a reranking by it: an honest run passes, and another class or argument is noticed."""

from pathlib import Path

import pytest

from forger import FAILED, Forger, put
from results_maker import Made, audit_config, make_results
from results_of_runs import make_results_of_runs

OF_BEIR = """
import numpy as np

class Letters:
    def __init__(self, first):
        self.letters = "abcdefghijklmnopqrstuvwxyz0123456789"[first:]

    def encode_queries(self, queries):
        return [[1.0, *(text.count(letter) for letter in self.letters)] for text in queries]

    def encode_corpus(self, corpus):
        titles, texts = (self.encode_queries([doc[key] for doc in corpus]) for key in ("title", "text"))
        return 2 * np.array(titles) + texts
"""

OF_MTEB = """
import numpy as np

class Letters:
    def __init__(self, first):
        self.letters = "abcdefghijklmnopqrstuvwxyz0123456789"[first:]

    def encode(self, sentences, task_name, prompt_type=None, **kwargs):
        weight = {"query": 1.0, "document": 2.0}[str(getattr(prompt_type, "value", prompt_type))] * len(task_name)
        return np.array([[1.0, *(weight * text.count(letter) for letter in self.letters)] for text in sentences])
"""


@pytest.mark.usefixtures("threads_as_before")
@pytest.mark.parametrize(("module", "code"), [("letters_of_beir", OF_BEIR), ("letters_of_mteb", OF_MTEB)])
def test_an_honest_run_of_a_class_passes_and_other_arguments_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, code: str
) -> None:
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    config = audit_config(tmp_path, tmp_path)
    own = {"encoder": f"{module}:Letters", "similarity": "dot"}
    systems = {name: {**own, "arguments": {"first": first}} for first, name in enumerate(("tiny", "second"))}
    datasets = {"small": config["custom"]["datasets"]["small"]}
    config |= {"datasets": ["small"], "custom": {"systems": systems, "datasets": datasets}}
    make_results(tmp_path / "results", config)
    made = Forger.of(make_results_of_runs(Made(tmp_path / "results", config), tmp_path / "runs"), tmp_path / "forged")
    assert [check.found for check in made.checks(sample=20) if check.status == FAILED or "does not write" in check.found] == []
    made.edit("models/tiny.json", put("arguments", value={"first": 3}))
    assert [check.files for check in made.failed() if check.name == "records say the same"] == [("models/tiny.json",)]
