"""The first documents of a run as MTEB writes predictions."""

import json
from itertools import islice

import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.writing import atomic_path
from beirflow.ranking.run_file import check_export


def write_predictions(*, system: str, depth: int, run_path: str, record_path: str, queries_path: str, output_path: str) -> None:
    """Write the first ``depth`` documents of each query as JSON in MTEB's form, ``{query: {document: score}}``, best first.

    Scores are float32 at full precision. A judged query for which the system found nothing has an empty object, so that a
    program that averages over the queries of the file counts it as 0. Raise DataError if the run or the queries were changed
    after they were written, or the run is of other queries.
    """
    missing = check_export(run_path, record_path, queries_path, output_path, system=system)
    run = pq.read_table(run_path)
    run = run.filter(pc.less_equal(run["rank"], depth))
    counts = pc.value_counts(run["query_id"].combine_chunks())
    query_ids, lengths = counts.field("values").to_pylist(), counts.field("counts").to_pylist()
    documents = zip(run["doc_id"].to_pylist(), run["score"].to_pylist(), strict=True)
    with atomic_path(output_path) as partial, partial.open("w", encoding="utf-8", newline="\n") as out:
        out.write("{")
        # A run is sorted by query; one query is in memory as JSON at a time.
        for number, (query_id, length) in enumerate([*zip(query_ids, lengths, strict=True), *((each, 0) for each in missing)]):
            scores = dict(islice(documents, length))
            line = f"{json.dumps(query_id, ensure_ascii=False)}: {json.dumps(scores, ensure_ascii=False)}"
            out.write(f"{',' if number else ''}\n{line}")
        out.write("\n}\n")
