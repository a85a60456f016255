"""Results of a sparse system, made in this process by the functions that the rules call."""

from typing import Any

from beirflow.files.layout import (
    CANDIDATES,
    DOCUMENTS,
    MODEL,
    QUERIES,
    QUERY_WEIGHTS,
    TERM_WEIGHTS,
)
from beirflow.sparse.model_folders import fetch_sparse_model
from beirflow.sparse.settings import SparseSettings
from beirflow.sparse.steps import Weighing, search_weights, weigh_chunk, weigh_queries
from lexical_results import LexicalResults


class SparseResults(LexicalResults):
    """A corpus of one dataset, prepared as for a lexical system; each step of a sparse one is a method."""

    def weighing(self, settings: SparseSettings, **how: Any) -> Weighing:
        """How terms are weighed; the model has been fetched."""
        model = self.path(MODEL, system=settings.name)
        return Weighing(settings, model, **{"precision": "float32", "device": "cpu", **how})

    def fetch(self, settings: SparseSettings) -> str:
        """Write the record of the model; gives its path."""
        path = self.path(MODEL, system=settings.name)
        fetch_sparse_model(settings=settings, output_path=path, job=self.job("fetch_sparse_model"))
        return path

    def weigh(self, settings: SparseSettings, chunk: int | None = None, **how: Any) -> str:
        """Write the weights of a chunk, or of the queries; gives their path."""
        weighing, job = self.weighing(settings, **how), self.job("weigh")
        if chunk is None:
            path = self.path(QUERY_WEIGHTS, system=settings.name)
            weigh_queries(queries_path=self.path(QUERIES), output_path=path, weighing=weighing, job=job)
            return path
        path = self.path(TERM_WEIGHTS, system=settings.name, chunk=chunk)
        weigh_chunk(documents_path=self.path(DOCUMENTS), chunk=chunk, output_path=path, weighing=weighing, job=job)
        return path

    def weigh_all(self, settings: SparseSettings, **how: Any) -> "SparseResults":
        """Fetch the model and write the weights of the queries and of all chunks."""
        self.fetch(settings)
        for chunk in (None, *range(self.chunks)):
            self.weigh(settings, chunk, **how)
        return self

    def find(self, settings: SparseSettings, chunk: int = 0, *, drop: bool = True, threads: int = 1) -> str:
        """Write the candidates of a chunk; gives their path."""
        path = self.path(CANDIDATES, system=settings.name, chunk=chunk)
        search_weights(
            settings=settings,
            queries_path=self.path(QUERIES),
            documents_path=self.path(DOCUMENTS),
            model_path=self.path(MODEL, system=settings.name),
            chunk=chunk,
            query_weights_path=self.path(QUERY_WEIGHTS, system=settings.name),
            chunk_weights_path=self.path(TERM_WEIGHTS, system=settings.name, chunk=chunk),
            output_path=path,
            top_k=self.top_k,
            drop_self_matches=drop,
            job=self.job("search_weights"),
            threads=threads,
        )
        return path

    def find_all(self, settings: SparseSettings, *, drop: bool = True, threads: int = 1) -> str:
        """Search all chunks and merge what is found; gives the path of the run."""
        for chunk in range(self.chunks):
            self.find(settings, chunk, drop=drop, threads=threads)
        return str(self.merge(settings.name))
