"""Means over HAKARI-Bench's tasks: those of its repository, from its values by task, and only of what is whole."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.extensions.hakari.shown import CORE, hakari, hakari_languages
from beirflow.report.pages import Table
from beirflow.report.results import Results

BENCHMARKS = {
    "NanoMIRACL": (0.5715, 0.7627),
    "NanoBRIGHT": (0.2790, 0.3761),
    "NanoMLDR": (0.7396, 0.5207),
    "NanoSSRB": (0.2821, 0.3803),
}
"""NDCG@10 of BM25 and of harrier, means as they were computed of the authors' values with more digits."""


def results_of(values: Mapping[str, Mapping[str, float]], measure: str = "NDCG@10") -> Results:
    """Results with a summary of the values of each system by dataset."""
    rows = [{"system": name, "dataset": each, measure: value} for name, of in values.items() for each, value in of.items()]
    found = Results.__new__(Results)
    vars(found).update(summary=pd.DataFrame(rows), main_measure=measure)
    return found


def cells(table: Table) -> dict[str, dict[str, float]]:
    """Values by system and column."""
    names = [column.label for column in table.columns]
    return {row[0].text: {name: float(cell.text) for name, cell in zip(names[1:], row[1:], strict=True)} for row in table.rows}


def tasks(collection: str) -> tuple[str, ...]:
    return load_catalogue().newer.collections[collection].members


def test_the_means_of_all_tasks_and_of_all_benchmarks_are_those_of_their_own_kind() -> None:
    values = dict(zip(tasks("hakari"), np.random.default_rng(1).random(550), strict=True))
    (table,) = hakari(results_of({"mine": values}))
    found, series = cells(table), pd.Series(values)
    benchmark = pd.Series({name: load_catalogue().kinds[name]["task"] for name in values})
    means = series.groupby(benchmark).mean()
    assert len(means) == 37
    core = series[benchmark.isin(CORE)]
    first = {
        "All: tasks": series.mean(),
        "All: benchmarks": means.mean(),
        "Core: tasks": core.mean(),
        "Core: benchmarks": means[CORE].mean(),
    }
    assert found["mine"] == pytest.approx(first | means.to_dict(), abs=5e-5)
    # The languages of MNanoBEIR as one benchmark, and not as fourteen.
    assert {name for name in means.index if "BEIR" in name} == {"MNanoBEIR"}
    for name, stated in BENCHMARKS.items():
        assert (found["BM25 §"][name], found["harrier-oss-v1-270m §"][name]) == pytest.approx(stated, abs=1e-4)


def test_a_mean_is_shown_where_all_of_its_tasks_are() -> None:
    some = [*tasks("hakari.NanoMIRACL"), *tasks("hakari.NanoMLDR")[1:], "scifact"]
    values = {"a": dict.fromkeys(some, 0.25), "b": dict.fromkeys(some, 0.5)}
    (table,) = hakari(results_of(values))
    assert [column.label for column in table.columns] == ["System", "NanoMIRACL"]
    assert [row[0].text for row in table.rows] == ["harrier-oss-v1-270m §", "BM25 §", "b", "a"]
    (languages,) = hakari_languages(results_of(values))
    assert [column.label for column in languages.columns] == ["System", "Indonesian", "Swahili", "Yoruba"]
    assert cells(languages)["BM25 §"]["Swahili"] == 0.5852
    (other,) = hakari(results_of(values, "NDCG@100"))  # of which nothing is stated
    assert [row[0].text for row in other.rows] == ["b", "a"]
    assert not [*hakari(results_of({"a": {"scifact": 0.5}})), *hakari_languages(results_of({"a": {"scifact": 0.5}}))]
