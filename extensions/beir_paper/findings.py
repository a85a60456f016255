"""The findings of the BEIR paper on words, lengths, times, sizes and further judgements.

``catalogue/beir-paper.yaml`` has them. They compare numbers of the other tables, and are judged as those in files of papers.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from beirflow.core.csv_files import read_named_csv, write_csv
from beirflow.extensions.beir_paper.corpus_tables import NUMBERS
from beirflow.extensions.beir_paper.efficiency import BUSY, HERE, TIMES
from beirflow.extensions.beir_paper.printed_values import Paper, load_paper
from beirflow.extensions.beir_paper.registry import COMPARED
from beirflow.extensions.papers.findings import COLUMNS, Scores, judge_all

SAME, OTHER = "same domain", "other domains"
GRADES = {name: name for name in ("grade 1", "grade 2")}
COMPARED_PAIR = ("difference", "cosine_words", "dot_words")  # columns of two similarities


def write_findings(*, folder: str, findings_path: str) -> None:
    """Write the verdicts on the findings, on the printed values and on those in the tables of a folder."""
    paper, tables = load_paper(), {name: read_named_csv(str(Path(folder, f"{name}.csv"))) for name in COMPARED}
    scores = {"printed": paper.numbers, "here": numbers_here(tables, paper)}
    write_csv(pd.DataFrame(judge_all(paper.findings, scores, "", [*paper.datasets]), columns=[*COLUMNS]), findings_path)


def numbers_here(tables: Mapping[str, pd.DataFrame], paper: Paper) -> Mapping[str, Scores]:
    """Return what the tables have under the names of the findings: by measure, by system or column and dataset."""
    times = tables["efficiency"]
    times = times[times["source"] == HERE]
    times = times.assign(**{key: times[key].mask(times["busy"] == BUSY) for key in TIMES})  # which are no evidence
    bias = tables["bias"].assign(gain=tables["bias"]["ndcg_extra"] - tables["bias"]["ndcg"])
    rows = [
        *_of_rows(times, paper.systems, ["gpu_ms", "cpu_ms", "index_bytes"]),
        *_of_rows(bias, paper.systems, ["ndcg_extra", "gain"]),
        *_of_rows(tables["lengths-medians"].rename(columns={"of": "system"}), {**paper.systems, **GRADES}, ["median"]),
        *_of_columns(tables["table-1"], "table-1", ["without_text", *NUMBERS]),
        *_of_columns(tables["similarities"].drop_duplicates("dataset"), "similarities", COMPARED_PAIR),
        *(("overlap", *row) for row in by_domain(tables["overlap"], paper).itertuples(index=False)),
    ]
    numbers = defaultdict[str, dict[tuple[str, str], float]](dict)
    for measure, name, dataset, value in rows:
        if value == value:
            numbers[measure][name, dataset] = value
    return numbers


Row = tuple[str, str, str, float]  # measure, name, dataset and value


def _of_rows(table: pd.DataFrame, names: Mapping[str, str], columns: Sequence[str]) -> list[Row]:
    """Return the values of a table whose rows are systems or grades, of those with a name in the paper."""
    rows = [(names[row["system"]], row) for row in table.to_dict("records") if row["system"] in names]
    return [(column, name, row["dataset"], row[column]) for name, row in rows for column in columns]


def _of_columns(table: pd.DataFrame, measure: str, columns: Sequence[str]) -> list[Row]:
    """Return the values of a table whose columns are compared."""
    return [(measure, column, row["dataset"], row[column]) for row in table.to_dict("records") for column in columns]


def by_domain(overlap: pd.DataFrame, paper: Paper) -> pd.DataFrame:
    """Return by dataset of the paper the median similarity to others of its domain, and to those of other domains."""
    other_way = overlap.rename(columns={"dataset_a": "dataset_b", "dataset_b": "dataset_a"})
    pairs = pd.concat([overlap, other_way])
    pairs = pairs[pairs["dataset_a"].isin(paper.datasets) & pairs["dataset_b"].isin(paper.datasets)]
    domains = [[paper.datasets[name]["domain"] for name in pairs[key]] for key in ("dataset_a", "dataset_b")]
    kinds = [SAME if one == other else OTHER for one, other in zip(*domains, strict=True)]
    return pairs.groupby([np.array(kinds, object), "dataset_a"])["similarity"].median().reset_index()
