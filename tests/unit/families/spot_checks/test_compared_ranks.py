"""A run is compared with the scores of all documents: whatever is wrong with it is found, and a run that is right passes."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beirflow.core.layout import QUERIES, RUN
from beirflow.families.spot_checks import compared_ranks as module
from beirflow.families.spot_checks.compared_ranks import compare_ranks
from beirflow.families.spot_checks.spot_check import Finding, Subject
from beirflow.families.system import System
from beirflow.ranking.ranking import Ties
from beirflow.ranking.run_file import RUN as COLUMNS
from pairs import pairs

Hit = tuple[str, str, float, int]
Alter = Callable[[list[Hit]], list[Hit]]
Scores = dict[str, dict[str, float]]
"""By query and document; minus infinity where a document is not retrieved."""

SLACK = 1e-3
IDS = [f"d{number}" for number in range(20)]
TOP_K = 5


def scores_of(queries: Sequence[str] = ("q0", "q1", "d3")) -> Scores:
    """Different scores, some negative; a query has the id of a document."""
    rng = np.random.default_rng(7)
    return {query: dict(zip(IDS, (rng.permutation(len(IDS)) - 8.0).tolist(), strict=True)) for query in queries}


def right_run(scores: Scores, top_k: int = TOP_K, *, drop: bool = True) -> list[Hit]:
    """The run that the scores lead to."""
    rows: list[Hit] = []
    for query, found in scores.items():
        left = {name: score for name, score in found.items() if score > -np.inf and not (drop and name == query)}
        best = sorted(left, key=lambda name: (left[name], name.encode()), reverse=True)[:top_k]
        rows += [(query, name, left[name], rank) for rank, name in enumerate(best, 1)]
    return rows


def compare(
    folder: Path,
    scores: Scores,
    run: list[Hit],
    *,
    top_k: int = TOP_K,
    drop: bool = True,
    sizes: Sequence[int] = (8, 0, 12),
    slack: float = SLACK,
    ties: Ties = "descending",
    excluded: dict[str, list[str]] | None = None,
) -> Finding:
    """Compare a run with the documents in blocks of some sizes."""
    path = folder / RUN(system="toy", dataset="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [list(column) for column in zip(*run, strict=True)] or [[], [], [], []]
    pq.write_table(pa.table(columns, schema=COLUMNS), path)
    queries: dict[str, list[Any]] = {"query_id": list(scores)}
    queries |= {"excluded_ids": [excluded.get(query, []) for query in scores]} if excluded else {}
    (folder / QUERIES(dataset="small")).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(queries), folder / QUERIES(dataset="small"))
    system = System("toy", "none", None)
    subject = Subject(folder, system, None, "small", {}, top_k, drop_self_matches=drop, chunks=len(sizes), config={})
    asked: list[str] = []

    def blocks() -> Iterator[tuple[pa.Array, np.ndarray]]:
        start = 0
        for size in sizes:
            ids = IDS[start : start + size]
            start += size
            yield pa.array(ids, pa.string()), np.array([[scores[query][name] for name in ids] for query in scores], np.float32)
        asked.append("all blocks")

    def slacks() -> np.ndarray:
        assert asked == ["all blocks"]
        return np.full(len(scores), slack)

    return compare_ranks(subject, list(scores), blocks(), slacks, ties=ties, whole=sum(sizes) == len(IDS))


def assert_found(finding: Finding, query: str, says: str) -> None:
    assert not finding.passed
    assert finding.found.startswith(f"runs/toy/small.parquet: query {query!r} ")
    assert says in finding.found
    assert finding.expected == "exact search over all documents"


@pytest.mark.parametrize(
    ("sizes", "top_k", "drop"), pairs([(20,), (8, 0, 12), (0, 20), (20, 0), (1,) * 20], [1, TOP_K, 19, 20, 1000], [True, False])
)
def test_a_run_that_is_right_passes(tmp_path: Path, sizes: Sequence[int], top_k: int, drop: bool) -> None:
    scores = scores_of()
    finding = compare(tmp_path, scores, right_run(scores, top_k, drop=drop), top_k=top_k, drop=drop, sizes=sizes)
    assert finding == Finding(True, "toy on small: 3 queries, every rank as in runs/toy/small.parquet")


def test_queries_that_were_not_drawn_and_the_order_of_rows_do_not_matter(tmp_path: Path) -> None:
    scores = scores_of()
    run = [*right_run(scores), ("other", "d1", 99.0, 1), ("other", "d1", 99.0, 1)]
    assert compare(tmp_path, scores, run[::-1]).passed


def in_place(query: str, rank: int, doc_id: str | None = None, score: float | None = None) -> Alter:
    """A run with another document or score in one place."""

    def changed(hit: Hit) -> Hit:
        if (hit[0], hit[3]) != (query, rank):
            return hit
        return (query, doc_id or hit[1], hit[2] if score is None else score, rank)

    return lambda run: [changed(hit) for hit in run]


def cut(kept: int, query: str = "") -> Alter:
    """A run with fewer ranks, of one query or of all."""
    return lambda run: [hit for hit in run if (query and hit[0] != query) or hit[3] <= kept]


BEST = {(query, rank): (doc_id, score) for query, doc_id, score, rank in right_run(scores_of(), TOP_K + 1)}
WORSE, LOW = BEST["q1", TOP_K + 1]
"""The first document that the cut leaves out, and its score."""

WRONG: list[tuple[Alter, str, str]] = [
    *(
        (cut(kept, query), query, f"has {kept} documents, expected {TOP_K}")
        for query in ("q0", "d3")
        for kept in (0, 1, TOP_K - 1)
    ),
    *((cut(kept), "q0", f"has {kept} documents, expected {TOP_K}") for kept in (0, 1, TOP_K - 1)),
    *((lambda run, rank=rank: [*run, ("q1", WORSE, LOW, rank)], "q1", "has 6 documents, expected 5") for rank in (TOP_K + 1, 1)),
    *(
        (in_place("q1", rank, WORSE, LOW), "q1", f"has {WORSE!r} with the score {LOW!r} at rank {rank}, expected one with ")
        for rank in (1, 3, TOP_K)
    ),
    (in_place("q1", 2, WORSE), "q1", f"for {WORSE!r}, expected {LOW!r}"),
    (in_place("q1", 2, "nowhere"), "q1", "for 'nowhere', expected nan"),
    # Its score is right, and nothing at its rank scores higher.
    *((in_place("q1", rank, *BEST["q1", 1]), "q1", f"has {BEST['q1', 1][0]!r} twice") for rank in (2, TOP_K)),
    *(
        (in_place("d3", 2, score=BEST["d3", 2][1] + by), "d3", f"for {BEST['d3', 2][0]!r}, expected {BEST['d3', 2][1]!r}")
        for by in (0.5, -0.5, 2 * SLACK, float("inf"), float("nan"))
    ),
    (lambda run: [(*hit[:3], {1: 2, 2: 1}.get(hit[3], hit[3])) for hit in run], "q0", "at rank 1, expected one with "),
    (lambda run: run[1:], "q0", "has 4 documents"),
    (lambda run: run + run, "q0", "has 10 documents"),
]


@pytest.mark.parametrize(("alter", "query", "says"), WRONG)
def test_what_is_wrong_with_a_run_is_found_and_named(tmp_path: Path, alter: Alter, query: str, says: str) -> None:
    assert_found(compare(tmp_path, scores_of(), alter(right_run(scores_of()))), query, says)


@pytest.mark.parametrize(
    ("alter", "says"),
    [
        (lambda run: run, ""),
        (in_place("q1", TOP_K, "nowhere"), ""),  # its score is not known
        (lambda run: [(*hit[:2], hit[2] + 4 * SLACK, hit[3]) for hit in run], "has the score "),
        (cut(0, "q1"), "has 0 documents, 0 of those made again, expected "),
        (lambda run: [hit for hit in run if hit[1] not in IDS[:8]], "of those made again, expected |expected one with "),
    ],
)
def test_scores_of_some_documents_show_what_is_wrong_with_their_places(tmp_path: Path, alter: Alter, says: str) -> None:
    scores = {query: {name: score + 9 for name, score in found.items()} for query, found in scores_of().items()}
    finding = compare(tmp_path, scores, alter(right_run(scores)), sizes=(8,))
    assert finding.passed == (not says)
    assert re.search(says or r"3 queries, \d+ hits as in", finding.found)


def test_scores_that_differ_by_rounding_pass(tmp_path: Path) -> None:
    scores = scores_of()
    run = [(query, name, score + (-1) ** rank * SLACK / 2, rank) for query, name, score, rank in right_run(scores)]
    assert compare(tmp_path, scores, run).passed


def test_a_document_with_the_id_of_the_query_is_found_where_it_should_have_been_dropped(tmp_path: Path) -> None:
    scores = scores_of()
    scores["d3"]["d3"] = 100.0
    run = right_run(scores, drop=False)
    assert ("d3", "d3", 100.0, 1) in run
    assert_found(compare(tmp_path, scores, run, drop=True), "d3", "has the score 100.0 for 'd3', expected -inf")
    assert compare(tmp_path, scores, run, drop=False).passed
    assert_found(compare(tmp_path, scores, right_run(scores), drop=False), "d3", "at rank 1, expected one with 100.0")


def test_a_document_that_the_query_excludes_is_found_where_it_should_have_been_dropped(tmp_path: Path) -> None:
    scores, excluded = scores_of(), {"q1": ["d5", "d6", "nowhere"]}
    left = {
        query: {name: score for name, score in found.items() if name not in excluded.get(query, [])}
        for query, found in scores.items()
    }
    assert compare(tmp_path, scores, right_run(left), excluded=excluded).passed
    assert_found(compare(tmp_path, scores, right_run(scores), excluded=excluded), "q1", "expected -inf")


def few(scores: Scores, retrieved: int) -> Scores:
    """Of one query, only some documents are retrieved, as by a family that finds words."""
    kept = IDS[:retrieved]
    return {**scores, "q1": {name: score if name in kept else -np.inf for name, score in scores["q1"].items()}}


@pytest.mark.parametrize("retrieved", [0, 1, TOP_K - 1, TOP_K])
def test_a_query_that_retrieves_fewer_documents_than_the_cut_has_as_many(tmp_path: Path, retrieved: int) -> None:
    scores = few(scores_of(), retrieved)
    run = right_run(scores)
    assert sum(hit[0] == "q1" for hit in run) == retrieved
    assert compare(tmp_path, scores, run).passed
    extra = ("q1", IDS[-1], -20.0, retrieved + 1)
    assert_found(compare(tmp_path, scores, [*run, extra]), "q1", f"has {retrieved + 1} documents, expected {retrieved}")
    if retrieved:
        less = [hit for hit in run if (hit[0], hit[3]) != ("q1", retrieved)]
        assert_found(compare(tmp_path, scores, less), "q1", f"has {retrieved - 1} documents, expected {retrieved}")
        swapped = in_place("q1", retrieved, IDS[-1])(run)
        assert_found(compare(tmp_path, scores, swapped), "q1", f"for {IDS[-1]!r}, expected -inf")


@given(data=st.data(), top_k=st.integers(1, 25), drop=st.booleans())
def test_only_what_has_the_scores_of_the_best_passes(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, top_k: int, drop: bool
) -> None:
    """One row of a run that is right is given any other document and score."""
    folder = tmp_path_factory.getbasetemp() / "any"
    value = st.sampled_from([0.0, 1.0, 2.0, 3.0, -np.inf])
    scores = {query: {name: data.draw(value) for name in IDS} for query in ("q0", "d3")}
    run = right_run(scores, top_k, drop=drop)
    assert compare(folder, scores, run, top_k=top_k, drop=drop).passed
    if run:
        query, old, score, rank = data.draw(st.sampled_from(run))
        new = data.draw(st.sampled_from(IDS))
        others = {name for found, name, _, place in run if found == query and place != rank}
        swapped = in_place(query, rank, new)(run)
        right = new == old or (scores[query][new] == score and new not in others and not (drop and new == query))
        assert compare(folder, scores, swapped, top_k=top_k, drop=drop).passed == right


def test_no_more_scores_of_a_query_are_kept_than_the_run_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[tuple[int, ...]] = []
    add = module._Ranks.add

    def watched(self: module._Ranks, doc_ids: pa.Array, scores: np.ndarray) -> None:
        add(self, doc_ids, scores)
        kept.append(self._best.shape)

    monkeypatch.setattr(module._Ranks, "add", watched)
    scores = scores_of()
    assert compare(tmp_path, scores, right_run(scores), sizes=(4, 4, 12)).passed
    assert kept == [(len(scores), 4), (len(scores), TOP_K), (len(scores), TOP_K)]


@pytest.mark.parametrize("ties", ["descending", "ascending"])
def test_of_documents_with_the_same_score_the_first_are_in_the_run(tmp_path: Path, ties: Ties) -> None:
    """Holds for exact scores: a chosen order of ties at the cut would be one that nobody else has."""
    scores = {"q0": dict.fromkeys(IDS, 1.0) | {"d3": 2.0}}
    ids = sorted((name for name in IDS if name != "d3"), key=str.encode, reverse=ties == "descending")
    for chosen, right in ((ids[:4], True), (ids[1:5], False), ([*ids[:3], ids[7]], False)):
        descending = sorted(chosen, key=str.encode, reverse=True)  # whatever the order at the cut
        run = [("q0", name, scores["q0"][name], rank) for rank, name in enumerate(["d3", *descending], 1)]
        found = compare(tmp_path, scores, run, slack=0.0, ties=ties)
        assert found.passed is right
        assert right or "has the same score and comes before it at the cut" in found.found
        assert compare(tmp_path, scores, run, ties=ties).passed
