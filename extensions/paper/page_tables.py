"""Columns of the tables of the paper's page, by the name of their CSV."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from scipy.constants import giga

from beirflow.report.pages import DATASET, SYSTEM, Column, Columns, words


class PageTable(NamedTuple):
    """A table of the page that shows columns of a CSV."""

    title: str
    caption: str
    columns: Columns
    options: Mapping[str, Any] = MappingProxyType({})  # fields of a table


PAGE_TABLES: Mapping[str, PageTable] = {
    "claims": PageTable(
        "Findings",
        "Findings of the paper, and whether these results confirm them",
        {
            "finding": words("Finding", "stub"),
            "says": words("Claim of the paper", "prose"),
            "source": words("Section"),
            "verdict": words("Verdict"),
            "coverage": words("Datasets"),
            "sentence": words("Result", "prose"),
            "decided_by": words("Criterion", "prose"),
        },
    ),
    "table-1": PageTable(
        "Datasets (table 1)",
        "Statistics of the datasets",
        {
            "dataset": DATASET,
            "": {
                "task": words("Task"),
                "domain": words("Domain"),
                "relevancy": words("Relevancy"),
                "titles": Column("Titles", ".0%"),
                "without_text": Column("Title only", ",.0f"),
            },
            "Queries": {
                "queries": Column("measured", ",.0f"),
                "printed_queries": Column("printed", ",.0f"),
            },
            "Documents": {
                "documents": Column("measured", ",.0f"),
                "printed_documents": Column("printed", ",.0f"),
            },
            "Relevant per query": {
                "relevant_per_query": Column("measured", ",.1f"),
                "printed_relevant_per_query": Column("printed", ",.1f"),
            },
            "Words per query": {
                "query_words": Column("measured", ",.2f"),
                "printed_query_words": Column("printed", ",.2f"),
            },
            "Words per document": {
                "document_words": Column("measured", ",.2f"),
                "printed_document_words": Column("printed", ",.2f"),
            },
        },
        {"close": True},
    ),
    "efficiency": PageTable(
        "Latency and index (section 5.1)",
        "Latency of a single query, and index size",
        {
            "system": SYSTEM,
            "source": words("Source"),
            "dataset": words("Dataset"),
            "documents": Column("Documents", ",.0f", classes="number upright"),
            "gpu_ms": Column("GPU, ms", ",.1f", classes="number upright"),
            "gpu_p95_ms": Column("GPU, 95th percentile", ",.1f", classes="number upright"),
            "cpu_ms": Column("CPU, ms", ",.1f", classes="number upright"),
            "cpu_p95_ms": Column("CPU, 95th percentile", ",.1f", classes="number upright"),
            "gpu_batch_queries_per_second": Column("GPU, queries/s in batches", ",.1f", classes="number upright"),
            "cpu_batch_queries_per_second": Column("CPU, queries/s in batches", ",.1f", classes="number upright"),
            "queries": Column("Queries", ",.0f", classes="number upright"),
            "load_per_core": Column("Load per core", ".1f", classes="number upright"),
            "busy": words("Machine"),
            "index_bytes": Column("Index, GB", ",.3g", classes="number upright", unit=giga),
        },
        {"close": True},
    ),
    "bias": PageTable(
        "Annotation bias (section 6)",
        "Unjudged documents in datasets with pooled judgements",
        {
            "dataset": DATASET,
            "system": words("System"),
            "hole": Column("Hole@10", classes="number upright"),
            "unjudged": Column("Unjudged@10", classes="number upright"),
            "ndcg": Column("NDCG@10", classes="number upright"),
            "ndcg_holes_relevant": Column("if holes were relevant", classes="number upright"),
            "ndcg_condensed": Column("without holes", classes="number upright"),
            "bpref": Column("bpref", classes="number upright"),
            "extra_by": words("Extra judgements by"),
            "hole_extra": Column("Hole@10, with extra judgements", classes="number upright"),
            "ndcg_extra": Column("NDCG@10, with extra judgements", classes="number upright"),
            "printed_hole": Column("Hole@10, printed", classes="number upright"),
            "printed_ndcg": Column("NDCG@10, printed", classes="number upright"),
            "printed_ndcg_annotated": Column("annotated, printed", classes="number upright"),
        },
        {"close": True},
    ),
    "similarities": PageTable(
        "Two similarities (appendix D)",
        "The same vectors, compared by cosine and by dot product",
        {
            "dataset": DATASET,
            "cosine": words("Cosine"),
            "dot": words("Dot product"),
            "cosine_ndcg": Column("NDCG@10, cosine"),
            "dot_ndcg": Column("Dot product"),
            "difference": Column("Difference", "+.4f"),
            "printed": Column("Printed", "+.3f"),
            "cosine_words": Column("Median words, cosine", ",.0f"),
            "dot_words": Column("Dot product", ",.0f"),
        },
        {"close": True},
    ),
    "lengths-medians": PageTable(
        "Lengths of documents",
        "Median words of retrieved and judged documents",
        {
            "dataset": DATASET,
            "of": words("Of"),
            "documents": Column("Documents", ",.0f"),
            "median": Column("Median words", ",.0f"),
            "printed": Column("Printed", ",.0f"),
        },
        {"tall": True},
    ),
}
