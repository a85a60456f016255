"""Reading datasets in BEIR form, straight from the official archive or from a folder; every input is hostile until checked."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple, cast

import orjson

from beirflow.datasets.archives import ZIP_ERRORS, get_again, is_archive, open_archive
from beirflow.files.errors import ConfigError, DataError

BLOCK_BYTES = 1 << 23
LINE_BYTES = 1 << 28
"""A line this long is refused: a file without line feeds, or an archive that unpacks to one, must not fill memory."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
QRELS_HEADER = ["query-id", "corpus-id", "score"]
INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


class Judgement(NamedTuple):
    """How relevant a document is to a query, as one line of a qrels file says."""

    query_id: str
    doc_id: str
    score: int


def required_files(folder: Path, forum: str | None, split: str) -> list[str]:
    """The files that a dataset in a folder must have.

    Args:
        folder: Folder of the dataset.
        forum: Folder of a forum inside it, or None.
        split: Name of the judgements.

    Returns:
        Paths of the corpus, the queries and the judgements.

    Raises:
        ConfigError: One of them is missing.
    """
    folder = folder / forum if forum else folder
    files = [folder / name for name in ("corpus.jsonl", "queries.jsonl", f"qrels/{split}.tsv")]
    missing = [str(file.relative_to(folder)) for file in files if not file.is_file()]
    if missing:
        raise ConfigError(f"{folder}: a dataset in BEIR form was expected here, but it has no {', '.join(missing)}")
    return [str(file) for file in files]


class Source:
    """A dataset in BEIR form, in a folder or a zip archive.

    Args:
        path: Folder or archive. An archive is never unpacked.
        forum: Folder of a forum inside it, or None.

    Raises:
        DataError: The archive is damaged, has a member that would leave its folder, or does not hold exactly one such dataset.
    """

    def __init__(self, path: str | Path, forum: str | None = None) -> None:
        self.path = Path(path)
        self.forum = forum
        self.digests: dict[str, str] = {}
        self._archive = open_archive(self.path) if is_archive(self.path) else None
        self._members = {PurePosixPath(name): name for name in self._archive.namelist()} if self._archive else {}
        self._root = self._find_root() if self._archive else (self.path / forum if forum else self.path)

    def _find_root(self) -> PurePosixPath:
        """Folder inside the archive that holds this dataset's corpus.jsonl."""
        names = list(self._members)
        roots = [name.parent for name in names if name.name == "corpus.jsonl" and self.forum in (None, name.parent.name)]
        wanted = f"{self.forum}/corpus.jsonl" if self.forum else "corpus.jsonl"
        if len(roots) != 1:
            found = ", ".join(map(str, names[:10])) or "nothing"
            raise DataError(f"{self.path}: expected one {wanted} in the archive, found {len(roots)}; the archive holds {found}")
        return roots[0]

    def where(self, name: str) -> str:
        """How messages call a file of the dataset."""
        return f"{self.path}:{self._root / name}" if self._archive else str(self._root / name)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file of the dataset.

        Args:
            name: Its path inside the dataset, e.g. ``corpus.jsonl``.

        Yields:
            A binary stream.

        Raises:
            DataError: The file is missing, or the archive is damaged.
        """
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

    def blocks(self, name: str) -> Iterator[tuple[range, bytes]]:
        """A file in blocks of whole lines, each with the numbers of its lines, from 1.

        The file's sha256 is in ``digests`` once the last block has been read.

        Args:
            name: Its path inside the dataset, e.g. ``corpus.jsonl``.

        Yields:
            Numbers of the lines, and the block; only the last may end without a line feed.
        """
        digest = hashlib.sha256()
        first = 1
        with self.open(name) as stream:
            while block := stream.read(BLOCK_BYTES) + stream.readline(LINE_BYTES):
                digest.update(block)
                if len(block) >= LINE_BYTES and not block.endswith(b"\n"):
                    self._check_length(name, first, block)
                if first == 1:
                    block = block.removeprefix(BYTE_ORDER_MARK)
                numbers = range(first, first + block.count(b"\n") + (not block.endswith(b"\n")))
                yield numbers, block
                first = numbers.stop
        self.digests[name] = digest.hexdigest()

    def _check_length(self, name: str, first: int, block: bytes) -> None:
        """Refuse a line that is cut at the limit, before memory fills with the rest of it."""
        *before, last = block.split(b"\n")
        if len(last) >= LINE_BYTES:
            where = f"{self.where(name)}:{first + len(before)}"
            raise DataError(f"{where}: expected lines of less than {LINE_BYTES:,} bytes, found one that is longer")

    def lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Lines of a file with their numbers from 1, without line feeds; blank lines are skipped.

        Args:
            name: Its path inside the dataset.

        Yields:
            Line number and line.
        """
        for numbers, block in self.blocks(name):
            yield from lines_in(numbers, block)


