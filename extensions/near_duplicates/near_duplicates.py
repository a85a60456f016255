"""Near-duplicates of a test set in another corpus, such as one that a system was trained on.

``README.md`` describes ``<other>.csv`` and ``<other>-pairs.csv``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.csv_files import write_csv
from beirflow.core.errors import DataError
from beirflow.data.corpus_files import PreparedCorpus, read_table
from beirflow.evaluation.scores import read_per_query
from beirflow.report.analysis.document_scan import document_batches, query_texts
from beirflow.report.analysis.lengths import NO_WORD

WORDS = 8  # of an n-gram
SHARE = 0.5  # of the n-grams of a text that make a near-duplicate

UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*"
"""Character, with its marks, of a script that is written without spaces between words."""

FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of the polynomial over the hashes of words: odd, with well mixed bits

PAIRS = ("kind", "id", "other_kind", "other_id", "share")
MEASURES = ("Recall@100",)  # besides the main one


@dataclass(frozen=True)
class OtherCorpus:
    """The files of the corpus in which near-duplicates are sought."""

    other_documents_path: str
    other_queries_path: str


@dataclass(frozen=True)
class NearDuplicateFiles:
    """The files to write."""

    scores_path: str
    pairs_path: str


def find_near_duplicates(
    *,
    dataset: str,
    other: str,
    corpus: PreparedCorpus,
    other_corpus: OtherCorpus,
    means_paths: Sequence[str],
    per_query_paths: Sequence[str],
    main_measure: str,
    written: NearDuplicateFiles,
) -> str:
    """Write the near-duplicates of a test set in another corpus, and the scores without them; return the counts in words.

    Raise DataError if both are the same, or a file was changed.
    """
    if dataset == other:
        raise DataError(f"{dataset} is compared with itself; name another dataset")
    qrels = read_table(corpus.qrels_path)
    relevant = qrels.filter(pc.greater(qrels["score"], 0))
    wanted = pc.unique(relevant["doc_id"])
    documents = (batch.filter(pc.is_in(batch["doc_id"], value_set=wanted)) for batch in _documents(corpus.documents_path))
    ours = pd.concat([_queries(corpus.queries_path), *map(_document_frame, documents)], ignore_index=True)
    other_documents = map(_document_frame, _documents(other_corpus.other_documents_path))
    pairs = near_duplicates(ours, chain([_queries(other_corpus.other_queries_path)], other_documents))
    write_csv(pairs, written.pairs_path)
    queries = set(pairs.loc[pairs["kind"] == "query", "id"])
    near = pa.array(sorted(set(pairs.loc[pairs["kind"] == "document", "id"])), relevant["doc_id"].type)
    either = queries | set(relevant.filter(pc.is_in(relevant["doc_id"], value_set=near))["query_id"].to_pylist())
    rows = []
    for means_path, per_query_path in zip(means_paths, per_query_paths, strict=True):
        means, table = read_per_query(means_path, per_query_path)
        scores = table.to_pandas().set_index("query_id")
        rows += [
            {"system": means["system"], "measure": measure, **_without(scores[measure], queries, either)}
            for measure in dict.fromkeys((main_measure, *MEASURES))
            if measure in scores
        ]
    columns = ("system", "measure", "all", "without_queries", "without_either", "queries", "left_queries", "left_either")
    write_csv(pd.DataFrame(rows, columns=list(columns)), written.scores_path)
    found = f"of {dataset}, {len(queries):,} queries have near-duplicates in {other}"
    return f"{found}, and {len(either):,} have them or relevant documents that do"


def _without(scores: pd.Series, queries: set[str], either: set[str]) -> dict[str, float]:
    """Return the mean of the scores of all queries and of those left, with their numbers; not-a-number without any left."""
    left = {"all": scores}
    left |= {f"without_{name}": scores[~scores.index.isin(some)] for name, some in (("queries", queries), ("either", either))}
    numbers = dict(zip(("queries", "left_queries", "left_either"), map(len, left.values()), strict=True))
    return {**{name: part.mean() for name, part in left.items()}, **numbers}


def _documents(path: str) -> Iterator[pa.RecordBatch]:
    return document_batches(path, ("doc_id", "text"), "find near-duplicates")


def _document_frame(batch: pa.RecordBatch) -> pd.DataFrame:
    return pd.DataFrame({"kind": "document", "id": batch["doc_id"].to_pylist(), "text": batch["text"].to_pylist()})


def _queries(path: str) -> pd.DataFrame:
    texts = query_texts(path)
    return pd.DataFrame({"kind": "query", "id": list(texts), "text": list(texts.values())})


def near_duplicates(ours: pd.DataFrame, others: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return a row a near-duplicate, with the columns :data:`PAIRS`, in the order of kinds, ids, and other ids.

    ``ours`` and ``others``, some at a time, have ``kind``, ``id`` and ``text`` of the texts.
    """
    row, grams = grams_of(ours["text"].tolist())
    index = pd.DataFrame({"gram": grams, "row": row}).drop_duplicates()
    sizes, known = index.groupby("row").size(), np.unique(grams)
    parts = [pd.DataFrame(columns=list(PAIRS))]
    for batch in others:
        other_row, other_grams = grams_of(batch["text"].tolist())
        hit = np.isin(other_grams, known)
        hits = pd.DataFrame({"gram": other_grams[hit], "other": other_row[hit]}).drop_duplicates().merge(index, on="gram")
        shared = hits.groupby(["row", "other"]).size().rename("shared").reset_index()
        shared["share"] = shared["shared"] / shared["row"].map(sizes)
        near = shared[shared["share"] >= SHARE]
        one, other = (frame.iloc[near[key]].reset_index(drop=True) for frame, key in ((ours, "row"), (batch, "other")))
        columns = (one["kind"], one["id"], other["kind"], other["id"], near["share"].reset_index(drop=True))
        parts += [pd.DataFrame(dict(zip(PAIRS, columns, strict=True)))] if len(near) else []
    return pd.concat(parts, ignore_index=True).sort_values(list(PAIRS[:4]), ignore_index=True)


