"""Texts that a model represents: each different one once, while what was computed for others is written."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from beirflow.core.artifact import Made
from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.computing.model_settings import Computing
from beirflow.models.computing.text_model import Recorded

STAGES = {"queries": "queries", "documents": "index"}  # names in records of the time that each kind of text takes
ADDED = "added"  # the column of what is added to documents


M = TypeVar("M", bound=Recorded)
Part = TypeVar("Part")


class Texts(NamedTuple):
    """Queries or documents, and their different texts in the order of their first row."""

    kind: Kind
    table: pa.Table  # query_id or doc_id, and text, and perhaps :data:`ADDED`
    different: Sequence[str]  # the texts
    added: Sequence[str] | None  # the addition to each; a text with another addition is another text. None without additions.
    indices: np.ndarray  # number of each row's text, integers of shape (rows,)

    @classmethod
    def of(cls, kind: Kind, table: pa.Table) -> "Texts":
        """Find the rows of a table that a model reads alike."""
        columns = [table[name].to_pylist() for name in ("text", ADDED) if name in table.column_names]
        numbers: dict[tuple[str, ...], int] = {}
        indices = np.array([numbers.setdefault(each, len(numbers)) for each in zip(*columns, strict=True)], np.int64)
        texts, *added = ([each[place] for each in numbers] for place in range(len(columns)))
        return cls(kind, table, texts, added[0] if added else None, indices)


def represented(
    texts: Texts,
    computing: Computing[Any],
    load: Callable[[], M],
    represent: Callable[[M], Generator[Part, None, dict[str, Any]]],
    *,
    saves_memory: str = "max_length",
) -> Made:
    """Represent texts part by part while they are written; what is only known then is added to the fields of the record.

    ``represent`` yields the parts and returns further fields; ``saves_memory`` is the setting that lets the model need less.
    """
    computing.use_threads()
    name = computing.settings.name

    def parts() -> Iterator[Part]:
        """Yield what the model computes, then the fields of the record."""
        with computing.gpu(saves_memory=f"lower token_budget or {saves_memory}"):
            start = time.perf_counter()
            model = load()
            loaded = time.perf_counter()
            try:
                fields = yield from represent(model)
            except NotFiniteError as error:
                of = texts.table.slice(int(np.argmax(texts.indices == error.row)), 1)
                lower = "use precision float32, or " if model.made()["precision"] in ("float16", "bfloat16") else ""
                what = f"what the model computes for {of.column_names[0]} {of[0][0].as_py()!r} holds infinity or not-a-number"
                raise ModelError(f"system {name}: {what}; {lower}look at its text") from error
        made.fields |= fields
        made.fields |= {
            "made": model.made(),
            **({"computation": computation} if (computation := model.computation()) else {}),
            "counts": model.counts_of(texts.kind) | fields.get("counts", {}),
            "seconds": {"load": loaded - start, STAGES[texts.kind]: time.perf_counter() - loaded},  # not the wait for a GPU
        }

    made = Made(parts(), system=name, rows=len(texts.table), distinct_texts=len(texts.different))
    return made


def in_rows(
    windows: Iterable[Part],
    indices: np.ndarray,
    *,
    count: Callable[[Part], int],
    one: Callable[[Part, int], Part],
    together: Callable[[list[Part]], Part],
) -> Iterator[Part]:
    """Give rows what represents their texts as soon as it is there.

    Args:
        windows: What represents some different texts, in their order.
        indices: The number of each row's text, integers of shape (rows,), which appear in ascending order for the first time.
        count: Counts the texts of a window.
        one: Copies a text of a window, so that the rest can be freed.
        together: Joins what represents several.

    Yields:
        What represents the texts of the next rows.
    """
    repeated = np.bincount(indices) > 1
    seen = np.maximum.accumulate(indices)  # ascends, so that a search in it finds the rows whose texts are all there
    kept: dict[int, Part] = {}
    row = start = 0
    for window in windows:
        stop = start + count(window)
        kept |= {number: one(window, number - start) for number in (start + np.flatnonzero(repeated[start:stop])).tolist()}
        end = int(np.searchsorted(seen, stop))
        numbers = indices[row:end]
        if np.array_equal(numbers, np.arange(start, stop)):
            yield window
        else:
            yield together([kept[number] if repeated[number] else one(window, number - start) for number in numbers.tolist()])
        row, start = end, stop
