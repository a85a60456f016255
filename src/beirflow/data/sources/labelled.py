"""Datasets in one file, in which each line has a query and its documents.

A labelled file comes from judging search results, so it has no ids of queries, and not always ids of documents. Missing ids are
digests of the text, so that ids do not change when lines are added or moved.

A file of samples is for re-ranking: its lines have relevant documents and others. Each query ranks its own candidates and no
other document. The judged documents are the candidates, so only the judgements define them. As in MTEB, a sample without
relevant or without other documents is left out, and a text that appears twice in a sample is two documents.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from beirflow.core.errors import DataError
from beirflow.data.query_lists import as_query
from beirflow.data.sources.beir_files import judgement_line
from beirflow.data.sources.forms import LabelledForm, SamplesForm
from beirflow.data.sources.json_lines import (
    grade_of,
    id_of,
    is_list_of,
    is_object,
    is_text,
    lines_in,
    objects_in,
    short,
    value_of,
)
from beirflow.data.sources.source import CORPUS, QUERIES, Block, DatasetSource, blocks_of, read_blocks

FIELDS = "; fields are named in 'fields'"  # the end of messages about these

ID_DIGITS = 16  # digits of an id that is made, of a digest in hexadecimal


class _QuerySource(DatasetSource):
    """A file whose lines are queries with documents, in place of the three files of BEIR."""

    def where(self, name: str) -> str:
        """Return the name of the file in messages, the same for all three files of BEIR."""
        return str(self.path)

    def _objects(self, expected: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield number and object of each line; the digest of the file is noted after the last."""
        digest = hashlib.sha256()
        with self.path.open("rb") as stream:
            for numbers, block in read_blocks(stream, str(self.path), digest.update):
                yield from objects_in(str(self.path), lines_in(numbers, block), expected)
        self.digests[self.path.name] = digest.hexdigest()


class _Document(NamedTuple):
    """A document of a line, with the score of its label."""

    doc_id: str
    title: str
    text: str
    score: int | None


