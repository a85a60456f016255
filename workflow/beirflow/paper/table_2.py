"""Table 2 of the BEIR paper: a measure of every system on every dataset, printed and computed.

``table-2.csv`` (NDCG@10), ``table-2-recall.csv`` (Recall@100) and ``table-2-capped-recall.csv`` (R_cap@100) have a row a
dataset of the paper, in its order, and then a row a dataset of the user's own: ``dataset``, ``printed <system>`` for every
system of the paper where its values are known, ``best_printed``, then our systems under their own names, ``best``, and
``note``, why values may not be compared or are missing. Below stand the averages, each with the datasets that it is over in its
name: ``mean of …`` and ``difference to BM25, mean of …``, the mean of a system over that of BM25, less one; a cell is empty
where a system lacks one of them. BM25 is ``bm25-multifield``, or ``bm25`` where that is not there. Datasets that systems were
trained on are in no average.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from beirflow.files.csv_files import write_csv
from beirflow.paper.facts import BM25, PaperFacts, load_facts
from beirflow.paper.scores import CAPPED, NDCG, RECALL, Scores, printed_scores, read_scores

MEASURES = {"table-2": NDCG, "table-2-recall": RECALL, "table-2-capped-recall": CAPPED}
"""By name of a table, its measure; the rule names the same."""

NOT_PUBLIC = "not public, so it needs a copy of one's own"
NOT_HERE = "not evaluated here"


def write_tables(*, means_paths: Sequence[str], folder: str) -> None:
    """Write table 2 for every measure.

    Args:
        means_paths: The ``metrics`` JSON of every system on every dataset.
        folder: Where to write them, each as ``<name>.csv``.

    Raises:
        DataError: A file was changed after it was written, or belongs elsewhere.
    """
    facts = load_facts()
    for name, measure in MEASURES.items():
        table = table_2(read_scores(means_paths, measure, facts), facts)
        write_csv(table, Path(folder, f"{name}.csv"))


def table_2(ours: Scores, facts: PaperFacts) -> pd.DataFrame:
    """The table of one measure.

    Args:
        ours: The scores that are here.
        facts: What the paper prints.

    Returns:
        As this module says.
    """
    printed = printed_scores(facts) if ours.measure == NDCG else Scores({}, ours.measure, facts.in_domain)
    names = [*facts.datasets, *(name for name in ours.datasets if name not in facts.datasets)]
    rows = [_row(name, printed, ours, facts, _note(name, ours, facts)) for name in names]
    return pd.DataFrame([*rows, *_averages(printed, ours, facts)])


def _row(name: str, printed: Scores, ours: Scores, facts: PaperFacts, note: str) -> dict[str, Any]:
    """One dataset: the values of all systems, and which is best."""
    row: dict[str, Any] = {"dataset": name}
    for prefix, scores, best in (("printed ", printed, "best_printed"), ("here ", ours, "best_here")):
        found = {system: scores.values.get((system, name)) for system in scores.systems}
        labels = {system: facts.label(system) if scores is printed else system for system in found}
        row |= {f"{prefix}{labels[system]}": value for system, value in found.items()}
        if scores.systems:
            row[best] = ", ".join(labels[system] for system in best_of(found))
    return row | {"note": note}


def best_of(values: Mapping[str, float | None]) -> list[str]:
    """Names of the highest values; none where there are none."""
    known = [value for value in values.values() if value is not None]
    return [name for name, value in values.items() if known and value == max(known)]


def _note(name: str, ours: Scores, facts: PaperFacts) -> str:
    if name in ours.datasets:
        return facts.reason(name, ours.measure)
    return NOT_PUBLIC if name in facts.not_public else NOT_HERE


def _averages(printed: Scores, ours: Scores, facts: PaperFacts) -> list[dict[str, Any]]:
    """Rows of averages, and what the paper prints as such."""
    here = ours.common(*ours.systems) if ours.systems else []
    sets = {
        tuple(here): "all that are here, in-domain ones left out",
        tuple(name for name in facts.zero_shot if name in here): "those of the paper that are here",
        tuple(facts.zero_shot if printed.systems else ()): "the paper",
    }
    rows = []
    for names, label in reversed(sets.items()):
        if names:
            over = f"mean of {len(names)} ({label}{'' if label == 'the paper' else ': ' + ', '.join(names)})"
            rows += [_means(over, names, printed, ours, facts), _differences(over, names, printed, ours, facts)]
    if printed.systems:
        said = {f"printed {entry['label']}": entry.get("average_difference") for entry in facts.systems.values()}
        note = "As printed. It does not follow from the printed values by either definition; the rows above are computed."
        rows.append({"dataset": "difference to BM25, as printed", **said, "note": note})
    return rows


def _means(over: str, names: Sequence[str], printed: Scores, ours: Scores, facts: PaperFacts) -> dict[str, Any]:
    """The mean of every system that has a score on all of some datasets."""
    row: dict[str, Any] = {"dataset": over}
    row |= {f"printed {facts.label(name)}": printed.mean(name, names) for name in _whole(printed, names)}
    return row | {f"here {name}": ours.mean(name, names) for name in _whole(ours, names)} | {"note": ""}


def _differences(over: str, names: Sequence[str], printed: Scores, ours: Scores, facts: PaperFacts) -> dict[str, Any]:
    """How much higher that mean is than the one of BM25."""
    row: dict[str, Any] = {"dataset": f"difference to BM25, {over}"}
    row |= {f"printed {facts.label(name)}": printed.difference(name, BM25, names) for name in _whole(printed, names)}
    baseline = facts.standing(ours.systems).get(BM25)
    if baseline is None:
        return row | {"note": "No BM25 is among the systems here." if ours.systems else ""}
    return row | {f"here {name}": ours.difference(name, baseline, names) for name in _whole(ours, names)} | {"note": ""}


def _whole(scores: Scores, names: Sequence[str]) -> list[str]:
    """Systems that have a score on all of some datasets."""
    return [system for system in scores.systems if set(names) <= set(scores.common(system))]
