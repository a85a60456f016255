"""Evaluation of a run and judgements from anywhere: mappings, frames or files, by the rules of every run of beirflow.

The command is in :mod:`beirflow.cli.evaluate`; ``docs/library.md`` has examples.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.core.errors import ConfigError, DataError
from beirflow.data.catalogue.schema import nearest
from beirflow.data.corpus_files import RELEVANT_FROM, relevant_from
from beirflow.data.judged_queries import qrels_table, without_repetition
from beirflow.data.sources.beir_files import Judgement, read_judgements
from beirflow.data.sources.json_lines import short
from beirflow.data.sources.qrels_file import QrelsFile
from beirflow.evaluation.measures import measure
from beirflow.evaluation.scores import retrieved_limit
from beirflow.evaluation.summary import SHOWN
from beirflow.ranking.run_rows import (
    Columns,
    check_repetition,
    checked_rows,
    columns_of,
    ids_as_texts,
    is_parquet,
    of_judged_queries,
    queries_ranked_otherwise,
    read_rows,
    ties_by_rounding,
)

Given: TypeAlias = Mapping[Any, Mapping[Any, Any]] | pd.DataFrame | str | PathLike[str] | Iterable[Any]
"""A run or judgements, in any of the forms of :func:`evaluate`."""

RUN_NAMES = (("query", "document", "score"), ("query_id", "doc_id", "score"), ("qid", "docno", "score"))
QRELS_NAMES = (
    ("query", "document", "grade"),
    ("query_id", "doc_id", "relevance"),
    ("query_id", "doc_id", "score"),
    ("query-id", "corpus-id", "score"),
    ("qid", "docno", "label"),
)
"""Names of columns: ours, those of ir_measures and ir_datasets, of our files, of BEIR, and of PyTerrier."""

MEASURE = re.compile(r"[^@\s]+@[1-9][0-9]{0,5}")
MOST_PLACES = 100_000  # the largest cutoff of a measure, as of ``top_k``


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of measures: of every judged query, and their means.

    Attributes:
        per_query: A row a judged query, in byte order of the ids, which are the index ``query``; a float64 column a measure.
        mean: The mean of each measure over all judged queries, float64, by its name.
        notes: Notes on the numbers, such as queries without results; often empty.
    """

    per_query: pd.DataFrame
    mean: pd.Series
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join([f"Means over {len(self.per_query)} queries", self.mean.to_string(), *self.notes])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{note.replace('&', '&amp;').replace('<', '&lt;')}</p>" for note in self.notes)
        table: str = self.mean.to_frame(f"mean over {len(self.per_query)} queries").to_html()
        return table + notes


