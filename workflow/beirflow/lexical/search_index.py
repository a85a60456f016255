"""Search of one chunk of postings with BM25."""

import time
from concurrent.futures import ThreadPoolExecutor

from beirflow.datasets.corpus_files import read_table, recorded_digest
from beirflow.files.layout import record_of
from beirflow.files.records import Job, check_inputs, output_digest, read_json
from beirflow.files.verified import checked_while_read
from beirflow.lexical.postings import open_postings
from beirflow.lexical.queries import analyze_queries, weigh
from beirflow.lexical.search import search_postings
from beirflow.lexical.settings import LexicalSettings
from beirflow.lexical.statistics import CorpusStatistics, frequencies_of
from beirflow.postings.search import import_scipy
from beirflow.runs.candidates import Candidates, found_by, write_candidates
from beirflow.runs.ranking import byte_order
from beirflow.runs.searched import read_expansion, read_ids


def search_index(
    *,
    settings: LexicalSettings,
    queries_path: str,
    documents_path: str,
    chunk: int,
    postings_path: str,
    statistics_path: str,
    output_path: str,
    top_k: int,
    drop_self_matches: bool,
    job: Job,
    expansion_path: str | None = None,
    threads: int = 1,
) -> None:
    """Find the top k of one chunk for every query, among the documents that have one of its terms.

    Args:
        settings: The system.
        queries_path: ``queries.parquet``, next to its ``corpus.json``.
        documents_path: ``documents.parquet``, likewise.
        chunk: Number of the chunk.
        postings_path: Its postings, with their record.
        statistics_path: The statistics of the corpus, likewise.
        output_path: ``.npz`` to write, as :func:`~beirflow.runs.candidates.write_candidates` does.
        top_k: Documents to keep for each query.
        drop_self_matches: Whether a document whose id is the query's id is dropped before the cut.
        job: The job, for the record of the run.
        expansion_path: What was added to the documents of the chunk; only its record is read, for what it cost.
        threads: Threads to compute with.

    Raises:
        DataError: A file is not the one that was recorded, belongs to another corpus, or no document has a term at all.
    """
    corpus = job.digests({path: recorded_digest(path) for path in (documents_path, queries_path)})
    documents = {job.below(documents_path): corpus[job.below(documents_path)]}
    records = {path: read_json(record_of(path)) for path in (postings_path, statistics_path)}
    for path, record in records.items():
        check_inputs(record_of(path), record, documents, analyzer=settings.index.name)
    digests = {path: output_digest(record, path) for path, record in records.items()}
    if expansion_path is not None:
        records[expansion_path] = read_expansion(expansion_path, postings_path, records[postings_path], job)
    with checked_while_read(digests), ThreadPoolExecutor(max_workers=2) as background:
        background.submit(import_scipy)
        opening = background.submit(open_postings, postings_path, settings.index.name)
        ids = read_ids(queries_path, documents_path, chunk, drop_self_matches=drop_self_matches)
        start = time.perf_counter()
        ordering = background.submit(byte_order, ids.documents, settings.ties)
        analyzed = analyze_queries(read_table(queries_path)["text"])
        statistics = CorpusStatistics.of_record(records[statistics_path]["statistics"])
        frequencies = {field: frequencies_of(statistics_path, analyzed.terms, field) for field in settings.searched}
        fields = weigh(analyzed, settings, statistics, frequencies)
        hits, self_matches = search_postings(
            *(analyzed, fields, opening.result(), ordering.result(), top_k), excluded=ids.own, threads=threads
        )
        seconds = time.perf_counter() - start
    found = found_by(
        job,
        system=settings.name,
        chunk=chunk,
        top_k=top_k,
        searched=records,
        read=corpus,
        seconds=seconds,
        ties=settings.ties,
    )
    write_candidates(output_path, Candidates(*hits, self_matches), found)