def grams_of(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the 8-grams of words of n texts, or the words of a shorter text as one gram; none of a text without a word.

    In scripts without spaces, such as Chinese, Japanese and Thai, a character counts as a word.

    They are the number of the text of each gram, int64, and the hash of each gram, uint64, both of shape (m,).
    """
    lower = pc.utf8_lower(pa.array(texts, pa.large_string()))
    split = pc.split_pattern_regex(pc.replace_substring_regex(lower, f"({UNSPACED})", r" \1 "), NO_WORD)
    words, text = pc.list_flatten(split), pc.list_parent_indices(split).to_numpy()
    is_word = pc.greater(pc.binary_length(words), 0).to_numpy(zero_copy_only=False)
    words, text = words.filter(pa.array(is_word)).dictionary_encode(), text[is_word].astype(np.int64)
    of_word = pd.util.hash_array(np.array(words.dictionary.to_pylist(), dtype=object), categorize=False)
    hashes = of_word[words.indices.to_numpy()] if len(words) else np.zeros(0, np.uint64)
    lengths = np.bincount(text, minlength=len(texts))
    first = np.cumsum(lengths) - lengths
    # A polynomial over the words, modulo 2 ** 64: of each start, with as many words as are left of the text, up to eight.
    rows, grams = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for size in range(1, WORDS + 1):
        of_size = np.flatnonzero(lengths == size) if size < WORDS else np.flatnonzero(lengths >= size)
        starts = np.concatenate(
            [np.arange(first[each], first[each] + lengths[each] - size + 1) for each in of_size] or [first[:0]]
        )
        gram = np.full(len(starts), size, np.uint64)
        for offset in range(size):
            gram = gram * FACTOR + hashes[starts + offset]
        rows.append(text[starts])
        grams.append(gram)
    return np.concatenate(rows), np.concatenate(grams)
