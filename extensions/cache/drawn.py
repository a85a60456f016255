"""A drawn sample of what was taken from the cache, computed again by the step that would have computed it."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.config.families import FAMILIES
from beirflow.core.artifact import SOURCES, Artifact
from beirflow.core.errors import DataError
from beirflow.core.kinds import is_one_of
from beirflow.core.layout import QUERY_TOKEN_VECTORS, QUERY_VECTORS, QUERY_WEIGHTS
from beirflow.core.verified import reading
from beirflow.core.writing import PARTIAL
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.dense.vectors import Vectors
from beirflow.families.late_interaction.vectors import in_rows, in_segments, read_segments
from beirflow.families.rerank.pairs import Pairs, pairs_of_block
from beirflow.families.rows import distance, rows_of
from beirflow.families.sparse.files import QueryWeights, Rows, read_queries
from beirflow.models.computing.model_settings import Computing
from beirflow.ranking.candidates import COLUMNS, Candidates
from beirflow.ranking.searched import SELF_MATCHES
from beirflow.run.rule_call import Work

DRAWN = 8  # texts, queries or pairs of a file, or all of a smaller one

VARYING = {"system", SOURCES, SELF_MATCHES, "rows", "distinct_texts", "made", "counts", "seconds", "computation"}
"""Facts of a record that are another for other texts, another machine or another name."""

OF_QUERIES = (QUERY_VECTORS, QUERY_TOKEN_VECTORS, QUERY_WEIGHTS)

BY_CHOICE = ("float32", "float16", "bfloat16")  # precisions that ``auto`` chooses


class Drawn:
    """Documents or queries of which a step reads only some rows, drawn when it reads them."""

    def __init__(self, texts: Any) -> None:
        self._texts, self.path = texts, texts.path
        self.rows, self.texts_of_file = np.empty(0, np.int64), 0

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns of the drawn queries."""
        return self._drawn(self._texts.read(columns))

    def texts(self, *arguments: Any) -> pa.Table:
        """Read the texts of the drawn documents of a chunk."""
        return self._drawn(self._texts.texts(*arguments))

    def _drawn(self, table: pa.Table) -> pa.Table:
        if not self.texts_of_file:  # a second table has the same rows
            self.texts_of_file, self.rows = len(table), _drawn_rows(len(table))
        return table.take(self.rows)


class DrawnRun(NamedTuple):
    """A part of a run, which a step reads in place of the whole."""

    rows: pa.Table

    def read(self) -> pa.Table:
        """Return the part."""
        return self.rows


def _drawn_rows(count: int) -> np.ndarray:
    # By chance: whoever forges an entry must not know which.
    return np.sort(np.random.default_rng().permutation(count)[:DRAWN])


