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
from beirflow.audit.checks import FAILED, NOT_CHECKED, PASSED, UNREADABLE, Check, Number, RecordError, damaged, row
from beirflow.audit.plain_measures import measures_of_query
from beirflow.audit.trec_check import check_trec
from beirflow.evaluation.summary import summary_table
from beirflow.experiment.catalogue import CATALOGUE
from beirflow.files.digests import file_digest

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
        number, path = (system, dataset_row), f"metrics/{system}/{dataset}.json"
        try:
            checks += _check_dataset(chain, system, dataset, number)
        except (RecordError, *UNREADABLE) as error:
            cause = getattr(error, "path", None) or path
            checks.append(damaged("metrics are what the run gives", cause, error, [number], chain.again(cause)))
        if (chain.folder / f"runs/{system}/{dataset}.trec.gz").is_file():
            checks.append(check_trec(chain, system, dataset, number))
    checks += [_check_mean(chain, path) for path in part(chain.manifest, "from_sha256", "metrics")]
    try:
        checks.append(_check_summary(chain))
    except (RecordError, *UNREADABLE) as error:
        numbers = row(chain.numbers["summary.csv"])
        checks.append(damaged("the summary is what the metrics give", "summary.csv", error, numbers, _summary_again(chain)))
    return checks


def _check_dataset(chain: Chain, system: str, dataset: str, number: Number) -> Iterator[Check]:
    """The run is ranked as it should be, and gives the recorded measures of every query and their means."""
    run_path, path = f"runs/{system}/{dataset}.parquet", f"metrics/{system}/{dataset}.json"
    qrels = _read_qrels(chain, f"corpora/{dataset}/qrels.parquet")
    judged = {doc_id for grades in qrels.values() for doc_id in grades}
    cutoffs = part(chain.manifest, "configuration", "cutoffs", kind=list)
    limit, drop = part(chain.manifest, "configuration", "top_k", kind=int), chain.corpora[dataset]["drop_self_matches"]
    again = {query: measures_of_query([], grades, judged, cutoffs) for query, grades in qrels.items()}
    retrieved, with_results, problem = 0, set(), ""
    for query, ids, scores in _read_run(chain, run_path):
        problem = (
            problem
            or _ranking_problem(query, ids, scores, limit, drop)
            or (f"query {query!r} comes twice" if query in with_results else "")
        )
        retrieved += len(ids)
        with_results.add(query)
        if query in qrels:
            again[query] = measures_of_query(ids, qrels[query], judged, cutoffs)
    found, files = f"{run_path}: {problem or f'{len(with_results)} queries, {retrieved} documents'}", (run_path,)
    if problem:
        expected = "score descending, then document id descending; no document twice"
        yield Check("runs follow the ranking rule", FAILED, found, expected, files, (number,), chain.again(run_path))
    else:
        yield Check("runs follow the ranking rule", PASSED, found, files=files)
    yield _compare_queries(chain, path, number, again)
    counts = {"queries": len(qrels), "retrieved": retrieved, "queries_without_results": len(set(qrels) - with_results)}
    yield _compare_means(chain, path, number, again, counts)


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


def _ranking_problem(query: str, ids: Sequence[str], scores: Sequence[float], top_k: int, drop: bool) -> str:
    """What is wrong with the documents of a query or with their order; empty if nothing is."""
    if len(ids) > top_k or len(set(ids)) < len(ids):
        return f"query {query!r} has {len(ids)} documents, {len(set(ids))} of them different; top_k is {top_k}"
    if drop and query in ids:
        return f"query {query!r} found the document of its own id, which is dropped for this dataset"
    # Code points of Python sort as bytes of UTF-8 do.
    if any(later > earlier for earlier, later in pairwise(zip(scores, ids, strict=True))):
        return f"query {query!r} is out of order"
    return ""


def _compare_queries(chain: Chain, path: str, number: Number, again: Mapping[str, Mapping[str, float]]) -> Check:
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
    return Check(name, FAILED, found, expected, (file,), (number,), chain.again(file))


