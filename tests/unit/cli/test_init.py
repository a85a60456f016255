"""Configurations that `beirflow init` writes are ones that load, from options and from a terminal."""

import argparse
import json
import os
import pty
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from beirflow.cli import init
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.core import layout
from beirflow.core.errors import BeirflowError, ConfigError
from http_servers import FileServer
from results_maker import run_rules
from tiny_bert import save_tiny_bert
from tiny_colbert import save_colbert
from tiny_cross_encoder import save_cross_encoder
from tiny_sparse import save_masked_lm

DEMO = Path(__file__).parents[2] / "data/demo"
REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to work in, and no hub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:1")


def run(*arguments: str) -> int:
    """Run the command, not on a terminal."""
    parser = argparse.ArgumentParser()
    init.add_arguments(parser)
    return init.main(parser.parse_args(arguments))


def loaded(path: str = "my.yaml") -> tuple[dict[str, Any], Experiment]:
    """The configuration, and the experiment that is loaded from its file."""
    config = yaml.safe_load(Path(path).read_text())
    return config, load_experiment(config, [path])


def typed(arguments: Sequence[str], answers: Sequence[str]) -> tuple[int, str]:
    """Run the command on a terminal of its own and type answers; return its exit status and what the terminal shows.

    Without a further answer, the terminal ends the input."""
    child, terminal = pty.fork()
    if not child:
        status = 1
        try:
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            status = run(*arguments)
        except BeirflowError as error:
            sys.stdout.write(f"{error}\n")
            status = 2
        finally:
            sys.stdout.flush()
            os._exit(status)
    left, shown = [f"{answer}\n" for answer in answers], b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
            if shown.endswith(b": "):  # a question; Control-D where no answer is left
                os.write(terminal, (left.pop(0) if left else "\x04").encode())
    except OSError:  # Linux ends a terminal so that nobody has any more
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def test_answers_on_a_terminal_make_a_configuration_with_which_bm25_runs(tmp_path: Path) -> None:
    corpus = str(DEMO / "kitchen")
    status, shown = typed([], [corpus])
    assert (status, "nothing was written" in shown, Path("my.yaml").exists()) == (2, True, False)
    status, shown = typed([], ["/nowhere", corpus, "", "", "bm2", "bm25", "results"])
    assert status == 0, shown
    assert "/nowhere: there is no such folder" in shown  # and it asks again
    assert "did you mean 'bm25'" in shown
    assert "Next: beirflow try my.yaml" in shown
    config, experiment = loaded()
    assert (experiment.chosen_systems, experiment.chosen_datasets) == (["bm25"], ["kitchen"])
    assert config["custom"]["datasets"] == {"kitchen": {"path": corpus}}
    results = tmp_path / "results"
    run_rules(results, experiment, [layout.METRICS(system="bm25", dataset="kitchen")])
    scored = json.loads((results / layout.METRICS(system="bm25", dataset="kitchen")).read_text())
    assert scored["measures"]["NDCG@10"] == pytest.approx(0.5524, abs=5e-5)
    assert (scored["counts"]["documents"], scored["counts"]["queries"]) == (60, 18)


def test_without_a_terminal_defaults_are_taken_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    out = capsys.readouterr().out
    assert "Assumed: Datasets of BEIR: scifact\nAssumed: Systems of the catalogue: bm25\n" in out
    config, experiment = loaded()
    assert (experiment.chosen_systems, list(experiment.chosen_rows)) == (["bm25"], ["scifact"])
    assert config["results"] == "results"
    # What it states besides is the default, so that the file changes nothing by itself.
    defaults = load_experiment({"systems": "bm25", "datasets": "scifact"}).config
    assert {key: config[key] for key in ("sample_queries", "top_k", "cutoffs", "device", "precision")} == {
        key: defaults[key] for key in ("sample_queries", "top_k", "cutoffs", "device", "precision")
    }
    text = Path("my.yaml").read_text()
    assert all(
        command in text for command in ("beirflow try my.yaml", "beirflow estimate my.yaml", "beirflow run my.yaml report")
    )
    assert max(map(len, text.splitlines())) <= 140


def test_options_name_several_systems_and_datasets() -> None:
    assert run("a b.yaml", "--systems", "contriever, bm25", "--datasets", "nfcorpus,scifact.train", "--results", "out") == 0
    config, experiment = loaded("a b.yaml")
    assert experiment.chosen_systems == ["contriever", "bm25"]
    assert list(experiment.chosen_rows) == ["nfcorpus", "scifact.train"]
    assert (config["results"], config["baseline"]) == ("out", "contriever")
    assert "beirflow run 'a b.yaml' report" in Path("a b.yaml").read_text()
    assert run("all.yaml", "--datasets", "all") == 0
    assert len(loaded("all.yaml")[1].chosen_rows) == 15
    assert loaded("all.yaml")[0]["results"] == "results/all"  # a folder of its own


