"""Published results of others in the layout of MTEB: as they are, or refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beirflow.config.load import load_experiment
from beirflow.core.csv_files import read_named_csv
from beirflow.core.digests import file_digest
from beirflow.core.errors import ConfigError, DataError
from beirflow.report.leaderboard import scores_table
from beirflow.report.references import collect_references

SUMMARY = pd.DataFrame(
    [
        {"system": system, "dataset": dataset, "split": split, "NDCG@10": value}
        for system, values in {"mine": (0.5, 0.25, 0.375), "other": (0.25, 0.5, 0.375)}.items()
        for (dataset, split), value in zip(
            [("nq", "test"), ("fiqa", "test"), ("mean of 2 (nq, fiqa)", None)], values, strict=True
        )
    ]
)


def write(folder: Path, model: str, task: str, split: str = "test", **scores: Any) -> Path:
    path = folder / f"{model}/0123456789abcdef/{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"hf_subset": "default", "main_score": 0.75, **scores}
    path.write_text(json.dumps({"task_name": task, "mteb_version": "1.18.0", "scores": {split: [entry]}}))
    return path


def collected(folder: Path, references: list[str], datasets: Sequence[str] = ("nq", "fiqa", "nfcorpus.dev")) -> pd.DataFrame:
    config = {"systems": ["bm25"], "datasets": [*datasets], "references": references}
    experiment = load_experiment(config)
    table_path = str(folder / "references.csv")
    measures = ["NDCG@10", "Recall@100", "R_cap@100"]
    paths, tasks = experiment.references, experiment.reference_tasks
    collect_references(reference_paths=paths, tasks=tasks, measures=measures, table_path=table_path)
    return read_named_csv(table_path)


def test_results_of_others_are_below_the_leaderboard_and_change_nothing_of_it(tmp_path: Path) -> None:
    path = write(tmp_path, "BAAI__bge", "NQ", ndcg_at_10=0.75, recall_at_100=0.875)
    write(tmp_path, "BAAI__bge", "FiQA2018", ndcg_at_10=0.25)
    write(tmp_path, "BAAI__bge", "SciFact", ndcg_at_10=0.9)  # not configured
    write(tmp_path, "half", "NQ", ndcg_at_10=1)
    table = collected(tmp_path, [str(tmp_path)])
    row = table.set_index(["model", "dataset"]).loc["BAAI/bge", "nq"]
    assert (row["revision"], row["mteb_version"], row["sha256"]) == ("0123456789abcdef", "1.18.0", file_digest(path))
    assert (row["NDCG@10"], row["Recall@100"], row["R_cap@100"] == row["R_cap@100"]) == (0.75, 0.875, False)
    alone, shown = scores_table(SUMMARY, "NDCG@10"), scores_table(SUMMARY, "NDCG@10", references=table)
    assert shown.rows[:2] == alone.rows
    assert [[cell.text for cell in row] for row in shown.rows[2:]] == [
        ["BAAI/bge at 0123456789 §", "0.5000", "0.7500", "0.2500"],
        ["half at 0123456789 §", "", "1.0000", ""],
    ]
    assert not any(cell.best or cell.heat for row in shown.rows[2:] for cell in row)
    # The folder of a model or of a revision is one too.
    for folder in (path.parent, path.parent.parent):
        assert set(collected(tmp_path, [str(folder)])["model"]) == {"BAAI/bge"}


def test_cqadupstack_of_others_is_the_mean_of_twelve_forums_and_never_of_fewer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forums = list(load_experiment({"systems": ["bm25"], "datasets": ["cqadupstack"]}).reference_tasks)
    assert len(forums) == 12
    for place, task in enumerate(forums):
        write(tmp_path, "whole", task, ndcg_at_10=place / 16, recall_at_100=0.5)
        if place:
            write(tmp_path, "fewer", task, ndcg_at_10=0.5)
    write(tmp_path, "fewer", "CQADupstackRetrieval", ndcg_at_10=0.5)  # a mean of eleven
    [row] = collected(tmp_path, [str(tmp_path)], ["cqadupstack", "nq"]).to_dict("records")
    assert (row["model"], row["dataset"], row["NDCG@10"], row["Recall@100"]) == ("whole", "cqadupstack", 66 / 16 / 12, 0.5)
    assert len(row["sha256"].split()) == 12
    assert "fewer/0123456789abcdef: results of 11 of 12 forums of cqadupstack" in caplog.text


@pytest.mark.parametrize("value", [75.5, -0.1, True, "0.5", None, float("nan")])
def test_scores_that_are_no_fractions_are_refused(tmp_path: Path, value: Any) -> None:
    path = write(tmp_path, "m", "NQ", ndcg_at_10=value)
    with pytest.raises(DataError, match=rf"{path}: ndcg_at_10 is .*, and a fraction was expected"):
        collected(tmp_path, [str(tmp_path)])


def test_a_file_in_an_older_form_is_left_out_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "m", "NQ", ndcg_at_10=0.5)
    old = write(tmp_path, "old", "NQ", ndcg_at_10=0.25)
    old.write_text('{"dataset_revision": null, "mteb_dataset_name": "NQ", "mteb_version": "1.0.3", "test": {"ndcg_at_10": 0.25}}')
    assert collected(tmp_path, [str(tmp_path)])["NDCG@10"].tolist() == [0.5]
    assert f"{old}: older format of MTEB's, without 'scores', left out" in caplog.text


def test_what_is_no_result_of_a_task_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "m", "NQ", split="train", ndcg_at_10=0.5)
    for content in (path.read_text(), "{", "[]", '{"scores": {"test": [{}]}}'):
        path.write_text(content)
        with pytest.raises(DataError, match="it is no result of NQ on the split test as MTEB writes it"):
            collected(tmp_path, [str(tmp_path)])
    with pytest.raises(ConfigError, match=r"references: found '.*'; there is no <model>/<revision>/<task>.json of a configured"):
        collected(tmp_path, [str(tmp_path / "none")])
