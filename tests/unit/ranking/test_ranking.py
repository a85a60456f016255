"""The ranking rule is trec_eval's: score descending as float32, then id descending in byte order."""

from random import Random

import numpy as np
import pyarrow as pa
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from beirflow.ranking.ranking import Ties, byte_order, merge_hits, rank, rank_hits

# From the first to the last in byte order; UTF-16 would put U+10000 before U+FFFD, a locale would mix the cases and accents.
SORTED_IDS = ["", "-1", "1", "10", "2", "B", "a", "aa", "z", "\u00e9", "\u0416", "\ufffd", "\U00010000", "\U0001f600"]

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=3)
scores = st.one_of(st.floats(-2, 2, width=32), st.sampled_from([0.0, -0.0, 0.5, 0.5 + 2.0**-30, 1.0]))


def ranked(ids: list[str], values: list[float], k: int | None = None) -> list[str]:
    """Ids of one query's documents in the order of the rule."""
    order, ranks = rank(
        np.zeros(len(ids), np.int64), np.array(values), lambda tied: byte_order(pa.array(ids, pa.string()).take(tied)), k
    )
    assert (ranks.tolist(), ranks.dtype) == (list(range(1, len(order) + 1)), np.int32)
    return [ids[i] for i in order]


def ranked_by_trec_eval(ids: list[str], values: list[float]) -> list[str]:
    """The same by trec_eval: a document's rank is the reciprocal of the reciprocal rank, when it alone is relevant."""
    run = dict(zip(ids, values, strict=True))
    queries = {str(i): {doc_id: 1} for i, doc_id in enumerate(ids)}
    found = pytrec_eval.RelevanceEvaluator(queries, {"recip_rank"}).evaluate(dict.fromkeys(queries, run))
    return sorted(ids, key=lambda doc_id: 1 / found[str(ids.index(doc_id))]["recip_rank"])


def by_tuples(ids: list[str], values: list[float]) -> list[str]:
    """The rule as it reads, on Python's tuples."""
    narrow = [float(np.float32(value)) for value in values]
    return [i for _, i in sorted(zip(narrow, ids, strict=True), key=lambda pair: (pair[0], pair[1].encode()), reverse=True)]


def test_byte_order_is_the_order_of_the_utf8_bytes() -> None:
    shuffled = np.random.default_rng(0).permutation(len(SORTED_IDS))
    assert byte_order(pa.array([SORTED_IDS[i] for i in shuffled])).tolist() == shuffled.tolist()


def test_equal_scores_are_ranked_by_id_descending_in_byte_order() -> None:
    assert ranked(SORTED_IDS, [1.0] * len(SORTED_IDS)) == SORTED_IDS[::-1]
    assert ranked_by_trec_eval(SORTED_IDS[1:], [1.0] * len(SORTED_IDS[1:])) == SORTED_IDS[:0:-1]


@given(st.dictionaries(words, scores, max_size=12))
def test_the_order_is_that_of_trec_eval_and_of_sorted_tuples(run: dict[str, float]) -> None:
    ids, values = list(run), list(run.values())
    assert ranked(ids, values) == by_tuples(ids, values)
    assert ranked(ids, values) == ranked_by_trec_eval(ids, values)


@given(
    st.lists(st.tuples(st.integers(0, 3), scores, words), max_size=30, unique_by=lambda row: (row[0], row[2])), st.integers(1, 5)
)
def test_candidates_of_many_queries_are_cut_as_if_each_query_stood_alone(rows: list[tuple[int, float, str]], k: int) -> None:
    ids = sorted({doc_id for _, _, doc_id in rows}, key=str.encode)
    places = np.array([ids.index(doc_id) for _, _, doc_id in rows], np.int64)
    order, ranks = rank(
        np.array([q for q, _, _ in rows], np.int64), np.array([s for _, s, _ in rows]), lambda tied: places[tied], k
    )
    expected = []
    for query in range(4):
        own = [(score, doc_id) for q, score, doc_id in rows if q == query]
        first = by_tuples([doc_id for _, doc_id in own], [score for score, _ in own])[:k]
        expected += [(query, doc_id, place) for place, doc_id in enumerate(first, start=1)]
    assert [(rows[i][0], rows[i][2], place) for i, place in zip(order, ranks.tolist(), strict=True)] == expected


@given(st.dictionaries(words, scores, min_size=1, max_size=12), st.integers(1, 5), st.sampled_from(["ascending", "descending"]))
def test_another_order_of_ties_at_the_cut_decides_what_is_kept_and_never_the_ranks(
    run: dict[str, float], k: int, ties: Ties
) -> None:
    narrow = {doc_id: float(np.float32(value)) for doc_id, value in run.items()}
    first = sorted(narrow, key=str.encode, reverse=ties == "descending")
    kept = sorted(first, key=lambda doc_id: -narrow[doc_id])[:k]
    hits = (np.zeros(len(run), np.int32), np.arange(len(run), dtype=np.int32), np.array(list(narrow.values()), np.float32))
    _, rows, values, ranks = rank_hits([hits], pa.array(list(run), pa.string()), k, ties)
    found = [list(run)[row] for row in rows.tolist()]
    assert found == ranked_by_trec_eval(kept, [run[doc_id] for doc_id in kept])
    assert values.tolist() == [narrow[doc_id] for doc_id in found]
    assert ranks.tolist() == list(range(1, len(kept) + 1))


@given(
    st.lists(st.tuples(st.integers(0, 3), scores, words), max_size=30, unique_by=lambda row: (row[0], row[2])),
    st.integers(1, 5),
    st.randoms(use_true_random=False),
)
def test_however_candidates_are_split_and_cut_before_the_merge_is_the_same(
    rows: list[tuple[int, float, str]], k: int, random: Random
) -> None:
    """Some parts are empty, and some hold fewer than k."""
    ids = sorted({doc_id for _, _, doc_id in rows}, key=str.encode)
    hits = [(query, ids.index(doc_id), np.float32(score)) for query, score, doc_id in rows]
    parts: list[list[tuple[int, int, np.float32]]] = [[] for _ in range(4)]
    for hit in hits:
        random.choice(parts).append(hit)

    def merged(lists: list[list[tuple[int, int, np.float32]]]) -> list[tuple[int, ...]]:
        columns = [tuple(np.array([hit[i] for hit in part], kind) for i, kind in enumerate("iif")) for part in lists]
        return list(zip(*(column.tolist() for column in merge_hits(columns, lambda row: row, k)), strict=True))

    cut = [[(query, row, np.float32(score)) for query, row, score, _ in merged([part])] for part in parts]
    assert merged(cut) == merged([hits])
