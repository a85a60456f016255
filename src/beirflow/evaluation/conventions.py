"""The conventions of published scores: how the evaluator of a source reads a run.

``workflow/catalogue/published.yaml`` names those of each source. An evaluator that ranks as we do is known by its name alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from beirflow.ranking.anserini_run import as_written
from beirflow.ranking.judged_ranking import make_ranking
from beirflow.ranking.measures.all_measures import MEASURES

NONE: Mapping[str, float] = MappingProxyType({})


def as_ranked(run: pa.Table, _self_matches: Mapping[str, float] = NONE) -> pa.Table:
    """Return a run as it is."""
    return run


def _with_six_decimals(run: pa.Table, _self_matches: Mapping[str, float] = NONE) -> pa.Table:
    printed = np.round(run["score"].to_numpy().astype(np.float64), 6).astype(np.float32)
    return run.set_column(run.column_names.index("score"), "score", pa.array(printed))


@dataclass(frozen=True)
class Convention:
    """The way in which an evaluator reads a run.

    Attributes:
        words: What is different, or why nothing is.
        read: Returns a run with the scores that the evaluator reads, by which the ranking rule orders documents as it does. Takes
            the run, and by query the score of the document with its id, where the run has it not.
    """

    words: str
    read: Callable[[pa.Table, Mapping[str, float]], pa.Table] = as_ranked


CONVENTIONS: Mapping[str, Convention] = {
    "beirflow": Convention("the ranking rule"),
    "anserini": Convention(
        "ids of ties ascend; at most 1,000 hits, then without the self match; scores as Anserini prints them and trec_eval 9 "
        "reads them",
        as_written,
    ),
    "pyserini-vectors": Convention("scores with six decimals, as trec_eval 9 reads them", _with_six_decimals),
    "trec_eval-9": Convention("the ranking rule"),
    "mteb": Convention("mteb/_evaluators/retrieval_metrics.py: pytrec_eval, which ranks as trec_eval 9, and five decimals"),
    "beir": Convention("beir/retrieval/evaluation.py: without self matches, pytrec_eval, and five decimals"),
    "contriever": Convention("src/beir_utils.py of contriever: EvaluateRetrieval of beir"),
    "trec_eval-10": Convention("scores are doubles, among which float32 scores have the same order; ids of ties descend"),
}


def differ(name: str) -> bool:
    """Test whether conventions rank otherwise than we do."""
    return CONVENTIONS[name].read is not as_ranked


def measure_under(
    name: str, run: pa.Table, qrels: pa.Table, measures: Sequence[str], self_matches: Mapping[str, float] = NONE
) -> dict[str, float]:
    """Return the means of some measures, such as ``NDCG@10``, over all judged queries, under conventions of :data:`CONVENTIONS`.

    ``run`` has ``query_id``, ``doc_id`` and ``score``, ``qrels`` the columns of ``qrels.parquet``; ``self_matches`` are those of
    the record of the run, if it has some.
    """
    asked = [(each, *each.split("@")) for each in measures]
    ranking = make_ranking(CONVENTIONS[name].read(run, self_matches), qrels, sorted({int(k) for _, _, k in asked}))
    return {each: float(np.nanmean(MEASURES[measure].compute(ranking, int(k)))) for each, measure, k in asked}
