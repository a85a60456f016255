"""A dataset from a hub, as the lines of a dataset in BEIR form.

Its files are JSON lines, also gzipped, Parquet, or judgements in columns; each is hostile until checked.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import orjson

from beirflow.files.digests import file_digest
from beirflow.files.errors import DataError
from beirflow.files.records import read_json
from beirflow.sources import source
from beirflow.sources.archives import BOMB_BYTES, BOMB_RATIO
from beirflow.sources.beir_files import judgement_line
from beirflow.sources.forms import CORPUS, EXCLUDED, QRELS, QUERIES, HubForm
from beirflow.sources.hub_layout import LAYOUTS
from beirflow.sources.json_lines import is_id, lines_in, read_value, short
from beirflow.sources.source import Block, DatasetSource, blocks_of

BATCH_ROWS = 2048  # rows of a Parquet file that are read at a time

OTHER_TASK = "instruction"  # column of queries that changes what is relevant; a query without a value in it is a plain one

COLUMNS = {
    CORPUS: ("_id", "id", "title", "text"),
    QUERIES: ("_id", "id", "text", OTHER_TASK, EXCLUDED),
    QRELS: ("query-id", "corpus-id", "score"),
}

NOTHING = ["N/A"]  # list of ids that stands for an empty one, in BRIGHT

Row = dict[str, Any]


class HubSource(DatasetSource):
    """Dataset of a hub, from the record of what was fetched; DataError if that is something else."""

    def __init__(self, path: str | Path, form: HubForm) -> None:
        super().__init__(path)
        self.form, self.split = form, str(read_json(path).get("split"))
        self._files = fetched_files(path, form)
        self._without_score = 0

    def where(self, name: str) -> str:
        """Return the name in messages of the part with the documents, the queries or the judgements."""
        role = _role(name)
        hub, files = self.form.place(role)[0], list(self._files[role])
        return f"{hub}/{files[0]}" if len(files) == 1 else f"{hub}, {role}"

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield the lines of one of the three files of BEIR, numbered by lines or rows of their origin."""
        role = _role(name)
        hub, revision = self.form.place(role)
        self._without_score = 0
        for file, digest in self._files[role].items():
            path, where = fetched_file(hub, revision, file), f"{hub}/{file}"
            actual = file_digest(path)
            if actual != digest:
                raise DataError(f"{path}: the sha256 is {actual}, but {self.path} says {digest}; delete both and run again")
            self.digests[f"{hub}/{file}" if hub != self.form.hub else file] = digest
            if file.endswith(".tsv"):
                with stream_of_lines(path, where) as stream:
                    yield from source.read_blocks(stream, where)
            else:
                yield from blocks_of(self._lines(role, where, path))
        if self._without_score:
            self.assumed["judgements_without_score"] = f"{self._without_score}, taken for 1"

    def _lines(self, role: str, where: str, path: Path) -> Iterator[tuple[int, bytes]]:
        """Yield the rows of a file as lines in BEIR form."""
        for number, row in self._rows(path, where, role):
            here = f"{where}:{number}"
            if role == QRELS:
                lines, scored = judgement_lines(here, row)
                self._without_score += not scored
                yield from ((number, line) for line in lines)
                continue
            if role == QUERIES and row.get(OTHER_TASK):
                problem = f"the query has a value in the column {OTHER_TASK!r}, which changes what is relevant"
                raise DataError(f"{here}: {problem}; this is not a plain retrieval dataset")
            yield number, text_line(here, row, titled=role == CORPUS)

    def _rows(self, path: Path, where: str, role: str) -> Iterator[tuple[int, Row]]:
        """Yield the rows of a file that are of the split, with our names of the columns."""
        if self.form.layout is None:
            yield from _rows(path, where, COLUMNS[role])
            return
        layout = LAYOUTS[self.form.layout]
        theirs = {name: layout.columns.get(role, {}).get(name, name) for name in COLUMNS[role]}
        for number, row in _rows(path, where, (*dict.fromkeys(theirs.values()), *filter(None, [layout.length]))):
            if layout.length and str(row.get(layout.length)) != self.split:
                continue
            renamed = {ours: row[name] for ours, name in theirs.items() if name in row}
            yield number, {name: [] if value == NOTHING else value for name, value in renamed.items()}


def _role(name: str) -> str:
    return {source.CORPUS: CORPUS, source.QUERIES: QUERIES}.get(name, QRELS)