class LabelledSource(_QuerySource):
    """A file of queries with their labelled documents.

    A query without any relevant document counts as not judged: no system can find anything for it.
    """

    def __init__(self, path: str | Path, form: LabelledForm) -> None:
        super().__init__(path)
        self.form = form
        self._scores = dict(form.labels)

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield the lines of one of the three files of BEIR, with the numbers of their original lines."""
        if name == CORPUS:
            yield from blocks_of(self._documents())
            return
        judged = self._judged()
        if name == QUERIES:
            yield from blocks_of(
                (number, orjson.dumps({"_id": _made_id("q", query), "text": query})) for query, (number, _) in judged.items()
            )
            return
        yield from blocks_of(
            (number, judgement_line(_made_id("q", query), doc_id, score))
            for query, (_, judgements) in judged.items()
            for doc_id, (number, score) in judgements.items()
        )

    def _documents(self) -> Iterator[tuple[int, bytes]]:
        """Yield every document once."""
        first: dict[str, tuple[int, bytes]] = {}
        for number, _, documents in self._lines():
            for doc_id, title, text, _ in documents:
                content = _digest(title, text)
                if doc_id not in first:
                    first[doc_id] = number, content
                    yield number, orjson.dumps({"_id": doc_id, "title": title, "text": text})
                elif first[doc_id][1] != content:
                    problem = f"the document {doc_id!r} has another title or text than in line {first[doc_id][0]}"
                    raise DataError(f"{self.path}:{number}: {problem}; equal ids must be equal documents")

    def _judged(self) -> dict[str, tuple[int, dict[str, tuple[int, int]]]]:
        """Return by query with a relevant document its first line and its judgements: by document, line and score."""
        judged_by_query: dict[str, tuple[int, dict[str, tuple[int, int]]]] = {}
        for number, query, documents in self._lines():
            judgements = judged_by_query.setdefault(query, (number, {}))[1]
            for doc_id, _, _, score in documents:
                if score is None:
                    continue
                # A document may be repeated, also in other lines of the query, with one score.
                line, before = judgements.setdefault(doc_id, (number, score))
                if before != score:
                    both = f"the document {doc_id!r} has the score {score} here and {before} in line {line}, for one query"
                    raise DataError(f"{self.path}:{number}: {both}; keep one of the two labels")
        judged = {
            query: (line, judgements)
            for query, (line, judgements) in judged_by_query.items()
            if any(score > 0 for _, score in judgements.values())
        }
        if not judged:
            raise DataError(f"{self.path}: no query has a relevant document, that is a label with a score above 0")
        self.assumed["queries_without_relevant_documents"] = len(judged_by_query) - len(judged)
        return judged

    def _lines(self) -> Iterator[tuple[int, str, list[_Document]]]:
        """Yield number, query and documents of each line; what had to be assumed is noted after the last."""
        unnamed = unlabelled = 0
        for number, record in self._objects(f"{self.form.query!r} and {self.form.documents!r}"):
            where = f"{self.path}:{number}"
            query, entries = self._checked(where, record)
            documents = [self._document(where, entry) for entry in entries]
            unnamed += sum(entry.get(self.form.id) is None for entry in entries)
            unlabelled += sum(document.score is None for document in documents)
            yield number, query, documents
        self.assumed |= {
            "ids_of_queries": "from their texts",
            "documents_without_id": unnamed,
            "documents_without_label": unlabelled,
            "labels": self._scores,
        }

    def _checked(self, where: str, record: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        """Return the query of a line, and its documents unchecked."""
        query = value_of(where, record, self.form.query, "a text", _is_query, FIELDS)
        return query, value_of(where, record, self.form.documents, "a list of objects", is_list_of(is_object), FIELDS)

    def _document(self, where: str, entry: Mapping[str, Any]) -> _Document:
        form, of_document = self.form, f"{where}: of a document"
        title = "" if entry.get(form.title) is None else value_of(of_document, entry, form.title, "a string", is_text, FIELDS)
        text = value_of(of_document, entry, form.text, "a string", is_text, FIELDS)
        doc_id = _made_id("d", title, text) if entry.get(form.id) is None else id_of(of_document, entry, form.id)
        return _Document(doc_id, title, text, self._score(where, entry.get(form.label)))

    def _score(self, where: str, label: Any) -> int | None:
        """Return the score of a label; None without one."""
        if label is None:
            return None
        name = str(label).lower() if isinstance(label, bool) else str(label)  # as JSON spells it
        score = self._scores.get(name) if self._scores else grade_of(label)
        if score is not None:
            return score
        known = ", ".join(map(repr, self._scores)) or "integers"
        todo = "give its score in 'labels', 0 for not relevant"
        raise DataError(f"{where}: {self.form.label!r} of a document is {short(label)}, known are {known}; {todo}")


def _is_query(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _digest(*texts: str) -> bytes:
    """Return a digest of texts and of where each ends."""
    return hashlib.sha256(b"".join(b"%d " % len(text) + text.encode() for text in texts)).digest()


def _made_id(kind: str, *texts: str) -> str:
    """Return an id for a text that has none; its letter keeps queries and documents apart, so that none is a self match."""
    return f"{kind}-{_digest(*texts).hex()[:ID_DIGITS]}"


class SamplesSource(_QuerySource):
    """A file of samples, in a form that names its fields."""

    own_candidates = True

    def __init__(self, path: str | Path, form: SamplesForm) -> None:
        super().__init__(path)
        self.form = form
        self.query_lists = form.query_lists is not None

    def blocks(self, name: str) -> Iterator[Block]:
        """Yield the lines of one of the three files of BEIR, with the numbers of their original lines."""
        yield from blocks_of((sample[0], line) for sample in self._samples() for line in _lines_of(name, *sample))

    def _samples(self) -> Iterator[tuple[int, str, list[tuple[str, int]]]]:
        """Yield number, query, and texts with grades of samples that have both grades; the others are counted after the last."""
        form, others = self.form, 0
        for number, record in self._objects(f"{form.query!r}, {form.positive!r}, {form.negative!r}"):
            where = f"{self.path}:{number}"
            query = self._query(where, record)
            graded = [
                (text, grade)
                for name, grade in ((form.positive, 1), (form.negative, 0))
                for text in value_of(where, record, name, "a list of texts", is_list_of(is_text), FIELDS)
            ]
            if len({grade for _, grade in graded}) > 1:
                yield number, query, graded
            else:
                others += 1
        self.assumed |= {"ids": "from lines and texts", "samples_without_relevant_or_other_documents": others}

    def _query(self, where: str, record: Mapping[str, Any]) -> str:
        """Return a query, which may be a list, as one text."""
        name: str = self.form.query
        value: Any = record.get(name)
        if isinstance(value, list) and self.form.query_lists is None:
            todo = "set 'query_lists: averaged' of this dataset to take the mean of their vectors, or write one text"
            raise DataError(f"{where}: {name!r} is a list of {len(value)} texts; {todo}")
        expected = "a text" if self.form.query_lists is None else "a text or a list of texts"
        value_of(
            where, record, name, expected, lambda value: _is_query(value) or (value and is_list_of(_is_query)(value)), FIELDS
        )
        texts = value if isinstance(value, list) else [value]
        query = as_query(texts)
        if query is None:
            raise DataError(f"{where}: {name!r} has the character U+FDD1, which separates the texts of a list; remove it")
        return query


def _lines_of(name: str, number: int, query: str, graded: list[tuple[str, int]]) -> Iterator[bytes]:
    """Yield the lines of a sample in one of the three files of BEIR."""
    query_id = f"s{number}"
    if name == QUERIES:
        yield orjson.dumps({"_id": query_id, "text": query})
        return
    for place, (text, grade) in enumerate(graded):
        # The id must not tell what is relevant, because it orders ties.
        digest = hashlib.sha256(f"{query_id} {place} {text}".encode()).hexdigest()
        doc_id = f"{query_id}-{digest[:ID_DIGITS]}"
        yield orjson.dumps({"_id": doc_id, "text": text}) if name == CORPUS else judgement_line(query_id, doc_id, grade)
