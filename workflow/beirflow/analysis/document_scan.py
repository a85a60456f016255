"""Read a corpus once: the length of every document, and the beginning of those that are shown."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.analysis.lengths import count_words, histogram
from beirflow.datasets.corpus_files import Documents
from beirflow.files.progress import Progress

SNIPPET = 240
"""Characters of a text that are shown."""

ROWS = 1 << 14
"""Documents that are read at once."""


def scan_documents(
    documents_path: str, shown: Iterable[str], groups: Sequence[pa.ChunkedArray]
) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Read all documents, some at a time.

    Args:
        documents_path: ``documents.parquet``, next to its ``corpus.json``.
        shown: Ids of the documents whose beginning is wanted, in any order and number.
        groups: Ids of documents whose lengths are wanted; one that occurs twice counts twice, and one that is not
            in the corpus not at all.

    Returns:
        The beginnings by id, in the order of the ids; and histograms of the lengths: of all documents, then of
        every group.

    Raises:
        DataError: What is read was changed after it was written.
    """
    wanted = pa.array(sorted(set(shown)), pa.string())
    counted = pc.unique(pa.chunked_array([chunk for ids in groups for chunk in ids.chunks], pa.string()))
    length_of, all_lengths, texts = np.full(len(counted), -1, np.int32), [np.zeros(0, np.int32)], dict[str, str]()
    with (
        Documents(documents_path, piecewise=True) as file,
        Progress("read documents", sum(file.sizes), "documents") as progress,
    ):
        for batch in chain.from_iterable(file.batches(chunk, ["doc_id", "text"], ROWS) for chunk in range(len(file.sizes))):
            words, place = count_words(batch["text"]), pc.index_in(batch["doc_id"], value_set=counted)
            all_lengths.append(words)
            here = pc.is_valid(place).to_numpy(zero_copy_only=False)
            length_of[place.drop_null().to_numpy()] = words[here]
            rows = batch.filter(pc.is_in(batch["doc_id"], value_set=wanted))
            texts |= dict(zip(rows["doc_id"].to_pylist(), map(snippet, rows["text"].to_pylist()), strict=True))
            progress.advance(batch.num_rows)
    lengths = [np.concatenate(all_lengths)]
    for ids in groups:
        of_group = length_of[pc.index_in(ids, value_set=counted).to_numpy()]
        lengths.append(of_group[of_group >= 0])
    ordered = {doc_id: texts[doc_id] for doc_id in wanted.to_pylist() if doc_id in texts}
    return ordered, [histogram(each) for each in lengths]


def snippet(text: str) -> str:
    """The beginning of a text, cut at a word, with all whitespace as single spaces."""
    words = " ".join(text.split())
    if len(words) <= SNIPPET:
        return words
    head, _, _ = words[:SNIPPET].rpartition(" ")
    return (head or words[: SNIPPET - 1]) + "…"