def _compare_means(
    chain: Chain, path: str, number: Number, again: Mapping[str, Mapping[str, float]], counts: Mapping[str, int]
) -> Check:
    """The JSON has the means of what was computed again, and counts that are true."""
    record, queries = chain.records[path], list(again.values())
    means = {name: math.fsum(values[name] for values in queries) / len(queries) for name in queries[0]}
    recorded = {key: part(record, "counts", key) for key in counts}
    return _compare(chain, path, number, {**part(record, "measures", kind=dict), **recorded}, {**means, **counts}, "its run")


def _check_mean(chain: Chain, path: str) -> Check:
    """A dataset of forums has the means of its forums; another has the name and the place that it says."""
    system, dataset = path.removesuffix(".json").split("/")[1:]
    number = (system, dataset)
    try:
        record = part(chain.records, path, kind=dict)
        if (part(record, "system"), part(record, "dataset")) != number:
            raise RecordError(f"is about {record['system']} on {record['dataset']}")
        if "sha256" in record:
            return Check("records stand where they belong", PASSED, f"{path} is about {system} on {dataset}", files=(path,))
        named = [corpus["name"] for corpus in part(chain.manifest, "datasets", dataset, kind=list)]
        if list(part(record, "from_sha256", kind=dict)) != named:
            raise RecordError(f"is the mean of {', '.join(record['from_sha256'])}, but the forums are {', '.join(named)}")
        forums = [part(chain.records, f"metrics/{system}/{name}.json", "measures", kind=dict) for name in named]
        expected = {name: math.fsum(forum[name] for forum in forums) / len(forums) for name in forums[0]}
        return _compare(chain, path, number, part(record, "measures", kind=dict), expected, "its forums")
    except (RecordError, *UNREADABLE) as error:
        return damaged("means are what they are means of", path, error, [number], chain.again(path))


def _compare(
    chain: Chain, path: str, number: Number, recorded: Mapping[str, Any], expected: Mapping[str, float], source: str
) -> Check:
    name = "means are what they are means of"
    if set(recorded) != set(expected):
        wrong = f"{', '.join(sorted(set(recorded) ^ set(expected)))} stand on one side alone"
        return Check(name, FAILED, f"{path}: {wrong}", f"those that {source} give", (path,), (number,), chain.again(path))
    differ = [key for key, value in expected.items() if not abs(recorded[key] - value) <= TOLERANCE]
    if differ:
        found = ", ".join(f"{key} {recorded[key]!r}" for key in differ[:5])
        right = ", ".join(f"{key} {expected[key]!r}" for key in differ[:5])
        return Check(name, FAILED, f"{path} says {found}", f"{right}, by {source}", (path,), (number,), chain.again(path))
    return Check(name, PASSED, f"{path}: {len(expected)} numbers are those of {source}", files=(path,))


def _summary_again(chain: Chain) -> str:
    return f"rm -f {chain.shown}/summary.csv; snakemake --cores 2 {chain.shown}/summary.csv"


def _check_summary(chain: Chain) -> Check:
    """The table holds the metrics, and is the same text when it is made again."""
    name, path = "the summary is what the metrics give", "summary.csv"
    written = (chain.folder / path).read_text(encoding="utf-8")
    names = list(part(chain.manifest, "from_sha256", "metrics", kind=dict))
    rows = list(csv.DictReader(io.StringIO(written)))
    for path_of_row in names:
        problem = _row_problem(chain.records[path_of_row], rows)
        if problem:
            number = tuple(path_of_row.removesuffix(".json").split("/")[1:])
            return Check(
                name, FAILED, f"summary.csv: {problem[0]}", problem[1], (path,), ((number[0], number[1]),), _summary_again(chain)
            )
    if part(chain.manifest, "from_sha256", "published.yaml") != file_digest(CATALOGUE / "published.yaml"):
        found = "every dataset has its metrics; averages and published scores were not made again, since the catalogue is another"
        return Check(name, NOT_CHECKED, found, "the catalogue that the manifest names", (path,))
    again = summary_table([str(chain.folder / name) for name in names]).to_csv(index=False)
    if again != written:
        line = next(
            (i for i, pair in enumerate(zip(again.splitlines(), written.splitlines(), strict=False), 1) if pair[0] != pair[1]), 0
        )
        found, expected = (text.splitlines()[line - 1][:200] if line else f"{len(text)} characters" for text in (written, again))
        return Check(name, FAILED, f"line {line}: {found}", expected, (path,), row(chain.numbers[path]), _summary_again(chain))
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
