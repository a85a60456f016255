"""Evaluate a run: every measure of every query, and the means; and average forums to a dataset."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.artifact import Made, step
from beirflow.core.losses import KINDS, RELEVANT
from beirflow.core.records import ASSUMED, made_in, totals
from beirflow.data.corpus_files import CANDIDATE_PAIRS, CORPUS_COUNTS, Qrels
from beirflow.evaluation.conventions import differ, measure_under
from beirflow.evaluation.measures import measure
from beirflow.evaluation.scores import RETRIEVED_LIMIT, Means, Scores, retrieved_limit
from beirflow.ranking.run_file import Run
from beirflow.ranking.searched import SELF_MATCHES

NONE: Mapping[str, Sequence[str]] = MappingProxyType({})

CONVENTIONS = "conventions"
"""Key in the record of metrics: by name of conventions that differ from ours, the means of measures under them."""


@step(Scores, stage="evaluate", same=("system", "dataset"))
def evaluate_run(
    run: Run, qrels: Qrels, cutoffs: Sequence[int], system: str, dataset: str, conventions: Mapping[str, Sequence[str]] = NONE
) -> Made:
    """Compute every measure of every judged query, and their means; some also under the conventions that name them."""
    corpus, hits, judged = qrels.record, run.read(), qrels.read()
    table = measure(hits, judged, cutoffs, ranked=True)
    own = run.record.get(SELF_MATCHES, {})
    asked = {name: [each for each in conventions[name] if each in table] for name in filter(differ, conventions)}
    under = {name: measure_under(name, hits, judged, asked[name], own) for name in asked if asked[name]}
    counts = {key: corpus["counts"][key] for key in (*CORPUS_COUNTS, RELEVANT, *KINDS) if key in corpus["counts"]}
    if CANDIDATE_PAIRS not in corpus["counts"]:  # these decide how many documents a run can have
        counts[RETRIEVED_LIMIT] = retrieved_limit(_lengths(hits, table["query_id"]))
    return Made(
        table,
        counts={
            **counts,
            **run.record["counts"],
            "retrieved": hits.num_rows,
            "queries_without_results": len(set(table["query_id"]) - set(pc.unique(hits["query_id"]).to_pylist())),
        },
        seconds=run.record["seconds"],
        system=system,
        dataset=dataset,
        split=corpus["split"],
        official_data=corpus["official"],
        measures={name: float(table[name].mean()) for name in table.columns if name != "query_id"},
        **({CONVENTIONS: under} if under else {}),
        assumed=[*made_in(run.record, ASSUMED), *filter(None, [corpus.get(ASSUMED, {}).get("revision")])],
        precisions=made_in(run.record, "precision"),
    )


def _lengths(run: pa.Table, query_ids: Iterable[str]) -> list[int]:
    """Return the number of documents of each judged query that has results."""
    judged = run["query_id"].filter(pc.is_in(run["query_id"], value_set=pa.array(query_ids, pa.string())))
    return [each["counts"] for each in pc.value_counts(judged.combine_chunks()).to_pylist()]


@step(None, stage="")
def average_forums(forums: Sequence[Means], system: str, dataset: str) -> Made:
    """Take the plain mean of the means of some forums, as the BEIR paper does for CQADupStack; counts and times are sums."""
    records = [forum.record for forum in forums]
    official = [record["official_data"] for record in records]
    every_under = [record.get(CONVENTIONS, {}) for record in records]
    under = {name: _means(every_under, name) for name in every_under[0]}
    return Made(
        None,
        counts=totals(records, "counts"),
        seconds=totals(records, "seconds"),
        system=system,
        dataset=dataset,
        split=records[0]["split"],
        # One forum of other data bars the comparison; None is unknown.
        official_data=False if False in official else True if all(official) else None,
        measures=_means(records, "measures"),
        **({CONVENTIONS: under} if under else {}),
        forums=[record["dataset"] for record in records],
        assumed=sorted({sentence for record in records for sentence in record["assumed"]}),
        precisions=sorted({precision for record in records for precision in record["precisions"]}),
    )


def _means(records: Sequence[Mapping[str, Any]], key: str) -> dict[str, float]:
    """Return the mean of each number of one kind, such as ``measures``, over records."""
    return {name: total / len(records) for name, total in totals(records, key).items()}
