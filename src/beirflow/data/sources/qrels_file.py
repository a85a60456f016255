"""A file of judgements without its dataset: BEIR's TSV, or TREC's qrels, plain or gzipped."""

from collections.abc import Iterator, Sequence

from beirflow.core.errors import DataError
from beirflow.data.sources.beir_files import judgement_line
from beirflow.data.sources.json_lines import grade_of, lines_in, snippet
from beirflow.data.sources.source import Block, DatasetSource, blocks_of, read_blocks, stream_of_lines

COLUMNS = 4


class QrelsFile(DatasetSource):
    """A source that has nothing but judgements, for ``read_judgements`` with any split.

    The first line that is no comment decides the form: ``query 0 document grade`` between white space is TREC's.
    """

    def where(self, name: str) -> str:
        """Return the path of the file."""
        return str(self.path)

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield the file in blocks of BEIR's lines, with their numbers in the file."""
        first = next((line for _, line in self._lines() if not line.lstrip().startswith(b"#")), b"")
        if _is_trec(first):
            yield from blocks_of((number, self._beir_line(number, line)) for number, line in self._lines())
        else:
            yield from self._blocks()

    def _blocks(self) -> Iterator[Block]:
        with stream_of_lines(self.path, str(self.path)) as stream:
            yield from read_blocks(stream, str(self.path))

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        for numbers, block in self._blocks():
            yield from lines_in(numbers, block)

    def _beir_line(self, number: int, line: bytes) -> bytes:
        """Return a line of TREC's form in BEIR's; a comment as it is."""
        columns = line.split()
        if line.lstrip().startswith(b"#") and (len(columns) != COLUMNS or _grade(columns) is None):
            return line
        if len(columns) != COLUMNS:
            expected = "expected query, 0, document and grade between white space, as in the lines before"
            raise DataError(f"{self.path}:{number}: {expected}, found {snippet(line)}")
        if (grade := _grade(columns)) is None:
            raise DataError(f"{self.path}:{number}: the grade must be an integer, found {snippet(columns[3])}")
        try:
            query_id, doc_id = columns[0].decode("utf-8"), columns[2].decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"{self.path}:{number}: expected UTF-8, found {line[:80]!r}; convert the file") from None
        return judgement_line(query_id, doc_id, grade)


def _is_trec(line: bytes) -> bool:
    """Test whether a line is of TREC's form: four columns, the last a grade, and not three between tabs."""
    columns = line.split()
    return len(columns) == COLUMNS and line.count(b"\t") != 2 and _grade(columns) is not None


def _grade(columns: Sequence[bytes]) -> int | None:
    return grade_of(columns[3].decode("utf-8", "replace"))