def evaluate(
    run: Given, qrels: Given, measures: Sequence[str] | str | None = None, *, relevant_from: int | None = None
) -> Evaluation:
    """Evaluate a run by judgements, as beirflow evaluates its own runs.

    Documents rank by score, compared as float32, and equal scores by the document id, both descending, the ids in byte order: as
    trec_eval 9 ranks. Means are over all judged queries; a query without results counts 0. NDCG, MAP, Recall and P are those of
    trec_eval. Rows of queries without judgements do not count. Nothing is dropped: a document with the id of its query counts,
    which beirflow and BEIR drop where queries are documents of the corpus; ``notes`` says how many there are.

    Args:
        run: ``{query: {document: score}}``; a frame, or an iterable of rows, with the columns or attributes ``query``,
            ``document`` and ``score`` (or ``query_id``, ``doc_id``, ``score`` as ir_measures has them, or PyTerrier's ``qid``,
            ``docno``, ``score``); or the path of a TREC run, of JSON of the first form, such as MTEB's predictions, or of a
            Parquet file such as ``results/runs/bm25/scifact.parquet``; text files may be gzipped. Ids are strings or integers.
        qrels: ``{query: {document: grade}}``; a frame or rows with ``query``, ``document`` and ``grade`` (or ``query_id``,
            ``doc_id`` and ``relevance`` or ``score``; ``query-id``, ``corpus-id``, ``score``; ``qid``, ``docno``, ``label``); or
            the path of TREC's qrels, of BEIR's TSV, or of a ``qrels.parquet`` of results. Grades are integers.
        measures: Names with a cutoff of at most 100,000, such as ``"NDCG@10"``; ``beirflow list measures`` has the names. The
            default are those of ``summary.csv``.
        relevant_from: The least grade of a relevant document, for measures that do not weigh grades, as trec_eval's ``-l``. By
            default that of a ``qrels.parquet`` that says one, else 1.

    Returns:
        The values of every judged query, and their means.

    Raises:
        DataError: A file or a value is no run or no judgement, with file and line; a score is not finite; a document comes twice
            for a query; there are no judgements, or no query is in both.
        ConfigError: A measure is unknown.

    Example:
        >>> import beirflow
        >>> run = {"q1": {"d1": 0.9, "d2": 0.8}, "q2": {"d3": 0.7}}
        >>> beirflow.evaluate(run, {"q1": {"d2": 1}, "q2": {"d3": 1}}, ["MRR@10", "P@1"]).mean.to_dict()
        {'MRR@10': 0.75, 'P@1': 0.5}
    """
    judged = _with_threshold(_read_qrels(qrels), relevant_from)
    names = list(dict.fromkeys([measures] if isinstance(measures, str) else SHOWN if measures is None else measures))
    query_ids = pc.unique(judged["query_id"])
    source, parts = _read_run(run)
    rows, others = of_judged_queries(source, parts, query_ids)
    query = pc.index_in(rows["query_id"], value_set=query_ids).to_numpy()
    check_repetition(source, rows, query, rows["doc_id"].combine_chunks().dictionary_encode().indices.to_numpy())
    values = measure(rows.select(["query_id", "doc_id", "score"]), judged, _cutoffs(names))
    for name in names:
        if name not in values.columns:
            known = [column for column in values.columns if column.endswith(f"@{name.partition('@')[2]}")]
            raise ConfigError(f"{name!r} is no measure of these judgements; there are {', '.join(known)}{nearest(name, known)}")
    per_query = values.set_index(values["query_id"].rename("query"))[names]
    means = pd.Series({name: float(values[name].mean()) for name in names}, dtype=np.float64)
    return Evaluation(per_query, means, tuple(_notes(rows, query, judged, others, names)))


def _cutoffs(names: Sequence[str]) -> list[int]:
    """Return the cutoffs of measures, each once; ConfigError for what is no name with a cutoff."""
    if not names:
        raise ConfigError("measures: found none, expected at least one, such as NDCG@10")
    for name in names:
        if not isinstance(name, str) or not MEASURE.fullmatch(name) or int(name.partition("@")[2]) > MOST_PLACES:
            expected = f"expected a name and a cutoff from 1 to {MOST_PLACES:,}, such as 'NDCG@10'"
            raise ConfigError(f"measures: found {short(name)}, {expected}")
    return list(dict.fromkeys(int(name.partition("@")[2]) for name in names))


def _notes(rows: pa.Table, query: np.ndarray, judged: pa.Table, others: int, names: Sequence[str]) -> Iterable[str]:
    """Yield sentences about what the numbers do not show; ``query`` is the number of the query of each row."""
    queries = len(pc.unique(judged["query_id"]))
    lengths = np.bincount(query, minlength=queries)
    if pc.max(judged["score"]).as_py() < relevant_from(judged):
        yield f"None of the {judged.num_rows} judged documents is relevant, so that most measures are 0."
    elif not pc.any(pc.is_in(rows["doc_id"], value_set=pc.unique(judged["doc_id"]))).as_py():
        found, first = rows["doc_id"][0].as_py(), judged["doc_id"][0].as_py()
        yield f"No result is a judged document: do both have the same ids? {found!r}, and {first!r} is judged."
    if without := int((lengths == 0).sum()):
        yield f"{without} of {queries} judged queries have no result and count 0."
    if others:
        yield f"{others} rows of the run are of queries without judgements and do not count."
    limit = retrieved_limit(lengths[lengths > 0].tolist())
    if beyond := [name for name in names if int(name.partition("@")[2]) > limit > 0]:
        yield f"The results of most queries end at rank {limit}, before the cutoff of {', '.join(beyond)}."
    if itself := int(pc.sum(pc.equal(rows["query_id"], rows["doc_id"])).as_py() or 0):
        yield f"{itself} results have the id of their query; they count. Remove them if they are the query itself."
    if otherwise := queries_ranked_otherwise(rows, query):
        yield f"The ranks of {otherwise} queries contradict their scores; the scores decide, as for trec_eval."
    if ties := ties_by_rounding(rows, query):
        yield f"{ties} scores that differ are equal as float32, so that ids rank their documents, as for trec_eval 9."


