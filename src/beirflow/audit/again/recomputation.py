"""Metrics computed again from runs and judgements, and the means of forums from these.

The measures are those of the evaluation, which the tests compare with trec_eval, ir_measures and their definitions.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any

import pyarrow.compute as pc

from beirflow.audit.again.runs import read_run, run_rules, unknown_documents
from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import FAILED, PASSED, Check, RecordError, Result
from beirflow.audit.chain.reading import open_parquet, part, read_columns, read_packed_lines
from beirflow.core.layout import MANIFEST, METRICS, QRELS, RUN, TREC_RUN
from beirflow.data.judged_queries import HIGHEST_SCORE
from beirflow.evaluation.measures import measure
from beirflow.evaluation.scores import RETRIEVED_LIMIT, retrieved_limit

TOLERANCE = 1e-9

RANKED, IN_TREC_FORM = "runs follow the ranking rule", "runs in TREC form say the same"
MEANS = "means are what they are means of"
"""Names of checks."""


def check_recomputation(chain: Chain) -> list[Check]:
    """Compute the metrics of every run and dataset of forums again, and check the ranking of all runs."""
    checks: list[Check] = []
    for (system, dataset), dataset_row in chain.evaluated.items():
        names = {"system": system, "dataset": dataset}
        result, path = (system, dataset_row), METRICS(**names)
        compare = partial(_check_dataset, chain, system, dataset, result)
        checks += chain.guarded("metrics are what the run gives", path, compare, [result])
    for system, dataset in chain.runs:
        if (trec := TREC_RUN(system=system, dataset=dataset)) in chain.listing.files:
            export, again = partial(_check_trec, chain, system, dataset), chain.repair_command(trec, goal=trec)
            checks += chain.guarded(IN_TREC_FORM, trec, export, chain.affected(RUN(system=system, dataset=dataset)), again)
        if (system, dataset) not in chain.evaluated:  # only other systems need it
            path = RUN(system=system, dataset=dataset)
            rank = partial(_check_ranking, chain, system, dataset, chain.affected(path), lambda query, ids: None)
            checks += chain.guarded(RANKED, path, rank)
    for path, result in chain.means.items():
        checks += chain.guarded(MEANS, path, partial(_check_mean, chain, path, result), [result], chain.repair_command(path))
    return checks


def _check_trec(chain: Chain, system: str, dataset: str) -> Iterator[Check]:
    """Compare a run in TREC form, from which no number is computed, with the Parquet file that it was written from."""
    names = {"system": system, "dataset": dataset}
    path, source = TREC_RUN(**names), RUN(**names)
    with open_parquet(chain.file(source), source) as run:
        columns = ["query_id", "doc_id", "rank", "score"]
        rows = (row for batch in run.iter_batches() for row in zip(*(batch[key].to_pylist() for key in columns), strict=True))
        expected = (f"{query} Q0 {doc_id} {rank} {score:.9g} {system}\n".encode() for query, doc_id, rank, score in rows)
        for place, (line, right) in enumerate(zip_longest(read_packed_lines(chain.file(path)), expected), 1):
            if line != right:
                problem = f"{path}:{place}: {line and line[:200]!r}; no number is computed from this file"
                again = chain.repair_command(path, goal=path)
                yield Check(IN_TREC_FORM, FAILED, problem, f"{right!r}, by {source}", (path,), (), again)
                return
    yield Check(IN_TREC_FORM, PASSED, f"{path} holds every line of {source}", files=(path,))


def _check_dataset(chain: Chain, system: str, dataset: str, result: Result) -> Iterator[Check]:
    """Check that a run is ranked as it should be, and gives the recorded measures of every query and their means."""
    path, run_path, qrels_path = (form(system=system, dataset=dataset) for form in (METRICS, RUN, QRELS))
    chain.note(MANIFEST, "configuration/cutoffs", None, path)
    cutoffs, qrels = part(chain.manifest, "configuration", "cutoffs", kind=list), read_columns(chain.file(qrels_path), qrels_path)
    if (highest := pc.max(qrels["score"]).as_py()) > HIGHEST_SCORE:
        raise RecordError(f"has a judgement of {highest}, expected at most {HIGHEST_SCORE}", qrels_path)
    retrieved: dict[str, int] = {}
    yield from _check_ranking(chain, system, dataset, (result,), lambda query, ids: retrieved.update({query: len(ids)}))
    values = measure(read_columns(chain.file(run_path), run_path), qrels, cutoffs)
    again: Mapping[Any, Any] = values.set_index("query_id").to_dict("index")
    yield _compare_queries(chain, path, result, again)
    without = len(again.keys() - retrieved)
    counts = {"queries": len(again), "retrieved": sum(retrieved.values()), "queries_without_results": without}
    if RETRIEVED_LIMIT in part(chain.record(path), "counts", kind=dict):
        counts[RETRIEVED_LIMIT] = retrieved_limit([length for query, length in retrieved.items() if query in again])
    yield _compare_means(chain, path, result, again, counts)


def _check_ranking(
    chain: Chain, system: str, dataset: str, results: tuple[Result, ...], take: Callable[[str, list[str]], None]
) -> Iterator[Check]:
    """Check the ranking of a run, and hand each query with its documents to ``take``, best first."""
    run_path = RUN(system=system, dataset=dataset)
    rules, retrieved, last = run_rules(chain, system, dataset), 0, ""
    unknown = unknown_documents(chain, system, dataset)
    problem = f"{len(unknown)} documents are in no corpus, the first is {unknown[0]!r}" if unknown else ""
    with_results: set[str] = set()
    for query, ids, scores in read_run(chain, run_path):
        problem = problem or rules.problem((query, ids, scores))
        problem = problem or (f"query {query!r} is not in its place, or comes twice" if with_results and query <= last else "")
        retrieved, last = retrieved + len(ids), query
        with_results.add(query)
        take(query, ids)
    for query in sorted(rules.queries - with_results):
        problem = problem or rules.problem((query, [], []))
    found, files = f"{run_path}: {problem or f'{len(with_results)} queries, {retrieved} documents'}", (run_path,)
    if problem:
        expected = "score descending, then document id descending; each document of the corpus at most once"
        yield chain.failed(RANKED, run_path, found, expected, results)
    else:
        yield Check(RANKED, PASSED, found, files=files)


def _compare_queries(chain: Chain, path: str, result: Result, again: Mapping[str, Mapping[str, float]]) -> Check:
    """Check that the Parquet of every query has the measures that were computed again."""
    name, file = "measures of every query are what the run gives", path.removesuffix(".json") + ".parquet"
    table = read_columns(chain.file(file), file)
    recorded = {values["query_id"]: values for values in table.to_pylist()}
    expected_names = {"query_id", *(measure for values in again.values() for measure in values)}
    worst = (0.0, "", "")
    if list(recorded) == sorted(again) and table.num_rows == len(again) and set(table.column_names) == expected_names:
        differences = (
            (_distance(recorded[query][measure], value), query, measure)
            for query, values in again.items()
            for measure, value in values.items()
        )
        worst = max(differences, key=lambda found: math.inf if math.isnan(found[0]) else found[0])
        if worst[0] <= TOLERANCE:
            found = f"{file}: {len(again)} queries, {len(expected_names) - 1} measures, at most {worst[0]:.1e} apart"
            return Check(name, PASSED, found, files=(file,))
        found = f"{file} says {recorded[worst[1]][worst[2]]!r} for {worst[2]} of query {worst[1]!r}"
        expected = f"{again[worst[1]][worst[2]]!r}, by the run and the judgements"
    else:
        found = f"{file} has {table.num_rows} rows and {len(table.column_names) - 1} measures, or others"
        expected = f"{len(again)} queries in the order of their ids, and {len(expected_names) - 1} measures"
    return chain.failed(name, file, found, expected, [result])


def _distance(recorded: float | None, value: float) -> float:
    """Return the difference of two values, 0 where both are none, as of a measure of a topic at another query of it."""
    if recorded is None or math.isnan(value):
        return 0.0 if recorded is None and math.isnan(value) else math.nan
    return abs(recorded - value)


def _compare_means(
    chain: Chain, path: str, result: Result, again: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]
) -> Check:
    """Check that the JSON has the means of what was computed again, and counts that are true."""
    record, queries = chain.record(path), list(again.values())
    known = {name: [values[name] for values in queries if not math.isnan(values[name])] for name in queries[0]}
    means = {name: math.fsum(values) / len(values) for name, values in known.items()}
    recorded = {key: part(record, "counts", key) for key in counts}
    chain.note(path, "measures", means, RUN(**(METRICS.names_in(path) or {})))
    chain.note(path, "counts", recorded, RUN(**(METRICS.names_in(path) or {})))
    return _compare(chain, path, result, {**part(record, "measures", kind=dict), **recorded}, {**means, **counts}, "its run")


def _check_mean(chain: Chain, path: str, result: Result) -> Iterator[Check]:
    """Check that a dataset of forums has the means of its forums, and another the name that its path has."""
    system, dataset = result
    record = chain.record(path)
    if (part(record, "system"), part(record, "dataset")) != result:
        raise RecordError(f"is about {record['system']} on {record['dataset']}")
    for key in ("system", "dataset"):
        chain.note(path, key, record[key], "its path")
    if result in chain.evaluated:
        yield Check("records are where they belong", PASSED, f"{path} is about {system} on {dataset}", files=(path,))
        return
    named = [corpus["name"] for corpus in part(chain.manifest, "datasets", dataset, kind=list)]
    paths = [METRICS(system=system, dataset=name) for name in named]
    if list(part(record, "inputs", kind=dict)) != paths:
        raise RecordError(f"is the mean of {', '.join(record['inputs'])}, but the forums are {', '.join(named)}")
    forums = [part(chain.record(forum), "measures", kind=dict) for forum in paths]
    expected = {name: math.fsum(forum[name] for forum in forums) / len(forums) for name in forums[0]}
    chain.note(path, "measures", expected, "its forums")
    yield _compare(chain, path, result, part(record, "measures", kind=dict), expected, "its forums")


def _compare(
    chain: Chain, path: str, result: Result, recorded: Mapping[str, Any], expected: Mapping[str, float], source: str
) -> Check:
    if set(recorded) != set(expected):
        wrong = f"{', '.join(sorted(set(recorded) ^ set(expected)))} are on one side only"
        return chain.failed(MEANS, path, f"{path}: {wrong}", f"those that {source} give", [result])
    differ = [key for key, value in expected.items() if not abs(recorded[key] - value) <= TOLERANCE]
    if differ:
        found = ", ".join(f"{key} {recorded[key]!r}" for key in differ[:5])
        right = ", ".join(f"{key} {expected[key]!r}" for key in differ[:5])
        return chain.failed(MEANS, path, f"{path} says {found}", f"{right}, by {source}", [result])
    return Check(MEANS, PASSED, f"{path}: {len(expected)} results are those of {source}", files=(path,))
