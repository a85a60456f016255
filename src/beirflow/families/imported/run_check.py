"""Check on a sample that the run follows from the imported file: queries are read and ranked again, one line at a time.

Without the code of ``import_run.py`` and ``ranking/run_rows.py``.
"""

import gzip
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.layout import QUERIES, RUN
from beirflow.data.sources.forms import CANDIDATES
from beirflow.families.spot_checks.compared_ranks import as_block, compare_ranks
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, SpotCheck, Subject


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the check of an imported run on one corpus, of which some queries are read again."""
    path = RUN(system=subject.system.name, dataset=subject.dataset)
    return [SpotCheck("queries read again have the recorded ranks", path, partial(_check, subject, sample, random))]


def _check(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    here = subject.settings_here
    if here is None:
        raise NotHereError(f"it is not known here where the file is; name {subject.system.name} under custom.systems")
    path = subject.file(QUERIES(dataset=subject.dataset))
    if not here.of_the_dataset and not (path := here.path(subject.whole or subject.dataset)).is_file():
        raise NotHereError(f"{path} is not here")
    query_ids = subject.draw_queries(sample, random)[0]["query_id"].to_pylist()
    scores: dict[str, dict[str, float]] = {query_id: {} for query_id in query_ids}
    for query_id, doc_id, score in _candidates(subject) if here.of_the_dataset else _rows(path):
        if query_id in scores:
            scores[query_id][doc_id] = float(np.float32(score))
    return compare_ranks(subject, query_ids, [as_block(list(scores.values()))], expected=f"the rows of {path}")


def _candidates(subject: Subject) -> Iterator[tuple[str, str, float]]:
    """Yield the same of the candidates of each query that are in the corpus."""
    queries = subject.queries
    here = set(subject.documents_among(pc.unique(pc.list_flatten(queries[CANDIDATES])))[0].to_pylist())
    for row in queries.to_pylist():
        yield from ((row["query_id"], doc_id, -place) for place, doc_id in enumerate(row[CANDIDATES]) if doc_id in here)


def _rows(path: Path) -> Iterator[tuple[str, str, float]]:
    """Yield query, document and score of each row."""
    with path.open("rb") as stream:
        start = stream.read(4)
    if start == b"PAR1":
        table = pq.read_table(path)
        yield from zip(*(table[name].to_pylist() for name in ("query_id", "doc_id", "score")), strict=True)
        return
    with gzip.open(path) if start[:2] == b"\x1f\x8b" else path.open("rb") as lines:
        for line in lines:
            columns = line.decode("utf-8-sig").encode().split()
            try:
                row = columns[0].decode(), columns[2].decode(), float(columns[4]), int(columns[3])
            except (IndexError, ValueError):
                if columns and not columns[0].startswith(b"#"):
                    raise
            else:
                yield row[:3]
