"""Additional judgements, ``extra_judgements`` in the configuration: TREC qrels, BEIR's TSV or filled pools."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from beirflow.core.errors import DataError
from beirflow.data.judged_queries import without_repetition
from beirflow.data.sources.beir_files import Judgement, read_judgements
from beirflow.data.sources.json_lines import grade_of, id_of, lines_in, objects_in, wrong_value
from beirflow.data.sources.qrels_file import QrelsFile
from beirflow.data.sources.source import read_blocks

PAIR = ["query_id", "doc_id"]


def read_extra(path: str, qrels: pa.Table) -> pa.Table:
    """Return further judgements of a dataset, as :class:`~beirflow.data.sources.qrels_file.QrelsFile` reads them, or of a pool.

    A file that ends in ``.jsonl`` is a pool. Raise DataError if a line is no judgement, has a grade that the dataset does not
    use, or is about a query that is not judged, or contradicts an earlier line.
    """
    queries, grades = set(qrels["query_id"].to_pylist()), sorted({0, *qrels["score"].to_pylist()})
    found = _of_pool(path) if path.endswith(".jsonl") else read_judgements(QrelsFile(path), "")

    def checked() -> Iterator[tuple[int, Judgement]]:
        """Yield the judgements; DataError for one of an unknown query or grade."""
        for number, judgement in found:
            problem = ""
            if judgement.query_id not in queries:
                problem = f"the query {judgement.query_id!r} has no judgements in the dataset"
            elif judgement.score not in grades:
                used = ", ".join(map(str, grades))
                problem = f"the grade {judgement.score}, which the dataset does not use; expected one of {used}"
            if problem:
                raise DataError(f"{path}:{number}: {problem}; correct the file, or leave extra_judgements without it")
            yield number, judgement

    added = without_repetition(path, checked())
    columns = zip(*added, strict=True)
    return pa.table({name: pa.array(column, qrels[name].type) for name, column in zip((*PAIR, "score"), columns, strict=True)})


def with_extra(qrels: pa.Table, extra: pa.Table) -> pa.Table:
    """Merge the judgements of a dataset with additional ones, whose grades win."""
    again = set(_pairs(extra))
    # No join of Arrow: it does not keep the order of rows, and so changes the last digits of means.
    kept = [pair not in again for pair in _pairs(qrels)]
    return pa.concat_tables([qrels.select(extra.column_names).filter(pa.array(kept, pa.bool_())), extra])


def _pairs(qrels: pa.Table) -> Iterator[tuple[str, str]]:
    return zip(*(qrels[name].to_pylist() for name in PAIR), strict=True)


def _of_pool(path: str) -> Iterator[tuple[int, Judgement]]:
    """Yield line number and judgement of the lines of a pool."""
    with Path(path).open("rb") as stream:
        for numbers, block in read_blocks(stream, path):
            for number, entry in objects_in(path, lines_in(numbers, block), "query_id, doc_id and grade"):
                where = f"{path}:{number}"
                if (grade := grade_of(entry.get("grade"))) is None:
                    todo = "; fill it in, or remove the line"
                    raise DataError(f"{where}: {wrong_value(entry, 'grade', 'an integer')}{todo}")
                yield number, Judgement(id_of(where, entry, "query_id"), id_of(where, entry, "doc_id"), grade)
