"""A run evaluated under other conventions, one at a time, to find those that lead to a published score."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from beirflow.evaluation.conventions import CONVENTIONS, differ, measure_under
from beirflow.evaluation.extra_judgements import read_extra, with_extra
from beirflow.ranking.run_file import RUN
from beirflow.report.pages import counted

OTHER_NAMES = {
    "NDCG@10": ("gains of 2^grade − 1 (NDCG_exp@10)", "NDCG_exp@10"),
    "Recall@100": ("recall of at most 100 documents (R_cap@100)", "R_cap@100"),
}
"""By measure, another one that some sources print under the same name: description, and our name."""

SELF_MATCH = 1e30  # score above those of a run

HITS = RUN.names[:3]

Means = Mapping[str, float]


class Variations:
    """A run and its judgements, and the measures that are varied.

    Args:
        run: Columns of ``RUN``.
        qrels: The judgements.
        self_matches: By query, the score of the document with its id, as the record of the run has them.
        measures: Names of measures.
    """

    def __init__(self, run: pa.Table, qrels: pa.Table, self_matches: Means, measures: Sequence[str]) -> None:
        self._run, self._qrels, self._self_matches, self._measures = run.select(HITS), qrels, self_matches, measures

    def of_the_run(self, own: set[str]) -> Iterator[tuple[str, Means]]:
        """Yield the means under each convention; ``own`` are the queries whose document of the same id was dropped."""
        run, qrels = self._run, self._qrels
        yield "default", self._means(run, qrels)
        for name in filter(differ, CONVENTIONS):
            yield f"{name}: {CONVENTIONS[name].words}", measure_under(name, run, qrels, self._measures, self._self_matches)
        # Many run files have four decimals, so that close scores tie.
        rounded = pc.round(run["score"].cast(pa.float64()), 4).cast(pa.float32())
        yield "scores rounded to 4 decimals", self._means(run.set_column(2, "score", rounded), qrels)
        if own:
            kept = pa.table([sorted(own), sorted(own), [SELF_MATCH] * len(own)], schema=run.schema)
            yield "self matches kept, on rank 1", self._means(pa.concat_tables([run, kept]), qrels)
        judged = run.join(qrels.select(HITS[:2]), HITS[:2], join_type="left semi")
        yield "without documents that are not judged for their query", self._means(judged, qrels)
        yield "mean over queries with results only", self._means(run, _of_queries(qrels, run["query_id"]))
        relevant = qrels.filter(pc.greater(qrels["score"], 0))["query_id"]
        yield "mean over queries with a relevant document only", self._means(run, _of_queries(qrels, relevant))

    def of_judgements(self, path: str) -> Iterator[tuple[str, Means]]:
        """Yield the means with further judgements added and, if some are repeated (perhaps another version), with them alone."""
        extra = read_extra(path, self._qrels)
        every = with_extra(self._qrels, extra)
        repeated, words = extra.num_rows - every.num_rows + self._qrels.num_rows, f"with the judgements of {path}"
        if not repeated:
            yield f"{words} as well", self._means(self._run, every)
            return
        yield f"{words} as well, which count for the {counted(repeated, 'pair')} of both", self._means(self._run, every)
        yield f"{words} alone", self._means(self._run, extra)

    def _means(self, run: pa.Table, qrels: pa.Table) -> Means:
        return measure_under("beirflow", run, qrels, self._measures)


def _of_queries(qrels: pa.Table, query_ids: pa.ChunkedArray) -> pa.Table:
    return qrels.filter(pc.is_in(qrels["query_id"], value_set=query_ids.unique()))
