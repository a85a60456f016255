"""Check of the pair scores and of the run of a reranker, on a sample.

Pairs are scored again with the real model, in other batches than before.
"""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.datasets.document_text import as_read
from beirflow.evaluation.measures import measure
from beirflow.evaluation.paired_tests import randomisation_test
from beirflow.files.layout import QRELS
from beirflow.rerank import ranked_again
from beirflow.rerank.ranked_again import pairs_folder, stored_pairs
from beirflow.rerank.scorers.encoders import EncodedPairs
from beirflow.rerank.scorers.load import load_scorer
from beirflow.rerank.scorers.pair_scorer import PairScorer
from beirflow.rerank.settings import RerankSettings
from beirflow.runs.drift import CHANCE, EXPECTED, drift_of, unless_moved
from beirflow.runs.representation_check import on_device
from beirflow.runs.spot_check import Finding, SpotCheck, Subject, compare_distances, draw

TOLERANCE = {"float32": 1e-3, "float16": 5e-2, "bfloat16": 5e-1}
"""Largest distance of two logits, over the larger of 1 and the stored one, by precision; wider than what was measured."""

TOLERANCE_OF_ENCODERS = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1, "int8": 4e-1, "unknown": 1e-1}
"""The same of two similarities, or sums of such: twice that of the spot checks of vectors, and no less than a thousandth."""

LEAST_DRIFT = 0.1
"""Allowed drift of the scores of relevant pairs, over the allowed distance of two scores."""

RIVALS = 0.25
"""Share of the sample that is drawn among rivals of relevant pairs: those of their queries that a forger can move past them."""

PLACE = ("model", "offline", "revision", "query_model", "query_revision", "encoder", "arguments")
"""Settings of the person who audits: no code runs because results from elsewhere name it."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan two checks of a reranker on one corpus: pairs scored again, queries ranked again."""
    pairs = PairScoreCheck(subject, sample, random)
    scored = SpotCheck("pairs scored again have the stored scores", pairs_folder(subject), pairs.check)
    return [scored, *ranked_again.spot_checks(subject, sample, random)]


