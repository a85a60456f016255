"""Two folders of results side by side."""

import os
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beirflow.config.load import load_experiment
from beirflow.core.errors import DataError
from beirflow.core.records import read_json
from beirflow.extensions.exchange.compare import compare, disagreements
from forger import Forger, best_last, put
from results_maker import Made

RUN, MORE = "runs/tiny/small.parquet", "metrics/second/more.json"


def twice(results: Path, folder: Path) -> tuple[Path, Path]:
    """Two copies of results."""
    return shutil.copytree(results, folder / "here"), shutil.copytree(results, folder / "there")


@pytest.fixture
def two_whole(results_once: Made, tmp_path: Path) -> tuple[Path, Path]:
    """Results of two systems on four corpora, two of which are forums, twice."""
    return twice(results_once.results, tmp_path)


@pytest.fixture(scope="module")
def without_forums(results_once: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that are compared in half of the time."""
    folder = shutil.copytree(results_once.results, tmp_path_factory.mktemp("without-forums") / "results")
    inputs = Forger(folder).read("manifest.json")["inputs"]
    Forger(folder).edit("manifest.json", inputs={name: digest for name, digest in inputs.items() if "stack" not in name})
    for path in folder.glob("runs/*/stack*"):
        path.unlink()
    return folder


@pytest.fixture
def two(without_forums: Path, tmp_path: Path) -> tuple[Path, Path]:
    return twice(without_forums, tmp_path)


def compared(two: list[Path]) -> str:
    """Compare two folders, which may disagree."""
    try:
        words = compare(folder=str(two[0]), other=str(two[1]))
    except DataError as error:
        words = str(error)
    assert ("The results agree" in words) == (not read_json(two[0] / "comparison.json")["disagreements"])
    return words


def test_no_file_outside_the_folder_is_opened_that_a_manifest_names(two: tuple[Path, Path], tmp_path: Path) -> None:
    outside = tmp_path / "small.parquet"
    outside.write_text("no table")
    name = f"{os.path.relpath(tmp_path, two[0] / 'per_query')}"
    assert (two[0] / f"per_query/{name}/small.parquet").resolve() == outside
    Forger(two[0]).edit("manifest.json", put("configuration", "baseline", value=name))
    compared(two)
    assert {row["baseline"] for row in read_json(two[0] / "comparison.json")["reproduction"]} == {None}


def rankings_of_tiny(two: tuple[Path, Path]) -> dict[str, Any]:
    """Give the line about the rankings of tiny on small."""
    rows = read_json(two[0] / "comparison.json")["rankings"]
    return next(row for row in rows if (row["system"], row["dataset"]) == ("tiny", "small"))


def test_equal_results_have_no_difference_and_agree_everywhere(two_whole: tuple[Path, Path]) -> None:
    words = compared(two_whole)
    report = read_json(two_whole[0] / "comparison.json")
    assert list(report["differences"].values()) == [[]] * 5
    assert {score["difference"] for row in report["scores"] for score in row["measures"].values()} == {0}
    assert len(report["rankings"]) == 2 * 4
    for row in report["rankings"]:
        assert (row["overlap@10"], row["same"], row["changed most"]) == (1, row["queries"], [])
        assert (row["rbo"], row["tau"], row["ktu"], row["rbo0.95"]) == pytest.approx((1, 1, 1, row["rbo0.95"]), abs=1e-12)
    for row in report["reproduction"]:
        assert (row["rmse"], row["p"], row["dri"] or 0) == (0, 1, 0)
        assert (row["low"], row["high"], row["margin"], row["reproduced"]) == (0, 0, 0.005, True)
        assert row["er"] in (None, pytest.approx(1))
    assert {row["baseline"] for row in report["reproduction"] if row["system"] == "second"} == {"tiny"}
    assert report["doubts"] == []
    assert "Settings and files that differ: configuration: 0, systems: 0, code: 0" in words
    assert "Equal in all measures and rankings: tiny on small" in words
    assert "The results agree to four decimals." in words
    assert not (two_whole[1] / "comparison.json").exists()


def test_what_differs_is_named_with_both_sides(two: tuple[Path, Path]) -> None:
    there = Forger(two[1])
    there.edit("manifest.json", put("environment", "packages", "torch", value="0.1"), repository__commit="another")
    there.edit("manifest.json", lambda manifest: manifest["inputs"].pop(MORE), configuration__precision="bfloat16")
    there.edit("corpora/small/corpus.json", put("source_sha256", "corpus.jsonl", value="other"))
    value = there.read("metrics/tiny/small.json")["measures"]["NDCG@10"] - 0.25
    there.edit("metrics/tiny/small.json", put("measures", "NDCG@10", value=value))
    compared(two)
    report = read_json(two[0] / "comparison.json")
    found = {name: [one["what"] for one in differences] for name, differences in report["differences"].items()}
    assert found == {
        "configuration": ["precision"],
        "systems": [],
        "code": ["commit"],
        "environment": ["packages.torch"],
        "data": ["corpora/small/corpus.json.source_sha256.corpus.jsonl"],
    }
    assert report["differences"]["configuration"] == [{"what": "precision", "here": "float32", "there": "bfloat16"}]
    assert report["only in one"] == [[["second", "more"]], []]
    (score,) = [row["measures"]["NDCG@10"]["difference"] for row in report["scores"] if row["dataset"] == "small"][:1]
    assert score == pytest.approx(0.25, abs=1e-12)
    assert "corpora/small/corpus.json.source_sha256.corpus.jsonl" in (two[0] / "comparison.html").read_text()


def test_the_query_whose_ranking_was_turned_round_changed_most(two: tuple[Path, Path]) -> None:
    def turned_round(run: pd.DataFrame) -> pd.DataFrame:
        mine = run["query_id"] == "q2"
        run.loc[mine, "doc_id"] = run.loc[mine, "doc_id"].to_numpy()[::-1]
        return run.assign(score=run["score"].mask(mine, -run["rank"]).astype("float32"))  # no ties, which ids would decide

    Forger(two[1]).edit_table(RUN, turned_round)
    compared(two)
    row = rankings_of_tiny(two)
    assert [found["query"] for found in row["changed most"]] == ["q2"]
    assert (row["changed most"][0]["tau"], row["same"], row["tau"]) == (-1, row["queries"] - 1, pytest.approx(0.5))


def test_what_cannot_be_compared_says_what_to_do(two: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is named; name one: beirflow compare \S+ /other/results$"):
        compare(folder=str(two[0]), other=None)
    with pytest.raises(DataError, match="expected a results folder with a summary"):
        compare(folder=str(two[0]), other=str(tmp_path / "nowhere"))
    (two[1] / "metrics/tiny/small.json").write_text("{}")
    with pytest.raises(DataError, match="audit both"):
        compare(folder=str(two[0]), other=str(two[1]))


def test_a_run_that_only_others_need_is_compared_without_scores(two: tuple[Path, Path]) -> None:
    """Parts of a fusion that are not in ``systems`` have runs and no metrics."""
    for folder in two:
        shutil.copytree(folder / "runs/tiny", folder / "runs/part")
    compared(two)
    report = read_json(two[0] / "comparison.json")
    assert "part" in {row["system"] for row in report["rankings"]}
    assert "part" not in {row["system"] for row in [*report["scores"], *report["reproduction"]]}
    assert report["doubts"] == []


@pytest.mark.parametrize("side", [0, 1])
def test_pipes_and_links_are_refused_unopened(two: tuple[Path, Path], side: int) -> None:
    run = two[side] / "runs/tiny/small.parquet"
    run.unlink()
    os.mkfifo(run)
    with pytest.raises(DataError, match=r"runs/tiny/small.parquet is a pipe, which was not followed or opened"):
        compare(folder=str(two[0]), other=str(two[1]))
    run.unlink()
    run.symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"is a link to /dev/zero, which was not"):
        compare(folder=str(two[0]), other=str(two[1]))


def test_a_run_that_is_none_is_named_and_not_compared(two: tuple[Path, Path]) -> None:
    Forger(two[1]).edit_table(RUN, lambda run: run.assign(rank=run["rank"] + 1))
    words, page = compared(two), unescape((two[0] / "comparison.html").read_text())
    report = read_json(two[0] / "comparison.json")
    (doubt,) = report["doubts"]
    assert (doubt["folder"], doubt["file"]) == (str(two[1]), RUN)
    assert doubt["found"].startswith("found the document 'd001' at rank 2 for the query 'q0', expected rank 1")
    assert ("tiny", "small") not in {(row["system"], row["dataset"]) for row in report["rankings"]}
    assert f"unreliable: {two[1]}/{RUN}" in words
    assert doubt["found"] in page


def test_means_that_are_not_those_of_their_queries_are_named_and_not_judged(two: tuple[Path, Path]) -> None:
    there = Forger(two[1])
    value = there.read("metrics/tiny/small.json")["measures"]["NDCG@10"] + 0.25
    there.edit("metrics/tiny/small.json", put("measures", "NDCG@10", value=value))
    other = two[1] / "metrics/second/small.json"
    other.write_text(other.read_text().replace('"MRR@10": 0', '"MRR@10": 7.0, "was": 0'))
    there.edit("metrics/second/more.json", put("measures", value={"NDCG@7": 0.5}))
    compared(two)
    report = read_json(two[0] / "comparison.json")
    found = {(doubt["file"], doubt["found"].partition(", but")[0]) for doubt in report["doubts"]}
    assert ("metrics/second/more.json", "MRR@10 has no mean") in found
    assert ("metrics/second/more.json", "NDCG@7 has a mean") in found
    assert "second on more: no measure in common" in report["disagreements"]
    assert ("metrics/tiny/small.json", f"NDCG@10 is {value!r}") in found
    assert ("metrics/second/small.json", "this is not the record that beirflow wrote") in found
    assert ("metrics/second/small.json", "MRR@10 is 7.0") in found
    judged = {(row["system"], row["dataset"]) for row in report["reproduction"]}
    assert not judged & {("tiny", "small"), ("second", "small")}
    assert ("tiny", "more") in judged


def test_folders_without_anything_in_common_are_said_to_have_none(two: tuple[Path, Path]) -> None:
    Forger(two[1]).edit("manifest.json", inputs={})
    shutil.rmtree(two[1] / "runs")
    assert "no system on a dataset in common" in compared(two)
    assert "The folders share no system on a dataset." in (two[0] / "comparison.html").read_text()


def test_what_was_reproduced_worse_has_a_lower_effect_ratio(two_whole: tuple[Path, Path], results_once: Made) -> None:
    here = Forger(two_whole[0], load_experiment(results_once.config))
    here.edit_table("runs/second/small.parquet", best_last)
    here.evaluate_again("second", "small")
    words = compared(two_whole)
    assert "  second on small: NDCG@10 differs by -" in words
    report = read_json(two_whole[0] / "comparison.json")
    (row,) = [
        row for row in report["reproduction"] if (row["system"], row["dataset"], row["measure"]) == ("second", "small", "NDCG@10")
    ]
    base = read_json(two_whole[0] / "metrics/tiny/small.json")["measures"]["NDCG@10"]
    here, there = (read_json(side / "metrics/second/small.json")["measures"]["NDCG@10"] for side in two_whole)
    assert row["rmse"] > 0
    assert row["reproduced"] is False
    assert row["low"] <= here - there <= row["high"]
    assert "not shown to be reproduced within 0.005" in words
    assert row["dri"] == pytest.approx((there - here) / base, abs=1e-12)
    assert row["er"] == pytest.approx((here - base) / (there - base), abs=1e-9)


def raised(there: Forger, name: str) -> None:
    """Better values of every query, with the means of these."""
    there.edit_table(f"metrics/{name}.parquet", lambda values: values.assign(**{"NDCG@10": 1.0}))
    there.edit(f"metrics/{name}.json", put("measures", "NDCG@10", value=1.0))


def without_the_worst_query(there: Forger, name: str) -> None:
    """Values without a query, with the means of the rest."""
    values = f"metrics/{name}.parquet"
    there.edit_table(values, lambda rows: rows[1:])
    means = pd.read_parquet(there.path(values)).drop(columns="query_id").mean().to_dict()
    there.edit(f"metrics/{name}.json", measures=means)


def test_values_that_do_not_follow_from_the_run_raise_doubt(two: tuple[Path, Path]) -> None:
    there = Forger(two[1])
    there.path("metrics/tiny/small.parquet").unlink()
    there.path("runs/tiny/more.parquet").unlink()
    raised(there, "second/more")
    without_the_worst_query(there, "second/small")
    compared(two)
    doubts = read_json(two[0] / "comparison.json")["doubts"]
    assert {doubt["folder"] for doubt in doubts} == {str(two[1])}
    expected = {
        "metrics/tiny/small.json": "metrics/tiny/small.parquet, which is missing",
        "metrics/tiny/more.json": "runs/tiny/more.parquet, which is missing",
        "metrics/second/more.json": "but its run gives",
        "metrics/second/small.json": "queries, but 4 are judged",
    }
    assert {doubt["file"] for doubt in doubts} == {*expected}
    for name, says in expected.items():
        assert [doubt for doubt in doubts if doubt["file"] == name and says in doubt["found"]], name


def test_a_system_that_one_folder_lacks_and_a_mean_that_differs_end_in_an_error(two: tuple[Path, Path]) -> None:
    Forger(two[1]).edit("manifest.json", lambda manifest: manifest["inputs"].pop(MORE))
    with pytest.raises(DataError, match=r"The results disagree:\n  only .*here has second on more\n"):
        compare(folder=str(two[0]), other=str(two[1]))


@pytest.mark.parametrize(("difference", "agrees"), [(0.00004, True), (-0.00006, False)])
def test_means_agree_if_four_decimals_do_not_show_their_difference(difference: float, agrees: bool) -> None:
    score = {"system": "a", "dataset": "b", "measures": {"NDCG@10": {"here": 0, "there": 0, "difference": difference}}}
    report = {"doubts": [], "folders": ["here", "there"], "only in one": [[], []], "scores": [score]}
    assert disagreements(report) == ([] if agrees else ["a on b: NDCG@10 differs by -0.000060"])
