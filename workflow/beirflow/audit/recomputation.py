"""Do the runs and judgements give the metrics, and the metrics the summary?

Metrics are computed again by another path than the one that made them: ``plain_measures.py``, one query at a time.
"""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.chain import Chain, part
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, RecordError, Result, unique, unreadable
from beirflow.audit.plain_measures import measures_of_query
from beirflow.audit.trec_check import check_trec
from beirflow.evaluation.summary import summary_table
from beirflow.experiment.catalogue import CATALOGUE
from beirflow.files.digests import file_digest
from beirflow.files.layout import METRICS, QRELS, RUN, RUN_RECORD, SUMMARY, TREC_RUN
from beirflow.runs.ranking import ties_of

TOLERANCE = 1e-9


def check_recomputation(chain: Chain) -> list[Check]:
    """Compute metrics and summary again and compare.

    Args:
        chain: What records say.

    Returns:
        Checks for every run, for every dataset of forums, and for the summary.
    """
    checks: list[Check] = []
    for (system, dataset), dataset_row in chain.evaluated.items():
        names = {"system": system, "dataset": dataset}
        result, path = (system, dataset_row), METRICS(**names)
        try:
            checks += _check_dataset(chain, system, dataset, result)
        except UNREADABLE as error:
            cause = getattr(error, "path", None) or path
            checks.append(unreadable("metrics are what the run gives", cause, error, [result], chain.repair_command(cause)))
        if (chain.folder / TREC_RUN(**names)).is_file():
            checks.append(check_trec(chain, system, dataset, result))
    checks += [_check_mean(chain, path, result) for path, result in chain.means.items()]
    try:
        checks.append(_check_summary(chain))
    except UNREADABLE as error:
        results = unique(chain.results[SUMMARY])
        checks.append(unreadable("the summary is what the metrics give", SUMMARY, error, results, chain.repair_command(SUMMARY)))
    return checks


def _check_dataset(chain: Chain, system: str, dataset: str, result: Result) -> Iterator[Check]:
    """The run is ranked as it should be, and gives the recorded measures of every query and their means."""
    names = {"system": system, "dataset": dataset}
    run_path, path = RUN(**names), METRICS(**names)
    qrels = _read_qrels(chain, QRELS(dataset=dataset))
    judged = {doc_id for grades in qrels.values() for doc_id in grades}
    cutoffs = part(chain.manifest, "configuration", "cutoffs", kind=list)
    ties = ties_of(chain.records.get(RUN_RECORD(**names)) or {})
    limit, drop = part(chain.manifest, "configuration", "top_k", kind=int), chain.corpora[dataset]["drop_self_matches"]
    again = {query: measures_of_query([], grades, judged, cutoffs) for query, grades in qrels.items()}
    retrieved, with_results, problem = 0, set(), ""
    for query, ids, scores in _read_run(chain, run_path):
        problem = (
            problem
            or _ranking_problem(query, ids, scores, limit, drop, ties)
            or (f"query {query!r} comes twice" if query in with_results else "")
        )
        retrieved += len(ids)
        with_results.add(query)
        if query in qrels:
            again[query] = measures_of_query(ids, qrels[query], judged, cutoffs)
    found, files = f"{run_path}: {problem or f'{len(with_results)} queries, {retrieved} documents'}", (run_path,)
    if problem:
        expected = f"score descending, then document id {ties}; no document twice"
        yield Check("runs follow the ranking rule", FAILED, found, expected, files, (result,), chain.repair_command(run_path))
    else:
        yield Check("runs follow the ranking rule", PASSED, found, files=files)
    yield _compare_queries(chain, path, result, again)
    counts = {"queries": len(qrels), "retrieved": retrieved, "queries_without_results": len(set(qrels) - with_results)}
    yield _compare_means(chain, path, result, again, counts)


