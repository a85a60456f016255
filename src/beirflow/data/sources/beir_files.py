"""Reading datasets in BEIR form, straight from the official archive or from a folder; every input is hostile until checked."""

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

from beirflow.core.errors import ConfigError, DataError
from beirflow.data.sources.archives import ZIP_ERRORS, get_again, is_archive, open_archive
from beirflow.data.sources.forms import CANDIDATES, CHANGED, EXCLUDED, INSTRUCTION, NUGGETS, TOPIC
from beirflow.data.sources.json_lines import (
    Test,
    grade_of,
    id_of,
    is_id,
    is_list_of,
    is_text,
    lines_in,
    objects_in,
    snippet,
    value_of,
    wrong_value,
)
from beirflow.data.sources.source import CORPUS, QUERIES, Block, DatasetSource, qrels_of, read_blocks

QRELS_HEADER = ["query-id", "corpus-id", "score"]


class Judgement(NamedTuple):
    """Relevance of a document to a query, as one line of a qrels file states it."""

    query_id: str
    doc_id: str
    score: int


def required_files(folder: Path, forum: str | None, split: str) -> list[str]:
    """Return the corpus, the queries and the judgements of a dataset in a folder, or in that of a forum inside it.

    Raises ConfigError if one of them is missing.
    """
    folder = folder / forum if forum else folder
    files = [folder / name for name in (CORPUS, QUERIES, qrels_of(split))]
    missing = [str(file.relative_to(folder)) for file in files if not file.is_file()]
    if folder.is_file():
        raise ConfigError(f"{folder} is a file; expected a folder or a .zip in BEIR form, or the 'form' of the file")
    if missing:
        splits = ", ".join(sorted(each.stem for each in folder.glob(qrels_of("*")))) if (folder / CORPUS).is_file() else ""
        instead = f"; splits are {splits}" if splits else ""
        raise ConfigError(f"{folder}: a dataset in BEIR form was expected here, but it has no {', '.join(missing)}{instead}")
    return [str(file) for file in files]


class Source(DatasetSource):
    """A dataset in BEIR form, in a folder or a zip archive, which is never unpacked, or in the folder of a forum inside it.

    Raises DataError if the archive is damaged, has a member that would leave its folder, or does not hold exactly one such
    dataset.
    """

    def __init__(self, path: str | Path, forum: str | None = None) -> None:
        super().__init__(path)
        self.forum = forum
        self._archive = open_archive(self.path) if is_archive(self.path) else None
        self._members = {PurePosixPath(name): name for name in self._archive.namelist()} if self._archive else {}
        self._root = self._find_root() if self._archive else (self.path / forum if forum else self.path)

    def _find_root(self) -> PurePosixPath:
        """Return the folder inside the archive that holds this dataset's corpus.jsonl."""
        names = list(self._members)
        roots = [name.parent for name in names if name.name == CORPUS and self.forum in (None, name.parent.name)]
        wanted = f"{self.forum}/{CORPUS}" if self.forum else CORPUS
        if len(roots) != 1:
            shown_names = ", ".join(map(str, names[:10])) or "nothing"
            raise DataError(
                f"{self.path}: expected one {wanted} in the archive, found {len(roots)}; the archive holds {shown_names}"
            )
        return roots[0]

    def where(self, name: str) -> str:
        """Return the name of a file of the dataset in messages."""
        return f"{self.path}:{self._root / name}" if self._archive else str(self._root / name)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file by its path inside the dataset; DataError if it is missing, or the archive is damaged."""
        try:
            if self._archive:
                with self._archive.open(self._members[PurePosixPath(self._root) / name]) as stream:
                    yield cast(BinaryIO, stream)
            else:
                with (Path(self._root) / name).open("rb") as stream:
                    yield cast(BinaryIO, stream)
        except (KeyError, FileNotFoundError):
            raise DataError(f"{self.where(name)}: this file is missing; a dataset in BEIR form has it") from None
        except ZIP_ERRORS as error:
            if not self._archive:
                raise
            raise DataError(f"{self.where(name)}: the archive is damaged ({error}); {get_again(self.path)}") from error

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield a file in blocks; its sha256 is in ``digests`` once the last block has been read."""
        digest = hashlib.sha256()
        with self.open(name) as stream:
            yield from read_blocks(stream, self.where(name), digest.update)
        self.digests[name] = digest.hexdigest()


def documents_in(source: DatasetSource, numbers: Sequence[int], block: bytes) -> Iterator[tuple[int, str, str | None, str]]:
    """Yield line number, document id, title and text of the documents of a block of ``corpus.jsonl``.

    A title that is missing or null is no title. Fields other than ``_id``, ``title`` and ``text`` are ignored. Raises DataError
    if a line is not a JSON object in UTF-8 with an ``_id``, a string that is not empty or an integer, and a string ``text``.
    """
    where = source.where(CORPUS)
    for number, doc_id, record in _records(where, lines_in(numbers, block)):
        text, title = record.get("text"), record.get("title")
        if not isinstance(text, str):
            raise DataError(f"{where}:{number}: {wrong_value(record, 'text', 'a string')}")
        if not isinstance(title, str | None):
            raise DataError(f"{where}:{number}: {wrong_value(record, 'title', 'a string or null')}")
        yield number, doc_id, title, text


