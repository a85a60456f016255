"""Claims of others in all their forms, and those that are refused in a sentence."""

import json
import shutil
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from beirflow.core.errors import DataError
from beirflow.extensions.verify.claims import Task, read_claim
from beirflow.extensions.verify.commands.verify import _sign, _system

TASK = Task("nfcorpus", "NFCorpus", "test", "NDCG@10")
RUN = {"mteb_model_meta": {"model_name": "a/b", "revision": "c"}, "default": {"test": {"q": {"d": 1.0}}}}


def result(value: Any, **changes: Any) -> str:
    scores = {"test": [{"hf_subset": "default", "main_score": value, "ndcg_at_10": value}]}
    return json.dumps({"dataset_revision": "e", "task_name": "NFCorpus", "scores": scores, **changes})


def card(value: Any) -> str:
    entry = f"{{dataset: {{name: MTEB NFCorpus, split: test}}, metrics: [{{type: ndcg_at_10, value: {value}}}]}}"
    return f"---\nmodel-index:\n- name: m\n  results: [{entry}]\n---\nA model.\n"


FORMS = {
    "a/b/NFCorpus.json": result(0.31),
    "README.md": card(31.0),
    ".eval_results/mteb.yaml": "- dataset: {id: mteb/nfcorpus, task_id: NFCorpus_default_test}\n  value: 31.0\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_the_value_of_each_form_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(FORMS[name])
    claim = read_claim([str(tmp_path)], TASK, None, None)
    assert (claim.value, claim.run) == (pytest.approx(0.31), None)
    assert [len(digest) for digest in claim.files.values()] == [64]


def test_a_folder_of_mteb_has_a_value_and_a_run(tmp_path: Path) -> None:
    (tmp_path / "NFCorpus.json").write_text(result(0.31))
    (tmp_path / "NFCorpus_predictions.json").write_text(json.dumps(RUN))
    (tmp_path / "SciFact_predictions.json").write_text("{")
    (tmp_path / "NFCorpus.py").write_text("raise SystemExit")
    claim = read_claim([str(tmp_path)], TASK, None, None)
    assert (claim.value, claim.run) == (0.31, str(tmp_path / "NFCorpus_predictions.json"))
    assert claim.says == {"dataset_revision": "e", "predictions: model_name": "a/b", "predictions: revision": "c"}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("NFCorpus.json", result(31.0), "the claimed value is 31.0; expected a number from 0 to 1"),
        ("NFCorpus.json", result(float("nan")), "the claimed value is nan"),
        ("NFCorpus.json", result("0.3"), "the claimed value is '0.3'"),
        ("NFCorpus.json", result(True), "the claimed value is True"),
        ("NFCorpus.json", result(0.3, task_name="SciFact"), "it is about 'SciFact'; expected 'NFCorpus'"),
        ("NFCorpus.json", result(0.3, scores={"dev": []}), "the split 'test'"),
        ("NFCorpus.json", result(0.3, scores={"test": [{"main_score": 0.3}]}), "there is no ndcg_at_10"),
        ("NFCorpus.json", result(0.3)[:-5], "expected JSON"),
        ("NFCorpus.json", "[1]", "expected a JSON object, found list"),
        ("README.md", card(310), "from 0 to 100, in percent"),
        ("README.md", "---\nmodel-index: [1, {results: [2, {dataset: 3, metrics: 4}]}]\n---\n", "nothing is claimed"),
        ("README.md", "---\na: [\n---\n", "expected YAML"),
        (".eval_results/a.yaml", "- dataset: {task_id: NFCorpus}\n  value: .nan\n", "the claimed value is nan"),
        ("other.json", result(0.3), "nothing is claimed of nfcorpus (NFCorpus in MTEB)"),
    ],
)
def test_what_is_no_claim_is_refused_in_a_sentence(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as error:
        read_claim([str(tmp_path)], TASK, None, None)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_no_file_outside_a_folder_of_results_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    for place in (folder / "runs/tiny", tmp_path / "outside"):
        place.mkdir(parents=True)
    for name in ("nfcorpus.parquet", "nfcorpus.parquet.record.json", "nfcorpus.json"):
        (tmp_path / "outside" / name).write_text("{}")
    (folder / "manifest.json").write_text(json.dumps({"systems": {"../../outside": {"settings": {"model": "a/b"}}}}))
    with pytest.raises(DataError, match="there is no such file, so no result of"):
        read_claim([str(folder)], TASK, "a/b", None)


@pytest.mark.parametrize("name", ["README.md", "manifest.json"])
def test_a_file_without_end_is_refused(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(DataError, match="1,099,511,627,776 bytes, expected at most"):
        read_claim([str(tmp_path)], TASK, None, None)


def test_two_runs_or_two_values_are_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(RUN))
        (tmp_path / f"{name}-result.json").write_text(result(0.3 if name == "one" else 0.4))
    for names, problem in ((("one.json", "two.json"), "a second run"), (("one-result.json", "two-result.json"), "another file")):
        with pytest.raises(DataError, match=problem):
            read_claim([str(tmp_path / name) for name in names], TASK, None, None)


@pytest.mark.parametrize(
    "entry",
    [
        {"encoder": "subprocess:Popen", "arguments": {"args": "true"}},
        {"arguments": {"a": "${HOME}"}},
        {"base": {"encoder": "subprocess:Popen"}, "genq": {}},
    ],
)
def test_no_class_that_a_folder_names_is_taken_over(entry: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="no code that others name runs here"):
        _system(Namespace(configfile=[], model=None), "theirs", entry)
    assert _system(Namespace(configfile=[], model=None), "theirs", {"model": "a/b"}) == ("theirs", {"theirs": {"model": "a/b"}})


@pytest.mark.parametrize("name", ["bm25", "bm25-minilm-l6-ce", "rrf-bm25-bge-base"])
def test_a_system_that_a_sample_does_not_determine_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="only encoders are recomputed on a sample"):
        _system(Namespace(configfile=[], model=name), None, None)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH is not installed")
def test_anybody_checks_the_signature_as_the_documentation_says(tmp_path: Path) -> None:
    key, statement, signers = tmp_path / "key", tmp_path / "statement.json", tmp_path / "allowed_signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers.write_text(f"me@example.org {key.with_suffix('.pub').read_text()}")
    statement.write_text("{}")
    _sign(statement, str(key))
    check = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "me@example.org", "-n", "file", "-s", f"{statement}.sig"]
    assert subprocess.run(check, input=b"{}", check=False, capture_output=True).returncode == 0
    assert subprocess.run(check, input=b"{ }", check=False, capture_output=True).returncode != 0
    with pytest.raises(DataError, match="was not signed with"):
        _sign(statement, str(signers))