def _rows(path: Path, where: str, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file, at least with those of the columns that it has."""
    if path.suffix == ".parquet":
        yield from rows_of_parquet(path, where, columns)
        return
    with stream_of_lines(path, where) as stream:
        for numbers, block in source.read_blocks(stream, where):
            for number, line in lines_in(numbers, block):
                row = read_value(where, number, line)
                if not isinstance(row, dict):
                    raise DataError(f"{where}:{number}: expected a JSON object, found {short(row)}")
                yield number, row


def fetched_files(path: str | Path, form: HubForm) -> dict[str, dict[str, str]]:
    """Return by role the sha256 of each fetched file by its name there; DataError if the record is of another form."""
    record = read_json(path)
    expected: dict[str, Any] = {"hub": form.hub, "revision": form.revision, "subset": form.subset, "layout": form.layout}
    recorded = {key: record.get(key) for key in expected}
    if recorded != expected:
        raise DataError(f"{path}: this is the record of {recorded}, expected was {expected}; delete it and run again")
    return {role: dict(record["files"][role]) for role in COLUMNS}


def fetched_file(hub: str, revision: str, name: str) -> Path:
    """Return the path of a fetched file in the cache of the hub's library; DataError if it is not there any more."""
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(hub, name, repo_type="dataset", revision=revision, local_files_only=True))
    except Exception as error:  # its exceptions differ between versions
        todo = (
            "it was fetched to HF_HOME; set that as it was, or delete the record of the dataset below results/data and run again"
        )
        raise DataError(f"{hub}/{name} at {revision} is no longer on this machine; {todo}") from error


def is_here(path: str | Path, form: HubForm) -> bool:
    """Test whether all fetched files are still on this machine; False too if the record is missing or of something else."""
    try:
        for role, files in fetched_files(path, form).items():
            for name in files:
                fetched_file(*form.place(role), name)
    except (OSError, DataError, KeyError, TypeError):
        return False
    return True


def rows_of_parquet(path: Path, where: str, columns: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Yield number, from 1, and values of each row of a Parquet file, of those of the columns that it has.

    Raises DataError if the file is damaged, or if a column is neither of texts nor of numbers.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    def usable(kind: Any) -> bool:
        nested = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_dictionary(kind)
        plain = kind.value_type if nested else kind
        text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        tests = (*text, pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
        return any(test(plain) for test in tests)

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            here = [name for name in columns if name in file.schema_arrow.names]
            for name in here:
                if not usable(kind := file.schema_arrow.field(name).type):
                    raise DataError(f"{where}: the column {name!r} holds {kind}; texts or numbers were expected")
            for batch in file.iter_batches(BATCH_ROWS, columns=here):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{where}: no Parquet file that can be read, after row {number} ({str(error)[:200]})") from error


def stream_of_lines(path: Path, where: str) -> BinaryIO:
    """Open a text file, unpacked where it is gzipped."""
    if path.suffix == ".gz":
        return cast(BinaryIO, _Unpacked(path, where))
    return path.open("rb")


class _Unpacked:
    """A gzipped file, as far as sources read it; one that is damaged or unpacks to far too much is refused."""

    def __init__(self, path: Path, where: str) -> None:
        self._where, self._packed, self._read = where, path.stat().st_size, 0
        self._stream = gzip.open(path)  # noqa: SIM115 - closed on exit

    def __enter__(self) -> "_Unpacked":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        """Return at most so many bytes."""
        return self._checked(lambda: self._stream.read(size))

    def readline(self, size: int) -> bytes:
        """Return the rest of a line, at most so many bytes."""
        return self._checked(lambda: self._stream.readline(size))

    def _checked(self, read: Callable[[], bytes]) -> bytes:
        try:
            content = read()
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self._where}: the file is damaged ({error})") from error
        self._read += len(content)
        if self._read > max(BOMB_BYTES, BOMB_RATIO * self._packed):
            raise DataError(f"{self._where}: unpacks to more than {self._read:,} bytes from {self._packed:,}; do not trust it")
        return content


def text_line(where: str, row: Row, *, titled: bool) -> bytes:
    """Return a document, or with ``titled=False`` a query, as a line in BEIR form; DataError if it has no id."""
    record = {"_id": id_of(where, "_id" if "_id" in row else "id", row), "text": row.get("text")}
    if titled:
        record["title"] = row.get("title")
    elif row.get(EXCLUDED):
        record[EXCLUDED] = row[EXCLUDED]
    return orjson.dumps(record)


def id_of(where: str, name: str, row: Row) -> str:
    """Return an id, which may be a number, as text; DataError if there is none."""
    identifier = row.get(name)
    if not is_id(identifier):
        raise DataError(f"{where}: {name!r} must be a non-empty string or an integer, found {short(identifier)}")
    return str(identifier)


def judgement_lines(where: str, row: Row) -> tuple[list[bytes], bool]:
    """Return the judgements of a row, of one document or of a list, as lines in BEIR form, and whether the row had a score.

    The score is 1 where there is none. Raises DataError if an id is missing, or if the score is no integer.
    """
    query_id, score, doc_ids = id_of(where, "query-id", row), row.get("score"), row.get("corpus-id")
    grade = 1 if score is None else score
    if isinstance(grade, bool) or not isinstance(grade, int | float) or not float(grade).is_integer():
        raise DataError(f"{where}: 'score' must be an integer, found {short(score)}")
    rows = [{"corpus-id": each} for each in doc_ids] if isinstance(doc_ids, list) else [row]
    ids = [id_of(where, "corpus-id", each) for each in rows]
    return [judgement_line(query_id, doc_id, int(grade)) for doc_id in ids], score is not None
