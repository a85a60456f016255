"""The peer beir: load a dataset and sort its corpus by length, as its exact search does before it encodes.

python -m bench.prepare.peer_beir INPUT
"""

import sys

from beir.datasets.data_loader import GenericDataLoader


def load_sorted(folder: str) -> tuple[list[str], list[dict[str, str]]]:
    """Ids and documents, longest first; the two statements are those of beir.retrieval.search.dense.exact_search."""
    corpus, _, _ = GenericDataLoader(folder).load(split="test")
    corpus_ids = sorted(
        corpus, key=lambda doc_id: len(corpus[doc_id].get("title", "") + corpus[doc_id].get("text", "")), reverse=True
    )
    return corpus_ids, [corpus[doc_id] for doc_id in corpus_ids]


if __name__ == "__main__":
    load_sorted(sys.argv[1])
