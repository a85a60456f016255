"""Annotation bias, section 6 of the BEIR paper, ``bias.csv`` of ``README.md``: the possible effect of unjudged documents."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytrec_eval

from beirflow.core.csv_files import write_csv
from beirflow.core.records import Job, read_json
from beirflow.data.corpus_files import read_table, relevant_from
from beirflow.evaluation.extra_judgements import PAIR, read_extra, with_extra
from beirflow.evaluation.measures import measure
from beirflow.extensions.beir_paper.printed_values import load_paper
from beirflow.ranking.run_file import read_run

CUTOFF = 10
OF_POOLED = ("unjudged", "bpref", "ndcg_condensed", "ndcg_holes_relevant")

RANDOM_ZEROS = "scidocs"
"""The dataset whose irrelevant documents are 25 random ones a query, as the paper says, and no pool that somebody judged."""

EXTRA = ("extra", "extra_by", "hole_extra", "ndcg_extra")
COLUMNS = ("dataset", "system", "pooled", "hole", "ndcg", *OF_POOLED, *EXTRA, "printed_ndcg_annotated")


def measure_bias(
    *,
    means_paths: Sequence[str],
    run_paths: Sequence[str],
    qrels_paths: Sequence[str],
    corpora: Sequence[str],
    rows: Mapping[str, Sequence[str]],
    bias_path: str,
    job: Job,
    extra_paths: Mapping[str, str] | None = None,
) -> None:
    """Write ``bias.csv`` from the means and the runs of every system on every corpus, both in the same order.

    ``qrels_paths`` are in the order of ``corpora``, ``rows`` has the corpora of every dataset, ``extra_paths`` by corpus a file
    of further judgements. Raise DataError if a file is not the one that was evaluated.
    """
    qrels = {name: read_table(path) for name, path in zip(corpora, qrels_paths, strict=True)}
    # Splits, samples and translations are called after a dataset, with a dot.
    own_zeros = {name for name in qrels if RANDOM_ZEROS not in name.split(".")}
    pooled = {name: name in own_zeros and bool((table["score"].to_numpy() <= 0).any()) for name, table in qrels.items()}
    extra = {name: read_extra(path, qrels[name]) for name, path in (extra_paths or {}).items() if name in qrels}
    judges = {name: _judges(path) for name, path in (extra_paths or {}).items() if name in qrels}
    of_pair: dict[tuple[str, str], dict[str, float]] = {}
    for means_path, run_path in zip(means_paths, run_paths, strict=True):
        means = read_json(means_path)
        name, values = means["dataset"], means["measures"]
        of_run = {"hole": values.get(f"Hole@{CUTOFF}", np.nan), "ndcg": values.get(f"NDCG@{CUTOFF}", np.nan)}
        if pooled[name] or name in extra:
            run = read_run(run_path, means["inputs"][job.below(run_path)], means_path)
            of_run |= of_pooled(run, qrels[name]) if pooled[name] else {}
            of_run |= _with_extra(run, qrels[name], extra[name]) if name in extra else {}
        of_pair[name, means["system"]] = of_run
    systems = list(dict.fromkeys(system for _, system in of_pair))
    table = [
        {"dataset": row, "system": system, "pooled": all(pooled[name] for name in names)}
        | {"extra_by": "; ".join(sorted({judge for name in names for judge in judges.get(name, ())}))}
        | _mean([of_pair[name, system] for name in names])
        | {"printed_ndcg_annotated": load_paper().printed("ndcg_extra", system, row)}
        for row, names in rows.items()
        for system in systems
    ]
    write_csv(pd.DataFrame(table, columns=list(COLUMNS)), bias_path)


def of_pooled(run: pa.Table, qrels: pa.Table) -> dict[str, float]:
    """Return by column of ``bias.csv`` the means over all queries of judgements that include irrelevant documents."""
    qrels = qrels.select([*PAIR, "score"])  # without topics and nuggets, which no unjudged document has
    run = run.filter(pc.is_in(run["query_id"], value_set=pc.unique(qrels["query_id"])))
    first = run.filter(pc.less_equal(run["rank"], CUTOFF))
    holes = first.select(PAIR).join(qrels.select(PAIR), PAIR, join_type="left anti")
    judged = run.join(qrels.select(PAIR), PAIR, join_type="left semi")
    grade = pa.array(np.ones(holes.num_rows), qrels.schema.field("score").type)
    filled = pa.concat_tables([qrels, holes.append_column("score", grade).select(qrels.schema.names).cast(qrels.schema)])
    queries = pc.count_distinct(qrels["query_id"]).as_py()
    return {
        "unjudged": holes.num_rows / (CUTOFF * queries),
        "bpref": _bpref(run, qrels),
        "ndcg_condensed": _ndcg(judged, qrels),
        "ndcg_holes_relevant": _ndcg(run, filled),
    }


def _with_extra(run: pa.Table, qrels: pa.Table, extra: pa.Table) -> dict[str, float]:
    """Measure Hole and NDCG with additional judgements, and count these."""
    measured = measure(run, with_extra(qrels, extra), [CUTOFF])
    values = {"hole_extra": measured[f"Hole@{CUTOFF}"].mean(), "ndcg_extra": measured[f"NDCG@{CUTOFF}"].mean()}
    return {"extra": extra.num_rows, **{name: float(value) for name, value in values.items()}}


def _ndcg(run: pa.Table, qrels: pa.Table) -> float:
    return float(measure(run, qrels, [CUTOFF])[f"NDCG@{CUTOFF}"].mean())


def _bpref(run: pa.Table, qrels: pa.Table) -> float:
    """Return the mean of trec_eval's bpref, in which judgements below 0 count as 0, as in the other measures."""
    judgements: dict[str, dict[str, int]] = {}
    for query, document, grade in zip(*(qrels[name].to_pylist() for name in (*PAIR, "score")), strict=True):
        judgements.setdefault(query, {})[document] = max(grade, 0)
    ranked: dict[str, dict[str, float]] = {}
    for query, document, rank in zip(*(run[name].to_pylist() for name in (*PAIR, "rank")), strict=True):
        # By rank, since trec_eval orders equal scores by a rule of its own.
        ranked.setdefault(query, {})[document] = -float(rank)
    values = pytrec_eval.RelevanceEvaluator(judgements, {"bpref"}, relevance_level=relevant_from(qrels)).evaluate(ranked)
    return sum(query["bpref"] for query in values.values()) / len(judgements)


def _mean(corpora: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the plain mean of every number that all corpora have."""
    shared = [key for key in corpora[0] if all(key in values for values in corpora)]
    return {key: sum(values[key] for values in corpora) / len(corpora) for key in shared}


def _judges(path: str) -> set[str]:
    """Return the judges of further judgements: ``people``, and ``model`` with its name in the line."""
    lines = Path(path).read_text(encoding="utf-8").split("\n") if path.endswith(".jsonl") else []
    named = {json.loads(line).get("judge") for line in lines if line.strip()} or {None}
    return {"people" if judge is None else f"model {judge}" for judge in named}
