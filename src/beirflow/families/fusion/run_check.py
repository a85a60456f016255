"""Check on a sample that the fused run follows from its runs: queries are fused again, one document at a time.

In plain Python, without the code that fuses, and with a tolerance for rounding.
"""

import math
from functools import partial

import numpy as np
import pyarrow.parquet as pq

from beirflow.core.layout import RUN, RUN_RECORD
from beirflow.core.records import read_json
from beirflow.families.fusion.reference_fusion import check_tuning, errors_of, values_of
from beirflow.families.fusion.settings import FusionSettings
from beirflow.families.spot_checks.compared_ranks import as_block, compare_ranks
from beirflow.families.spot_checks.spot_check import Finding, SpotCheck, Subject


def follows(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a fused system on one corpus: fused queries, and where weights were tuned, some that were tried."""
    path = RUN(system=subject.system.name, dataset=subject.dataset)
    checks = [SpotCheck("queries fused again have the recorded ranks", path, partial(_check, subject, sample, random))]
    if subject.system.settings.tune is not None:
        checks.append(SpotCheck("weights tuned again have the recorded score", path, partial(check_tuning, subject, random)))
    return checks


def _check(subject: Subject, sample: int, random: np.random.Generator) -> Finding:
    record = read_json(subject.results / RUN_RECORD(system=subject.system.name, dataset=subject.dataset))
    settings: FusionSettings = subject.system.settings.with_weights_of(record)
    query_ids = subject.draw_queries(sample, random)[0]["query_id"].to_pylist()
    scores: list[dict[str, list[float]]] = [{} for _ in query_ids]
    slack = np.zeros(len(query_ids))
    for number, system in enumerate(settings.of):
        path = subject.file(RUN(system=system, dataset=subject.dataset))
        rows = pq.read_table(path, filters=[("query_id", "in", query_ids)]).to_pylist()
        for place, query_id in enumerate(query_ids):
            of_query = [row for row in rows if row["query_id"] == query_id and row["rank"] <= (settings.depth or math.inf)]
            values, factor = values_of(settings, of_query), settings.factors[number]
            slack[place] += abs(factor) * max(errors_of(settings, values, of_query), default=0.0)
            for row, value in zip(of_query, values, strict=True):
                scores[place].setdefault(row["doc_id"], []).append(factor * value)
    together = [{doc_id: math.fsum(values) for doc_id, values in of_query.items()} for of_query in scores]
    expected = f"the runs of {', '.join(settings.of)}, fused"
    return compare_ranks(subject, query_ids, [as_block(together)], lambda: slack, expected)
