"""The interface of every source, whatever its form: the lines of the three files of BEIR."""

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from beirflow.core.errors import DataError
from beirflow.data.sources.archives import BOMB_BYTES, BOMB_RATIO
from beirflow.data.sources.json_lines import lines_in

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"

BLOCK_BYTES = 1 << 21
LINE_BYTES = 1 << 28
"""A line this long is refused: a file without line feeds, or an archive that unpacks to one, must not fill memory."""

GZIP = b"\x1f\x8b"  # first bytes of a compressed file
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Block = tuple[Sequence[int], bytes]  # whole lines, and before them the number of each


def qrels_of(split: str) -> str:
    """Return the name of the file with the judgements of a split."""
    return f"qrels/{split}.tsv"


class DatasetSource(ABC):
    """Place that a dataset is read from, a file or folder.

    ``digests`` has the sha256 by name of every file that has been read to its end, and ``assumed`` what had to be assumed of
    these, for the record. With ``own_candidates`` a query ranks only the documents that are judged for it; with ``query_lists``
    it may be a list of texts, joined to one.
    """

    own_candidates = False
    query_lists = False

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.digests: dict[str, str] = {}
        self.assumed: dict[str, Any] = {}

    @abstractmethod
    def where(self, name: str) -> str:
        """Return the name in messages of ``corpus.jsonl``, ``queries.jsonl`` or ``qrels/<split>.tsv``; line numbers follow."""

    @abstractmethod
    def blocks(self, name: str) -> Iterator[Block]:
        """Yield such a file in blocks with the original numbers of the lines; only the last may end without a line feed."""

    def lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of such a file with their numbers, without line feeds; blank lines are skipped."""
        for numbers, block in self.blocks(name):
            yield from lines_in(numbers, block)


def starts_with(path: Path, start: bytes) -> bool:
    """Test whether a file begins with some bytes."""
    with path.open("rb") as stream:
        return stream.read(len(start)) == start


def stream_of_lines(path: Path, where: str) -> BinaryIO:
    """Open a text file, unpacked where it begins as a gzipped one; ``where`` is its name in messages."""
    return cast(BinaryIO, _Unpacked(path, where)) if starts_with(path, GZIP) else path.open("rb")


class _Unpacked(gzip.GzipFile):
    """A gzipped file, as far as it is read; one that is damaged or unpacks to far too much is refused."""

    def __init__(self, path: Path, where: str) -> None:
        super().__init__(path)
        self._where, self._packed, self._unpacked = where, path.stat().st_size, 0

    def read(self, size: int | None = -1) -> bytes:
        """Return at most so many bytes."""
        return self._checked(super().read, size)

    def readline(self, size: int | None = -1) -> bytes:
        """Return the rest of a line, at most so many bytes."""
        return self._checked(super().readline, size)

    def _checked(self, read: Callable[[int | None], bytes], size: int | None) -> bytes:
        try:
            content = read(size)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{self._where}: the file is damaged ({error}); fetch it again") from error
        self._unpacked += len(content)
        if self._unpacked > max(BOMB_BYTES, BOMB_RATIO * self._packed):
            sizes = f"{self._unpacked:,} bytes from {self._packed:,}"
            raise DataError(f"{self._where}: unpacks to more than {sizes}; do not trust it")
        return content


def read_blocks(
    stream: BinaryIO, where: str, note: Callable[[bytes], object] | None = None, *, first: int = 1
) -> Iterator[Block]:
    """Yield a file, whose next line has the number ``first``, in blocks of whole lines; the last may end without a line feed.

    ``where`` is its name in messages; ``note``, such as ``update`` of a digest, gets every byte. Raises DataError if a line is
    too long.
    """
    # A block ends where a line ends.
    while block := stream.read(BLOCK_BYTES) + stream.readline(LINE_BYTES):
        if note:
            note(block)
        if len(block) >= LINE_BYTES and not block.endswith(b"\n"):
            _check_length(where, first, block)
        if first == 1:
            block = block.removeprefix(BYTE_ORDER_MARK)
        numbers = range(first, first + block.count(b"\n") + (not block.endswith(b"\n")))
        yield numbers, block
        first = numbers.stop


def blocks_of(lines: Iterable[tuple[int, bytes]]) -> Iterator[Block]:
    """Yield lines that were made, without line feeds and with the numbers of their origins, in blocks."""
    numbers: list[int] = []
    block = bytearray()
    for number, line in lines:
        numbers.append(number)
        block += line + b"\n"
        if len(block) >= BLOCK_BYTES:
            yield numbers, bytes(block)
            numbers, block = [], bytearray()
    if numbers:
        yield numbers, bytes(block)


def _check_length(where: str, first: int, block: bytes) -> None:
    """Refuse a line that is cut at the limit, before memory fills with the rest of it."""
    *before, last = block.split(b"\n")
    if len(last) >= LINE_BYTES:
        line = f"{where}:{first + len(before)}"
        raise DataError(f"{line}: expected lines of less than {LINE_BYTES:,} bytes, found one that is longer")
