"""Test whether scores of relevant documents changed otherwise than the rest. Rounding does not know relevance; a forger does.

So no tolerance, however wide the precision of a system makes it, has room for scores that all move in one direction, nor for
exchanges of hits that together raise the measure.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.stats import permutation_test, ttest_ind
from scipy.stats import t as student

from beirflow.core.layout import QRELS
from beirflow.families.spot_checks.spot_check import Finding, Subject

LEAST_PAIRS = 6  # minimum number of relevant pairs: of fewer, chance and drift look the same
CHANCE = 1e-4  # largest probability of an accident that is taken for a drift
MOST_OTHERS = 200  # maximum number of queries or documents with which recomputed ones are compared

LEAST_DRIFT = {"float32": 5e-6, "float16": 1e-4, "bfloat16": 1e-3}
"""By precision, the smallest mean change of the scores of relevant pairs that is a drift, over the lengths of both."""


LEAST_CHANGES = 14  # minimum number of changes of the measure: of fewer, all in one direction are no less likely than ``CHANCE``
DRAWN = 19_999  # number of drawn signs of the changes of a measure; two as large sums among them are a chance above ``CHANCE``

SEED = 20211018


class Drift(NamedTuple):
    """Change of the scores of relevant pairs, beyond that of the others, or of the measure."""

    number: int  # of relevant pairs, or of changes of the measure
    mean: float  # mean change
    one_sided: bool  # it is no accident
    form: str = "scores of {0} relevant pairs are {1:+.1e} apart from those of others, all in one direction"

    @property
    def found(self) -> str:
        """Sentence that is appended to the other findings."""
        return f"; {self.form.format(self.number, self.mean)}"


EXPECTED = "differences that do not know what is relevant"


def unless_moved(finding: Finding, *moved: Drift | None) -> Finding:
    """Return a finding that passed within a tolerance as failed, if scores of relevant documents moved in one direction."""
    found = next((each.found for each in moved if each is not None and each.one_sided), "")
    return Finding(False, finding.found + found, EXPECTED) if finding.passed and found else finding


def drift_of(beyond: np.ndarray, least: float) -> Drift | None:
    """Measure the common direction of changes, by Student's t-test; None for fewer than ``LEAST_PAIRS`` pairs.

    ``beyond`` is how far the score of each relevant pair changed, less what others changed, shape (pairs,), and ``least`` the
    smallest mean that is a drift.
    """
    if len(beyond) < LEAST_PAIRS:
        return None
    mean, spread = float(beyond.mean()), float(beyond.std(ddof=1)) / len(beyond) ** 0.5
    # Changes that are all equal have no spread.
    chance = 2 * float(student.sf(abs(mean) / max(spread, 1e-30), len(beyond) - 1))
    return Drift(len(beyond), mean, one_sided=chance < CHANCE and abs(mean) > least)


def drift_of_scores(changed: np.ndarray, rows: np.ndarray, columns: np.ndarray, least: float) -> Drift | None:
    """Measure the drift of texts that were made again, from their scores with relevant and with other counterparts.

    ``changed`` is how far the score of each text with each of the others changed, shape (texts, others); ``rows`` and ``columns``
    are the places of relevant pairs. None for fewer than ``LEAST_PAIRS`` pairs, or where there is nothing else to compare with.
    """
    if changed.shape[1] < 2:
        return None
    return drift_of(changed[rows, columns] - changed[rows].mean(axis=1), least)


def drift_over_rivals(
    changed: np.ndarray,
    relevant: tuple[np.ndarray, np.ndarray],
    rivals: tuple[np.ndarray, np.ndarray],
    documents: int,
    least: float,
) -> Drift | None:
    """Measure how far scores of relevant documents rose above those of their rivals, by Welch's t-test over documents.

    Rivals are in the run of a query and relevant to nothing. A run selects high scores, which rounding
    raised rather than lowered: that selection makes no false alarm.

    Args:
        changed: How far the score of each text with each of the others changed, shape (texts, others).
        relevant: Relevant pairs: rows and columns.
        rivals: Pairs of the run: rows and columns.
        documents: Axis of the documents in ``changed``.
        least: The smallest mean that is a drift.

    Returns:
        The drift; None for fewer than ``LEAST_PAIRS`` documents of either kind.
    """
    number = changed.shape[documents]
    others = ~np.isin(rivals[documents], relevant[documents])
    for_it = _means(relevant[documents], changed[relevant], number)
    against_it = _means(rivals[documents][others], changed[rivals][others], number)
    if min(len(for_it), len(against_it)) < LEAST_PAIRS:
        return None
    mean = float(for_it.mean() - against_it.mean())
    chance = float(ttest_ind(for_it, against_it, equal_var=False, alternative="greater").pvalue)
    return Drift(len(relevant[0]), mean, one_sided=chance < CHANCE and mean > least)


def _means(groups: np.ndarray, values: np.ndarray, number: int) -> np.ndarray:
    """Return the mean value of each group that has values, float64."""
    counts = np.bincount(groups, minlength=number)
    return np.bincount(groups, values, number)[counts > 0] / counts[counts > 0]


def drift_of_measure(subject: Subject, hits: pa.Table, again: np.ndarray, made: np.ndarray) -> Drift | None:
    """Test whether stored scores measure better than recomputed ones: rounding exchanges hits in both directions alike.

    Signs are permuted of what each text or pair that was made again, the rest unchanged, adds to NDCG at the cutoff of the main
    measure. These are symmetric about 0 if stored and recomputed scores round alike, whatever the rounding.

    Args:
        subject: The system and the corpus.
        hits: Hits of some queries: ``query_id``, ``doc_id`` and ``score``.
        again: Recomputed scores, shape (hits,); not-a-number where none was recomputed.
        made: Number of the text or pair that was made again, integers of shape (hits,).

    Returns:
        The drift, whose mean is the change of NDCG of all these queries; None where it did not rise, or by fewer than
        ``LEAST_CHANGES``.
    """
    cutoff = int(subject.main_measure.rpartition("@")[2] or 10)
    qrels = pq.read_table(subject.file(QRELS(dataset=subject.dataset)))
    qrels = qrels.filter(pc.and_(pc.greater(qrels["score"], 0), pc.is_in(qrels["query_id"], hits["query_id"].combine_chunks())))
    keys = [pc.binary_join_element_wise(each["query_id"], each["doc_id"], "\t").combine_chunks() for each in (hits, qrels)]
    grade = np.append(qrels["score"].to_numpy(), 0)  # the last is that of a document which is not relevant
    grades = grade[pc.fill_null(pc.index_in(keys[0], value_set=keys[1]), -1).to_numpy()].astype(np.float64)
    query_ids = hits["query_id"].combine_chunks().dictionary_encode()
    queries, scores = query_ids.indices.to_numpy(), hits["score"].to_numpy().astype(np.float64)
    order, judged = np.lexsort((-scores, queries)), pc.index_in(qrels["query_id"], value_set=query_ids.dictionary).to_numpy()
    gains = np.zeros(len(hits))
    for query, rows in enumerate(np.split(order, np.searchsorted(queries[order], np.arange(1, len(query_ids.dictionary))))):
        ideal = np.sort(grade[:-1][judged == query])[::-1]
        if len(ideal):
            gains[rows] = gains_of_changes(scores[rows], again[rows], grades[rows], cutoff) / (
                ideal @ _discounts(len(ideal), cutoff)
            )
    changed = np.bincount(made, gains)
    changed = changed[changed != 0]
    if len(changed) < LEAST_CHANGES or changed.sum() <= 0:
        return None
    test = permutation_test(
        (changed,),
        lambda signed, axis: signed.sum(axis=axis),
        permutation_type="samples",
        alternative="greater",
        n_resamples=DRAWN,
        vectorized=True,
        batch=1000,
        rng=np.random.default_rng(SEED),
    )
    form = f"{{0}} changes of stored scores give {{1:+.4f}} NDCG@{cutoff}, {len(query_ids.dictionary)} queries"
    return Drift(len(changed), changed.sum() / len(query_ids.dictionary), test.pvalue < CHANCE, form)


def gains_of_changes(scores: np.ndarray, again: np.ndarray, grades: np.ndarray, cutoff: int) -> np.ndarray:
    """Subtract from the DCG of a query its DCG with one recomputed score, for each of its hits; float64 of shape (hits,).

    ``scores`` are stored and descend; of those ``again``, not-a-number where there is none.
    """
    number, gains = len(scores), np.zeros(len(scores))
    discounts = _discounts(number + 1, cutoff)
    # What the first hits give at their rank, one higher, and one lower.
    here, up, down = (
        np.append(0, np.cumsum(grades * each)) for each in (discounts[:-1], np.append(0, discounts[: number - 1]), discounts[1:])
    )
    rank = np.flatnonzero((again != scores) & ~np.isnan(again))
    to = np.searchsorted(-scores, -again[rank], "left") - (scores[rank] > again[rank])
    falls, low, high = to > rank, np.minimum(rank, to), np.maximum(rank, to)
    # A hit that falls raises those between by one rank, and the reverse.
    passed = np.where(
        falls,
        (up[high + 1] - up[low + 1]) - (here[high + 1] - here[low + 1]),
        (down[high] - down[low]) - (here[high] - here[low]),
    )
    gains[rank] = -(grades[rank] * (discounts[to] - discounts[rank]) + passed)
    return gains


def _discounts(number: int, cutoff: int) -> np.ndarray:
    """Return the weights of the first ranks in DCG, float64 of shape (number,)."""
    return np.where(np.arange(number) < cutoff, 1 / np.log2(np.arange(number) + 2), 0)