def lines_in(numbers: range, block: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines of a block with their numbers, without line feeds; blank lines are skipped.

    Args:
        numbers: Numbers of the lines.
        block: Whole lines.

    Yields:
        Line number and line.
    """
    for number, line in zip(numbers, block.split(b"\n"), strict=False):
        if line.strip():
            yield number, line


def documents_in(source: Source, numbers: range, block: bytes) -> Iterator[tuple[int, str, str | None, str]]:
    """Documents of a block of ``corpus.jsonl``.

    A title that is missing or null is no title. Fields other than ``_id``, ``title`` and ``text`` are ignored.

    Args:
        source: The dataset.
        numbers: Numbers of its lines.
        block: Whole lines.

    Yields:
        Line number, document id, title and text.

    Raises:
        DataError: A line is not a JSON object in UTF-8 with a non-empty string ``_id`` and a string ``text``.
    """
    where = source.where("corpus.jsonl")
    for number, record in _records(where, lines_in(numbers, block)):
        text, title = record.get("text"), record.get("title")
        if not isinstance(text, str):
            raise DataError(f"{where}:{number}: 'text' must be a string, found {_short(text)}")
        if not isinstance(title, str | None):
            raise DataError(f"{where}:{number}: 'title' must be a string or null, found {_short(title)}")
        yield number, cast(str, record["_id"]), title, text


def read_queries(source: Source) -> Iterator[tuple[int, str, str | None]]:
    """Queries of ``queries.jsonl``.

    Args:
        source: The dataset.

    Yields:
        Line number, query id, and text; None where there is none, which matters only for queries with judgements.

    Raises:
        DataError: A line is not a JSON object in UTF-8 with a non-empty string ``_id``.
    """
    name = "queries.jsonl"
    for number, record in _records(source.where(name), source.lines(name)):
        text = record.get("text")
        yield number, cast(str, record["_id"]), text if isinstance(text, str) and text.strip() else None


def _records(where: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, dict[str, object]]]:
    """JSON objects with a usable ``_id``, with their line numbers."""
    for number, line in lines:
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise DataError(f"{where}:{number}: {_explain(line, error)}") from None
        identifier = record.get("_id") if isinstance(record, dict) else None
        if not isinstance(identifier, str) or not identifier:
            found = f"_id {_short(identifier)}" if isinstance(record, dict) else _snippet(line)
            message = "expected a JSON object whose '_id' is a string that is not empty"
            raise DataError(f"{where}:{number}: {message}, found {found}")
        yield number, record


def _explain(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as encoding:
        byte = line[encoding.start]
        return f"expected UTF-8, found the byte 0x{byte:02x} at position {encoding.start + 1}; convert the file to UTF-8"
    if "surrogate" in error.msg:
        return f"expected characters, found half of a surrogate pair in {_snippet(line)} ({error.msg})"
    hint = "" if line.rstrip().endswith(b"}") or not line.lstrip().startswith(b"{") else "; is the file truncated?"
    return f"expected a JSON object on one line, found {_snippet(line)} ({error.msg}){hint}"


def _snippet(line: bytes) -> str:
    return _short(line.decode("utf-8", "replace"))


def _short(value: object) -> str:
    """What was found, or its two ends if it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:40]} … {text[-40:]}"


def read_judgements(source: Source, split: str) -> Iterator[tuple[int, Judgement]]:
    """Judgements of ``qrels/<split>.tsv``: query id, document id and integer score, with or without a header line.

    Args:
        source: The dataset.
        split: Name of the judgements.

    Yields:
        Line number and judgement.

    Raises:
        DataError: A line does not have these three columns in UTF-8, or its score is not an integer.
    """
    name = f"qrels/{split}.tsv"
    for number, line in source.lines(name):
        try:
            columns = line.decode("utf-8").rstrip("\r").split("\t")
        except UnicodeDecodeError as error:
            raise DataError(f"{source.where(name)}:{number}: expected UTF-8, found {line[:80]!r}; convert the file") from error
        if number == 1 and [column.strip().lower().replace("_", "-") for column in columns] == QRELS_HEADER:
            continue
        if len(columns) != 3 or not columns[0] or not columns[1]:
            message = "expected query id, document id and score between tabs"
            raise DataError(f"{source.where(name)}:{number}: {message}, found {_snippet(line)}")
        if not INTEGER.fullmatch(columns[2]):
            raise DataError(f"{source.where(name)}:{number}: the score must be an integer, found {columns[2]!r}")
        yield number, Judgement(columns[0], columns[1], int(columns[2]))


def count_documents(path: str | Path, forum: str | None = None) -> int:
    """Number of documents of a dataset: the lines of its corpus that are not blank.

    Args:
        path: Folder or archive of the dataset.
        forum: Folder of a forum inside it, or None.

    Returns:
        The count.

    Raises:
        ConfigError: The corpus cannot be read.
    """
    try:
        return sum(1 for _ in Source(path, forum).lines("corpus.jsonl"))
    except DataError as error:
        raise ConfigError(str(error)) from error
