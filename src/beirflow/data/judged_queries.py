"""The judged queries of a split and their judgements, read and checked."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from beirflow.core.errors import DataError
from beirflow.data.query_lists import texts_of
from beirflow.data.sources.beir_files import Judgement, read_judgements, read_queries
from beirflow.data.sources.forms import CANDIDATES, CHANGED, EXCLUDED, INSTRUCTION, NUGGETS, TOPIC
from beirflow.data.sources.json_lines import short
from beirflow.data.sources.source import QUERIES, DatasetSource, qrels_of

HIGHEST_SCORE = 1000  # highest score of a judgement: 2 to the power of more is no number that NDCG_exp can divide by


def read_judged_queries(source: DatasetSource, split: str) -> tuple[pa.Table, pa.Table]:
    """Read the queries that have judgements, and the judgements.

    Returns a table of ``query_id`` and ``text`` in byte order of the ids, and one of ``query_id``, ``doc_id`` and ``score``
    (int32) in byte order of query and document. If any query states more, they have more columns:

    - of queries ``excluded_ids`` and ``candidate_ids``, lists of ids without repetition, the first in byte order and the second
      in their own order; and ``instruction``, which the text ends with after a space, as in MTEB;
    - of judgements ``topic_id``; ``changed``, true for documents that an altered instruction makes irrelevant; and ``nuggets``,
      for each nugget of the query whether the document supports it.

    Raises DataError if there are no judgements; if a judgement comes twice with different scores; if a judged query is missing,
    comes twice, has no text, or would be taken for a list of texts; if only some queries have candidates; or if a document that
    changes or supports a nugget is not judged.
    """
    judgements = without_repetition(source.where(qrels_of(split)), read_judgements(source, split))
    judged = {judgement.query_id for judgement in judgements}
    texts, fields = _texts(source, judged)
    where = source.where(qrels_of(split))
    missing = sorted(judged - texts.keys())
    if missing:
        number = "1 judged query is" if len(missing) == 1 else f"{len(missing)} judged queries are"
        raise DataError(f"{where}: {number} not in {source.where(QUERIES)} (first {missing[0]!r})")
    ids = sorted(judged, key=str.encode)
    without = [query_id for query_id in ids if CANDIDATES not in fields[query_id]]
    if 0 < len(without) < len(ids):
        problem = f"{len(without)} of {len(ids)} judged queries have no {CANDIDATES!r}, the first is {without[0]!r}"
        raise DataError(f"{source.where(QUERIES)}: {problem}; all or none must have some")
    columns: dict[str, Any] = {"query_id": ids, "text": pa.array([texts[query_id] for query_id in ids], pa.large_string())}
    if any(EXCLUDED in of_query for of_query in fields.values()):
        lists = [sorted(set(map(str, fields[query_id].get(EXCLUDED, ()))), key=str.encode) for query_id in ids]
        columns[EXCLUDED] = pa.array(lists, pa.list_(pa.string()))
    if not without:
        lists = [list(dict.fromkeys(map(str, fields[query_id][CANDIDATES]))) for query_id in ids]
        columns[CANDIDATES] = pa.array(lists, pa.list_(pa.string()))
    if any(INSTRUCTION in of_query for of_query in fields.values()):
        columns[INSTRUCTION] = pa.array([fields[query_id].get(INSTRUCTION) for query_id in ids], pa.large_string())
    return pa.table(columns), _with_topics(qrels_table(judgements), fields, source)


def qrels_table(judgements: Iterable[Judgement]) -> pa.Table:
    """Return at least one judgement as ``query_id``, ``doc_id`` and ``score``, int32, in byte order of query and document."""
    ordered = sorted(judgements, key=lambda judgement: (judgement.query_id.encode(), judgement.doc_id.encode()))
    query_ids, doc_ids, scores = zip(*ordered, strict=True)
    return pa.table({"query_id": query_ids, "doc_id": doc_ids, "score": pa.array(scores, pa.int32())})


def _with_topics(qrels: pa.Table, fields: Mapping[str, Mapping[str, Any]], source: DatasetSource) -> pa.Table:
    """Add the columns that compare queries of a topic, or nuggets."""
    query_ids, doc_ids = qrels["query_id"].to_pylist(), qrels["doc_id"].to_pylist()
    pairs = list(zip(query_ids, doc_ids, strict=True))
    if topic_of := _topics(fields, source):
        qrels = qrels.append_column(TOPIC, pa.array([topic_of.get(query_id) for query_id in query_ids], pa.string()))
    nuggets = {query_id: [frozenset(map(str, ids)) for ids in of[NUGGETS]] for query_id, of in fields.items() if NUGGETS in of}
    changed = {(query_id, str(doc_id)) for query_id, of in fields.items() for doc_id in of.get(CHANGED, ())}
    supporting = {(query_id, doc_id) for query_id, sets in nuggets.items() for ids in sets for doc_id in ids}
    for key, named in ((CHANGED, changed), (NUGGETS, supporting)):
        if unjudged := sorted(named.difference(pairs)):
            problem = f"{key!r} of the query {unjudged[0][0]!r} names {unjudged[0][1]!r}, which is not judged for it"
            raise DataError(f"{source.where(QUERIES)}: {problem}, nor are {len(unjudged) - 1} others")
    if changed:
        qrels = qrels.append_column("changed", pa.array([pair in changed for pair in pairs]))
    if nuggets:
        flags = [[doc_id in ids for ids in nuggets.get(query_id, ())] for query_id, doc_id in pairs]
        qrels = qrels.append_column(NUGGETS, pa.array(flags, pa.list_(pa.bool_())))
    return qrels


def _topics(fields: Mapping[str, Mapping[str, Any]], source: DatasetSource) -> dict[str, str]:
    """Return the topics of queries; of those that compare two, which are not whole are noted and left out."""
    topics: dict[str, list[str]] = {}
    for query_id, of_query in fields.items():
        if TOPIC in of_query:
            topics.setdefault(str(of_query[TOPIC]), []).append(query_id)
    changing = {query_id for query_id, of_query in fields.items() if CHANGED in of_query}
    if changing:
        whole = {topic: both for topic, both in topics.items() if len(both) == 2 and len(changing.intersection(both)) == 1}
        if not whole:
            raise DataError(f"{source.where(QUERIES)}: no topic has an original and an altered query; expected at least one")
        if len(whole) < len(topics):
            source.assumed["topics_without_pair"] = f"{len(topics) - len(whole)} of {len(topics)}, left out of p-MRR"
        topics = whole
    return {query_id: topic for topic, queries in topics.items() for query_id in queries}


def without_repetition(where: str, judgements: Iterable[tuple[int, Judgement]]) -> list[Judgement]:
    """Return the judgements, each with its line, without repetition; ``where`` is the name of their file in messages.

    Raises DataError if there are none, or one comes twice with different scores, or has a higher score than measures take.
    """
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for line, (query_id, doc_id, score) in judgements:
        if abs(score) > HIGHEST_SCORE:
            reason = "NDCG_exp divides by 2 to the power of it; write grades such as 0 to 3 in place of counts"
            raise DataError(f"{where}:{line}: a score of at most {HIGHEST_SCORE} was expected, found {score}: {reason}")
        first_line, first_score = seen.setdefault((query_id, doc_id), (line, score))
        if score != first_score:
            problem = f"{score} for query {query_id!r} and document {doc_id!r}"
            raise DataError(
                f"{where}:{line}: found the score {problem}, but line {first_line} says {first_score}; keep one of them"
            )
    if not seen:
        raise DataError(f"{where}: no judgements; at least one was expected")
    return [Judgement(query_id, doc_id, score) for (query_id, doc_id), (_, score) in seen.items()]


def _texts(source: DatasetSource, judged: set[str]) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """Return by id the texts of the judged queries, which end with their instruction, and what else they state."""
    where = source.where(QUERIES)
    texts: dict[str, str] = {}
    fields: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    for line, query_id, text, of_query in read_queries(source):
        if query_id not in judged:
            continue
        if query_id in lines:
            problem = f"the query id {query_id!r} is already in line {lines[query_id]}"
            raise DataError(f"{where}:{line}: {problem}; ids must be unique")
        lines[query_id] = line
        if not isinstance(text, str) or not text.strip():
            is_empty = text is None or isinstance(text, str)
            problem = "has judgements but no text" if is_empty else f"must have a text, found {short(text)}"
            raise DataError(f"{where}:{line}: the query {query_id!r} {problem}")
        text = f"{text} {of_query[INSTRUCTION]}" if INSTRUCTION in of_query else text
        if not source.query_lists and len(texts_of(text)) > 1:
            problem = f"the text of query {query_id!r} has the character U+FDD1 between spaces"
            raise DataError(f"{where}:{line}: {problem}, which separates the texts of a query that is a list; remove it")
        texts[query_id], fields[query_id] = text, of_query
    return texts, fields
