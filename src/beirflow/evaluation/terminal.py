"""The summary as a table for the terminal."""

from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

import pandas as pd

from beirflow.core.records import ASSUMED
from beirflow.evaluation.summary import (
    COMPARED,
    DEVIATION,
    MOST_DOCUMENTS,
    PRECISION,
    SUMS,
    TRAINED_ON,
    UNREACHABLE,
    by_pair,
    distinct,
    ending_early,
    is_measure,
    of_datasets,
    short_names,
)

WIDTH = 100  # characters of a line
ROUNDED = 5e-5  # difference of two scores that are printed alike, at the most


def for_terminal(table: pd.DataFrame) -> str:
    """Return ``summary.csv`` for a terminal, rounded, the best system first; below it datasets of means, columns and assumptions.

    Several datasets are columns of the main measure, means first; of one dataset or system, columns are measures, as many as fit.
    """
    assumed, unreachable = distinct(table.get(ASSUMED, ())), of_datasets(table)
    main, short_of = next(name for name in table.columns if "@" in name), short_names(table["dataset"])
    if (as_source := f"as_source_{main}") in table:  # where it is another number
        table = table.assign(**{as_source: table[as_source].where((table[as_source] - table[main]).abs() > ROUNDED)})
    datasets = [*dict.fromkeys(table["dataset"][table["split"].isna()]), *dict.fromkeys(table["dataset"][table["split"].notna()])]
    is_one = len(datasets) == 1 or len({*table["system"]}) == 1
    shown, text = _of_measures(table, main, short_of) if is_one else ([main], _of_datasets(table, main, datasets, short_of))
    early = _early_in_words(table, (*shown, "Recall@100"))
    text += "".join(
        "\n" + fill(f"{short}: {name.removeprefix(f'{short} (').removesuffix(')')}", WIDTH, break_on_hyphens=False)
        for name, short in short_of.items()
        if name != short
    )
    hidden = ("system", "dataset", "split", TRAINED_ON, PRECISION, ASSUMED, UNREACHABLE, *shown)
    more = [
        name
        for name in table.columns[table.notna().any()]
        if name not in hidden and not name.startswith((*COMPARED, DEVIATION)) and not name.endswith("sha256")
    ]
    text += "\n\n" + fill(f"More columns in the file: {', '.join(more)}", WIDTH) if more else ""
    text += "".join(f"\n\n{fill(each, WIDTH)}" for each in early)
    lines, warnings = ("".join(f"\n  - {each}" for each in some) for some in (assumed, unreachable))
    text += f"\n\nAssumed (not specified in the model files or the catalogue):{lines}" if assumed else ""
    return text + (f"\n\nRelevant documents that no system can find:{warnings}" if unreachable else "")


def _of_datasets(table: pd.DataFrame, main: str, datasets: Sequence[str], short_of: Mapping[str, str]) -> str:
    """Return the main measure of systems on datasets, with differences to published scores and deviations over seeds below."""
    columns = {main: "{:.4f}", f"as_source_{main}": "{:.4f}", f"difference_{main}": "{:+z.4f}", DEVIATION + main: "{:.4f}"}
    labels = {f"as_source_{main}": "  as source", f"difference_{main}": "  Δ published", DEVIATION + main: "  deviation"}
    values = {name: by_pair(table, name) for name in columns}
    last = table.drop_duplicates("system", keep="last").set_index("system")  # its means, if it has any
    further = [name for name in (TRAINED_ON, PRECISION) if name in table and table[name].notna().any()]
    rows = []
    for system in sorted(last.index, key=lambda system: -values[main].get((system, datasets[0]), float("-inf"))):
        words = last.loc[system, further]
        for name, form in columns.items():
            cells = [values[name].get((system, dataset)) for dataset in datasets]
            if name == main or any(cell is not None for cell in cells):
                numbers = ("" if cell is None else form.format(cell) for cell in cells)
                about = ("" if name != main or pd.isna(word) else str(word) for word in words)
                rows.append([labels.get(name, str(system)), *numbers, *about])
    named = {TRAINED_ON: "in-domain"}
    return _aligned([[main, *map(short_of.__getitem__, datasets), *(named.get(name, name) for name in further)], *rows])


def _of_measures(table: pd.DataFrame, main: str, short_of: Mapping[str, str]) -> tuple[list[str], str]:
    """Return the columns that fit a line, with the table of systems on one dataset, or of one system on datasets."""
    first, about = "dataset", table["system"].iloc[0]
    if len(short_of) == 1:
        table, first, counts = table.sort_values(main, ascending=False, kind="stable"), "system", table.iloc[0]
        about = f"{counts['dataset']} ({counts['split']}), documents: {counts['documents']:,}, queries: {counts['queries']:,}"
    table = table.dropna(axis="columns", how="all").assign(dataset=table["dataset"].map(short_of))
    headers = {
        first: "",
        f"published_{main}": "published",
        f"as_source_{main}": "as source",
        f"difference_{main}": "Δ",
        DEVIATION + main: "deviation",
    }
    headers[TRAINED_ON] = "in-domain"
    measures = [name for name in table.columns if is_measure(name) and name != main]
    columns, left = dict[str, list[str]](), WIDTH
    for name in (name for name in (first, main, *headers, PRECISION, *measures) if name in table and name not in columns):
        form = "{:+z.4f}" if name.startswith("difference_") else "{:.4f}" if "@" in name else "{}"
        cells = [headers.get(name, name), *("" if pd.isna(value) else form.format(value) for value in table[name])]
        if (width := 2 + max(map(len, cells))) <= left or name in (first, main):
            columns[name], left = cells, left - width
    shown = [*columns, *SUMS[:2]] if first == "system" else [*columns]
    return shown, f"{about}\n{_aligned([*map(list, zip(*columns.values(), strict=True))])}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Align the columns of a table, in blocks that fit the width of the terminal and begin with the first column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    blocks: list[list[int]] = [[]]
    for place, width in enumerate(widths[1:], 1):
        if blocks[-1] and widths[0] + sum(2 + widths[each] for each in blocks[-1]) + 2 + width > WIDTH:
            blocks.append([])
        blocks[-1].append(place)
    return "\n\n".join(
        "\n".join(
            (row[0].ljust(widths[0]) + "".join(f"  {row[each]:>{widths[each]}}" for each in block)).rstrip() for row in rows
        )
        for block in blocks
    )


def _early_in_words(table: pd.DataFrame, shown: Sequence[str]) -> Iterable[str]:
    """Yield a note for each shown measure whose cutoff exceeds the documents per query of some runs."""
    measures = [name for name in table.columns if name in shown and is_measure(name) and not name.startswith("exact@")]
    for measure in measures if MOST_DOCUMENTS in table else ():
        by_system: dict[str, set[int]] = {}
        for (system, _), most in ending_early(table[table["split"].notna()], measure).items():
            by_system.setdefault(system, set()).add(most)
        if by_system:
            runs = ", ".join(f"{system} ({', '.join(map(str, sorted(most)))})" for system, most in by_system.items())
            yield f"{measure} of runs with fewer documents per query, which are not tested: {runs}."