def check_drawn(work: Work, path: Path, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise DataError unless an entry has the facts of the step, and drawn parts are as near as its precision allows.

    Returns the facts of the drawn parts.
    """
    checks = {Pairs: _check_pairs, Candidates: _check_hits}
    with TemporaryDirectory(dir=path.parent, prefix=PARTIAL) as folder, reading(path):
        return checks.get(work.makes, _check_texts)(work, path, Path(folder, f"drawn{path.suffix}"), fields)


def _check_texts(work: Work, path: Path, again: Path, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    name = next(name for name, each in work.arguments.items() if isinstance(each, Documents | Queries))
    drawn = Drawn(work.arguments[name])
    made, _ = work.compute(again, **{name: drawn})
    _check_facts(work, fields, made.fields, drawn.texts_of_file)
    try:
        stored = rows_of(path, drawn.rows)
    except IndexError as error:
        raise DataError(f"it has no row {drawn.rows[-1]}, so it is of other texts") from error
    pairs = zip(stored, rows_of(again, np.arange(len(drawn.rows))), strict=True)
    _check_apart(work, max((distance(*pair) for pair in pairs), default=0.0), fields, made.fields)
    return made.fields


def _check_hits(work: Work, path: Path, again: Path, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Search a few queries again: hits of a query depend on nothing else, and are the same on every machine."""
    drawn, every = Drawn(work.arguments["queries"]), work.arguments["documents"].sizes
    query_ids = drawn.read(["query_id"])["query_id"].to_pylist()
    arguments = {**work.arguments, "queries": drawn}
    for each in (each for each in work.opened if is_one_of(each.name, OF_QUERIES)):
        of_drawn = _of_drawn(each, work, drawn.rows, again.with_suffix(".queries"))
        arguments = {name: _with(given, each, of_drawn) for name, given in arguments.items()}
    made, _ = work.compute(again, **arguments)
    made.fields.pop("read", None)  # no file besides the inputs
    _check_facts(work, fields, made.fields, None)
    (query, row, score), (number, *found) = map(_read_hits, (path, again))
    limits = ((query, drawn.texts_of_file), (row, every[int(work.rule.wildcards["chunk"])]))
    if not (np.diff(query) >= 0).all() or not np.isfinite(score).all() or any(_outside(*each) for each in limits):
        raise DataError("it has hits of other queries or documents, or none that are sorted")
    is_drawn = np.isin(query, drawn.rows)
    stored = query[is_drawn], row[is_drawn], score[is_drawn]
    if not all(map(np.array_equal, stored, (drawn.rows[number], *found))):
        raise DataError("queries that were drawn find other documents, or the same with other scores, here")
    own, scores = made.fields.get(SELF_MATCHES, {}), fields.get(SELF_MATCHES, {})
    is_own = isinstance(scores, dict) and {name: scores[name] for name in query_ids if name in scores} == own
    if not is_own or not all(isinstance(each, float) for each in scores.values()) or fields["made"] != made.fields["made"]:
        raise DataError("the entry has other facts than the step records")
    return made.fields


def _outside(numbers: np.ndarray, limit: int) -> bool:
    return bool(numbers.min(initial=0) < 0 or numbers.max(initial=-1) >= limit)


def _read_hits(path: Path) -> list[np.ndarray]:
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    if not table.schema.equals(COLUMNS):
        raise DataError("it has other columns than candidates")
    return [table[name].to_numpy() for name in COLUMNS.names]


def _of_drawn(of_queries: Artifact, work: Work, rows: np.ndarray, path: Path) -> Artifact:
    """Write what represents drawn queries to a file of their own."""
    drawn, whole = copy(of_queries), of_queries.path
    drawn.path = path
    data: Any
    if isinstance(of_queries, Vectors):
        data = len(rows), [np.load(whole, mmap_mode="r", allow_pickle=False)[rows]]
    elif isinstance(of_queries, QueryWeights):
        quantize = work.arguments["settings"].quantize
        weights = read_queries(whole, quantize)
        data = [Rows.together([weights.one(row) for row in rows.tolist()])], quantize
    else:
        data = in_segments([in_rows(read_segments(whole), of_queries.record["rows"]).take(rows)], np.arange(len(rows)))
    with path.open("wb") as stream:
        drawn.write(stream, data)
    return drawn


def _with(given: Any, old: Artifact, new: Artifact) -> Any:
    """Return an argument, or an object of files, with another file in the place of one."""
    if given is old:
        return new
    parts = given._asdict() if hasattr(given, "_asdict") else vars(given) if is_dataclass(given) else {}
    changed = {name: new for name, each in parts.items() if each is old}
    if not changed:
        return given
    return given._replace(**changed) if hasattr(given, "_replace") else replace(given, **changed)


def _check_pairs(work: Work, path: Path, again: Path, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    of, run, query_ids = work.arguments["of"], work.arguments["first_run"].read(), work.arguments["queries"].read(["query_id"])
    depth = work.arguments["scoring"].settings.depth
    wanted = pairs_of_block(run, query_ids["query_id"].combine_chunks(), depth, of.block, of.blocks)
    stored = pq.ParquetFile(path).read()
    if not wanted.num_rows or not stored.select(wanted.column_names).equals(wanted):
        raise DataError("it has other pairs than the first stage, or none")
    drawn = stored.take(_drawn_rows(len(stored)))
    pairs = {*zip(*(drawn[name].to_pylist() for name in wanted.column_names), strict=True)}
    near = run.filter(pc.is_in(run["query_id"], value_set=drawn["query_id"]))
    rows = [pair in pairs for pair in zip(*(near[name].to_pylist() for name in wanted.column_names), strict=True)]
    made, _ = work.compute(again, first_run=DrawnRun(near.filter(pa.array(rows))))
    _check_facts(work, fields, made.fields, wanted.num_rows)
    scores = (each["score"].to_numpy().astype(np.float64) for each in (drawn, pq.ParquetFile(again).read()))
    _check_apart(work, distance(*((None, each) for each in scores)), fields, made.fields)
    return made.fields


def _check_apart(work: Work, apart: float, fields: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    most = max(_tolerance(work, str(each["made"].get("precision"))) for each in (fields, here))
    if not apart <= most:
        found = f"what was drawn is {apart:.1e} of its length from what the model computes here"
        raise DataError(f"{found}, at most {most:.0e} was expected: the entry was not computed as it says")


def _check_facts(work: Work, fields: Mapping[str, Any], here: Mapping[str, Any], rows: int | None) -> None:
    """Refuse facts that the step does not record, or records otherwise for what was drawn."""
    both = [{key: value for key, value in facts.items() if key not in VARYING} for facts in (fields, here)]
    if json.loads(json.dumps(both[1])) != both[0] or not isinstance(fields.get("made"), Mapping):
        raise DataError("the entry has other facts than the step records")
    numbers = [fields.get("distinct_texts")] if "distinct_texts" in here else []
    for key, expected in (("counts", here["counts"]), ("seconds", here.get("seconds", {work.step.stage: 0}))):
        if not isinstance(fields.get(key), Mapping) or fields[key].keys() != expected.keys():
            raise DataError(f"the entry has other {key} than the step records")
        numbers += fields[key].values()
    if fields.get("rows", fields["counts"].get("pairs")) != rows or not all(
        isinstance(each, int | float) and 0 <= each < float("inf") for each in numbers
    ):
        raise DataError("the entry has numbers that are none, or are those of other texts")
    precision, own = (str(facts["made"].get("precision")) for facts in (fields, here))
    if precision != own and (work.rule.params["precision"] != "auto" or precision not in BY_CHOICE):
        raise DataError(f"the entry was computed in the precision {precision}, and {own} is used here")


def _tolerance(work: Work, precision: str) -> float:
    """Return how far what the step makes may be from what it made in a precision."""
    family = next(each for each in FAMILIES.values() if work.rule.rule in [stage.rule for stage in each.stages])
    settings = next(each.settings for each in work.arguments.values() if isinstance(each, Computing))
    if isinstance(settings, family.settings):
        return family.tolerance(settings, precision)
    return family.within.get(precision, family.within["unknown"])  # of an encoder alone, before its vectors are compressed
