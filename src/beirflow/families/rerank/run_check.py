"""Check that the run of a reranker follows from the stored pair scores: sampled queries are ranked again.

In plain Python, without the code of ``rerank_run.py`` and without the model.
"""

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.layout import PAIRS, RUN, RUN_RECORD
from beirflow.core.records import read_json
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.spot_checks.compared_ranks import as_block, compare_ranks
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, SpotCheck, Subject


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the check of a reranker on one corpus: queries ranked again."""
    path = RUN(system=subject.system.name, dataset=subject.dataset)
    return [SpotCheck("queries ranked again have the recorded ranks", path, partial(_check, subject, sample, random))]


def pairs_folder(subject: Subject) -> str:
    """Return the folder of the pairs of a reranker on a corpus, below the results."""
    return PAIRS.folder(system=subject.system.name, dataset=subject.dataset).rstrip("/")


def paths_of_pairs(subject: Subject) -> list[str]:
    """Return the files of all blocks that the run was made from; blocks of an earlier run may be left over.

    Raises NotHereError if they are not here.
    """
    record = read_json(subject.file(RUN_RECORD(system=subject.system.name, dataset=subject.dataset)))
    files = [PAIRS(**names) for path in sorted(record["inputs"]) if (names := PAIRS.names_in(path))]
    if not files:
        raise NotHereError(f"{pairs_folder(subject)} is not here")
    return files


def stored_pairs(subject: Subject) -> pa.Table:
    """Read the pairs of all blocks that the run was made from. Raises NotHereError if they are not here."""
    return pa.concat_tables([pq.read_table(subject.file(file)) for file in paths_of_pairs(subject)])


def _check(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    """Rank the documents of some queries again and compare with the run."""
    settings: RerankSettings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)
    query_ids = subject.draw_queries(sample, random)[0]["query_id"].to_pylist()
    scores: dict[str, dict[str, float]] = {query_id: {} for query_id in query_ids}
    for row in stored_pairs(subject).to_pylist():
        if row["query_id"] in scores:
            scores[row["query_id"]][row["doc_id"]] = row["score"]
    path = subject.file(RUN(system=settings.first, dataset=subject.dataset))
    first_run = pq.read_table(path, filters=[("query_id", "in", query_ids)]).to_pylist()
    for row in first_run:
        of_query, place = scores[row["query_id"]], row["rank"] - settings.depth
        if (place <= 0) != (row["doc_id"] in of_query):
            what = f"{path}: query {row['query_id']!r} has {row['doc_id']!r} at rank {row['rank']}"
            return Finding(False, what, f"the first {settings.depth} documents have scores, and no others")
    if settings.below == "keep":
        lowest = {query_id: min(of_query.values()) for query_id, of_query in scores.items() if of_query}
        for row in first_run:
            if (place := row["rank"] - settings.depth) > 0:
                scores[row["query_id"]][row["doc_id"]] = float(np.floor(lowest[row["query_id"]]) - place)
    expected = f"the scores of the pairs, for the first {settings.depth} of {settings.first}"
    return compare_ranks(subject, query_ids, [as_block(list(scores.values()))], expected=expected)
