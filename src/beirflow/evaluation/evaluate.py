"""Evaluate a run: every measure of every query, and the means; and average forums to a dataset."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.digests import file_digest
from beirflow.core.layout import QRELS, record_of
from beirflow.core.losses import KINDS, RELEVANT
from beirflow.core.records import Job, assumed_in, check_inputs, output_digest, precisions_in, read_json, totals, write_record
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import CANDIDATE_PAIRS, CORPUS_COUNTS, corpus_record, read_table
from beirflow.evaluation.measures import measure
from beirflow.evaluation.scores import RETRIEVED_LIMIT, read_means, retrieved_limit
from beirflow.ranking.run_file import read_run


def evaluate_run(
    *,
    system: str,
    dataset: str,
    run_path: str,
    qrels_path: str,
    cutoffs: Sequence[int],
    per_query_path: str,
    means_path: str,
    job: Job,
) -> None:
    """Write every measure of every query, ``query_id`` and a column a measure, and the record of their means.

    Raise DataError if the run or the judgements are not those that were recorded, or are of another system or corpus.
    """
    start = time.perf_counter()
    run_record_path, corpus_path = str(record_of(run_path)), str(corpus_record(qrels_path))
    run_record, corpus = read_json(run_record_path), read_json(corpus_path)
    # A run depends on documents and queries, and not on the judgements.
    sources = {name: digest for name, digest in corpus["outputs"].items() if Path(name).name != Path(QRELS).name}
    check_inputs(run_record_path, run_record, sources, system=system)
    run_digest = output_digest(run_record, run_path)
    run, qrels = read_run(run_path, run_digest, run_record_path), read_table(qrels_path)
    table = measure(run, qrels, cutoffs)
    with atomic_path(per_query_path) as partial:
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(), partial, compression="zstd")
    names = [name for name in table.columns if name != "query_id"]
    # Where queries have candidates, these decide how many documents a run can have.
    has_candidates = CANDIDATE_PAIRS in corpus["counts"]
    limit = {} if has_candidates else {RETRIEVED_LIMIT: retrieved_limit(_lengths(run, table["query_id"]))}
    write_record(
        means_path,
        job,
        inputs={
            run_path: run_digest,
            run_record_path: file_digest(run_record_path),
            qrels_path: output_digest(corpus, qrels_path),
            corpus_path: file_digest(corpus_path),
        },
        outputs={per_query_path: file_digest(per_query_path)},
        counts={
            **limit,
            **{key: corpus["counts"][key] for key in (*CORPUS_COUNTS, RELEVANT, *KINDS) if key in corpus["counts"]},
            **run_record["counts"],
            "retrieved": run.num_rows,
            "queries_without_results": len(set(table["query_id"]) - set(pc.unique(run["query_id"]).to_pylist())),
        },
        seconds={**run_record["seconds"], "evaluate": time.perf_counter() - start},
        system=system,
        dataset=dataset,
        split=corpus["split"],
        official_data=corpus["official"],
        measures={name: float(table[name].mean()) for name in names},
        assumed=assumed_in(run_record),
        precisions=precisions_in(run_record),
    )


def _lengths(run: pa.Table, query_ids: Iterable[str]) -> list[int]:
    """Return the number of documents of each judged query that has results."""
    judged = run["query_id"].filter(pc.is_in(run["query_id"], value_set=pa.array(query_ids, pa.string())))
    return [each["counts"] for each in pc.value_counts(judged.combine_chunks()).to_pylist()]


def average_forums(*, dataset: str, forum_paths: Sequence[str], means_path: str, job: Job) -> None:
    """Write the plain mean of the means of some forums, as the BEIR paper does for CQADupStack; counts and times are sums.

    Raise DataError if a file was changed after it was written, or belongs elsewhere.
    """
    forums = [read_means(path) for path in forum_paths]
    official = [forum["official_data"] for forum in forums]
    write_record(
        means_path,
        job,
        inputs={path: file_digest(path) for path in forum_paths},
        outputs={},
        counts=totals(forums, "counts"),
        seconds=totals(forums, "seconds"),
        system=forums[0]["system"],
        dataset=dataset,
        split=forums[0]["split"],
        # One forum of other data bars the comparison; None is unknown.
        official_data=False if False in official else True if all(official) else None,
        measures={name: total / len(forums) for name, total in totals(forums, "measures").items()},
        forums=[forum["dataset"] for forum in forums],
        assumed=sorted({sentence for forum in forums for sentence in forum["assumed"]}),
        precisions=sorted({precision for forum in forums for precision in forum["precisions"]}),
    )