def _read_run(chain: Chain, path: str) -> Iterator[tuple[str, list[str], list[float]]]:
    """Query, ids and scores of its documents, one query at a time, in the order of the file."""
    for query, of_query in groupby(_rows(chain, path, "query_id", "doc_id", "score", "rank"), key=itemgetter(0)):
        _, ids, scores, ranks = (list(column) for column in zip(*of_query, strict=True))
        if ranks != list(range(1, len(ids) + 1)):
            raise RecordError(f"the ranks of query {query!r} do not count from 1 to {len(ids)}", path)
        yield query, ids, scores


def _read_qrels(chain: Chain, path: str) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for query, doc_id, grade in _rows(chain, path, "query_id", "doc_id", "score"):
        qrels.setdefault(query, {})[doc_id] = grade
    return qrels


def _rows(chain: Chain, path: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Rows of a Parquet file."""
    try:
        with pq.ParquetFile(chain.folder / path) as file:
            for batch in file.iter_batches(columns=list(columns)):
                yield from zip(*(column.to_pylist() for column in batch.select(list(columns)).columns), strict=True)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise RecordError(f"cannot be read, {type(error).__name__}: {str(error)[:200]}", path) from error


def _ranking_problem(query: str, ids: Sequence[str], scores: Sequence[float], top_k: int, drop: bool, ties: str) -> str:
    """What is wrong with the documents of a query or with their order; empty if nothing is."""
    if len(ids) > top_k or len(set(ids)) < len(ids):
        return f"query {query!r} has {len(ids)} documents, {len(set(ids))} of them different; top_k is {top_k}"
    if drop and query in ids:
        return f"query {query!r} found the document of its own id, which is dropped for this dataset"
    # Code points of Python sort as bytes of UTF-8 do.
    pairs = pairwise(zip(scores, ids, strict=True))
    if any(b > a or (b == a and (y < x if ties == "ascending" else y > x)) for (a, x), (b, y) in pairs):
        return f"query {query!r} is out of order"
    return ""


def _compare_queries(chain: Chain, path: str, result: Result, again: Mapping[str, Mapping[str, float]]) -> Check:
    """The Parquet of every query has the measures that were computed again."""
    name, file = "measures of every query are what the run gives", path.removesuffix(".json") + ".parquet"
    table: pa.Table = pq.read_table(chain.folder / file)
    recorded = {values["query_id"]: values for values in table.to_pylist()}
    expected_names = {"query_id", *(measure for values in again.values() for measure in values)}
    worst = (0.0, "", "")
    if set(recorded) == set(again) and set(table.column_names) == expected_names:
        differences = (
            (abs(recorded[query][measure] - value), query, measure)
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
        found = f"{file} has {len(recorded)} queries and {len(table.column_names) - 1} measures, or others"
        expected = f"{len(again)} queries and {len(expected_names) - 1} measures"
    return Check(name, FAILED, found, expected, (file,), (result,), chain.repair_command(file))


def _compare_means(
    chain: Chain, path: str, result: Result, again: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]
) -> Check:
    """The JSON has the means of what was computed again, and counts that are true."""
    record, queries = chain.record(path), list(again.values())
    means = {name: math.fsum(values[name] for values in queries) / len(queries) for name in queries[0]}
    recorded = {key: part(record, "counts", key) for key in counts}
    return _compare(chain, path, result, {**part(record, "measures", kind=dict), **recorded}, {**means, **counts}, "its run")


def _check_mean(chain: Chain, path: str, result: Result) -> Check:
    """A dataset of forums has the means of its forums; another has the name that its path has."""
    system, dataset = result
    try:
        record = chain.record(path)
        if (part(record, "system"), part(record, "dataset")) != result:
            raise RecordError(f"is about {record['system']} on {record['dataset']}")
        if result in chain.evaluated:
            return Check("records are where they belong", PASSED, f"{path} is about {system} on {dataset}", files=(path,))
        named = [corpus["name"] for corpus in part(chain.manifest, "datasets", dataset, kind=list)]
        paths = [METRICS(system=system, dataset=name) for name in named]
        if list(part(record, "inputs", kind=dict)) != paths:
            raise RecordError(f"is the mean of {', '.join(record['inputs'])}, but the forums are {', '.join(named)}")
        forums = [part(chain.record(forum), "measures", kind=dict) for forum in paths]
        expected = {name: math.fsum(forum[name] for forum in forums) / len(forums) for name in forums[0]}
        return _compare(chain, path, result, part(record, "measures", kind=dict), expected, "its forums")
    except UNREADABLE as error:
        return unreadable("means are what they are means of", path, error, [result], chain.repair_command(path))


def _compare(
    chain: Chain, path: str, result: Result, recorded: Mapping[str, Any], expected: Mapping[str, float], source: str
) -> Check:
    name = "means are what they are means of"
    if set(recorded) != set(expected):
        wrong = f"{', '.join(sorted(set(recorded) ^ set(expected)))} are on one side only"
        return Check(
            name, FAILED, f"{path}: {wrong}", f"those that {source} give", (path,), (result,), chain.repair_command(path)
        )
    differ = [key for key, value in expected.items() if not abs(recorded[key] - value) <= TOLERANCE]
    if differ:
        found = ", ".join(f"{key} {recorded[key]!r}" for key in differ[:5])
        right = ", ".join(f"{key} {expected[key]!r}" for key in differ[:5])
        return Check(
            name, FAILED, f"{path} says {found}", f"{right}, by {source}", (path,), (result,), chain.repair_command(path)
        )
    return Check(name, PASSED, f"{path}: {len(expected)} results are those of {source}", files=(path,))


def _check_summary(chain: Chain) -> Check:
    """The table holds the metrics, and is the same text when it is made again."""
    name, path, again = "the summary is what the metrics give", str(SUMMARY), chain.repair_command(SUMMARY)
    written = (chain.folder / path).read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(written)))
    for means_path, result in chain.means.items():
        if problem := _row_problem(chain.record(means_path), rows):
            return Check(name, FAILED, f"{path}: {problem[0]}", problem[1], (path,), (result,), again)
    if part(chain.manifest, "published_sha256") != file_digest(CATALOGUE / "published.yaml"):
        found = "every dataset has its metrics; averages and published scores were not made again, since the catalogue is another"
        return Check(name, NOT_CHECKED, found, "the catalogue that the manifest names", (path,))
    made = summary_table([str(chain.folder / name) for name in chain.means]).to_csv(index=False)
    if made != written:
        lines = zip(made.splitlines(), written.splitlines(), strict=False)
        line = next((i for i, pair in enumerate(lines, 1) if pair[0] != pair[1]), 0)
        found, expected = (text.splitlines()[line - 1][:200] if line else f"{len(text)} characters" for text in (written, made))
        return Check(name, FAILED, f"line {line}: {found}", expected, (path,), unique(chain.results[path]), again)
    return Check(name, PASSED, f"{len(rows)} rows, the same text", files=(path,))


def _row_problem(record: Any, rows: Sequence[Mapping[str, str]]) -> tuple[str, str] | None:
    """Where the row of a dataset differs from its metrics: what was found, and what was expected."""
    system, dataset, measures = part(record, "system"), part(record, "dataset"), part(record, "measures", kind=dict)
    mine = [values for values in rows if (values["system"], values["dataset"]) == (system, dataset)]
    if len(mine) != 1:
        return f"{len(mine)} rows for {system} on {dataset}", "one"
    shown = {name: value for name, value in mine[0].items() if name in measures}
    for name, value in shown.items():
        if float(value) != measures[name]:
            return f"{name} of {system} on {dataset} is {value}", f"{measures[name]!r}, by its metrics"
    return None if shown else (f"no measure for {system} on {dataset}", "at least one")
