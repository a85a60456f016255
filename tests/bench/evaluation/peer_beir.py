"""The peer beir, as its examples use it: load, encode with sentence-transformers, search exactly, evaluate.

python -m bench.evaluation.peer_beir DATASET OUTPUT
"""

import json
import sys
from pathlib import Path

from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval import models
from beir.retrieval.evaluation import EvaluateRetrieval
from beir.retrieval.search.dense import DenseRetrievalExactSearch

from bench.weights import weights_folder

MAX_LENGTH = 256
CUSTOM = ("mrr", "recall_cap", "hole", "top_k_accuracy")


def load_model() -> models.SentenceBERT:
    """all-MiniLM-L6-v2 from the package that ships it, cutting texts where its configuration says."""
    model = models.SentenceBERT(weights_folder())
    if model.q_model.max_seq_length != MAX_LENGTH:
        sys.exit(f"expected texts to be cut at {MAX_LENGTH} tokens, found {model.q_model.max_seq_length}")
    return model


def main(dataset: str, output: Path) -> None:
    """Evaluate, and write the means."""
    corpus, queries, qrels = GenericDataLoader(dataset).load(split="test")
    search = DenseRetrievalExactSearch(load_model(), batch_size=128)
    retriever = EvaluateRetrieval(search, score_function="cos_sim")
    results = retriever.retrieve(corpus, queries)
    plain = retriever.evaluate(qrels, results, retriever.k_values)
    custom = [retriever.evaluate_custom(qrels, results, retriever.k_values, metric) for metric in CUSTOM]
    means = {name: value for measures in (*plain, *custom) for name, value in measures.items()}
    (output / "means.json").write_text(json.dumps(means))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
