"""A leaderboard of folders of different people: each is audited, and shown as far as it can be relied on."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.layout import MANIFEST, SUMMARY
from beirflow.evaluation.summary import TrainedOn
from beirflow.extensions.exchange import joint_leaderboard
from beirflow.extensions.exchange.gate import Side
from beirflow.extensions.exchange.joint_leaderboard import collect_folders, level_of
from beirflow.extensions.exchange.layout import LEADERBOARD, LEADERBOARD_TABLE
from forger import Forger, put
from results_maker import Made, make_results, run_rules

HERE = "replayed, traced to sources, not sampled"
"""Verdict on honest results where sources and models are, without a sample."""


def collect(folder: Path, experiment: Experiment, *folders: object) -> str:
    return collect_folders(
        folder=str(folder), folders=folders, experiment=experiment, main_measure="NDCG@10", sample=0, seed=None
    )


def test_the_words_on_results_are_their_steps() -> None:
    done = dict.fromkeys(("intact", "as configured", "replayed", "traced to sources", "sampled"), "yes")
    assert level_of(list(done.items())) == "replayed, traced to sources, sampled"
    partly = {**done, "traced to sources": "partly", "sampled": "no"}
    assert level_of(list(partly.items())) == "replayed, partly traced to sources, not sampled"


def test_each_folder_is_shown_as_far_as_its_audit_goes(forger: Forger, original: Made, tmp_path: Path) -> None:
    honest = tmp_path / "honest"
    shutil.copytree(original.results, honest)
    forger.edit("metrics/tiny/small.json", put("measures", "NDCG@10", value=0.99))
    forger.digest_summary_again()
    folders = [
        {"path": str(honest), "manifest_sha256": file_digest(honest / MANIFEST)},
        {"path": str(forger.results), "name": "<forged>"},
        {"path": str(honest), "name": "other", "manifest_sha256": "0" * 64},
        str(tmp_path / "nowhere"),
    ]
    words = collect(tmp_path / "here", load_experiment(original.config), *folders).splitlines()
    assert words[0] == f"honest: {HERE}"
    assert words[1].startswith("<forged>: marked; ")
    assert words[2].startswith("other: refused; the manifest is the one that was published: ")
    assert words[3].startswith("nowhere: refused; ")
    table = pd.read_csv(tmp_path / "here" / LEADERBOARD_TABLE)
    shown = {system: set(part["dataset"]) for system, part in table[table["split"].notna()].groupby("system")}
    every = {"small", "more", "stack"}
    forged = {"tiny (<forged>)": every - {"small"}, "second (<forged>)": every}
    assert shown == {"tiny (honest)": every, "second (honest)": every, **forged}
    page = (tmp_path / "here" / LEADERBOARD).read_text(encoding="utf-8")
    assert "tiny (honest)" in page
    assert "tiny (&lt;forged&gt;)" in page
    assert ">0.9900" not in page


def test_the_words_on_a_folder_are_the_levels_of_its_audit(forger: Forger, original: Made, tmp_path: Path) -> None:
    """A result whose vectors are gone is not shown as one that was compared, nor one that was trained on as others."""
    custom = original.config["custom"]
    trained = {**custom["systems"]["tiny"], "trained_on": {"datasets": {"small": "train"}}}
    config = {**original.config, "custom": {**custom, "systems": {**custom["systems"], "tiny": trained}}}
    for name in (SUMMARY, MANIFEST):
        forger.path(name).unlink()
    run_rules(forger.results, load_experiment(config), [SUMMARY])
    forger.path("embeddings/tiny/small/chunk-0.npy").unlink()
    forger.experiment = load_experiment({})
    words = collect(tmp_path, forger.experiment, str(forger.results)).splitlines()
    assert words[0] == "results: replayed, not traced to sources, not sampled"
    table = pd.read_csv(tmp_path / LEADERBOARD_TABLE).set_index(["system", "dataset"])
    assert table["trained_on"]["tiny (results)", "small"] == "train"
    assert table["trained_on"]["second (results)", "small"] != "train"
    verdicts = table["verdict"]
    assert "not compared: representations are as they were recorded" in verdicts["tiny (results)", "small"]
    assert "representations" not in verdicts["second (results)", "more"]
    page = (tmp_path / LEADERBOARD).read_text(encoding="utf-8")
    assert "†" in page
    assert "Not compared" in page


def test_results_on_other_data_are_left_out(original: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    shutil.copytree(original.results, other)

    def differ(here: Side, there: Side, corpus: str) -> None:  # as tests/unit/audit/test_gate.py has it with real files
        if (there.folder, corpus) == (other, "small"):
            raise DataError("small has other judgements there: corpora/small/qrels.parquet differs")

    monkeypatch.setattr(joint_leaderboard, "same_data", differ)
    honest = {"path": str(original.results), "name": "honest"}
    words = collect(tmp_path, load_experiment(original.config), honest, str(other)).splitlines()
    assert words[0] == f"honest: {HERE}"
    left_out = "is left out: small has other judgements there: corpora/small/qrels.parquet differs"
    assert words[1] == f"other: marked; tiny on small {left_out}; second on small {left_out}"
    table = pd.read_csv(tmp_path / LEADERBOARD_TABLE)
    assert set(table[(table["folder"] == "other") & table["split"].notna()]["dataset"]) == {"more", "stack"}


def test_judgements_of_a_folder_that_failed_leave_out_nobody_else(forger: Forger, original: Made, tmp_path: Path) -> None:
    forger.edit_table("corpora/small/qrels.parquet", lambda qrels: qrels.assign(doc_id=sorted(qrels["doc_id"], reverse=True)))
    forger.evaluate_again("tiny", "small")
    forger.evaluate_again("second", "small")
    honest = {"path": str(original.results), "name": "honest"}
    words = collect(tmp_path, load_experiment(original.config), {"path": str(forger.results), "name": "forged"}, honest)
    assert "corpora/small/qrels.parquet: other values" in words.splitlines()[0]
    assert words.splitlines()[1] == f"honest: {HERE}"
    table = pd.read_csv(tmp_path / LEADERBOARD_TABLE)
    assert set(table[table["dataset"] == "small"]["folder"]) == {"honest"}


def test_a_mean_over_fewer_forums_is_left_out(original: Made, tmp_path: Path) -> None:
    datasets = original.config["custom"]["datasets"]
    fewer = datasets | {"stack": datasets["stack"] | {"forums": ["android"]}}
    config = {**original.config, "datasets": ["stack"], "custom": {**original.config["custom"], "datasets": fewer}}
    make_results(tmp_path / "fewer", config)
    honest = {"path": str(original.results), "name": "honest"}
    words = collect(tmp_path, load_experiment({}), honest, str(tmp_path / "fewer")).splitlines()
    different = "stack has the corpora stack-android, stack-tex here and stack-android there"
    assert words[1] == f"fewer: marked; tiny on stack is left out: {different}; second on stack is left out: {different}"


def test_nobody_knows_the_sample_beforehand(original: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []
    whole = joint_leaderboard.run_checks

    def noted(folder: Path, experiment: Experiment, sample: int, seed: int, **known: Any) -> object:
        seeds.append(seed)
        return whole(folder, experiment, sample, seed, **known)

    monkeypatch.setattr(joint_leaderboard, "run_checks", noted)
    for _ in range(2):
        collect(tmp_path, load_experiment({}), str(original.results))
    assert len({0, *seeds}) == 3


def test_a_folder_whose_numbers_cannot_be_read_is_refused_and_the_others_are_shown(
    original: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = joint_leaderboard.summary_table

    def fails_for_odd(paths: list[str], measure: str, trained_on: TrainedOn, kept: set[str]) -> pd.DataFrame:
        if "odd" in paths[0]:
            raise KeyError("measures")
        return whole(paths, measure, trained_on, kept)

    shutil.copytree(original.results, tmp_path / "odd")
    monkeypatch.setattr(joint_leaderboard, "summary_table", fails_for_odd)
    honest = {"path": str(original.results), "name": "honest"}
    words = collect(tmp_path, load_experiment(original.config), honest, str(tmp_path / "odd")).splitlines()
    assert words[0] == f"honest: {HERE}"
    assert words[1] == f"odd: refused; {tmp_path / 'odd'} cannot be shown: has no 'measures'"


@pytest.mark.parametrize(
    ("folders", "problem"),
    [
        ([], "no folder is named"),
        (["/a/results", "/b/results"], "results is the name of two folders"),
        (["/a/nothing"], "no folder has a result that can be shown\nnothing: refused; "),
    ],
)
def test_nothing_to_show_is_an_error(original: Made, tmp_path: Path, folders: list[str], problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        collect(tmp_path, load_experiment(original.config), *folders)
    assert not (tmp_path / LEADERBOARD).exists()
