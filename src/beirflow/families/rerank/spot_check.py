"""Check of the pair scores of a reranker: sampled pairs are scored again by the model, in other batches."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core.layout import record_of
from beirflow.core.records import read_json
from beirflow.data.document_text import as_read
from beirflow.families.rerank.pairs import SCORER_CODE
from beirflow.families.rerank.run_check import pairs_folder, paths_of_pairs, stored_pairs
from beirflow.families.rerank.scorers.encoders import EncodedPairs
from beirflow.families.rerank.scorers.load import load_scorer
from beirflow.families.rerank.scorers.pair_scorer import PairScorer
from beirflow.families.rerank.settings import RerankSettings
from beirflow.families.spot_checks.drift import drift_of, drift_of_measure, unless_moved
from beirflow.families.spot_checks.representation_check import on_device
from beirflow.families.spot_checks.same_bits import Part, same_bits
from beirflow.families.spot_checks.spot_check import (
    Finding,
    NotHereError,
    SpotCheck,
    Subject,
    compare_counts,
    compare_distances,
    draw,
    loaded_model,
    rivals_of,
)

TOLERANCE = {"float32": 1e-3, "float16": 5e-2, "bfloat16": 5e-1}
"""Largest distance of two logits, over the larger of 1 and the stored one, by precision; wider than what was measured."""

TOLERANCE_OF_ENCODERS = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1, "int8": 4e-1, "unknown": 1e-1}
"""The same of two similarities, or sums of such: twice that of the spot checks of vectors, and no less than a thousandth."""

LEAST_DRIFT = 0.02  # allowed drift of the scores of relevant pairs, over the allowed distance of two scores

CUT = "truncated_pairs"  # count, in a record, of different pairs that were cut

PLACE = ("model", "offline", "revision", "query_model", "query_revision", "encoder", "arguments")
"""Settings of the person who audits: no code runs because results from elsewhere name it."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a reranker on one corpus: pairs scored again, also bit for bit."""
    pairs, folder, again = PairScoreCheck(subject, sample, random), pairs_folder(subject), "scored again have the stored scores"
    return [
        SpotCheck(f"pairs {again}", folder, pairs.check),
        SpotCheck(f"batches of pairs {again}, bit for bit", folder, pairs.check_bits),
        *([SpotCheck("as many pairs are cut as recorded", folder, pairs.check_cut)] if pairs.counts_cut() else []),
    ]