def _read_run(run: Given) -> tuple[str, Iterable[pa.Table]]:
    """Return the name of a run in messages, and its rows."""
    if not isinstance(run, str | PathLike):
        return "run", [checked_rows("run", *_columns("run", run, RUN_NAMES))]
    path = _file(run, "a run")
    return str(path), read_rows(path)


def _read_qrels(qrels: Given) -> pa.Table:
    """Return judgements as the columns of ``qrels.parquet``."""
    if not isinstance(qrels, str | PathLike):
        return qrels_table(_judgements("qrels", *_columns("qrels", qrels, QRELS_NAMES)))
    path = _file(qrels, "judgements")
    if not is_parquet(path):
        return qrels_table(without_repetition(str(path), read_judgements(QrelsFile(path), "test")))
    try:
        table = pq.read_table(path)
        columns = _columns(str(path), table.to_pandas(), QRELS_NAMES)
    except pa.ArrowException as error:
        raise DataError(f"{path}: the file begins like Parquet but cannot be read ({error}); write it again") from error
    plain = qrels_table(_judgements(str(path), *columns))
    # That of results may have further columns, which some measures need, and the grade from which documents are relevant.
    is_ours = table.num_rows == plain.num_rows and table.select(table.column_names[:3]).equals(plain)
    return table if is_ours else plain.replace_schema_metadata(table.schema.metadata)


def _with_threshold(qrels: pa.Table, least: int | None) -> pa.Table:
    """Return judgements that say from which grade documents are relevant."""
    if least is not None and (isinstance(least, bool) or not isinstance(least, Integral) or least < 1):
        raise ConfigError(f"relevant_from: found {short(least)}, expected an integer of at least 1")
    return qrels.replace_schema_metadata({RELEVANT_FROM: str(relevant_from(qrels) if least is None else least)})


def _file(path: str | PathLike[str], content: str) -> Path:
    """Return the path of a file; DataError if there is none."""
    if not (file := Path(path).expanduser()).is_file():
        found = "a folder" if file.is_dir() else "no such file"
        raise DataError(f"{file}: expected a file with {content}, found {found}")
    return file


def _columns(source: str, given: Any, names: Sequence[tuple[str, str, str]]) -> Columns:
    """Return queries, documents and values of a run or judgements in memory, as they are."""
    known = " or ".join(map(", ".join, names))
    expected = f"expected a mapping {{query: {{document: {names[0][2]}}}}}, or a frame with the columns {known}"
    if isinstance(given, Mapping):
        return columns_of(source, given, expected)
    if isinstance(given, pd.DataFrame):
        chosen = next((each for each in names if {*each} <= {*given.columns}), None)
        if chosen is None or not given.columns.is_unique:
            raise DataError(f"{source}: {expected}; found the columns {short(', '.join(map(str, given.columns)))}")
        return cast(Columns, tuple(given[name].tolist() for name in chosen))
    if not isinstance(given, Iterable):
        raise DataError(f"{source}: {expected}; found {short(given)}")
    entries = list(given)
    chosen = next((each for each in names if all(hasattr(entry, name) for entry in entries for name in each)), None)
    if chosen is None:
        raise DataError(f"{source}: {expected}; found {type(given).__name__} of {short(entries[0])}")
    return cast(Columns, tuple([getattr(entry, name) for entry in entries] for name in chosen))


def _judgements(source: str, queries: Sequence[Any], documents: Sequence[Any], grades: Sequence[Any]) -> list[Judgement]:
    """Return judgements in memory, checked."""
    query_ids, doc_ids = ids_as_texts(source, queries, "query"), ids_as_texts(source, documents, "document")
    pairs = list(zip(query_ids, doc_ids, strict=True))
    for (query, document), grade in zip(pairs, grades, strict=True):
        if isinstance(grade, bool) or not isinstance(grade, Real) or grade != grade // 1:
            problem = f"must be an integer, found {short(grade)}"
            raise DataError(f"{source}: the grade of the document {document!r} for the query {query!r} {problem}")
    rows = (Judgement(*pair, int(grade)) for pair, grade in zip(pairs, grades, strict=True))
    return without_repetition(source, enumerate(rows, 1))
