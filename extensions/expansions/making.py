"""Make the expansion of a chunk with a model, and record how."""

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa

from beirflow.core.digests import file_digest
from beirflow.core.layout import record_of
from beirflow.core.progress import Progress
from beirflow.core.records import Job, write_record
from beirflow.core.resume import ResumeFile
from beirflow.data.corpus_files import Documents, recorded_digest
from beirflow.extensions.expansions.loading import TextReader
from beirflow.extensions.expansions.sampler import drawn
from beirflow.families.expansions.files import WINDOW_ROWS, write_expansion
from beirflow.families.expansions.settings import Expansion, WrittenQueries
from beirflow.models.computing.folder_tokenizer import assumed_tokens
from beirflow.models.computing.made import made_with
from beirflow.models.computing.model_settings import Computing, checked_meanwhile
from beirflow.models.model_files import check_model
from beirflow.models.model_places import model_folder
from beirflow.run.devices import choose_precision, exact_device

logger = logging.getLogger(__name__)


class Load(Protocol):
    """Function that loads a model from the settings of an expansion and its folder."""

    def __call__(self, settings: Any, folder: Path, *, device: str, precision: str, token_budget: int | str) -> TextReader:
        """Return the reader of the documents."""


Making: TypeAlias = Computing[Expansion]  # settings of a job that expands documents


class ExpansionLog(ResumeFile):
    """Batches that have been made, in a file next to the result; memory holds their places and not their contents.

    An interrupted job resumes after its last batch, because writing queries takes days. ``made_from`` decides what is made.
    """

    def __init__(self, path: str | Path, made_from: Mapping[str, Any]) -> None:
        super().__init__(path, made_from)
        self.rows: dict[int, int] = {}  # by row that has been made, the place of its batch
        self.counts: Counter[str] = Counter()
        self.seconds = 0.0

    def __enter__(self) -> Self:
        super().__enter__()
        for place in self.places:
            self._count(self._batch(place), place)
        return self

    def _batch(self, place: int) -> dict[str, Any]:
        batch: dict[str, Any] = json.loads(self.read(place).readline())
        return batch

    def _count(self, batch: Mapping[str, Any], place: int) -> None:
        self.rows |= dict.fromkeys(batch["rows"], place)
        self.counts.update(batch["counts"])
        self.seconds += batch["seconds"]

    def add(self, rows: Sequence[int], values: Sequence[Any], counts: Mapping[str, int], seconds: float) -> None:
        """Add a batch: rows of its documents, the addition to each, counts and seconds."""
        batch = {"rows": list(rows), "values": list(values), "counts": dict(counts), "seconds": seconds}
        with self.record() as stream:
            stream.write(json.dumps(batch).encode() + b"\n")
        self._count(batch, self.places[-1])

    def values_of(self, rows: range) -> list[Any]:
        """Return the additions to some rows that have been made; fastest where they are neighbours, which share batches.

        Raises DataError if a batch was damaged meanwhile.
        """
        values: dict[int, Any] = {}
        for place in sorted({self.rows[row] for row in rows}):
            batch = self._batch(place)
            values |= {row: value for row, value in zip(batch["rows"], batch["values"], strict=True) if row in rows}
        return [values[row] for row in rows]


