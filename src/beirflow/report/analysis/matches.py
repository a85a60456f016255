"""Matches of the inspected hits: the terms or tokens that their scores come from.

``docs/files.md`` describes ``matches/<system>/<dataset>.json``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.digests import file_digest
from beirflow.core.records import Job, check_inputs, read_json, write_record
from beirflow.data.corpus_files import PreparedCorpus, read_table, recorded_digest
from beirflow.data.document_text import as_read
from beirflow.families.matches import FindMatches, Matched, Pairs
from beirflow.models.computing.model_settings import Computing
from beirflow.report.analysis.document_scan import document_batches
from beirflow.run.by_name import by_name

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def match_hits(
    *,
    system: str,
    dataset: str,
    finder: str,
    inspection_path: str,
    corpus: PreparedCorpus,
    computing: Computing[Any],
    output_path: str,
    job: Job,
) -> None:
    """Write the matches of the shown hits of a system, found by ``finder``, ``module:function`` of its family.

    Raise ModelError or DeviceError if the model fails, DataError if a file does not match its record or the inspection is of
    other texts.
    """
    inspection = read_json(inspection_path)
    texts = {path: recorded_digest(path) for path in (corpus.queries_path, corpus.documents_path)}
    check_inputs(inspection_path, inspection, job.digests(texts))
    shown = {query["id"]: [hit["doc_id"] for hit in query["hits"][system]] for query in inspection["queries"]}
    pairs, matched = _pairs(shown, corpus.queries_path, corpus.documents_path), Matched([], {})
    if len(pairs.query):
        find_matches: FindMatches = by_name(finder)
        matched = find_matches(pairs, computing)
    matches = iter(matched.matches)
    write_record(
        output_path,
        job,
        inputs=texts | {path: file_digest(path) for path in (inspection_path, computing.model_path)},
        outputs={},
        made=matched.made,
        system=system,
        dataset=dataset,
        queries={
            query_id: {
                doc_id: [[each.of_query, each.of_document, round(each.adds, 4)] for each in next(matches)] for doc_id in doc_ids
            }
            for query_id, doc_ids in shown.items()
        },
    )


def _pairs(shown: Mapping[str, Sequence[str]], queries_path: str, documents_path: str) -> Pairs:
    """Return every query with its documents, in the form that models read."""
    queries, documents = _texts(_rows(read_table(queries_path), "query_id", shown), "query_id"), dict[str, str]()
    wanted = {doc_id for doc_ids in shown.values() for doc_id in doc_ids}
    for batch in document_batches(documents_path, ("doc_id", "text")):
        documents |= _texts(as_read(_rows(batch, "doc_id", wanted)), "doc_id")
    number_of = {doc_id: number for number, doc_id in enumerate(documents)}
    query = np.repeat(np.arange(len(shown)), [len(doc_ids) for doc_ids in shown.values()])
    document = np.array([number_of[doc_id] for doc_ids in shown.values() for doc_id in doc_ids], np.int64)
    return Pairs([queries[query_id] for query_id in shown], list(documents.values()), query, document)


def _rows(table: Rows, key: str, wanted: Iterable[str]) -> Rows:
    """Return the rows with some ids."""
    return table.filter(pc.is_in(table[key], value_set=pa.array(sorted(wanted), table.schema.field(key).type)))


def _texts(table: pa.Table, key: str) -> dict[str, str]:
    """Return texts by id."""
    return dict(zip(table[key].to_pylist(), table["text"].to_pylist(), strict=True))
