"""Columns of the tables of the paper's page, by the name of their CSV."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from scipy.constants import giga

from beirflow.report.pages import DATASET, SYSTEM, Columns, numbers, texts

UPRIGHT = "number upright"


class PageTable(NamedTuple):
    """A table of the page that shows columns of a CSV."""

    title: str
    caption: str
    columns: Columns
    options: Mapping[str, Any] = MappingProxyType({})  # fields of a table


PAGE_TABLES: Mapping[str, PageTable] = {
    "table-1": PageTable(
        "Datasets (table 1)",
        "Statistics of the datasets",
        {
            "dataset": DATASET,
            "": {
                **texts(task="Task", domain="Domain"),
                **numbers(".0%", titles="Titles"),
                **numbers(",.0f", without_text="Title only"),
            },
            "Relevance levels": numbers(".0f", levels="measured", printed_levels="printed"),
            "Queries": numbers(",.0f", queries="measured", printed_queries="printed"),
            "Documents": numbers(",.0f", documents="measured", printed_documents="printed"),
            "Relevant per query": numbers(",.1f", relevant_per_query="measured", printed_relevant_per_query="printed"),
            "Words per query": numbers(",.2f", query_words="measured", printed_query_words="printed"),
            "Words per document": numbers(",.2f", document_words="measured", printed_document_words="printed"),
        },
        {"close": True},
    ),
    "efficiency": PageTable(
        "Latency and index (section 5.1)",
        "Latency of a single query, and index size",
        {
            "system": SYSTEM,
            **texts(source="Source", dataset="Dataset"),
            **numbers(",.0f", documents="Documents", classes=UPRIGHT),
            **numbers(",.1f", gpu_ms="GPU, ms", gpu_p95_ms="GPU, 95th percentile", classes=UPRIGHT),
            **numbers(",.1f", cpu_ms="CPU, ms", cpu_p95_ms="CPU, 95th percentile", classes=UPRIGHT),
            **numbers(",.1f", gpu_batch_queries_per_second="GPU, queries/s in batches", classes=UPRIGHT),
            **numbers(",.1f", cpu_batch_queries_per_second="CPU, queries/s in batches", classes=UPRIGHT),
            **numbers(",.0f", queries="Queries", classes=UPRIGHT),
            **numbers(".1f", load_per_core="Load per core", classes=UPRIGHT),
            **texts(busy="Machine"),
            **numbers(",.3g", index_bytes="Index, GB", classes=UPRIGHT, unit=giga),
        },
        {"close": True},
    ),
    "bias": PageTable(
        "Annotation bias (section 6)",
        "Unjudged documents in datasets with pooled judgements",
        {
            "dataset": DATASET,
            **texts(system="System"),
            **numbers(".4f", hole="Hole@10", unjudged="Unjudged@10", ndcg="NDCG@10", classes=UPRIGHT),
            **numbers(".4f", ndcg_holes_relevant="if holes were relevant", ndcg_condensed="without holes", classes=UPRIGHT),
            **numbers(".4f", bpref="bpref", classes=UPRIGHT),
            **texts(extra_by="Extra judgements by"),
            **numbers(".4f", hole_extra="Hole@10, with extra judgements", classes=UPRIGHT),
            **numbers(".4f", ndcg_extra="NDCG@10, with extra judgements", classes=UPRIGHT),
            **numbers(".4f", printed_ndcg_annotated="NDCG@10, annotated, printed", classes=UPRIGHT),
        },
        {"close": True},
    ),
    "similarities": PageTable(
        "Two similarities (appendix D)",
        "The same vectors, compared by cosine and by dot product",
        {
            "dataset": DATASET,
            **texts(cosine="Cosine", dot="Dot product"),
            **numbers(".4f", cosine_ndcg="NDCG@10, cosine", dot_ndcg="Dot product"),
            **numbers("+.4f", difference="Difference"),
            **numbers("+.3f", printed="Printed"),
            **numbers(",.0f", cosine_words="Median words, cosine", dot_words="Dot product"),
        },
        {"close": True},
    ),
    "lengths-medians": PageTable(
        "Lengths of documents",
        "Median words of retrieved and judged documents",
        {
            "dataset": DATASET,
            **texts(of="Of"),
            **numbers(",.0f", documents="Documents", median="Median words", printed="Printed"),
        },
        {"tall": True},
    ),
}
