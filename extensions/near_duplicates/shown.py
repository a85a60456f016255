"""Table of the report: scores with and without queries that have near-duplicates in another corpus."""

from collections.abc import Iterator

import pandas as pd

from beirflow.core.csv_files import read_named_csv
from beirflow.extensions.near_duplicates import layout
from beirflow.report.pages import DATASET, Columns, Table, framed, numbers, texts, words
from beirflow.report.registry import table
from beirflow.report.results import Results

NOTE = (
    "Without: the mean over queries that have no near-duplicate in the other corpus, and no relevant document with one. The"
    " queries that are left may be easier or harder, so compare the changes of systems. Ranks are those on one dataset."
)


@table("results")
def near_duplicates(results: Results) -> Iterator[Table]:
    """Yield the scores of every system with and without the queries that another corpus has; none unless configured."""
    parts, measure = [], results.main_measure
    for path, names in results.paths(layout.SCORES).items():
        found = read_named_csv(str(path))
        if "measure" not in found:  # the file of pairs, in the same folder
            continue
        found = found[(found["measure"] == measure) & found["system"].isin(results.system_names)].assign(**names)
        for key in ("all", "without_either"):
            found[f"rank_{key}"] = found[key].rank(ascending=False)
        parts.append(found.sort_values("rank_all", kind="stable"))
    if not parts:
        return
    rows = pd.concat(parts, ignore_index=True)
    rows = rows.assign(
        difference=rows["without_either"] - rows["all"],
        change=rows["rank_without_either"] - rows["rank_all"],
        removed=rows["queries"] - rows["left_either"],
    )
    columns: Columns = {
        "dataset": DATASET,
        **texts(other="Other corpus"),
        "system": words("System"),
        **numbers(".4f", all="All", without_either="Without"),
        **numbers("+.4f", difference="Difference"),
        "Rank": numbers(".3g", rank_all="All", rank_without_either="Without"),
        **numbers("+.3g", change="Change of rank"),
        "Queries": numbers(",.0f", queries="All", removed="Removed"),
    }
    caption = f"{measure} of all queries, and without those that have near-duplicates in another corpus"
    yield framed("Near-duplicates", caption, rows, columns, tall=True, notes=[NOTE])
