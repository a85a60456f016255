"""Table 1 of the BEIR paper: statistics of the datasets, counted in the corpora, beside the printed ones.

``table-1.csv`` has a row a dataset of the paper, in its order, and then a row a dataset of the user's own: ``dataset``,
``task``, ``domain``, ``titles`` (the share of documents that have one), ``relevancy`` (``binary``, or how many levels, 0
included), ``queries``, ``documents``, ``relevant_per_query``, ``query_words`` and ``document_words`` (averages), ``printed_…``
of the last five, and ``note``. Words are stretches without whitespace, a title and its text with a space between; the paper
seems to join them without one. A dataset of forums has the numbers of all of them together. Training and development queries
are not counted: only the judged queries of the evaluated split are prepared.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from beirflow.files.csv_files import write_csv
from beirflow.files.records import read_json
from beirflow.paper.facts import PaperFacts, load_facts
from beirflow.paper.table_2 import NOT_HERE, NOT_PUBLIC

NUMBERS = ("queries", "documents", "relevant_per_query", "query_words", "document_words")
"""What the paper prints too."""

COLUMNS = ("dataset", "task", "domain", "titles", "relevancy", *NUMBERS, *(f"printed_{name}" for name in NUMBERS), "note")


def write_table_1(*, statistics_paths: Sequence[str], rows: Mapping[str, Sequence[str]], table_path: str) -> None:
    """Write the table.

    Args:
        statistics_paths: What ``count_corpus`` wrote of every corpus.
        rows: By dataset the names of its corpora.
        table_path: CSV to write, as this module says.

    Raises:
        DataError: A file was changed after it was written.
    """
    of_corpus = {each["dataset"]: each for each in map(read_json, statistics_paths)}
    table = table_1({row: [of_corpus[name] for name in names] for row, names in rows.items()}, load_facts())
    write_csv(table, table_path)


def table_1(statistics: Mapping[str, Sequence[Mapping[str, Any]]], facts: PaperFacts) -> pd.DataFrame:
    """The table.

    Args:
        statistics: By dataset, what was counted in its corpora.
        facts: What the paper prints.

    Returns:
        As this module says.
    """
    names = [*facts.datasets, *(name for name in statistics if name not in facts.datasets)]
    return pd.DataFrame([_row(name, statistics.get(name, ()), facts) for name in names], columns=list(COLUMNS))


def _row(name: str, corpora: Sequence[Mapping[str, Any]], facts: PaperFacts) -> dict[str, Any]:
    printed = facts.datasets.get(name, {})
    row = {"dataset": name, **{key: printed.get(key) for key in ("task", "domain")}}
    row |= {f"printed_{key}": printed.get(key) for key in NUMBERS}
    if not corpora:
        return row | {"note": NOT_PUBLIC if name in facts.not_public else NOT_HERE}
    total = {key: sum(each["counts"][key] for each in corpora) for key in corpora[0]["counts"]}
    levels = len({0, *(int(grade) for each in corpora for grade in each["grades"] if int(grade) >= 0)})
    return row | {
        "titles": total["titles"] / total["documents"],
        "relevancy": "binary" if levels <= len(("irrelevant", "relevant")) else f"{levels} levels",
        **{key: total[key] for key in ("queries", "documents")},
        "relevant_per_query": total["relevant"] / total["queries"],
        "query_words": total["query_words"] / total["queries"],
        "document_words": total["document_words"] / total["documents"],
        "note": "",
    }