def read_queries(source: DatasetSource) -> Iterator[tuple[int, str, Any, dict[str, Any]]]:
    """Yield line number, id and text of the queries, and what else each states, by the keys of ``OF_A_QUERY``.

    The text is unchecked, since only judged queries need one. Raises DataError if a line is not a JSON object in UTF-8 with an id
    as ``_id``, or if something else that it states is not what it should be.
    """
    where = source.where(QUERIES)
    for number, query_id, record in _records(where, source.lines(QUERIES)):
        fields = {key: record[key] for key in OF_A_QUERY if record.get(key)}
        for key in fields:
            value_of(f"{where}:{number}", record, key, *OF_A_QUERY[key])
        yield number, query_id, record.get("text"), fields


OF_A_QUERY: Mapping[str, tuple[str, Test]] = {
    **dict.fromkeys((EXCLUDED, CANDIDATES, CHANGED), ("a list of ids of documents", is_list_of(is_id))),
    INSTRUCTION: ("a text", is_text),
    TOPIC: ("an id", is_id),
    NUGGETS: ("a list of lists of ids of documents", is_list_of(is_list_of(is_id))),
}
"""By key what a query may state, and the test for it."""


def _records(where: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield line number, id and content of JSON objects with an ``_id``."""
    for number, record in objects_in(where, lines, "'_id'"):
        usable = isinstance(record.get("_id"), str) and record["_id"] != ""
        yield number, record["_id"] if usable else id_of(f"{where}:{number}", record, "_id"), record


def read_judgements(source: DatasetSource, split: str) -> Iterator[tuple[int, Judgement]]:
    """Yield line number and judgement of each line of ``qrels/<split>.tsv``, which may have a header line.

    The header may name the columns in another order.
    A line that begins with ``#`` and does not have three columns is a comment, as for trec_eval 10.
    Quotation marks around a column are removed, and doubled ones inside become one, as in the beir package.
    A score may be written as 2 or 2.0. Raises DataError if a line does not have the three columns in UTF-8, or if its score is no
    whole number.
    """
    name, first = qrels_of(split), True
    places: Sequence[int] = range(3)
    for number, line in source.lines(name):
        try:
            columns = _columns(line.decode("utf-8").rstrip("\r"))
        except UnicodeDecodeError as error:
            raise DataError(f"{source.where(name)}:{number}: expected UTF-8, found {line[:80]!r}; convert the file") from error
        except csv.Error as error:
            problem = f"found {snippet(line)} ({error})"
            raise DataError(f"{source.where(name)}:{number}: expected columns between tabs, {problem}") from error
        if line.startswith(b"#") and len(columns) != 3:
            continue
        is_first, first = first, False
        if is_first and (order := _order_of(columns)):
            places = order
            continue
        columns = [columns[place] for place in places] if len(columns) == 3 else []
        if not columns or not columns[0] or not columns[1]:
            message = "expected query id, document id and score between tabs"
            raise DataError(f"{source.where(name)}:{number}: {message}, found {snippet(line)}")
        if (score := grade_of(columns[2])) is None:
            header = f"; if this line is a header, its columns must be {', '.join(QRELS_HEADER)}: rename them, or remove the line"
            problem = f"the score must be an integer, found {columns[2]!r}"
            raise DataError(f"{source.where(name)}:{number}: {problem}{header if is_first and columns[2].isidentifier() else ''}")
        yield number, Judgement(columns[0], columns[1], score)


def _order_of(columns: Sequence[str]) -> Sequence[int]:
    """Return the places of query, document and score if these columns are their names; else none."""
    names = [column.strip().lower().replace("_", "-") for column in columns]
    return [names.index(name) for name in QRELS_HEADER] if sorted(names) == sorted(QRELS_HEADER) else ()


def _columns(line: str) -> list[str]:
    """Return the columns of a line, without the quotation marks that CSV puts around some."""
    return next(csv.reader([line], delimiter="\t")) if '"' in line else line.split("\t")


def judgement_line(query_id: str, doc_id: str, score: int) -> bytes:
    """Return a judgement, whose ids have no tabs and line ends, as a line for :func:`read_judgements`, without a line feed."""
    # A quotation mark at the beginning would be read as one around the column.
    ids = ['"' + each.replace('"', '""') + '"' if each.startswith('"') else each for each in (query_id, doc_id)]
    return f"{ids[0]}\t{ids[1]}\t{score}".encode()
