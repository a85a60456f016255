"""Measures of the summary in a line each; apart from their computation, so that words evaluate nothing again."""

from collections.abc import Mapping

MEASURES: Mapping[str, str] = {
    "NDCG": "discounted gain of the first k documents, relative to the best order; grades are gains (trec_eval)",
    "MAP": "precision at each relevant document among the first k, added up, over all relevant ones (trec_eval)",
    "Recall": "share of the relevant documents that are among the first k (trec_eval)",
    "P": "precision: share of the first k documents that are relevant (trec_eval)",
    "MRR": "1 over the rank of the first relevant document, 0 beyond rank k",
    "R_cap": "relevant documents among the first k, over k or all relevant ones, whichever is less (BEIR)",
    "Hole": "share of the first k documents that are judged for no query (BEIR)",
    "Accuracy": "share of queries with a relevant document among the first k (BEIR)",
    "F1": "harmonic mean of P and Recall",
    "NDCG_exp": "NDCG with gains of 2^grade - 1",
}
"""Measures of every dataset, in the order of the summary; the name of a column has the cutoff, as in NDCG@10."""

OF_SOME: Mapping[str, str] = {
    "alpha-nDCG": "NDCG of the facts that documents support, a repeated one counting half (judgements with nuggets)",
    "coverage": "share of the facts that one of the first k documents supports (judgements with nuggets)",
    "p-MRR": "how far documents that an altered instruction makes irrelevant move down (datasets with instructions)",
    "robustness": "least NDCG of a query under its instructions (datasets with instructions)",
}
"""Measures of datasets whose judgements say more."""
