"""Tables of the report: means over HAKARI-Bench's tasks, by benchmark and by language, with those of its authors' values."""

from collections.abc import Iterator

import pandas as pd

from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.report.pages import SYSTEM, Table, framed, number_columns
from beirflow.report.registry import table
from beirflow.report.results import Results

CORE = ["MNanoBEIR", "NanoMMTEB-v2", "NanoRTEB", "NanoMLDR", "NanoBRIGHT", "NanoCoIR"]
"""The benchmarks of the leaderboard that its authors call Core."""

STATED, MEASURE = {"bm25": "BM25", "harrier": "harrier-oss-v1-270m"}, "NDCG@10"
"""Systems whose values of every task its authors state, by the key of the catalogue, and the measure of these values."""

NOTE = (
    "A mean is shown where all its tasks are. Tasks: their plain mean; benchmarks: that of their means. Rows with § are values of"
    " the authors, of lists of candidates that they made: not verified, and BM25 is not Lucene's."
)


@table("results")
def hakari(results: Results) -> Iterator[Table]:
    """Yield the means over all tasks, over those of Core, and over each benchmark."""
    scores, of_task = _scores(results), _kinds("task")
    means = _means(scores, of_task)
    first = pd.DataFrame(index=scores.index)
    for label, benchmarks in (("All", list(dict.fromkeys(of_task))), ("Core", CORE)):
        if {*benchmarks} <= {*means.columns}:
            first[f"{label}: tasks"] = scores[of_task.index[of_task.isin(benchmarks)]].mean(axis=1)
            first[f"{label}: benchmarks"] = means[benchmarks].mean(axis=1)
    yield from _shown(results, "HAKARI-Bench, benchmarks", pd.concat([first, means], axis=1))


@table("results")
def hakari_languages(results: Results) -> Iterator[Table]:
    """Yield the means over the tasks of each language."""
    yield from _shown(results, "HAKARI-Bench, languages", _means(_scores(results), _kinds("language")))


def _kinds(kind: str) -> pd.Series:
    """Return the kind of each task that its authors average."""
    catalogue = load_catalogue()
    return pd.Series({name: catalogue.kinds[name][kind] for name in catalogue.newer.collections["hakari"].members})


def _scores(results: Results) -> pd.DataFrame:
    """Return the main measure of systems × tasks, not-a-number where a task was not evaluated, and below it what is stated."""
    facts, tasks = load_catalogue().newer.facts, list(_kinds("task").index)
    measure, summary = results.main_measure, results.summary
    ours = summary.pivot_table(index="system", columns="dataset", values=measure).reindex(columns=tasks)
    if measure != MEASURE:
        return ours
    here = [name for name in tasks if ours[name].notna().any()]
    stated = {f"{label} §": {name: float(facts[name][key]) for name in here} for key, label in STATED.items()}
    return pd.concat([ours, pd.DataFrame(stated).T.reindex(columns=tasks)])


def _means(scores: pd.DataFrame, kinds: pd.Series) -> pd.DataFrame:
    """Return the means of systems × kinds, of which all tasks were evaluated."""
    by_kind = scores.T.groupby(kinds, sort=False)
    return by_kind.mean().T.loc[:, scores.notna().all().groupby(kinds, sort=False).all()]


def _shown(results: Results, title: str, means: pd.DataFrame) -> Iterator[Table]:
    if means.columns.empty:
        return
    rows = means.rename_axis("system").reset_index().sort_values(means.columns[0], ascending=False, kind="stable")
    names = list(map(str, means))
    columns = {"system": SYSTEM, **dict(zip(names, number_columns(names), strict=True))}
    yield framed(title, f"{results.main_measure}: plain means over tasks", rows, columns, tall=True, notes=[NOTE])
