"""A drawn sample of what was taken from the cache, computed again by the step that would have computed it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.config.families import FAMILIES
from beirflow.core.errors import DataError
from beirflow.core.verified import reading
from beirflow.core.writing import PARTIAL
from beirflow.data.corpus_files import Documents, Queries
from beirflow.families.rerank.pairs import Pairs, pairs_of_block
from beirflow.families.rows import distance, rows_of
from beirflow.models.computing.model_settings import Computing
from beirflow.run.rule_call import Work

DRAWN = 8  # texts or pairs of a file, or all of a smaller one

VARYING = {"system", "rows", "distinct_texts", "made", "counts", "seconds", "computation"}
"""Facts of a record that are another for other texts, another machine or another name."""

BY_CHOICE = ("float32", "float16", "bfloat16")  # precisions that ``auto`` chooses


class Drawn:
    """Documents or queries of which a step reads only some rows, drawn when it reads them."""

    def __init__(self, texts: Any) -> None:
        self._texts = texts
        self.rows, self.texts_of_file = np.empty(0, np.int64), 0

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns of the drawn queries."""
        return self._drawn(self._texts.read(columns))

    def texts(self, *arguments: Any) -> pa.Table:
        """Read the texts of the drawn documents of a chunk."""
        return self._drawn(self._texts.texts(*arguments))

    def _drawn(self, table: pa.Table) -> pa.Table:
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


def check_drawn(work: Work, path: Path, fields: Mapping[str, Any]) -> None:
    """Raise DataError unless an entry has the facts of the step, and drawn parts are as near as its precision allows."""
    with TemporaryDirectory(dir=path.parent, prefix=PARTIAL) as folder, reading(path):
        check = _check_pairs if work.makes is Pairs else _check_texts
        check(work, path, Path(folder, f"drawn{path.suffix}"), fields)


def _check_texts(work: Work, path: Path, again: Path, fields: Mapping[str, Any]) -> None:
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


def _check_pairs(work: Work, path: Path, again: Path, fields: Mapping[str, Any]) -> None:
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


def _check_apart(work: Work, apart: float, fields: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    most = max(_tolerance(work, str(each["made"].get("precision"))) for each in (fields, here))
    if not apart <= most:
        found = f"what was drawn is {apart:.1e} of its length from what the model computes here"
        raise DataError(f"{found}, at most {most:.0e} was expected: the entry was not computed as it says")


def _check_facts(work: Work, fields: Mapping[str, Any], here: Mapping[str, Any], rows: int) -> None:
    """Refuse facts that the step does not record, or records otherwise for what was drawn."""
    both = [{key: value for key, value in facts.items() if key not in VARYING} for facts in (fields, here)]
    if json.loads(json.dumps(both[1])) != both[0] or not isinstance(fields.get("made"), Mapping):
        raise DataError("the entry has other facts than the step records")
    numbers = [fields.get("distinct_texts")] if "distinct_texts" in here else []
    for key in ("counts", "seconds"):
        if not isinstance(fields.get(key), Mapping) or fields[key].keys() != here[key].keys():
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
