"""Scores of drawn queries and documents, recomputed by the rules of the workflow in scratch folders."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.audit.sample.rebuild import Texts, with_pool, write_corpus
from beirflow.config.experiment import Experiment
from beirflow.core import layout
from beirflow.core.errors import BeirflowError, DataError
from beirflow.data.document_text import split_title_and_text
from beirflow.families.system import System
from beirflow.run.scratch import scratch


@dataclass(frozen=True)
class Pool(Texts):
    """Drawn queries and documents of a prepared corpus."""

    def of(self, queries: list[str], documents: list[str]) -> "Pool":
        """Return a part of it."""
        return replace(
            self,
            queries=self.queries.filter(pc.field("query_id").isin(queries)),
            qrels=self.qrels.filter(pc.field("query_id").isin(queries)),
            documents=self.documents.filter(pc.field("doc_id").isin(documents)),
        )

    @property
    def without_titles(self) -> "Pool":
        """The same without the titles of documents."""
        _, texts = split_title_and_text(self.documents["text"].combine_chunks(), self.documents["title_bytes"].to_numpy())
        columns = {**dict(zip(self.documents.column_names, self.documents.columns, strict=True))}
        columns |= {"text": pc.utf8_ltrim_whitespace(texts), "title_bytes": pa.array(np.zeros(len(texts), np.int64))}
        return replace(self, documents=pa.table(columns).cast(self.documents.schema))


@dataclass(frozen=True)
class Scores:
    """Scores of every query with every document, not-a-number where a system finds none."""

    query_ids: pa.Array
    doc_ids: pa.Array
    values: np.ndarray  # float32 of shape (queries, documents)
    run: pa.Table
    precision: str

    def of(self, query_ids: pa.ChunkedArray, doc_ids: pa.ChunkedArray) -> np.ndarray:
        """Return the scores of pairs, not-a-number for those that are not here."""
        rows, columns = (
            pc.fill_null(pc.index_in(ids, value_set=known), -1).to_numpy()
            for ids, known in ((query_ids, self.query_ids), (doc_ids, self.doc_ids))
        )
        return np.where((rows >= 0) & (columns >= 0), self.values[rows, columns], np.nan)


def check_family(experiment: Experiment, name: str) -> None:
    """Raise DataError for a system that a pool of documents does not determine."""
    family, settings = experiment.family(name), experiment.systems[name].settings
    if not family.has_model or family.reads(settings).systems or family.added(settings) or family.direct:
        problem = f"{name} is of the family {family.name}, whose scores depend on more than a query, a document and a model"
        raise DataError(f"{problem}; only encoders are recomputed on a sample. Audit a folder of results of it: beirflow audit")


def recompute(
    experiment: Experiment, pool: Pool, systems: Mapping[str, System], precision: str
) -> Iterator[tuple[str, Scores | str]]:
    """Yield the name of each system with its scores of a pool, or why it cannot compute them."""
    count = pool.documents.num_rows
    config: dict[str, Any] = {"systems": list(systems), "precision": precision, "keep_representations": True}
    here = with_pool(experiment, pool.dataset, count, pool.queries.num_rows, chunk_documents=count, top_k=count, **config)
    with scratch(replace(here, systems={**experiment.systems, **systems})) as place:
        write_corpus(place, pool)
        for name in systems:
            path = layout.RUN(system=name, dataset=pool.dataset)
            try:
                place.make(path)
            except BeirflowError as error:
                yield name, str(error)
                continue
            yield name, _scores(pool, pq.read_table(place.folder / path), precision)


def _scores(pool: Pool, run: pa.Table, precision: str) -> Scores:
    query_ids, doc_ids = (
        pool.queries["query_id"].combine_chunks().cast(pa.string()),
        pool.documents["doc_id"].combine_chunks().cast(pa.string()),
    )
    values = np.full((len(query_ids), len(doc_ids)), np.nan, np.float32)
    rows = pc.index_in(run["query_id"], value_set=query_ids).to_numpy()
    values[rows, pc.index_in(run["doc_id"], value_set=doc_ids).to_numpy()] = run["score"].to_numpy()
    return Scores(query_ids, doc_ids, values, run, precision)
