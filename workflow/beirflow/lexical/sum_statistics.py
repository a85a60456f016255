"""Sum of the statistics of all chunks."""

import time
from collections.abc import Sequence
from pathlib import Path

from beirflow.files.digests import file_digest
from beirflow.files.layout import EXPANSION, EXPANSION_RECORD, record_of
from beirflow.files.records import Job, check_inputs, output_digest, read_json, write_record
from beirflow.files.verified import check_digest
from beirflow.lexical.index import Index
from beirflow.lexical.postings import made_with
from beirflow.lexical.statistics import add_up


def sum_statistics(*, postings_paths: Sequence[str], index: Index, output_path: str, job: Job) -> None:
    """Sum up the statistics of all chunks: in how many documents each term is, and how many terms the documents have.

    Args:
        postings_paths: The postings of chunk 0, 1, …, each with its record.
        index: What they are postings of.
        output_path: Parquet of the terms to write, and the record with the other counts.
        job: The job, for the record.

    Raises:
        DataError: Postings were damaged, or are not all of one corpus.
    """
    start = time.perf_counter()
    corpus: dict[str, str] = {}
    inputs: dict[str, str] = {}
    for path in postings_paths:
        record = read_json(record_of(path))
        # Not what is added to the documents: that is another file for each chunk.
        own = {name for name in record["inputs"] if EXPANSION.names_in(name) or EXPANSION_RECORD.names_in(name)}
        corpus = corpus or {name: digest for name, digest in record["inputs"].items() if name not in own}
        check_inputs(record_of(path), record, corpus, analyzer=index.name)
        check_digest(path, output_digest(record, path), record_of(path))
        inputs |= corpus | record["outputs"] | {job.below(record_of(path)): file_digest(record_of(path))}
    statistics = add_up(postings_paths, index.name, output_path)
    write_record(
        record_of(output_path),
        job,
        inputs={job.results / name: digest for name, digest in inputs.items()},
        outputs={output_path: file_digest(output_path)},
        made=made_with(index.analyzer),
        seconds={"index": time.perf_counter() - start},
        sizes={"index": Path(output_path).stat().st_size},
        counts={
            "documents_without_contents": statistics.without_contents,
            "documents_without_text": statistics.without_text,
        },
        analyzer=index.name,
        statistics=statistics.as_record(),
    )