def test_a_file_that_is_there_stays_unless_it_may_be_replaced() -> None:
    Path("my.yaml").write_text("mine")
    with pytest.raises(ConfigError, match="--force"):
        run()
    assert Path("my.yaml").read_text() == "mine"
    assert run("--force") == 0
    assert loaded()[1].chosen_systems == ["bm25"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--systems", "bm52x"], "bm52x"),
        (["--datasets", "scifat"], "did you mean 'scifact'"),
        (["--datasets", ""], "no dataset"),
        (["--corpus", "nowhere"], "there is no such folder"),
        (["--corpus", "empty"], "it has no corpus.jsonl, queries.jsonl, qrels/test.tsv"),
        (["--corpus", "file.jsonl"], "is a file"),
        (["--model", "./nowhere"], "nothing is there"),
        (["--model", "empty"], "has no config.json"),
        (["--model", "org/name"], "org/name@<40 digits>"),
        (["--model", f"org/name@{REVISION}", "--family", "spare"], "did you mean 'sparse'"),
        (["--results", "file.jsonl"], "is a file"),
        (["my.txt"], "ends in .yaml"),
        (["nowhere/my.yaml"], "there is no folder nowhere"),
    ],
)
def test_what_cannot_be_used_is_a_sentence_and_writes_nothing(arguments: list[str], said: str) -> None:
    Path("empty").mkdir()
    Path("file.jsonl").touch()
    with pytest.raises(BeirflowError) as refused:
        run(*arguments)
    assert said in str(refused.value)
    assert sorted(map(str, Path().iterdir())) == ["empty", "file.jsonl"]


def test_a_dataset_has_the_split_that_its_judgements_have(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(DEMO / "kitchen", "my corpus")
    Path("my corpus/qrels/test.tsv").rename("my corpus/qrels/dev.tsv")
    shutil.copy("my corpus/qrels/dev.tsv", "my corpus/qrels/train.tsv")
    assert run("--corpus", "my corpus") == 0
    config, experiment = loaded()
    assert config["custom"]["datasets"] == {"my-corpus": {"path": "my corpus", "split": "dev"}}
    assert experiment.chosen_datasets == ["my-corpus"]
    assert "Assumed: the split dev of my-corpus" in capsys.readouterr().out


def test_an_archive_and_a_folder_of_forums_are_datasets_too(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.make_archive("scifact", "zip", DEMO, "kitchen")
    assert run("a.yaml", "--corpus", "scifact.zip") == 0
    assert loaded("a.yaml")[0]["custom"]["datasets"] == {"my-scifact": {"path": "scifact.zip"}}  # another is in the catalogue
    assert run("b.yaml", "--corpus", str(DEMO / "forums"), "--datasets", "nfcorpus") == 0
    config, experiment = loaded("b.yaml")
    assert config["custom"]["datasets"]["forums"]["forums"] == ["bicycle", "garden"]
    assert list(experiment.chosen_rows) == ["forums", "nfcorpus"]
    assert "Assumed: forums is one dataset with the forums bicycle, garden" in capsys.readouterr().out


def test_the_family_of_a_model_is_that_of_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    makers = {"enc": save_tiny_bert, "lm": save_masked_lm, "col": save_colbert, "cross": save_cross_encoder}
    entries = {}
    for name, save in makers.items():
        (tmp_path / name).mkdir()
        save(tmp_path / name)
        assert run(f"{name}.yaml", "--model", name, "--systems", "contriever") == 0
        config, experiment = loaded(f"{name}.yaml")
        entries[name] = config["custom"]["systems"][name]
        assert name in experiment.chosen_systems
    # A plain folder does not say how its vectors are made, which is written as assumed.
    assert entries["enc"] == {"model": "./enc", "pooling": "mean", "similarity": "cosine"}
    assert "# assumed: pooling 'mean' of enc: " in Path("enc.yaml").read_text()
    assert entries["lm"] == {"family": "sparse", "model": "./lm"}
    assert entries["col"] == {"family": "late-interaction", "model": "./col"}
    assert entries["cross"] == {"family": "rerank", "first": "bm25", "depth": 100, "model": "./cross"}
    assert loaded("cross.yaml")[1].chosen_systems == ["bm25", "contriever", "cross"]
    assert "Assumed: lm is a system of family sparse, by its files" in capsys.readouterr().out


def test_open_settings_of_a_model_are_asked_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "enc").mkdir()
    save_tiny_bert(tmp_path / "enc")
    status, shown = typed(["--corpus", str(DEMO / "kitchen"), "--datasets", "", "--systems", "bm25"], ["enc", "cls", "dot", ""])
    assert status == 0, shown
    assert loaded()[0]["custom"]["systems"]["enc"] == {"model": "./enc", "pooling": "cls", "similarity": "dot"}


def test_a_model_of_the_hub_is_pinned_to_the_revision_that_the_hub_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    info = {"id": "org/name", "sha": REVISION, "tags": ["sentence-transformers", "cross-encoder"], "siblings": []}
    with FileServer({"/api/models/org/name": json.dumps(info).encode()}) as hub:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        assert run("--model", "org/name") == 0
    entry = loaded()[0]["custom"]["systems"]["name"]
    assert entry == {"family": "rerank", "first": "bm25", "depth": 100, "model": "org/name", "revision": REVISION}
    assert f"Assumed: revision {REVISION} of org/name, the newest" in capsys.readouterr().out
    # Without the hub, where the catalogue has the model, or the revision is given.
    assert run("e5.yaml", "--model", "intfloat/e5-base-v2") == 0
    assert loaded("e5.yaml")[1].chosen_systems == ["bm25", "e5-base-v2"]
    assert run("b.yaml", "--model", f"org/name@{REVISION}", "--family", "late-interaction") == 0
    assert loaded("b.yaml")[0]["custom"]["systems"]["name"]["family"] == "late-interaction"
