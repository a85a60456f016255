"""Results of a system of late interaction, made in this process by the functions that the rules call."""

from typing import Any

from beirflow.files.layout import CANDIDATES, DOCUMENTS, MODEL, QUERIES, QUERY_TOKEN_VECTORS, TOKEN_VECTORS
from beirflow.late.settings import LateSettings
from beirflow.late.steps import TokenEncoding, encode_query_tokens, encode_tokens, search_tokens
from beirflow.models.model_files import fetch_model
from lexical_results import DATASET, LexicalResults


class LateResults(LexicalResults):
    """A corpus of one dataset, prepared as for a lexical system; each step of one of late interaction is a method."""

    def fetch(self, settings: LateSettings) -> str:
        """Write the record of the model; gives its path."""
        path = self.path(MODEL, system=settings.name)
        fetch_model(system=settings, said=None, output_path=path, job=self.job("fetch_model"))
        return path

    def encode(self, settings: LateSettings, chunk: int | None = None, **how: Any) -> str:
        """Write the vectors of a chunk, or of the queries; gives their path."""
        model = self.path(MODEL, system=settings.name)
        encoding = TokenEncoding(settings.for_dataset(DATASET), model, **{"precision": "float32", "device": "cpu", **how})
        job = self.job("encode_tokens")
        if chunk is None:
            path = self.path(QUERY_TOKEN_VECTORS, system=settings.name)
            encode_query_tokens(queries_path=self.path(QUERIES), output_path=path, encoding=encoding, job=job)
            return path
        path = self.path(TOKEN_VECTORS, system=settings.name, chunk=chunk)
        encode_tokens(documents_path=self.path(DOCUMENTS), chunk=chunk, output_path=path, encoding=encoding, job=job)
        return path

    def encode_all(self, settings: LateSettings, **how: Any) -> "LateResults":
        """Fetch the model and write the vectors of the queries and of all chunks."""
        self.fetch(settings)
        for chunk in (None, *range(self.chunks)):
            self.encode(settings, chunk, **how)
        return self

    def find(self, settings: LateSettings, chunk: int = 0, *, drop: bool = True, threads: int = 1) -> str:
        """Write the candidates of a chunk; gives their path."""
        path = self.path(CANDIDATES, system=settings.name, chunk=chunk)
        search_tokens(
            system=settings.name,
            queries_path=self.path(QUERIES),
            documents_path=self.path(DOCUMENTS),
            model_path=self.path(MODEL, system=settings.name),
            chunk=chunk,
            query_vectors_path=self.path(QUERY_TOKEN_VECTORS, system=settings.name),
            chunk_vectors_path=self.path(TOKEN_VECTORS, system=settings.name, chunk=chunk),
            output_path=path,
            top_k=self.top_k,
            drop_self_matches=drop,
            job=self.job("search_tokens"),
            device="cpu",
            threads=threads,
        )
        return path

    def find_all(self, settings: LateSettings, *, drop: bool = True, threads: int = 1) -> str:
        """Search all chunks and merge what is found; gives the path of the run."""
        for chunk in range(self.chunks):
            self.find(settings, chunk, drop=drop, threads=threads)
        return str(self.merge(settings.name))
