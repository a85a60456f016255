"""The figures and tables for reading: names, titles, and what each shows or is made from.

Rules, pages and audits ask this module, which imports nothing large. A figure of the report is drawn by the function of its
name in :mod:`beirflow.report.figures`; its caption is ``workflow/report/<name>.rst``, which Snakemake reads for its own report
too.
"""

from collections.abc import Mapping
from typing import NamedTuple

from beirflow.files.layout import INSPECTION, LATENCY, METRICS, PAPER_STATISTICS, PAPER_WORDS, QRELS, RUN, SCORES, SIGNIFICANCE


class Figure(NamedTuple):
    """A figure on a page: its heading, text for readers who do not see it, and the name of the CSV of its numbers, if any."""

    title: str
    alt: str
    table: str = ""


FIGURES: Mapping[str, Figure] = {
    "ndcg_difference": Figure(
        "Difference to the baseline",
        "Bars: for every dataset, the main measure of each system minus the baseline. The numbers are in the first table.",
    ),
    "critical_difference": Figure(
        "Average ranks",
        "Diagram: average rank of each system over the datasets, with bars over systems that are not told apart. The numbers are "
        "in critical_difference.csv.",
        "critical_difference",
    ),
    "recall_over_k": Figure(
        "Recall over k",
        "Lines, or numbers for many systems: for every dataset, recall of each system over the cutoff. The numbers are under "
        "“Every measure at every cutoff”.",
    ),
    "ndcg_per_query": Figure(
        "Distribution over queries",
        "Lines, or numbers for many systems: for every dataset, the share of queries with at least a given main measure. The "
        f"values are in {SCORES}.",
    ),
    "document_lengths": Figure(
        "Lengths of documents",
        "Violins: for every dataset, lengths of all documents, of the relevant and of the retrieved. The quantiles are in the "
        "table “Lengths of documents”.",
    ),
    "holes": Figure(
        "Unjudged documents",
        "Points, or numbers for many systems: the main measure and the share of unjudged documents. The numbers are in the table "
        "“Unjudged documents”.",
    ),
    "pareto": Figure(
        "Score and cost",
        "Points: the mean main measure of each system against milliseconds a query and the size of its index. The numbers are "
        "in pareto.csv.",
        "pareto",
    ),
    "cost": Figure(
        "Cost", "Points: speed, seconds, memory and size of each system on every dataset. The numbers are in the last table."
    ),
}
"""The figures of the report by name, in its order."""

FIGURE_TABLES = tuple(figure.table for figure in FIGURES.values() if figure.table)
"""Names of the tables beside the figures of the report."""

TABLES = (
    *("leaderboard", "recall", "published", "tasks", "domains", "holes"),
    *("ranks", "significance", "uncertainty", "systems", "datasets"),
)
"""Names of the tables of the report that are exported for papers and notes."""

PAPER_FIGURES: Mapping[str, Figure] = {
    "against-baseline": Figure(
        "Against the baseline (figure 3)", "On how many datasets each system is better or worse.", "against-baseline"
    ),
    "overlap-heatmap": Figure(
        "Overlap of words (figure 2, left)", "Similarity of every two datasets; the table overlap has the numbers.", "overlap"
    ),
    "overlap-graph": Figure(
        "Overlap of words (figure 2, right)", "Datasets as points; near ones have many words in common.", "overlap"
    ),
    "lengths-retrieved": Figure(
        "Lengths of retrieved documents (appendix)", "A violin for each system on every dataset.", "lengths-retrieved"
    ),
    "lengths-similarities": Figure(
        "Lengths by similarity (appendix D)",
        "Violins of what the same vectors retrieve by the cosine and by the dot product.",
        "lengths-retrieved",
    ),
    "lengths-judged": Figure("Lengths of judged documents (figure 4)", "A violin for each grade.", "lengths-judged"),
}
"""The figures of the page of the BEIR paper by name, in its order."""


class PaperTable(NamedTuple):
    """A table of the BEIR paper: the rule that makes it, the results behind it, and the measure of a table of scores."""

    rule: str
    sources: str
    measure: str = ""


PAPER_TABLES: Mapping[str, PaperTable] = {
    "table-2": PaperTable("tabulate_paper", METRICS, "NDCG@10"),
    "table-2-recall": PaperTable("tabulate_paper", METRICS, "Recall@100"),
    "table-2-capped-recall": PaperTable("tabulate_paper", METRICS, "R_cap@100"),
    "table-1": PaperTable("describe_corpora", PAPER_STATISTICS),
    "claims": PaperTable(
        "check_claims", f"{METRICS}, {INSPECTION}, {PAPER_STATISTICS}, {PAPER_WORDS}, {LATENCY}, {RUN}, {SIGNIFICANCE}"
    ),
    "against-baseline": PaperTable("compare_with_baseline", f"{METRICS}, {SIGNIFICANCE}"),
    "overlap": PaperTable("measure_overlap", PAPER_WORDS),
    "lengths-retrieved": PaperTable("tabulate_lengths", INSPECTION),
    "lengths-judged": PaperTable("tabulate_lengths", PAPER_STATISTICS),
    "lengths-medians": PaperTable("tabulate_lengths", f"{INSPECTION}, {PAPER_STATISTICS}"),
    "similarities": PaperTable("compare_similarities", f"{METRICS}, {INSPECTION}"),
    "bias": PaperTable("measure_bias", f"{RUN}, {QRELS}, {METRICS}"),
    "efficiency": PaperTable("tabulate_efficiency", LATENCY),
}
"""The tables of the BEIR paper by name, in the order of its page."""

CLAIMED_FROM = ("lengths-medians", "bias", "efficiency", "table-1", "overlap", "similarities")
"""Names of those that findings are about, besides the scores."""

SCORE_TABLES = {name: table.measure for name, table in PAPER_TABLES.items() if table.measure}
"""Names of the tables of scores, with their measures."""


def paper_tables(rule: str) -> list[str]:
    """Return the names of the tables of the BEIR paper that a rule makes."""
    return [name for name, table in PAPER_TABLES.items() if table.rule == rule]
