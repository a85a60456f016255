"""Our side: ``measure`` on tables in memory, as ``evaluate_run`` reads them.

python -m bench.evaluate.ours INPUT OUTPUT CUTOFF...
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq
from beirflow.evaluation.measures import measure
from beirflow.files.records import write_json

from bench.child import timed_call

if __name__ == "__main__":
    source, output, cutoffs = Path(sys.argv[1]), Path(sys.argv[2]), [int(k) for k in sys.argv[3:]]
    run, qrels = pq.read_table(source / "run.parquet"), pq.read_table(source / "qrels.parquet")
    with timed_call():
        table = measure(run, qrels, cutoffs)
    values = table.drop(columns="query_id")
    write_json(output / "means.json", {"queries": len(table), "means": values.mean().to_dict()})
