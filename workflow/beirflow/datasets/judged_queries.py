"""The judged queries of a split and their judgements, read and checked."""

import pyarrow as pa

from beirflow.files.errors import DataError
from beirflow.sources.beir_files import Judgement, read_judgements, read_queries
from beirflow.sources.forms import EXCLUDED
from beirflow.sources.query_lists import texts_of
from beirflow.sources.source import QUERIES, DatasetSource, qrels_of

HIGHEST_SCORE = 1000  # highest score of a judgement: 2 to the power of more is no number that NDCG_exp can divide by


def read_judged_queries(source: DatasetSource, split: str) -> tuple[pa.Table, pa.Table]:
    """Read the queries that have judgements, and the judgements.

    Returns a table of ``query_id``, ``text`` and, if any query excludes documents from its ranking, ``excluded_ids``, lists of
    their ids without repetition in byte order; it is in byte order of the ids. And a table of ``query_id``, ``doc_id`` and
    ``score`` (int32) in byte order of query and document. Raises DataError if there are no judgements, if a judgement comes twice
    with different scores, or if a judged query is missing, comes twice, has no text, or would be taken for a list of texts.
    """
    judgements = _judgements(source, split)
    judged = {judgement.query_id for judgement in judgements}
    texts, excluded = _texts(source, judged)
    missing = sorted(judged - texts.keys())
    if missing:
        where = source.where(qrels_of(split))
        raise DataError(f"{where}: {len(missing)} judged queries are not in {source.where(QUERIES)}, the first is {missing[0]!r}")
    ids = sorted(judged, key=str.encode)
    queries = pa.table({"query_id": ids, "text": pa.array([texts[query_id] for query_id in ids], pa.large_string())})
    if excluded:
        lists = [sorted(set(excluded.get(query_id, ())), key=str.encode) for query_id in ids]
        queries = queries.append_column(EXCLUDED, pa.array(lists, pa.list_(pa.string())))
    judgements.sort(key=lambda judgement: (judgement.query_id.encode(), judgement.doc_id.encode()))
    query_ids, doc_ids, scores = zip(*judgements, strict=True)
    return queries, pa.table({"query_id": query_ids, "doc_id": doc_ids, "score": pa.array(scores, pa.int32())})


def _judgements(source: DatasetSource, split: str) -> list[Judgement]:
    """Return the judgements without repetition."""
    where = source.where(qrels_of(split))
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for line, (query_id, doc_id, score) in read_judgements(source, split):
        if abs(score) > HIGHEST_SCORE:
            raise DataError(f"{where}:{line}: a score of at most {HIGHEST_SCORE} was expected, found {score}")
        first_line, first_score = seen.setdefault((query_id, doc_id), (line, score))
        if score != first_score:
            problem = f"{score} for query {query_id!r} and document {doc_id!r}"
            raise DataError(
                f"{where}:{line}: found the score {problem}, but line {first_line} says {first_score}; keep one of them"
            )
    if not seen:
        raise DataError(f"{where}: no judgements; at least one was expected")
    return [Judgement(query_id, doc_id, score) for (query_id, doc_id), (_, score) in seen.items()]


def _texts(source: DatasetSource, judged: set[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the texts of the judged queries by id, and the documents that some exclude."""
    where = source.where(QUERIES)
    texts: dict[str, str] = {}
    excluded: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for line, query_id, text, of_query in read_queries(source):
        if query_id not in judged:
            continue
        if query_id in lines:
            problem = f"the query id {query_id!r} is already in line {lines[query_id]}"
            raise DataError(f"{where}:{line}: {problem}; ids must be unique")
        lines[query_id] = line
        if text is None:
            raise DataError(f"{where}:{line}: the query {query_id!r} has judgements but no text")
        if not source.query_lists and len(texts_of(text)) > 1:
            problem = f"the text of query {query_id!r} has the character U+FDD1 between spaces"
            raise DataError(f"{where}:{line}: {problem}, which stands between the texts of a query that is a list; remove it")
        texts[query_id] = text
        if of_query:
            excluded[query_id] = of_query
    return texts, excluded
