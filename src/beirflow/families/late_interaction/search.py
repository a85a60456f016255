"""The exact top k of all documents of a chunk, without an approximate index.

A fast pass in float32 finds candidates; their scores are then computed exactly and rounded to float32, so that a score depends on
its query and its text alone. The fast pass keeps every document whose exact score may reach the k-th, by a bound on its rounding
error: the cut is exact, ties included. Segments of the chunk are read twice, one at a time, and once more where more documents
lie about the k-th score than there is room for.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from beirflow.core.artifact import Made, step
from beirflow.core.background import map_ahead
from beirflow.core.progress import Progress
from beirflow.core.verified import damaged
from beirflow.data.corpus_files import Documents
from beirflow.data.corpus_files import Queries as QueryTable
from beirflow.families.late_interaction.max_sim import SIZES, Blocks, Queries, error_bounds, exact_scores, fast_scores, in_blocks
from beirflow.families.late_interaction.vectors import (
    SEGMENT_TOKENS,
    Segment,
    TokenVectorFile,
    TokenVectors,
    in_rows,
    read_segments,
)
from beirflow.models.computing.arrival import send
from beirflow.models.model_record import ModelRecord
from beirflow.ranking.candidates import Candidates as ChunkCandidates
from beirflow.ranking.candidates import sources_of
from beirflow.ranking.ranking import Cut, Hits, no_hits
from beirflow.ranking.searched import Retrieval, check_precision, check_rows, check_same, read_ids_to_rank
from beirflow.ranking.shortlist import Shortlist, kth_largest, largest
from beirflow.run.devices import exact_device, require_exact_products, within_memory
from beirflow.run.hardware import Hardware
from beirflow.run.threads import Threads

SPARE = 128  # candidates kept beyond k: the room for documents whose scores the fast pass cannot tell apart from the k-th
CROWDED_PAIRS = 1 << 20  # pairs that are scored and merged at once where all documents of a segment may tie


class Candidates(NamedTuple):
    """Pairs of a query and a document whose exact score may be among the k best of the query."""

    query: torch.Tensor  # number of the query, ascending, int64 of shape (n,)
    row: torch.Tensor  # row of the document, int64 of shape (n,)
    least: torch.Tensor  # fast score from which a document is a candidate of each query, float32 of shape (queries,)
    crowded: torch.Tensor  # queries with more candidates than there is room for, which have no pairs; int64


class Part(NamedTuple):
    """Documents of a segment, ready to be compared; a search may receive them on its device already."""

    rows: np.ndarray  # row of each in the chunk, int64 of shape (documents,)
    places: torch.Tensor  # place of each one's text in the order of the blocks, on the device, int64 of shape (documents,)
    blocks: Blocks  # the texts


@dataclass(frozen=True)
class Chunk:
    """Queries and the chunk that they search."""

    queries: Queries  # the queries, longest first
    segments: Callable[[], Iterable[Segment | Part]]  # gives the documents, again with each call
    documents: int  # their number
    excluded: np.ndarray  # for each query rows that are left out, ascending but for -1; int64 of shape (queries, n)
    threads: Threads  # share the queries
    halvings: int = 0  # halvings of the blocks, because memory ran out
    kept: list[Part] | None = None  # what a GPU with enough memory keeps of documents that are read again; None if they are not

    @property
    def queries_at_once(self) -> int:
        """Queries that are compared with a segment together."""
        return max(1, SIZES[self.device.type].halved(self.halvings).query_tokens // self.queries.vectors.shape[1])

    @property
    def device(self) -> torch.device:
        """Device of the computation."""
        return self.queries.vectors.device

    def parts(self) -> Iterator[Part]:
        """Yield the documents, a segment at a time."""
        if self.kept:
            yield from self.kept
            return
        parts, room = list[Part](), self._room()
        for part in map_ahead(partial(arranged, device=self.device, halvings=self.halvings), self.segments()):
            parts.append(part)
            yield part
            room -= part.blocks.bytes
            if room < 0:
                parts.clear()
        if self.kept is not None and room >= 0:
            self.kept.extend(parts)

    def _room(self) -> int:
        """Return the bytes of documents that may be kept: none but on a GPU, there half of the memory that is free."""
        if self.kept is None or self.device.type != "cuda" or self.halvings:
            return -1
        return torch.cuda.mem_get_info(self.device)[0] // 2

    def scores(self, which: slice | torch.Tensor, part: Part) -> torch.Tensor:
        """Compute fast scores, float32 of shape (queries, documents); minus infinity for a document that is left out."""
        of_texts = fast_scores(self.queries.some(which), part.blocks)
        scores = of_texts.index_select(1, part.places)
        excluded = self.excluded[which if isinstance(which, slice) else which.cpu().numpy()]
        if not len(part.rows) or not (excluded >= 0).any():
            return scores
        # Rows of a segment need not ascend.
        order = np.argsort(part.rows)
        place = np.minimum(np.searchsorted(part.rows, excluded, sorter=order), len(order) - 1)
        numbers, column = np.nonzero(part.rows[order[place]] == excluded)
        query, document = (torch.from_numpy(each).to(self.device) for each in (numbers, order[place[numbers, column]]))
        scores[query, document] = -torch.inf  # sorts last, and no document has it otherwise
        return scores


def arranged(segment: Segment | Part, device: torch.device, halvings: int = 0) -> Part:
    """Prepare the documents of a segment for comparison, unless they are prepared already."""
    if isinstance(segment, Part):
        return segment
    blocks = in_blocks(segment.texts, device, halvings)
    return Part(segment.rows.astype(np.int64), send(blocks.places[segment.text], device), blocks)


def exact_top_k(
    queries: TokenVectors, segments: Callable[[], Iterable[Segment | Part]], cut: Cut, *, device: torch.device
) -> Hits:
    """Find the best documents of each query.

    Args:
        queries: The vectors of the queries.
        segments: Gives the vectors of the documents, which may be arranged already; called several times.
        cut: Which documents are kept.
        device: Device of the computation.

    Returns:
        Number of the query and row of the document, int32, and score, float32, of every hit, sorted by query and rank.
    """
    require_exact_products(device)
    documents = len(cut.id_order)
    if not documents or not len(queries.counts):
        return no_hits()
    order = np.argsort(-queries.counts, kind="stable")  # those of one block are padded to about the same length
    with Threads(device, alone=len(queries.counts) == 1) as threads:
        whole = Chunk(
            Queries.of(queries.take(order), device), segments, documents, cut.excluded[order].reshape(len(order), -1), threads
        )

        def search(halvings: int) -> Hits:
            """Search all documents."""
            chunk = replace(whole, halvings=halvings, kept=[])
            near, hits = _fast_pass(chunk, cut.k), Shortlist(np.full(len(order), -np.inf, np.float32), cut, threads)
            for exact in _score_pairs(chunk, near.query.cpu().numpy(), near.row.cpu().numpy()):
                hits.add(exact, len(order))
            _search_crowded(chunk, near, hits)
            return hits.best()

        query, row, score = within_memory(search, device)
    renamed = order[query].astype(np.int32)  # which the queries were before they were sorted
    by_query = np.argsort(renamed, kind="stable")
    return renamed[by_query], row[by_query], score[by_query]


def exact_of_pairs(
    queries: TokenVectors,
    segments: Callable[[], Iterable[Segment | Part]],
    pairs: tuple[np.ndarray, np.ndarray],
    cut: Cut,
    *,
    device: torch.device,
) -> Hits:
    """Rank given pairs by their scores among all: numbers of queries and rows of documents, none excluded, int64 of shape (n,).

    The other arguments and the result are those of :func:`exact_top_k`.
    """
    require_exact_products(device)  # the bound of what can be a token's best match supposes it
    with Threads(device) as threads:
        nothing = np.full(len(queries.counts), -1)
        whole = Chunk(Queries.of(queries, device), segments, len(cut.id_order), nothing, threads)

        hits = within_memory(lambda halvings: _score_pairs(replace(whole, halvings=halvings), *pairs), device)
    return cut.first_of([no_hits(), *hits])


def _fast_pass(chunk: Chunk, k: int) -> Candidates:
    """Find the documents whose exact scores may be among the k best, by fast scores and a bound on their error."""
    number, keep = len(chunk.queries.counts), min(chunk.documents, k + SPARE)
    best = torch.full((number, keep), -torch.inf, device=chunk.device)
    rows = torch.zeros((number, keep), dtype=torch.int64, device=chunk.device)
    with Progress("search", chunk.documents, "documents") as progress:
        for part in chunk.parts():
            here = send(part.rows, chunk.device)

            def offer(queries: slice, part: Part = part, here: torch.Tensor = here) -> None:
                """Update the best fast scores of some queries with a part."""
                for first in range(queries.start, queries.stop, chunk.queries_at_once):
                    some = slice(first, min(first + chunk.queries_at_once, queries.stop))
                    scores = torch.cat([best[some], chunk.scores(some, part)], dim=1)
                    place = largest(scores, keep)
                    rows[some] = torch.cat([rows[some], here.expand(len(scores), -1)], dim=1).gather(1, place)
                    best[some] = scores.gather(1, place)

            chunk.threads.share(offer, number, number)
            progress.advance(len(part.rows))
    least = kth_largest(best, min(k, keep)) - 2 * error_bounds(chunk.queries)
    # What was dropped scores no more than the least that was kept.
    is_crowded = (best.amin(dim=1) >= least) & (best.amin(dim=1) > -torch.inf) & (keep < chunk.documents)
    is_near = (best >= least[:, None]) & (best > -torch.inf) & ~is_crowded[:, None]
    return Candidates(is_near.nonzero()[:, 0], rows[is_near], least, is_crowded.nonzero().flatten())


def _score_pairs(chunk: Chunk, query: np.ndarray, row: np.ndarray) -> list[Hits]:
    """Score pairs of numbers of queries, ascending, and rows exactly; the hits of each segment are sorted by query."""
    hits = []
    for part in chunk.parts():
        place = np.full(chunk.documents, -1)
        place[part.rows] = np.arange(len(part.rows))
        here = np.flatnonzero(place[row] >= 0)
        some, documents = (torch.from_numpy(each).to(chunk.device) for each in (query[here], place[row[here]]))
        hits.append(_score_exactly(chunk, part, some, documents))
    return hits


def _search_crowded(chunk: Chunk, near: Candidates, hits: Shortlist) -> None:
    """Score exactly, a few queries at a time, what may be among the best of queries with more of it than there is room for."""
    if not len(near.crowded):
        return
    pairs = max(1, CROWDED_PAIRS // min(chunk.documents, SEGMENT_TOKENS))
    for part in chunk.parts():
        for queries in torch.split(near.crowded, min(pairs, chunk.queries_at_once)):
            scores = chunk.scores(queries, part)
            place, document = ((scores >= near.least[queries, None]) & (scores > -torch.inf)).nonzero(as_tuple=True)
            hits.add(_score_exactly(chunk, part, queries[place], document), len(queries))
        hits.settle()


def _score_exactly(chunk: Chunk, part: Part, query: torch.Tensor, document: torch.Tensor) -> Hits:
    """Score pairs of query and document of a segment exactly."""
    # Pairs of one block together, and of one text as neighbours.
    places, order = part.places[document].sort(stable=True)
    bounds = part.blocks.bounds
    ends = torch.searchsorted(places, torch.from_numpy(bounds).to(places.device)).tolist()
    scores = torch.empty(len(order), device=query.device)

    def score(blocks: slice) -> None:
        """Score the pairs of some blocks exactly."""
        for number in range(blocks.start, blocks.stop):
            pairs = slice(ends[number], ends[number + 1])
            if pairs.start < pairs.stop:
                here, text = order[pairs], places[pairs] - int(bounds[number])
                scores[here] = exact_scores(chunk.queries, part.blocks.vectors[number], query[here], text, chunk.halvings)

    chunk.threads.share(score, len(bounds) - 1, len(bounds) - 1)
    rows = part.rows[document.cpu().numpy()]
    return query.cpu().numpy().astype(np.int32), rows.astype(np.int32), scores.cpu().numpy()


@step(ChunkCandidates, stage="search", ancestors=None, same=("system",))
def search_tokens(
    queries: QueryTable,
    documents: Documents,
    model: ModelRecord,
    query_vectors: TokenVectorFile,
    chunk_vectors: TokenVectorFile,
    chunk: int,
    retrieval: Retrieval,
    hardware: Hardware,
) -> Made:
    """Find the top k of one chunk for every query, among all its documents, or among its own candidates where it has some.

    Raises DataError for vectors of other texts, or not of one precision and dimension; DeviceError if the GPU fails or has too
    little memory.
    """
    hardware.use_threads()
    both = [query_vectors, chunk_vectors]
    check_precision(both, "encode")
    # A chunk without texts has no dimensions.
    with_vectors = [each for each in both if each.record["dim"]]
    check_same(with_vectors, lambda record: record["dim"], "dimensions", "encode")
    ids, digests = read_ids_to_rank(queries, documents, chunk, retrieval)
    try:
        query_rows = in_rows(read_segments(query_vectors.path), len(ids.queries))
    except ValueError as error:
        raise damaged(query_vectors.path, str(error)) from error
    check_rows(str(chunk_vectors.path), chunk_vectors.record["rows"], len(ids.documents), "encode")
    segments, cut = partial(read_segments, chunk_vectors.path), ids.cut(retrieval.top_k)
    with hardware.gpu():
        start, device = time.perf_counter(), exact_device(hardware.device)
        if ids.pairs is None:
            hits = exact_top_k(query_rows, segments, cut, device=device)
        else:
            hits = exact_of_pairs(query_rows, segments, ids.pairs, cut, device=device)
        seconds = {"search": time.perf_counter() - start}
    counts, sources = {"self_matches_dropped": ids.self_matches}, sources_of(both)
    facts = {"made": {}, "seconds": seconds, "counts": counts, "sources": sources}
    return Made(hits, top_k=retrieval.top_k, ties="descending", read=digests, **facts)
