"""Statistics of a corpus: number and lengths of its texts, its judgements, and the frequency of every word.

``words/<dataset>.json`` is the record of ``words/<dataset>.parquet`` (:mod:`beirflow.paper.words`). It holds ``dataset``,
``split``, ``counts`` (``documents``, ``titles``, documents with a title, ``queries``, ``judgements``, ``relevant``, judgements
above 0, ``document_words``, ``query_words``, all words as stretches without whitespace, ``words`` and ``different_words``, as
the overlap counts them), ``grades`` (judgements by grade) and ``lengths``, histograms (:mod:`beirflow.analysis.lengths`) of
``all`` documents and, by grade, of those that were judged, one count a judgement.
"""

from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.analysis.lengths import count_words, histogram
from beirflow.datasets.corpus_files import Documents, read_table
from beirflow.files.digests import file_digest
from beirflow.files.progress import Progress
from beirflow.files.records import Job, read_json, write_record
from beirflow.files.writing import atomic_path
from beirflow.paper.words import WordCounter, write_words

ROWS = 1 << 13
"""Number of documents read at once."""


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
    lengths, length_of, titles = _scan(documents_path, judged, counter)
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
            "titles": titles,
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


def _scan(documents_path: str, judged: pa.Array, counter: WordCounter) -> tuple[np.ndarray, np.ndarray, int]:
    """Read all documents once, and count their words with ``counter``.

    Return the length of every document in words, int64; that of the n judged ones, -1 if a document is missing, int64 of shape
    (n,); and the number of documents with a title.
    """
    lengths, length_of, titles = [np.zeros(0, np.int64)], np.full(len(judged), -1, np.int64), 0
    with (
        Documents(documents_path, piecewise=True) as file,
        Progress("count words", sum(file.sizes), "documents") as progress,
    ):
        names = ["doc_id", "text", "title_bytes"]
        for batch in chain.from_iterable(file.batches(part, names, ROWS) for part in range(len(file.sizes))):
            counter.add(batch["text"])
            words, place = count_words(batch["text"]), pc.index_in(batch["doc_id"], value_set=judged)
            lengths.append(words)
            length_of[place.drop_null().to_numpy()] = words[pc.is_valid(place).to_numpy(zero_copy_only=False)]
            titles += pc.sum(pc.greater(batch["title_bytes"], 0)).as_py() or 0
            progress.advance(batch.num_rows)
    return np.concatenate(lengths), length_of, titles
