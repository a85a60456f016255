"""Power of a verification: how often an error of a mean is found, by size of the corpus; simulated.

Run with PYTHONPATH=src:tests. Forgeries raise the mean by 0.005: by scores of relevant documents that are too high (``raised``),
or by leaving out documents that rank before them (``left out``), of which BM25's first ten hold a share.
"""

import sys

import numpy as np

from beirflow.extensions.verify.draw import chance_to_miss, draw, hidden_error

SIZES = [(3_633, 323), (57_638, 648), (382_545, 49), (1_000_000, 1_000), (2_681_468, 3_452), (8_841_823, 6_980)]
"""Documents and queries: nfcorpus, fiqa, touche, a million, nq, msmarco."""

ERROR, SHARE, FOUND, IN_BM25, RUNS = 0.005, 0.01, 10, 0.35, 200


def main() -> None:
    sys.stdout.write("documents  queries  checked  whole  hidden error  raised, worst  raised, usual  left out\n")
    for documents, queries in SIZES:
        random = np.random.default_rng(0)
        doc_ids = np.arange(documents).astype(str)
        names = [str(each) for each in range(queries)]
        ranks = random.geometric(0.25, queries)  # of the one relevant document; beyond 10 it is not found
        values = np.where(ranks <= FOUND, 1 / np.log2(1 + ranks), 0.0)
        near = {name: random.choice(doc_ids, 16).tolist() for name in names}  # ten claimed ones, six more of BM25
        relevant = {name: near[name][:1] for name, rank in zip(names, ranks, strict=True) if rank <= FOUND}
        sample = draw(random, names, doc_ids, relevant, near, SHARE)
        checked, whole = len(sample.queries), sample.whole
        worst = 1 + int(np.searchsorted(np.cumsum(np.sort(values)[::-1]) / queries, ERROR))
        usual, omitted = _forged(random, ranks, queries)
        seen = 1 - np.mean([_missed(random, queries, whole, usual, omitted) for _ in range(RUNS)])
        found = [1 - chance_to_miss(queries, checked, each) for each in (worst, len(usual))]
        row = f"{documents:>9,} {queries:>8,} {checked:>8,} {whole:>6,} {hidden_error(values, checked):>13.4f}"
        sys.stdout.write(f"{row} {found[0]:>14.3f} {found[1]:>14.3f} {seen:>9.3f}\n")


def _forged(random: np.random.Generator, ranks: np.ndarray, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random queries whose relevant document moves to the first rank, and how many documents rank before it."""
    order = random.permutation(np.flatnonzero((ranks > 1) & (ranks <= FOUND)))
    gains = np.cumsum(1 - 1 / np.log2(1 + ranks[order])) / queries
    chosen = order[: 1 + int(np.searchsorted(gains, ERROR))]
    return chosen, ranks[chosen] - 1


def _missed(random: np.random.Generator, queries: int, whole: int, forged: np.ndarray, omitted: np.ndarray) -> float:
    """Return the chance that no document that was left out is in the pool."""
    drawn = np.isin(forged, random.choice(queries, whole, replace=False))
    shares = np.where(drawn, 1 - (1 - IN_BM25) * (1 - SHARE), SHARE)
    return float(np.prod((1 - shares) ** omitted))


if __name__ == "__main__":
    main()
