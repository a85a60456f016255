"""How large a rise of NDCG@10 a sample of an audit finds, where scores move only within the tolerance of a precision.

    PYTHONPATH=src:tests python tests/bench/audit_power.py RESULTS [--sample 100]

For every run of a folder of results, relevant documents of more and more queries are lifted as far as the tolerance of each
precision allows, which an audit cannot tell from rounding where the vectors were deleted. Samples of queries are drawn, and the
test of the audit decides whether their main measure is higher than that of the run as it was. Prints, by system and precision,
the smallest rise that 95 % of the samples find; in brackets the largest that the tolerance has room for, where no rise is
found.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.audit.sample.sample import CHANCE
from beirflow.config.from_manifest import experiment_of
from beirflow.config.load import load_experiment
from beirflow.core.layout import MANIFEST, QRELS, RUN
from beirflow.core.records import read_json
from beirflow.evaluation.measures import measure
from beirflow.evaluation.paired_tests import randomisation_test
from forgeries import in_order

MEASURE, PRECISIONS = "NDCG@10", ("float32", "float16", "bfloat16")
SAMPLES, POWER = 200, 0.95
SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)  # of the queries, whose documents are lifted


def lifted(run: pd.DataFrame, relevant: np.ndarray, within: float) -> pd.DataFrame:
    """Return a run whose relevant documents have scores that are higher by a share of the largest of the query."""
    largest = run.groupby("query_id")["score"].transform(lambda scores: scores.abs().max())
    return in_order(run.assign(score=(run["score"] + np.where(relevant, within * largest, 0)).astype(np.float32)))


def gains(run_path: Path, qrels: pa.Table, within: float) -> np.ndarray:
    """Return by how much the measure of each query rises if its relevant documents are lifted."""
    stored = pq.read_table(run_path)
    run, pairs = stored.to_pandas(), qrels.filter(pc.greater(qrels["score"], 0))
    judged = set(zip(*(pairs[name].to_pylist() for name in ("query_id", "doc_id")), strict=True))
    relevant = np.array([pair in judged for pair in zip(run["query_id"], run["doc_id"], strict=True)])
    after = pa.Table.from_pandas(lifted(run, relevant, within), stored.schema, preserve_index=False)
    values = [measure(table, qrels, [10], ranked=True).set_index("query_id")[MEASURE] for table in (stored, after)]
    rises: np.ndarray = (values[1] - values[0]).to_numpy()
    return rises


def power(rises: np.ndarray, share: float, sample: int, random: np.random.Generator) -> tuple[float, float]:
    """Return the mean rise, and the share of samples that find it, where only a share of the queries is lifted."""
    found, means = 0, []
    for _ in range(SAMPLES):
        own = rises * (random.random(len(rises)) < share)
        drawn = random.choice(own, min(sample, len(own)), replace=False)
        found += bool(drawn.sum() > 0 and randomisation_test(drawn[:, None])[0] < CHANCE)
        means.append(own.mean())
    return float(np.mean(means)), found / SAMPLES


def rows(results: Path, sample: int) -> Iterator[str]:
    """Yield a row of the table for each run."""
    manifest = read_json(results / MANIFEST)
    experiment = experiment_of(manifest, {}, load_experiment({}))
    for path in sorted(results.glob("runs/*/*.parquet")):
        names = RUN.names_in(path.relative_to(results).as_posix()) or {}
        qrels, system = pq.read_table(results / QRELS(**names)), experiment.systems[names["system"]]
        cells = []
        for precision in PRECISIONS:
            within = experiment.families[system.family].tolerance(system.settings, precision)
            rises, random = gains(path, qrels, within), np.random.default_rng(1)
            tried = [power(rises, share, sample, random) for share in SHARES]
            least = next((rise for rise, found in tried if found >= POWER), None)
            cells.append(f"{least:.4f}" if least is not None else f"({rises.mean():.4f})")
        yield f"| {names['system']} on {names['dataset']} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sample", type=int, default=100, help="queries of a sample")
    options = parser.parse_args()
    table = [f"| run | {' | '.join(PRECISIONS)} |\n|---|---|---|---|", *rows(options.results, options.sample)]
    sys.stdout.write("\n".join([*table, ""]))


if __name__ == "__main__":
    main()
