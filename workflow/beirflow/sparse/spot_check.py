"""Do the weights follow from the texts, and does the run follow from the weights? Checked on a sample.

Texts are weighed again with the real model, in other batches than before; sampled queries are searched again over all stored
weights, document by document and with nothing of ``search.py``.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from beirflow.datasets.document_text import as_read
from beirflow.expansions.files import stored_rows
from beirflow.expansions.spot_check import expansion_checks
from beirflow.files.layout import EXPANSION, QUERY_WEIGHTS, QUERY_WEIGHTS_RECORD, RUN, TERM_WEIGHTS, Pattern
from beirflow.jobs.gpu_job import gpu_job
from beirflow.runs.compared_ranks import compare_ranks
from beirflow.runs.drift import Drift, drift_of_scores, unless_moved
from beirflow.runs.spot_check import MODEL_PLACE, Finding, SpotCheck, Subject, draw
from beirflow.sparse.files import read_queries, read_segments
from beirflow.sparse.layouts import read_parts
from beirflow.sparse.model_folders import model_folders
from beirflow.sparse.rows import Rows, quantized
from beirflow.sparse.settings import SparseSettings
from beirflow.sparse.weigher import Weigher

TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""By precision, the length of the difference of two texts' weights over the length of the stored ones."""

LEAST_DRIFT = {"float32": 5e-6, "float16": 1e-4, "bfloat16": 1e-3}
"""By precision, how far scores of relevant pairs may move in one direction, over the lengths of their weights."""

MOST_OTHERS = 200
"""Queries or documents whose scores are looked at for that."""

