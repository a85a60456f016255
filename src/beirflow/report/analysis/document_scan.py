"""Read the texts of a corpus: lengths of all documents, and texts of some."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.progress import Progress
from beirflow.data.corpus_files import Documents, read_table
from beirflow.data.document_text import own_text, split_title_and_text
from beirflow.data.query_lists import for_reading
from beirflow.report.analysis.lengths import count_words, histogram

SNIPPET = 240  # characters of a collapsed text on a page
WHOLE = 8000  # maximum characters of a text
ROOM = 1_000_000  # maximum characters of all texts of a corpus on a page, beyond a snippet of each
ROWS = 1 << 14  # documents in memory at once
WITH_TITLES = ("doc_id", "text", "title_bytes")  # columns from which titles and texts are split


def document_batches(
    path: str, columns: Sequence[str], task: str = "read documents", rows: int = ROWS
) -> Iterator[pa.RecordBatch]:
    """Yield columns of all documents of ``documents.parquet``, some rows at a time, and show the progress of the task."""
    with Documents(path, piecewise=True) as file, Progress(task, sum(file.sizes), "documents") as progress:
        for chunk in range(len(file.sizes)):
            for batch in file.batches(chunk, list(columns), rows):
                yield batch
                progress.advance(batch.num_rows)


def titles_and_texts(batch: pa.RecordBatch, wanted: pa.Array) -> Iterator[tuple[str, str, str]]:
    """Yield id, title and text, without a separator, of the documents of a batch with some ids."""
    rows = batch.filter(pc.is_in(batch["doc_id"], value_set=wanted))
    parts = split_title_and_text(rows["text"], rows["title_bytes"].to_numpy())
    for doc_id, title, text in zip(rows["doc_id"].to_pylist(), *(part.to_pylist() for part in parts), strict=True):
        yield doc_id, title, own_text(title, text)


def query_texts(queries_path: str | Path) -> dict[str, str]:
    """Return the texts of the queries of a corpus for display, by id."""
    queries = read_table(queries_path)
    return dict(zip(queries["query_id"].to_pylist(), map(for_reading, queries["text"].to_pylist()), strict=True))


def texts_of(documents_path: str, doc_ids: set[str]) -> dict[str, tuple[str, str]]:
    """Return title and text of some documents, by id."""
    wanted, texts = pa.array(sorted(doc_ids), pa.string()), dict[str, tuple[str, str]]()
    for batch in document_batches(documents_path, WITH_TITLES):
        texts |= {doc_id: (title, text) for doc_id, title, text in titles_and_texts(batch, wanted)}
    return texts


def scan_documents(
    documents_path: str, shown: Iterable[str], groups: Sequence[pa.ChunkedArray]
) -> tuple[dict[str, dict[str, str]], list[dict[str, Any]]]:
    """Read all documents once, in batches, for the texts of those ``shown`` and the lengths of ``groups`` of ids.

    Repeated ids of a group count repeatedly, ids outside the corpus not at all. Returns ``title`` and ``text`` by id, sorted,
    texts cut where all of them exceed ``ROOM``; and histograms of the lengths of all documents, then of every group.
    """
    wanted = pa.array(sorted(set(shown)), pa.string())
    counted = pc.unique(pa.chunked_array([chunk for ids in groups for chunk in ids.chunks], pa.string()))
    length_of, all_lengths, texts = np.full(len(counted), -1, np.int32), [np.zeros(0, np.int32)], dict[str, tuple[str, str]]()
    for batch in document_batches(documents_path, WITH_TITLES):
        words, place = count_words(batch["text"]), pc.index_in(batch["doc_id"], value_set=counted)
        all_lengths.append(words)
        length_of[place.drop_null().to_numpy()] = words[pc.is_valid(place).to_numpy(zero_copy_only=False)]
        for doc_id, title, text in titles_and_texts(batch, wanted):
            texts[doc_id] = beginning(title), beginning(text, WHOLE)
    lengths = [np.concatenate(all_lengths)]
    for ids in groups:
        of_group = length_of[pc.index_in(ids, value_set=counted).to_numpy()]
        lengths.append(of_group[of_group >= 0])
    # All texts share the space of a page, at least a snippet each.
    room = max(SNIPPET, ROOM // max(1, len(texts)))
    shown = {doc_id: texts[doc_id] for doc_id in wanted.to_pylist() if doc_id in texts}
    ordered = {doc_id: {"title": title, "text": beginning(text, room)} for doc_id, (title, text) in shown.items()}
    return ordered, [histogram(each) for each in lengths]


def beginning(text: str, most: int = SNIPPET) -> str:
    """Cut a text at a word boundary, and collapse white space."""
    words = " ".join(text.split())
    if len(words) <= most:
        return words
    head, _, _ = words[:most].rpartition(" ")
    return (head or words[: most - 1]) + "…"
