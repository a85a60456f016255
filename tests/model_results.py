"""Results of families whose model makes a file of each chunk and one of the queries, made in this process as the rules do."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

import steps
from beirflow.core import layout
from beirflow.core.artifact import Step
from beirflow.core.layout import record_of
from beirflow.core.patterns import Pattern
from beirflow.families.dense.encode import Encoding, encode_chunk, encode_queries
from beirflow.families.dense.search import search_chunk
from beirflow.families.late_interaction.encode import TokenEncoding, encode_query_tokens, encode_tokens
from beirflow.families.late_interaction.search import search_tokens
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.families.matches import Pairs
from beirflow.families.sparse.search import search_weights
from beirflow.families.sparse.settings import SparseSettings
from beirflow.families.sparse.weigh import Weighing, weigh_chunk, weigh_queries
from beirflow.models.model_files import fetch_model
from beirflow.models.settings import EncoderSettings
from beirflow.ranking.searched import Retrieval
from lexical_results import DATASET, LexicalResults, Row
from lucene_reference import Document
from tiny_bert import WORDS

SettingsT = TypeVar("SettingsT", EncoderSettings, LateSettings, SparseSettings)
COMPUTING: dict[str, Any] = {"precision": "float32", "device": "cpu"}


def random_corpus(documents: int, *further: str) -> list[Document]:
    """Many equal texts, so that ties are everywhere; some without title, text or both."""
    random = Random(1)
    texts = ["", " ", *further, *(" ".join(random.choices(WORDS[:50], k=random.randrange(1, 12))) for _ in range(12))]
    return [(f"d{i}", random.choice(["", "w3 .", "w1 w2"]), random.choice(texts)) for i in range(documents)]


def pairs_of(rows: Sequence[Row], queries: Mapping[str, str], corpus: Sequence[Document]) -> Pairs:
    """The hits of a run as pairs of texts."""
    query_ids, doc_ids = list(queries), [doc_id for doc_id, *_ in corpus]
    numbers = [(query_ids.index(query), doc_ids.index(document)) for query, document, *_ in rows]
    query, document = (np.array(column) for column in zip(*numbers, strict=True))
    return Pairs(list(queries.values()), [text for *_, text in corpus], query, document)


class ModelResults(LexicalResults, Generic[SettingsT]):
    """A corpus of one dataset, prepared as for a lexical system; each step of a system with a model is a method."""

    of_chunk: Pattern
    of_queries: Pattern
    configured: list[str] | None = None  # settings that the configuration states

    @classmethod
    def of_samples(cls, folder: Path, samples: Sequence[Mapping[str, Any]], top_k: int) -> Self:
        """Samples for re-ranking, each a query with its candidates, in three chunks."""
        made = cls.__new__(cls)
        made.results, made.top_k, made.chunks = folder / "results", top_k, 3
        (folder / "s.jsonl").write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
        made.prepare(folder / "s.jsonl", form={"kind": "samples"})
        return made

    def fetch(self, settings: SettingsT) -> str:
        """Write the record of the model; gives its path."""
        path = self.model_of(settings.name)
        fetch_model(system=settings, configured=self.configured, output_path=path, job=self.job("fetch_model"))
        return path

    def model_of(self, system: str) -> str:
        """The record of the model of a system."""
        return self.path(layout.MODEL, system=system)

    def make(self, settings: SettingsT, chunk: int | None = None, **how: Any) -> str:
        """Write the file of a chunk, or of the queries; gives its path."""
        raise NotImplementedError

    def find(self, settings: SettingsT, chunk: int = 0, *, drop: bool = True, threads: int = 1) -> str:
        """Write the candidates of a chunk; gives their path."""
        raise NotImplementedError

    def search(self, step: Step, system: str, number: int, drop: bool, **arguments: Any) -> str:
        """Run the step that writes the candidates of a chunk; gives their path."""
        path = self.path(layout.CANDIDATES, system=system, chunk=number)
        inputs = {"queries": self.path(layout.QUERIES), "documents": self.path(layout.DOCUMENTS), "model": self.model_of(system)}
        outputs = [path, self.path(layout.CANDIDATES_RECORD, system=system, chunk=number)]
        steps.run(step, self.job("search"), outputs, **inputs, retrieval=Retrieval(self.top_k, drop), **arguments)
        return path

    def search_vectors(self, step: Step, system: str, chunk: int, drop: bool, **arguments: Any) -> str:
        """Run such a step of a family that compares vectors of queries with those of the chunk."""
        vectors = {"query_vectors": self.place(system, None), "chunk_vectors": self.place(system, chunk)}
        return self.search(step, system, chunk, drop, chunk=chunk, device="cpu", **vectors, **arguments)

    def represent(self, step: Step, system: str, chunk: int | None, **arguments: Any) -> str:
        """Run the step that makes the file of a chunk, or of the queries; gives its path."""
        path = self.place(system, chunk)
        read: dict[str, Any] = {"queries": self.path(layout.QUERIES)}
        if chunk is not None:
            read = {"documents": self.path(layout.DOCUMENTS), "chunk": chunk}
        outputs = [path, str(record_of(path))]
        steps.run(step, self.job(step.name), outputs, model=self.model_of(system), **read, **arguments)
        return path

    def make_all(self, settings: SettingsT, **how: Any) -> Self:
        """Fetch the model and write the files of the queries and of all chunks."""
        self.fetch(settings)
        for chunk in (None, *range(self.chunks)):
            self.make(settings, chunk, **how)
        return self

    def find_all(self, settings: SettingsT, *, drop: bool = True, threads: int = 1) -> str:
        """Search all chunks and merge what is found; gives the path of the run."""
        for chunk in range(self.chunks):
            self.find(settings, chunk, drop=drop, threads=threads)
        return str(self.merge(settings.name))

    def place(self, system: str, chunk: int | None) -> str:
        """Give the path of the file of a chunk, or of the queries."""
        return (
            self.path(self.of_queries, system=system) if chunk is None else self.path(self.of_chunk, system=system, chunk=chunk)
        )


class VectorResults(ModelResults[EncoderSettings]):
    """Those of a dense system, whose vectors are compared by the cosine."""

    of_chunk, of_queries = layout.CHUNK_VECTORS, layout.QUERY_VECTORS
    configured: ClassVar = ["pooling", "similarity"]

    def make(self, settings: EncoderSettings, chunk: int | None = None, **how: Any) -> str:
        encoding = Encoding(settings, self.model_of(settings.name), **COMPUTING | how)
        return self.represent(encode_queries if chunk is None else encode_chunk, settings.name, chunk, encoding=encoding)

    def find(self, settings: EncoderSettings, chunk: int = 0, *, drop: bool = True, threads: int = 1) -> str:
        return self.search_vectors(search_chunk, settings.name, chunk, drop, similarity="cosine", threads=threads)


class LateResults(ModelResults[LateSettings]):
    """Those of late interaction."""

    of_chunk, of_queries = layout.TOKEN_VECTORS, layout.QUERY_TOKEN_VECTORS

    def make(self, settings: LateSettings, chunk: int | None = None, **how: Any) -> str:
        encoding = TokenEncoding(settings.for_dataset(DATASET), self.model_of(settings.name), **COMPUTING | how)
        return self.represent(encode_query_tokens if chunk is None else encode_tokens, settings.name, chunk, encoding=encoding)

    def find(self, settings: LateSettings, chunk: int = 0, *, drop: bool = True, threads: int = 1) -> str:
        return self.search_vectors(search_tokens, settings.name, chunk, drop, threads=threads)


class SparseResults(ModelResults[SparseSettings]):
    """Those of a sparse system."""

    of_chunk, of_queries = layout.TERM_WEIGHTS, layout.QUERY_WEIGHTS

    def added_to(self, settings: SparseSettings, chunk: int) -> str | None:
        """The file of what is added to the documents of a chunk."""
        return self.path(layout.EXPANSION, expansion=settings.added.name, chunk=chunk) if settings.added else None

    def make(self, settings: SparseSettings, chunk: int | None = None, **how: Any) -> str:
        weighing = Weighing(settings, self.model_of(settings.name), **COMPUTING | how)
        if chunk is None:
            return self.represent(weigh_queries, settings.name, chunk, weighing=weighing)
        return self.represent(weigh_chunk, settings.name, chunk, weighing=weighing, expansion=self.added_to(settings, chunk))

    def find(self, settings: SparseSettings, chunk: int = 0, *, drop: bool = True, threads: int = 1) -> str:
        weights = {"query_weights": self.place(settings.name, None), "chunk_weights": self.place(settings.name, chunk)}
        weights |= {"expansion": self.added_to(settings, chunk)}
        return self.search(search_weights, settings.name, chunk, drop, settings=settings, threads=threads, **weights)