class PairScoreCheck:
    """The check of the pair scores of one system on one corpus, with ``sample`` pairs drawn by ``random``."""

    def __init__(self, subject: Subject, sample: int, random: np.random.Generator) -> None:
        self.subject, self.sample, self.random = subject, sample, random
        self.settings: RerankSettings = subject.system.settings.for_dataset(subject.row or subject.dataset, subject.whole)

    def check(self) -> Finding:
        """Score some pairs again and compare them with what is stored."""
        every = stored_pairs(self.subject).sort_by([("query_id", "ascending"), ("score", "descending")])
        relevant = self.subject.are_relevant(every)
        tolerance, precision = self._tolerance, self._precision
        queries = every["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
        drawn, rivals = self._draw(relevant, queries)
        pairs, relevant = every.take(pa.array(drawn)), relevant[drawn]
        stored = pairs["score"].to_numpy()
        again = self._scores(pairs, precision)
        changes = (stored.astype(np.float64) - again) / np.maximum(np.abs(stored), 1)  # large logits round by more

        def pair(row: int) -> str:
            return f"{pairs['doc_id'][row].as_py()!r} of query {pairs['query_id'][row].as_py()!r}"

        problem = f"{self.subject.name}: {len(stored)} pairs"
        finding = compare_distances(problem, np.abs(changes), "", tolerance, precision, pair)
        least, others = LEAST_DRIFT * tolerance[precision], changes[~relevant].mean() if not relevant.all() else 0.0
        again_scores, made = np.full(len(every), np.nan), np.arange(len(every))
        again_scores[drawn] = again
        finding = finding._replace(drawn=(len(pairs), len(every)))
        return unless_moved(
            finding,
            drift_of(changes[relevant] - others, least),
            drift_of(_above_rivals(queries[drawn], changes, relevant, np.isin(drawn, rivals)), least),
            drift_of_measure(self.subject, every, again_scores, made),
        )

    def counts_cut(self) -> bool:
        """Test whether the records count pairs that were cut; true also where they are not here."""
        paths = [self.subject.results / record_of(path) for path in paths_of_pairs(self.subject)]
        return not all(path.is_file() and CUT not in read_json(path).get("counts", {}) for path in paths)

    def check_cut(self) -> Finding:
        """Count the pairs that the model cuts among drawn ones of a block, and compare with its record.

        Raises NotHereError if scores were reused, so that nobody counted the pairs again.
        """
        path = str(self.random.permutation(paths_of_pairs(self.subject))[0])
        counts = read_json(self.subject.file(record_of(path).as_posix())).get("counts", {})
        if CUT not in counts or counts.get("pairs_reused"):
            raise NotHereError(f"{record_of(path)} does not count all pairs that were cut")
        texts = list(dict.fromkeys(self._texts(pq.read_table(self.subject.file(path)))))
        drawn = draw(len(texts), self.sample, self.random)
        with on_device(self.subject):
            model = self._model(self._precision)
            before = model.counts()[CUT]
            model.scores([texts[row] for row in drawn])
        cut = model.counts()[CUT] - before
        return compare_counts(self.subject.name, "pairs", (cut, len(drawn)), (counts[CUT], len(texts)))

    def check_bits(self) -> Finding:
        """Score some batches of pairs again as they were. Raises NotHereError in another computation than the recorded one."""
        paths = self.random.permutation(paths_of_pairs(self.subject)).tolist()
        with on_device(self.subject):
            return same_bits(self.subject, map(self._part, paths), self.sample, but=[SCORER_CODE])

    def _part(self, path: str) -> Part:
        """Read the pairs of a block as they were scored: equal texts once."""
        pairs = pq.read_table(self.subject.file(path))
        numbers = pa.array(map("\0".join, self._texts(pairs))).dictionary_encode().indices.to_numpy()
        distinct = pairs.take(pa.array(np.unique(numbers, return_index=True)[1]))
        texts, stored, model = self._texts(distinct), distinct["score"].to_numpy(), partial(self._model, self._precision)
        queries = pairs["query_id"].combine_chunks().dictionary_encode().indices.to_numpy()
        drawn = self._draw(self.subject.are_relevant(pairs), queries)[0]

        def is_same(batch: np.ndarray) -> bool:
            return np.array_equal(stored[batch], model().scores([texts[row] for row in batch]))

        def batch_of(row: int) -> np.ndarray:
            return np.asarray(model().batch_of(texts, row))

        return Part(
            path, model, self.random.permutation(numbers[drawn]).tolist(), batch_of, is_same, distinct["doc_id"].to_pylist()
        )

    @property
    def _tolerance(self) -> dict[str, float]:
        return TOLERANCE_OF_ENCODERS if self.settings.encoder_settings else TOLERANCE

    @property
    def _precision(self) -> str:
        return self.subject.precision(self._tolerance, own=self.settings.has_own_precision)

    def _draw(self, relevant: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows of pairs, a sixth of relevant documents and a third of their rivals; return all, and the rivals."""
        those = np.flatnonzero(relevant)
        chosen = those[draw(len(those), self.sample // 6, self.random)]
        near = rivals_of(queries, relevant, chosen)
        rivals = near[draw(len(near), self.sample // 2 - len(chosen), self.random)]
        taken = np.union1d(chosen, rivals)
        others = np.setdiff1d(np.arange(len(relevant)), taken)
        return np.union1d(taken, others[draw(len(others), self.sample - len(taken), self.random)]), rivals

    def _scores(self, pairs: pa.Table, precision: str) -> np.ndarray:
        texts = self._texts(pairs)
        with on_device(self.subject):
            return self._model(precision).scores(texts)

    def _model(self, precision: str) -> PairScorer | EncodedPairs:
        local = partial(self.subject.with_model_of_here, keys=PLACE)
        own = {key: local(found) for key in ("dense", "late") if (found := getattr(self.settings, key))}
        settings = replace(local(self.settings), **own)
        precision = "auto" if settings.has_own_precision else precision
        return loaded_model(load_scorer, settings, precision=precision, **self.subject.computing)

    def _texts(self, pairs: pa.Table) -> list[tuple[str, str]]:
        queries = self.subject.queries
        of_queries = dict(zip(queries["query_id"].to_pylist(), queries["text"].to_pylist(), strict=True))
        of_documents: dict[str, str] = {}
        wanted = set(pairs["doc_id"].to_pylist())
        for chunk in range(self.subject.chunks):
            table = self.subject.documents(chunk)
            rows = [row for row, doc_id in enumerate(table["doc_id"].to_pylist()) if doc_id in wanted]
            texts = as_read(table.take(pa.array(rows, pa.int64())), self.settings.separator)
            of_documents |= zip(texts["doc_id"].to_pylist(), texts["text"].to_pylist(), strict=True)
        ids = zip(pairs["query_id"].to_pylist(), pairs["doc_id"].to_pylist(), strict=True)
        return [(of_queries[query], of_documents[document]) for query, document in ids]


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
