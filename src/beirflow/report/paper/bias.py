"""Annotation bias, section 6 of the BEIR paper, ``bias.csv`` of ``docs/files.md``: the possible effect of unjudged documents."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytrec_eval

from beirflow.core.csv_files import write_csv
from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json
from beirflow.data.corpus_files import read_table, relevant_from
from beirflow.evaluation.measures import measure
from beirflow.ranking.run_file import read_run
from beirflow.report.analysis.pool import PAIR
from beirflow.report.paper.facts import STUDIED, load_facts

CUTOFF = 10
OF_POOLED = ("unjudged", "bpref", "ndcg_condensed", "ndcg_holes_relevant")
PRINTED = {"printed_hole": "hole", "printed_ndcg": "before", "printed_ndcg_annotated": "after"}

RANDOM_ZEROS = "scidocs"
"""The dataset whose irrelevant documents are 25 random ones a query, as the paper says, and no pool that somebody judged."""

EXTRA = ("extra", "extra_by", "hole_extra", "ndcg_extra")
COLUMNS = ("dataset", "system", "pooled", "hole", "ndcg", *OF_POOLED, *EXTRA, *PRINTED)

FIELDS = 4

A_GRADE = re.compile(r"-?[0-9]{1,4}")

MOST_GRADE = 1000  # as for the judgements of a dataset


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
    judges = {name: judges_of(path) for name, path in (extra_paths or {}).items() if name in qrels}
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
        | _printed(row, system, systems)
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


def _printed(row: str, system: str, systems: Sequence[str]) -> dict[str, Any]:
    """Return the printed values of the system of the paper that this one represents."""
    facts = load_facts()
    name = {ours: name for name, ours in facts.standing(systems).items()}.get(system)
    printed = facts.systems[name].get("trec_covid", {}) if row == STUDIED and name else {}
    return {column: printed.get(key) for column, key in PRINTED.items()}


def read_extra(path: str, qrels: pa.Table) -> pa.Table:
    """Return further judgements of a dataset; a file that ends in ``.jsonl`` is a pool (:mod:`beirflow.report.analysis.pool`).

    Raise DataError if a line is no judgement, has a grade that the dataset does not use, or is about a query that is not judged
    or a pair of an earlier line.
    """
    judgement = _of_pool if path.endswith(".jsonl") else _judgement
    queries, added = set(qrels["query_id"].to_pylist()), dict[tuple[str, str], int]()
    grades = sorted({0, *qrels["score"].to_pylist()})
    try:
        # Ids may hold characters that splitlines takes for line ends.
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: this is not text in UTF-8 ({error}); judgements in TREC form were expected") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        problem, pair, grade = judgement(line)
        if problem and line.startswith("#"):  # a comment, as for trec_eval 10
            continue
        if not problem and pair[0] not in queries:
            problem = f"the query {pair[0]!r} has no judgements in the dataset"
        elif not problem and pair in added:
            problem = f"an earlier line judges {pair[1]!r} for the query {pair[0]!r}"
        elif not problem and grade not in grades:
            problem = f"the grade {grade}, which the dataset does not use; expected one of {', '.join(map(str, grades))}"
        if problem:
            raise DataError(f"{path}, line {number}: {problem}; correct the file, or leave extra_judgements without it")
        added[pair] = grade
    return pa.table(
        {
            "query_id": pa.array([query for query, _ in added], qrels["query_id"].type),
            "doc_id": pa.array([document for _, document in added], qrels["doc_id"].type),
            "score": pa.array(added.values(), qrels["score"].type),
        }
    )


def with_extra(qrels: pa.Table, extra: pa.Table) -> pa.Table:
    """Return the judgements of a dataset and further ones, whose grade counts where both judge a pair."""
    again = set(_pairs(extra))
    # No join of Arrow: it does not keep the order of rows, and so changes the last digits of means.
    kept = [pair not in again for pair in _pairs(qrels)]
    return pa.concat_tables([qrels.select(extra.column_names).filter(pa.array(kept, pa.bool_())), extra])


def _pairs(qrels: pa.Table) -> Iterator[tuple[str, str]]:
    return zip(*(qrels[name].to_pylist() for name in PAIR), strict=True)


def judges_of(path: str) -> set[str]:
    """Return the judges of further judgements: ``people``, and ``model`` with the name that a line states."""
    lines = Path(path).read_text(encoding="utf-8").split("\n") if path.endswith(".jsonl") else []
    named = {json.loads(line).get("judge") for line in lines if line.strip()} or {None}
    return {"people" if judge is None else f"model {judge}" for judge in named}


def _judgement(line: str) -> tuple[str, tuple[str, str], int]:
    """Return the problem of a line, empty if there is none; the pair that it judges; and the grade."""
    fields = line.split()
    if len(fields) != FIELDS:
        return f"{len(fields)} fields, expected query, a number, document and grade", ("", ""), 0
    query, _, document, text = fields
    grade = int(text) if A_GRADE.fullmatch(text) else None
    if grade is None or abs(grade) > MOST_GRADE:
        return f"the grade {text!r}, expected a whole number up to {MOST_GRADE}", ("", ""), 0
    return "", (query, document), grade


def _of_pool(line: str) -> tuple[str, tuple[str, str], int]:
    """Return the same for a line of a pool."""
    try:
        entry = json.loads(line)
        query, document, grade = entry["query_id"], entry["doc_id"], entry["grade"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return f"{type(error).__name__}: {error}; expected a JSON object with query_id, doc_id and grade", ("", ""), 0
    if grade is None:
        return "its grade is null: fill it in, or remove the line", ("", ""), 0
    if type(grade) is not int or abs(grade) > MOST_GRADE:
        return f"the grade {grade!r}, expected a whole number up to {MOST_GRADE}", ("", ""), 0
    return "", (str(query), str(document)), grade