def make_expansion(*, load: Load, making: Making, documents_path: str, chunk: int, output_path: str, job: Job) -> None:
    """Make the expansion of one chunk with the model that ``load`` loads; what an earlier job has made of it is kept.

    Until it is done, its :class:`ExpansionLog` is next to ``output_path``. Raises ModelError if the model cannot be loaded, or
    computes something that is not finite; DeviceError if the GPU fails or has too little memory; DataError if a file is not the
    one that was recorded.
    """
    expansion = making.settings
    making.use_threads()
    inputs = {documents_path: recorded_digest(documents_path), making.model_path: file_digest(making.model_path)}
    with Documents(documents_path) as documents:
        table = documents.read([chunk], ["doc_id", "text"])
        rows = _rows(expansion, documents, chunk)
    doc_ids, texts = (column.to_pylist() for column in table.take(rows).columns)
    with ExitStack() as opened:
        with making.gpu(saves_memory="lower token_budget or max_length"):
            start = time.perf_counter()
            device = exact_device(making.device)
            precision = str(choose_precision(making.precision, device)).removeprefix("torch.")
            same = {"inputs": job.digests(inputs), "chunk": chunk, "settings": expansion.made_by, "code": job.code}
            made_from = {**same, "precision": precision}
            log = opened.enter_context(ExpansionLog(Path(output_path).with_suffix(".jsonl"), made_from))
            reader = _load(load, making) if len(log.rows) < len(doc_ids) else None
            loaded = time.perf_counter() - start
            if reader:
                _make(reader, log, doc_ids, texts, job.name)
            assumed = assumed_tokens(expansion.name, reader.tokenizer) if reader else []
            made = {"precision": precision, **made_with(device, assumed)}
        write_expansion(output_path, expansion.kind, _windows(expansion.kind, table["doc_id"].combine_chunks(), rows, log))
    write_record(
        record_of(output_path),
        job,
        inputs=inputs,
        outputs={output_path: file_digest(output_path)},
        made=made,
        seconds={"load": loaded, "expand": log.seconds},
        sizes={"expand": Path(output_path).stat().st_size},
        counts=log.counts,
        expansion=expansion.name,
        kind=expansion.kind,
        rows=table.num_rows,
        made_by=expansion.made_by,
    )
    log.path.unlink()  # only now, so that a job that ends before its record is there can be resumed


def _rows(expansion: Expansion, documents: Documents, chunk: int) -> np.ndarray:
    """Return the rows of a chunk whose documents are expanded: all, unless queries are written only for some that are drawn."""
    sizes = documents.sizes
    if not isinstance(expansion, WrittenQueries) or expansion.documents is None or expansion.documents >= sum(sizes):
        return np.arange(sizes[chunk])
    every_id = documents.read(range(len(sizes)), ["doc_id"])["doc_id"].to_pylist()
    first = sum(sizes[:chunk])
    return np.flatnonzero(drawn(expansion.seed, every_id, expansion.documents)[first : first + sizes[chunk]])


def _windows(kind: str, doc_ids: pa.Array, rows: np.ndarray, log: ExpansionLog) -> Iterator[list[Any]]:
    """Yield the columns of an expansion, some rows at a time; the addition to the n-th of ``rows`` is the n-th of the log."""
    for start in range(0, len(doc_ids), WINDOW_ROWS):
        ids = doc_ids.slice(start, WINDOW_ROWS)
        first, end = np.searchsorted(rows, [start, start + len(ids)]).tolist()
        values: list[Any] = [() if kind == "queries" else ((), ())] * len(ids)
        for row, value in zip((rows[first:end] - start).tolist(), log.values_of(range(first, end)), strict=True):
            values[row] = value
        yield [ids, values] if kind == "queries" else [ids, *([each[part] for each in values] for part in (0, 1))]


def _load(load: Load, making: Making) -> TextReader:
    """Load the model while the digests of its files are compared."""
    model = making.settings.as_model()
    with checked_meanwhile(partial(check_model, model, making.model_path)):
        return load(making.settings, model_folder(model), **making.on)


def _make(reader: TextReader, log: ExpansionLog, doc_ids: list[str], texts: list[str], name: str) -> None:
    """Log the additions to all documents that are not in the log."""
    if log.rows:
        logger.info("%s: %d of %d documents are here from before", name, len(log.rows), len(doc_ids))
    before = time.perf_counter()
    with Progress(name, len(doc_ids) - len(log.rows), "documents") as progress:
        for part in reader.parts(doc_ids, texts, frozenset(log.rows)):
            now = time.perf_counter()
            log.add(part.rows.tolist(), part.values, part.counts, now - before)
            before = now
            progress.advance(len(part.rows))
