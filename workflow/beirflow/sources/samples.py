"""Datasets for re-ranking: each line has a query and its candidates, relevant ones and others.

Each query ranks its own candidates and no other document. The judged documents are the candidates, so
only the judgements define them. As in MTEB, a sample without relevant or without other documents is left out, and a text that
appears twice in a sample is two documents.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from beirflow.files.errors import DataError
from beirflow.sources.beir_files import judgement_line
from beirflow.sources.forms import SamplesForm
from beirflow.sources.json_lines import lines_in, read_value, short
from beirflow.sources.query_lists import as_query
from beirflow.sources.source import CORPUS, QUERIES, Block, DatasetSource, blocks_of, read_blocks

ID_DIGITS = 16
"""Digits of an id that is made, of the digest of a document in hexadecimal."""


class _Sample(NamedTuple):
    """A query with its candidates: their ids, texts and grades."""

    query_id: str
    query: str
    candidates: list[tuple[str, str, int]]


class SamplesSource(DatasetSource):
    """A file of samples.

    Args:
        path: The file.
        form: Its fields.
    """

    own_candidates = True

    def __init__(self, path: str | Path, form: SamplesForm) -> None:
        super().__init__(path)
        self.form = form
        self.query_lists = form.query_lists is not None

    def where(self, name: str) -> str:
        """Return the name of the file in messages, for all three files of BEIR."""
        return str(self.path)

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield the lines of one of the three files of BEIR, with the numbers of their original lines."""
        yield from blocks_of((number, line) for number, sample in self._samples() for line in _lines_of(sample, name))

    def _samples(self) -> Iterator[tuple[int, _Sample]]:
        """Yield the samples with relevant and other documents; the number of the rest is noted after the last."""
        others, digest = 0, hashlib.sha256()
        with self.path.open("rb") as stream:
            for numbers, block in read_blocks(stream, str(self.path), digest):
                for number, line in lines_in(numbers, block):
                    sample = self._parse(number, line)
                    if len({grade for _, _, grade in sample.candidates}) > 1:
                        yield number, sample
                    else:
                        others += 1
        self.digests[self.path.name] = digest.hexdigest()
        self.assumed |= {"ids": "from lines and texts", "samples_without_relevant_or_other_documents": others}

    def _parse(self, number: int, line: bytes) -> _Sample:
        form, where, record = self.form, f"{self.path}:{number}", read_value(str(self.path), number, line)
        names = (form.query, form.positive, form.negative)
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected a JSON object with {', '.join(map(repr, names))}, found {short(record)}")
        query, positive, negative = (record.get(name) for name in names)
        query_id, query = f"s{number}", self._query(where, query)
        graded = [(text, 1) for text in _texts(where, form.positive, positive)]
        graded += [(text, 0) for text in _texts(where, form.negative, negative)]
        candidates = [(_made_id(query_id, place, text), text, grade) for place, (text, grade) in enumerate(graded)]
        return _Sample(query_id, query, candidates)

    def _query(self, where: str, found: Any) -> str:
        """Return a query, which may be a list, as one text."""
        name = self.form.query
        if isinstance(found, list) and self.form.query_lists is None:
            todo = "set 'query_lists: averaged' of this dataset to take the mean of their vectors, or write one text"
            raise DataError(f"{where}: {name!r} is a list of {len(found)} texts; {todo}")
        texts = found if isinstance(found, list) else [found]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            expected = "a text" if self.form.query_lists is None else "a text or a list of texts"
            raise DataError(f"{where}: {name!r} must be {expected}, found {short(found)}; fields are named in 'fields'")
        query = as_query(texts)
        if query is None:
            raise DataError(f"{where}: {name!r} has the character U+FDD1, which stands between the texts of a list; remove it")
        return query


def _texts(where: str, name: str, texts: Any) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{where}: {name!r} must be a list of texts, found {short(texts)}; fields are named in 'fields'")
    return texts


def _lines_of(sample: _Sample, name: str) -> Iterator[bytes]:
    """Yield the lines of a sample in one of the three files of BEIR."""
    if name == QUERIES:
        yield orjson.dumps({"_id": sample.query_id, "text": sample.query})
    for doc_id, text, grade in sample.candidates:
        row: dict[str, Any] = {"_id": doc_id, "text": text}
        if name == CORPUS:
            yield orjson.dumps(row)
        elif name != QUERIES:
            yield judgement_line(sample.query_id, doc_id, grade)


def _made_id(query_id: str, place: int, text: str) -> str:
    """Return the id of a candidate, which must not tell what is relevant, because it orders ties."""
    return f"{query_id}-{hashlib.sha256(f'{query_id} {place} {text}'.encode()).hexdigest()[:ID_DIGITS]}"
