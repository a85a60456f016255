"""Statistics of a corpus: number and lengths of its texts, its judgements, and the frequency of every word.

``README.md`` describes ``words/<dataset>.json`` and ``.parquet``.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, read_json, write_record
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import read_table
from beirflow.report.analysis.document_scan import WITH_TITLES, document_batches
from beirflow.report.analysis.lengths import NO_WORD, count_words, histogram

ROWS = 1 << 13  # documents in memory at once

WORDS = pa.schema([("word", pa.large_string()), ("count", pa.int64())])

PENDING_WORDS = 1 << 22
"""Rows of unsummed counts after which they are summed; some 100 bytes each. The largest corpora have as many different words."""


class WordCounter:
    """Counter of the words of texts, which holds every different word in memory, and up to ``most`` rows of unsummed counts."""

    def __init__(self, most: int = PENDING_WORDS) -> None:
        self._most = most
        self._total, self._pending = WORDS.empty_table(), list[pa.Table]()

    def add(self, texts: pa.Array) -> None:
        """Count the words of some texts."""
        counts = pc.value_counts(pc.list_flatten(pc.split_pattern_regex(pc.utf8_lower(texts), NO_WORD)))
        block = pa.Table.from_arrays([counts.field("values").cast(pa.large_string()), counts.field("counts")], schema=WORDS)
        self._pending.append(block.filter(pc.greater(pc.binary_length(block["word"]), 0)))
        # Words repeat from text to text, so that their sums take less memory than the parts.
        if sum(table.num_rows for table in self._pending) > self._most:
            self._sum()

    def _sum(self) -> None:
        summed = pa.concat_tables([self._total, *self._pending]).group_by("word").aggregate([("count", "sum")])
        self._total, self._pending = pa.Table.from_arrays([summed["word"], summed["count_sum"]], schema=WORDS), []

    def table(self) -> pa.Table:
        """Return all words with their counts, in byte order."""
        self._sum()
        return self._total.take(pc.sort_indices(self._total["word"]))


def write_words(path: Path, counter: WordCounter) -> dict[str, int]:
    """Write the counted words, and return the sum of the counts, ``words``, and the number of ``different_words``."""
    table = counter.table()
    with pq.ParquetWriter(path, WORDS, compression="zstd") as writer:
        for part in _by_first_byte(table):
            writer.write_table(part, row_group_size=part.num_rows)
    return {"words": pc.sum(table["count"]).as_py() or 0, "different_words": table.num_rows}


def _by_first_byte(table: pa.Table) -> Iterator[pa.Table]:
    """Split sorted words into the parts with the same first byte."""
    if not table.num_rows:
        return
    firsts = pc.binary_slice(table["word"].combine_chunks().cast(pa.large_binary()), 0, 1)
    changes = np.flatnonzero(np.diff(pc.dictionary_encode(firsts).indices.to_numpy())) + 1
    for start, end in pairwise([0, *changes.tolist(), table.num_rows]):
        yield table.slice(start, end - start)


def read_words(path: str | Path) -> Iterator[tuple[int, pa.Table]]:
    """Read the words of a corpus, those with one first byte at a time: the byte, and the words with their counts."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            part = file.read_row_group(group)
            yield part["word"][0].as_py().encode()[0], part


def count_corpus(
    *,
    dataset: str,
    documents_path: str,
    queries_path: str,
    qrels_path: str,
    corpus_path: str,
    words_path: str,
    statistics_path: str,
    job: Job,
) -> None:
    """Count the documents, queries, judgements and words of a corpus; some documents at a time are in memory.

    Raise DataError if a file is not the one that was recorded.
    """
    corpus, qrels = read_json(corpus_path), read_table(qrels_path)
    judged = pc.unique(qrels["doc_id"])
    counter = WordCounter()
    lengths, length_of, titled = _scan(documents_path, judged, counter)
    with atomic_path(words_path) as partial:
        word_counts = write_words(partial, counter)
    grades, of_judgement = qrels["score"].to_numpy(), length_of[pc.index_in(qrels["doc_id"], value_set=judged).to_numpy()]
    by_grade = {int(grade): of_judgement[(grades == grade) & (of_judgement >= 0)] for grade in np.unique(grades)}
    query_words = count_words(read_table(queries_path)["text"].combine_chunks())
    write_record(
        statistics_path,
        job,
        inputs={job.results / path: digest for path, digest in corpus["outputs"].items()},
        outputs={words_path: file_digest(words_path)},
        counts={
            "documents": len(lengths),
            **titled,
            "queries": len(query_words),
            "judgements": len(grades),
            "relevant": int((grades > 0).sum()),
            "document_words": int(lengths.sum()),
            "query_words": int(query_words.sum()),
            **word_counts,
        },
        dataset=dataset,
        split=corpus["split"],
        grades={str(grade): int((grades == grade).sum()) for grade in by_grade},
        lengths={"all": histogram(lengths), **{str(grade): histogram(words) for grade, words in by_grade.items()}},
    )


def _scan(documents_path: str, judged: pa.Array, counter: WordCounter) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Read all documents once, and count their words with ``counter``.

    Return the length of every document in words, int64; that of the n judged ones, -1 if a document is missing, int64 of shape
    (n,); and the counts of documents with a title, and of those with a title and no text.
    """
    lengths, length_of = [np.zeros(0, np.int64)], np.full(len(judged), -1, np.int64)
    titles = without_text = 0
    for batch in document_batches(documents_path, WITH_TITLES, "count words", ROWS):
        counter.add(batch["text"])
        words, place = count_words(batch["text"]), pc.index_in(batch["doc_id"], value_set=judged)
        lengths.append(words)
        length_of[place.drop_null().to_numpy()] = words[pc.is_valid(place).to_numpy(zero_copy_only=False)]
        titles += pc.sum(pc.greater(batch["title_bytes"], 0)).as_py() or 0
        # A title and a space alone. An empty document has no title either, and is none of these.
        read = pc.binary_length(pc.utf8_rtrim_whitespace(batch["text"]))
        title_alone = pc.and_(pc.greater(read, 0), pc.less_equal(read, batch["title_bytes"]))
        without_text += pc.sum(title_alone).as_py() or 0
    return np.concatenate(lengths), length_of, {"titles": titles, "without_text": without_text}