class PairScoreCheck:
    """The check of the pair scores of one system on one corpus, with ``sample`` pairs drawn by ``random``."""

    def __init__(self, subject: Subject, sample: int, random: np.random.Generator) -> None:
        self.subject, self.sample, self.random = subject, sample, random
        self.settings: RerankSettings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)

    def check(self) -> Finding:
        """Score some pairs again and compare them with what is stored."""
        pairs = stored_pairs(self.subject)
        relevant = self._relevant(pairs)
        tolerance = TOLERANCE_OF_ENCODERS if self.settings.encoder_settings else TOLERANCE
        precision = self.subject.precision(tolerance)
        drawn, rivals = self._draw(pairs, relevant, tolerance[precision])
        pairs, relevant = pairs.take(pa.array(drawn)), relevant[drawn]
        stored = pairs["score"].to_numpy()
        again = self._scores(pairs)
        changes = (stored.astype(np.float64) - again) / np.maximum(np.abs(stored), 1)  # large logits round by more

        def pair(row: int) -> str:
            return f"{pairs['doc_id'][row].as_py()!r} of query {pairs['query_id'][row].as_py()!r}"

        problem = f"{self.subject.name}: {len(stored)} pairs"
        finding = compare_distances(problem, np.abs(changes), "", tolerance, precision, pair)
        least, others = LEAST_DRIFT * tolerance[precision], changes[~relevant].mean() if not relevant.all() else 0.0
        finding = unless_moved(finding, drift_of(changes[relevant] - others, least))
        queries = pairs["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
        finding = unless_moved(finding, drift_of(_above_rivals(queries, changes, relevant, np.isin(drawn, rivals)), least))
        return self._check_measure(pairs, again) or finding if finding.passed else finding

    def _check_measure(self, pairs: pa.Table, again: np.ndarray) -> Finding | None:
        """Fail if the stored scores measure better than those made again: rounding exchanges neighbours both ways alike."""
        qrels = pq.read_table(self.subject.results / QRELS(dataset=self.subject.dataset))
        qrels = qrels.filter(pc.is_in(qrels["query_id"], value_set=pairs["query_id"].combine_chunks()))
        place = pairs.column_names.index("score")
        with_again = pairs.set_column(place, "score", pa.array(again.astype(np.float32)))
        stored_ndcg, ndcg_again = (measure(table, qrels, [10])["NDCG@10"].to_numpy() for table in (pairs, with_again))
        raised = (stored_ndcg - ndcg_again)[stored_ndcg != ndcg_again]
        if raised.sum() <= 0 or randomisation_test(raised[:, None])[0] >= CHANCE:
            return None
        found = f"{self.subject.name}: the stored scores of {len(again)} pairs have NDCG@10 {stored_ndcg.mean():.4f}"
        return Finding(False, f"{found}, those made again {ndcg_again.mean():.4f}; {len(raised)} queries differ", EXPECTED)

    def _relevant(self, pairs: pa.Table) -> np.ndarray:
        """Test whether the document of each pair is relevant to the query."""
        of_pairs, judged = (
            pc.binary_join_element_wise(table["query_id"], table["doc_id"], "\t").combine_chunks()
            for table in (pairs, self.subject.judged())
        )
        return np.asarray(pc.is_in(of_pairs, value_set=judged).to_numpy(zero_copy_only=False))

    def _draw(self, pairs: pa.Table, relevant: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows of pairs, half of them of relevant documents and a quarter their rivals; return all, and the rivals."""
        those = np.flatnonzero(relevant)
        chosen = those[draw(len(those), self.sample // 2, self.random)]
        near = _rivals(pairs, relevant, chosen, tolerance)
        rivals = near[draw(len(near), int(self.sample * RIVALS), self.random)]
        taken = np.union1d(chosen, rivals)
        others = np.setdiff1d(np.arange(len(relevant)), taken)
        return np.union1d(taken, others[draw(len(others), self.sample - len(taken), self.random)]), rivals

    def _scores(self, pairs: pa.Table) -> np.ndarray:
        local = partial(self.subject.with_model_of_here, keys=PLACE)
        own = {key: local(found) for key in ("dense", "late") if (found := getattr(self.settings, key))}
        settings = replace(local(self.settings), **own)
        texts = self._texts(pairs)
        with on_device(self.subject):
            precision = "auto" if settings.has_own_precision else str(self.subject.made.get("precision"))
            return _model(settings, precision=precision, **self.subject.computing).scores(texts)

    def _texts(self, pairs: pa.Table) -> list[tuple[str, str]]:
        queries = self.subject.queries()
        of_queries = dict(zip(queries["query_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
        of_documents: dict[str, str] = {}
        wanted = set(pairs["doc_id"].to_pylist())
        for chunk in range(self.subject.chunks):
            table = self.subject.documents(chunk)
            rows = [row for row, doc_id in enumerate(table["doc_id"].to_pylist()) if doc_id in wanted]
            found = as_read(table.take(pa.array(rows, pa.int64())), getattr(self.settings.dense, "between", None))
            of_documents |= zip(found["doc_id"].to_pylist(), found["text"].to_pylist(), strict=True)
        ids = zip(pairs["query_id"].to_pylist(), pairs["doc_id"].to_pylist(), strict=True)
        return [(of_queries[query], of_documents[document]) for query, document in ids]


def _rivals(pairs: pa.Table, relevant: np.ndarray, chosen: np.ndarray, tolerance: float) -> np.ndarray:
    """Find rows of pairs that are not relevant, and whose stored score the tolerance can move past that of a chosen pair.

    The window is as wide above as below, so that selection by stored scores favours no direction.
    """
    queries, scores = pairs["query_id"].combine_chunks().dictionary_encode().indices.to_numpy(), pairs["score"].to_numpy()
    order = np.argsort(queries, kind="stable")
    first, last = (np.searchsorted(queries[order], queries[chosen], side) for side in ("left", "right"))
    found = []
    for row, start, end in zip(chosen, first, last, strict=True):
        others = order[start:end]
        near = np.abs(scores[others] - scores[row]) <= tolerance * max(1, abs(scores[row]))
        found.append(others[near & ~relevant[others]])
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _above_rivals(queries: np.ndarray, changes: np.ndarray, relevant: np.ndarray, rivals: np.ndarray) -> np.ndarray:
    """Return, by query that has both, the mean change of its relevant pairs less that of their rivals, float64."""
    number = queries.max(initial=-1) + 1
    counts = [np.bincount(queries[those], minlength=number) for those in (relevant, rivals)]
    both = (counts[0] > 0) & (counts[1] > 0)
    means = [
        np.bincount(queries[those], changes[those], number)[both] / count[both]
        for those, count in zip((relevant, rivals), counts, strict=True)
    ]
    return np.asarray(means[0] - means[1])


@lru_cache(maxsize=1)
def _model(settings: RerankSettings, *, device: str, precision: str, token_budget: int | str) -> PairScorer | EncodedPairs:
    """Load the model of a system, which serves one corpus after the other."""
    return load_scorer(settings, device=device, precision=precision, token_budget=token_budget)
