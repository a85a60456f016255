"""Results of a lexical system, made in this process by the functions that the rules call."""

import json
import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from random import Random
from typing import Any, Self

import numpy as np
import pyarrow.parquet as pq
import pytest

import steps
from beir_writer import Judgements, write_beir
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.errors import BeirflowError
from beirflow.core.records import Job, read_json
from beirflow.data.prepare import prepare_corpus
from beirflow.evaluation.evaluate import evaluate_run
from beirflow.families.expansions.given import read_given
from beirflow.families.expansions.settings import Expansion
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.fields import Index
from beirflow.families.lexical.index_chunk import index_chunk
from beirflow.families.lexical.search_index import search_index
from beirflow.families.lexical.statistics import sum_statistics
from beirflow.families.postings.names import ENGLISH
from beirflow.families.sparse.settings import SparseSettings
from beirflow.ranking.merge import merge_chunks
from beirflow.ranking.searched import Retrieval
from call_with_fields import call
from lucene_reference import Document

DATASET = "small"
PLAIN = Index()
Row = tuple[str, str, float, int]


class LexicalResults:
    """A prepared corpus in chunks of so many documents; each step is a method. By default the first document is relevant."""

    def __init__(
        self,
        folder: Path,
        corpus: Sequence[Document],
        queries: Mapping[str, str],
        *,
        size: int = 1000,
        judgements: Judgements | None = None,
        top_k: int = 1000,
    ) -> None:
        self.results, self.top_k = folder / "results", top_k
        self.chunks = math.ceil(len(corpus) / size)
        documents = {doc_id: {"title": title, "text": text} for doc_id, title, text in corpus}
        source = write_beir(folder / "source", documents, queries, judgements or {query: {corpus[0][0]: 1} for query in queries})
        self.prepare(source)

    @classmethod
    def shuffled(
        cls, folder: Path, corpus: Sequence[Document], queries: Mapping[str, str], sizes: Sequence[int] = (1, 7, 1000)
    ) -> Iterator[Self]:
        """The same corpus in other orders and chunks; its first document is relevant in all of them."""
        judgements = {query: {corpus[0][0]: 1} for query in queries}
        for number, size in enumerate(sizes):
            documents = Random(number).sample(corpus, len(corpus))
            yield cls(folder / str(size), documents, queries, size=size, judgements=judgements, top_k=8)

    def prepare(self, source: Path, **how: Any) -> None:
        """Write the corpus of a dataset."""
        paths = {"documents_path": self.path(layout.DOCUMENTS), "queries_path": self.path(layout.QUERIES)}
        prepare(source, **paths, job=self.job("prepare_corpus"), chunks=self.chunks, **how)

    def copied(self, folder: Path) -> Self:
        """The same results in another folder, for a test that changes them."""
        shutil.copytree(self.results, folder / "results")
        other = copy(self)
        other.results = folder / "results"
        return other

    def job(self, rule: str) -> Job:
        """A job of a rule."""
        return Job(self.results, f"{rule}/{DATASET}", f"code of {rule}")

    def path(self, pattern: Any, **names: Any) -> str:
        """A file of the results."""
        return f"{self.results}/{pattern(**{'dataset': DATASET, 'analyzer': ENGLISH, **names})}"

    def record(self, pattern: Any, **names: Any) -> dict[str, Any]:
        """Read a record."""
        return read_json(self.path(pattern, **names))

    def digests(self, *paths: str) -> dict[str, str]:
        """Digests of files by their paths below the results."""
        return {Path(path).relative_to(self.results).as_posix(): file_digest(path) for path in paths}

    def index(self, chunk: int, index: Index = PLAIN, threads: int = 1, postings_of: Index | None = None) -> str:
        """Write the postings of a chunk, or those of another index in their place; gives their path."""
        analyzer, index = index.name, postings_of or index
        path = self.path(layout.POSTINGS, analyzer=analyzer, chunk=chunk)
        steps.run(
            index_chunk,
            self.job("index_chunk"),
            [path, self.path(layout.POSTINGS_RECORD, analyzer=analyzer, chunk=chunk)],
            documents=self.path(layout.DOCUMENTS),
            expansion=self.expansion_of(index, chunk),
            index=index,
            chunk=chunk,
            threads=threads,
        )
        return path

    def give(
        self, settings: LexicalSettings | SparseSettings, added: Mapping[str, object], chunks: Iterable[int] | None = None
    ) -> Self:
        """Write the expansion of all chunks, or of some, by document id, from a file in which it is given."""
        assert settings.added is not None
        source = self.results.with_name("given.jsonl")
        source.write_text("".join(json.dumps({"id": doc_id, settings.added.kind: each}) + "\n" for doc_id, each in added.items()))
        for chunk in chunks or range(self.chunks):
            self.read_given(settings.added, source, chunk)
        return self

    def read_given(self, given: Expansion, source: Path, chunk: int) -> str:
        """Write the expansion of a chunk from a file; gives its path."""
        path, record = (
            self.path(each, expansion=given.name, chunk=chunk) for each in (layout.EXPANSION, layout.EXPANSION_RECORD)
        )
        documents, of = self.path(layout.DOCUMENTS), {"given": given, "source_path": str(source), "chunk": chunk}
        steps.run(read_given, self.job("read_given"), [path, record], documents=documents, **of)
        return path

    def expansion_of(self, index: Index, chunk: int) -> str | None:
        """The file of what is added to the documents of a chunk."""
        return self.path(layout.EXPANSION, expansion=index.expansion, chunk=chunk) if index.expansion else None

    def sum(self, index: Index = PLAIN) -> str:
        """Write the statistics of all chunks; gives their path."""
        path, record = (self.path(each, analyzer=index.name) for each in (layout.STATISTICS, layout.STATISTICS_RECORD))
        postings = [self.path(layout.POSTINGS, analyzer=index.name, chunk=chunk) for chunk in range(self.chunks)]
        steps.run(sum_statistics, self.job("sum_statistics"), [path, record], postings=postings, index=index)
        return path

    def index_all(self, index: Index = PLAIN, threads: int = 1) -> Self:
        """Write the postings of all chunks and their statistics."""
        for chunk in range(self.chunks):
            self.index(chunk, index, threads=threads)
        self.sum(index)
        return self

    def search(self, settings: LexicalSettings, chunk: int = 0, *, drop: bool = True, threads: int = 1) -> str:
        """Write the candidates of a chunk; gives their path."""
        path = self.path(layout.CANDIDATES, system=settings.name, chunk=chunk)
        steps.run(
            search_index,
            self.job("search_index"),
            [path, self.path(layout.CANDIDATES_RECORD, system=settings.name, chunk=chunk)],
            queries=self.path(layout.QUERIES),
            documents=self.path(layout.DOCUMENTS),
            postings=self.path(layout.POSTINGS, analyzer=settings.index.name, chunk=chunk),
            statistics=self.path(layout.STATISTICS, analyzer=settings.index.name),
            expansion=self.expansion_of(settings.index, chunk),
            bm25=settings.bm25,
            retrieval=Retrieval(self.top_k, drop),
            threads=threads,
        )
        return path

    def merge(self, system: str) -> Path:
        """Write the run; gives its path."""
        steps.run(
            merge_chunks,
            self.job("merge_chunks"),
            [self.path(layout.RUN, system=system), self.path(layout.RUN_RECORD, system=system)],
            queries=self.path(layout.QUERIES),
            documents=self.path(layout.DOCUMENTS),
            candidates=[self.path(layout.CANDIDATES, system=system, chunk=chunk) for chunk in range(self.chunks)],
            system=system,
            dataset=DATASET,
            top_k=self.top_k,
            run_settings={},
        )
        return Path(self.path(layout.RUN, system=system))

    def run(self, settings: LexicalSettings, *, drop: bool = True, threads: int = 1) -> Path:
        """Search all chunks and merge what is found; gives the path of the run."""
        for chunk in range(self.chunks):
            self.search(settings, chunk, drop=drop, threads=threads)
        return self.merge(settings.name)

    def evaluate(self, system: str, cutoffs: Sequence[int] = (1, 10)) -> dict[str, Any]:
        """Evaluate the run; gives the record of the metrics."""
        names = {"system": system, "dataset": DATASET}
        steps.run(
            evaluate_run,
            self.job("evaluate_run"),
            [self.path(layout.PER_QUERY, **names), self.path(layout.METRICS, **names)],
            run=self.path(layout.RUN, **names),
            qrels=self.path(layout.QRELS),
            cutoffs=cutoffs,
            **names,
        )
        return self.record(layout.METRICS, **names)


def prepare(source: Path, *, chunks: int = 1, **how: Any) -> None:
    """Prepare a dataset of which nothing is known before."""
    expected = {"documents": None, "queries": None, "files": {}}
    call(prepare_corpus, source_path=str(source), forum=None, split="test", chunks=chunks, expected=expected, **how)


def refused(step: Callable[[], object], folder: Path, *patterns: str) -> None:
    """A step is refused in words that match all patterns, and leaves no file that was not there before."""
    before = sorted(filter(Path.is_file, folder.rglob("*")))
    with pytest.raises(BeirflowError) as caught:
        step()
    assert [pattern for pattern in patterns if not re.search(pattern, str(caught.value))] == [], str(caught.value)
    assert sorted(filter(Path.is_file, folder.rglob("*"))) == before


def rows_of(run: str | Path) -> list[Row]:
    """The rows of a run: query, document, score, rank."""
    return list(zip(*(column.to_pylist() for column in pq.read_table(run)), strict=True))


def damage(path: str | Path) -> None:
    """Change one byte in the middle of a file."""
    content = np.frombuffer(Path(path).read_bytes(), np.uint8).copy()
    content[len(content) // 2] ^= 1
    Path(path).write_bytes(content.tobytes())