ROUNDING = 2.0
"""What integers may differ by, beyond that: one that is rounded to the other side, in each of some terms."""


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a sparse system on one corpus.

    Args:
        subject: The system and the corpus.
        sample: Documents and queries to draw.
        random: Draws them.

    Returns:
        Three checks: documents weighed again, queries weighed again, queries searched again; and one where a model has added
        something to the documents.
    """
    again = _Again(subject, sample, random)
    folder = QUERY_WEIGHTS(system=subject.system.name, dataset=subject.dataset).rpartition("/")[0]
    run = RUN(system=subject.system.name, dataset=subject.dataset)
    added = subject.system.settings.added
    here = subject.here.settings if subject.here and subject.here.family == subject.system.family else None
    return [
        *(expansion_checks(subject, added, here and here.added, sample, random) if added else []),
        SpotCheck("documents weighed again have the stored weights", folder, partial(again.check, "documents")),
        SpotCheck("queries weighed again have the stored weights", folder, partial(again.check, "queries")),
        SpotCheck("queries searched again have the recorded ranks", run, again.check_ranks),
    ]


class _Again:
    """The weights of one system for one corpus, and what is drawn of them."""

    def __init__(self, subject: Subject, sample: int, random: np.random.Generator) -> None:
        self.subject, self.sample, self.random = subject, sample, random
        self.settings: SparseSettings = subject.system.settings

    def check(self, kind: str) -> Finding:
        """Weigh some documents or queries again and compare them with the stored weights."""
        ids, texts, added, stored = self._drawn_documents() if kind == "documents" else self._drawn_queries()
        again = self._weigh(kind, texts, added)
        width = int(max(stored.terms.max(initial=0), again.terms.max(initial=0))) + 1
        before, now = (_spread(rows, width) for rows in (stored, again))
        lengths = np.linalg.norm(before, axis=1)
        slack = 0.0 if self.settings.quantize == "none" else ROUNDING
        apart = np.maximum(np.linalg.norm(now - before, axis=1) - slack, 0) / np.maximum(lengths, 1e-30)
        worst, within = int(np.argmax(apart)), TOLERANCE[self._precision]
        found = f"{self.subject.name}: {len(texts)} {kind}, at most {apart[worst]:.1e} of the length of their weights apart"
        if not apart[worst] <= within:
            return Finding(False, f"{found}, {ids[worst]!r}", f"at most {within:.0e} in {self._precision}")
        finding = Finding(True, found, f"at most {within:.0e} in {self._precision}")
        return unless_moved(finding, self._drift(kind, pa.array(ids), before, now))

    def _drift(self, kind: str, ids: pa.Array, before: np.ndarray, now: np.ndarray) -> Drift | None:
        """Whether scores with what is relevant moved; None where too little is judged."""
        own = "doc_id" if kind == "documents" else "query_id"
        wanted = self.subject.relevant_to(own, ids, MOST_OTHERS)
        there, rows = self._queries_of(wanted) if kind == "documents" else self._documents_of(wanted)
        known = rows.terms < before.shape[1]  # of the others, nothing that was made again has any
        text = np.repeat(np.arange(len(rows.counts)), rows.counts)[known]
        others = _spread(Rows.of(len(rows.counts), text, rows.terms[known], rows.weights[known]), before.shape[1])
        lengths = np.linalg.norm(before, axis=1, keepdims=True) * np.linalg.norm(others, axis=1)
        changed = ((before - now) @ others.T) / np.maximum(lengths, 1e-30)
        return drift_of_scores(changed, *self.subject.pairs_among(own, ids, there), LEAST_DRIFT[self._precision])

    def _queries_of(self, ids: pa.Array) -> tuple[pa.Array, Rows]:
        """Some queries, and their stored weights."""
        (there, rows), queries = self.subject.queries_among(ids), self._queries()
        return there, Rows.together([Rows(queries.counts[[row]], *_row(queries, row)) for row in rows.tolist()])

    def _documents_of(self, ids: pa.Array) -> tuple[pa.Array, Rows]:
        """Those of some documents that are here, and their stored weights."""
        there, rows = self.subject.documents_among(ids)
        return there, Rows.together([self._stored(chunk, here) for chunk, here in enumerate(rows) if len(here)])

    def check_ranks(self) -> Finding:
        """Score all documents again for some queries and compare with the run."""
        table = self.subject.queries()
        drawn = draw(table.num_rows, self.sample, self.random)
        queries = self._queries()
        ids = table["query_id"].take(pa.array(drawn)).to_pylist()
        weights = [dict(zip(*_row(queries, row), strict=True)) for row in drawn.tolist()]
        blocks = (block for chunk in range(self.subject.chunks) for block in self._blocks(chunk, weights))
        return compare_ranks(self.subject, ids, blocks, partial(np.zeros, len(ids)), ties=self.settings.ties)

    def _blocks(self, chunk: int, queries: list[dict[int, float]]) -> Iterator[tuple[pa.Array, np.ndarray]]:
        """Ids and scores of the documents of a chunk, segment by segment."""
        doc_ids, first = self.subject.doc_ids(chunk), 0
        for segment in read_segments(self._path(TERM_WEIGHTS, chunk=chunk), self.settings.quantize):
            place = {term: number for number, term in enumerate(segment.terms.tolist())}
            scores = np.full((len(queries), segment.documents), -np.inf)
            for query, weights in enumerate(queries):
                found = scores[query]
                for term in sorted(weights.keys() & place.keys()):
                    span = slice(*segment.starts[place[term] : place[term] + 2].tolist())
                    rows = segment.rows[span]
                    products = segment.weights[span].astype(np.float64) * weights[term]
                    found[rows] = np.where(np.isinf(found[rows]), 0, found[rows]) + products
            yield doc_ids.slice(first, segment.documents), scores.astype(np.float32)
            first += segment.documents

    def _drawn_documents(self) -> tuple[list[str], list[str], list[str] | None, Rows]:
        """Ids and texts of some documents, what is added to each, and their stored weights."""
        rows = self.subject.draw_documents(self.sample, self.random)
        table = as_read(self.subject.take_documents(rows))
        stored = [self._stored(chunk, here) for chunk, here in enumerate(rows) if len(here)]
        return table["doc_id"].to_pylist(), table["text"].to_pylist(), self._added(rows), Rows.together(stored)

    def _added(self, drawn: Sequence[np.ndarray]) -> list[str] | None:
        """What is added to some documents of each chunk; None where nothing is added to any."""
        added = self.settings.added
        if added is None:
            return None
        paths = [EXPANSION(expansion=added.name, dataset=self.subject.dataset, chunk=chunk) for chunk in range(len(drawn))]
        stored = (
            stored_rows(self.subject.file(path), added.kind, pa.array(rows)) for path, rows in zip(paths, drawn, strict=True)
        )
        return [" ".join(queries) for found in stored for queries in found]

    def _stored(self, chunk: int, rows: np.ndarray) -> Rows:
        """The stored weights of some documents of a chunk."""
        first, parts = 0, []
        for segment in read_segments(self._path(TERM_WEIGHTS, chunk=chunk), self.settings.quantize):
            here = rows[(rows >= first) & (rows < first + segment.documents)] - first
            places = np.flatnonzero(np.isin(segment.rows, here))
            terms = segment.terms[np.searchsorted(segment.starts, places, side="right") - 1].astype(np.int64)
            text = np.searchsorted(here, segment.rows[places])
            parts.append(Rows.of(len(here), text, terms, segment.weights[places].astype(np.float32)))
            first += segment.documents
        return Rows.together(parts)

    def _drawn_queries(self) -> tuple[list[str], list[str], None, Rows]:
        table = self.subject.queries()
        drawn = draw(table.num_rows, self.sample, self.random)
        queries = self._queries()
        parts = [Rows(queries.counts[[row]], *_row(queries, row)) for row in drawn.tolist()]
        chosen = table.take(pa.array(drawn))
        return chosen["query_id"].to_pylist(), chosen["text"].to_pylist(), None, Rows.together(parts)

    def _queries(self) -> Rows:
        return read_queries(self._path(QUERY_WEIGHTS), self.settings.quantize)

    def _weigh(self, kind: str, texts: list[str], added: list[str] | None) -> Rows:
        settings = self.subject.with_model_of_here(self.settings, [*MODEL_PLACE, "query_model", "query_revision"])
        part = read_parts(settings, *model_folders(settings)).of(kind)
        config = self.subject.config
        with gpu_job(config["device"], config["jobs_per_gpu"]):
            budget = config["token_budget"]
            weigher = Weigher(settings.name, part, device=config["device"], precision=self._precision, token_budget=budget)
            return quantized(Rows.together(list(weigher.windows(texts, kind, added))), settings.quantize)

    def _path(self, pattern: Pattern, **names: int) -> str:
        return str(self.subject.file(pattern(system=self.subject.system.name, dataset=self.subject.dataset, **names)))

    @property
    def _precision(self) -> str:
        record = QUERY_WEIGHTS_RECORD(system=self.subject.system.name, dataset=self.subject.dataset)
        return self.subject.precision(TOLERANCE, [record])  # a search compares it with that of every chunk


def _row(rows: Rows, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Terms and weights of one text."""
    part = slice(rows.starts[number], rows.starts[number + 1])
    return rows.terms[part], rows.weights[part]


def _spread(rows: Rows, width: int) -> np.ndarray:
    """Weights of all terms, float64 of shape (texts, width)."""
    spread = np.zeros((len(rows.counts), width))
    spread[np.repeat(np.arange(len(rows.counts)), rows.counts), rows.terms] = rows.weights
    return spread
