"""The figures and tables of the paper's page: what each shows or is made from. It imports nothing large, since rules use it."""

from collections.abc import Mapping
from typing import NamedTuple

from beirflow.core.layout import INSPECTION, LATENCY, METRICS, QRELS, RUN, SIGNIFICANCE
from beirflow.extensions.paper.layout import STATISTICS, WORDS


class PaperFigure(NamedTuple):
    """A figure of the page: heading, alternative text, and the name of the CSV of its numbers."""

    title: str
    alt: str
    table: str


class PaperTable(NamedTuple):
    """A table of the BEIR paper: the rule that makes it, the results behind it, and the measure of a table of scores."""

    rule: str
    sources: str
    measure: str = ""


FIGURES: Mapping[str, PaperFigure] = {
    "against-baseline": PaperFigure(
        "Against the baseline (figure 3)", "Number of datasets on which each system is better or worse.", "against-baseline"
    ),
    "overlap-heatmap": PaperFigure(
        "Vocabulary overlap (figure 2, left)",
        "Similarity of all pairs of datasets; the table overlap has the numbers.",
        "overlap",
    ),
    "overlap-graph": PaperFigure(
        "Vocabulary overlap (figure 2, right)", "Datasets as points; close ones share many words.", "overlap"
    ),
    "lengths-retrieved": PaperFigure(
        "Lengths of retrieved documents (appendix)", "Violins per system and dataset.", "lengths-retrieved"
    ),
    "lengths-similarities": PaperFigure(
        "Lengths by similarity (appendix D)",
        "Violins of documents that the same vectors retrieve by cosine and by dot product.",
        "lengths-retrieved",
    ),
    "lengths-judged": PaperFigure("Lengths of judged documents (figure 4)", "Violins per grade.", "lengths-judged"),
}
TABLES: Mapping[str, PaperTable] = {
    "table-2": PaperTable("tabulate_paper", METRICS, "NDCG@10"),
    "table-2-recall": PaperTable("tabulate_paper", METRICS, "Recall@100"),
    "table-2-capped-recall": PaperTable("tabulate_paper", METRICS, "R_cap@100"),
    "table-1": PaperTable("describe_corpora", STATISTICS),
    "claims": PaperTable("check_claims", f"{METRICS}, {INSPECTION}, {STATISTICS}, {WORDS}, {LATENCY}, {RUN}, {SIGNIFICANCE}"),
    "against-baseline": PaperTable("compare_with_baseline", f"{METRICS}, {SIGNIFICANCE}"),
    "overlap": PaperTable("measure_overlap", WORDS),
    "lengths-retrieved": PaperTable("tabulate_lengths", INSPECTION),
    "lengths-judged": PaperTable("tabulate_lengths", STATISTICS),
    "lengths-medians": PaperTable("tabulate_lengths", f"{INSPECTION}, {STATISTICS}"),
    "similarities": PaperTable("compare_similarities", f"{METRICS}, {INSPECTION}"),
    "bias": PaperTable("measure_bias", f"{RUN}, {QRELS}, {METRICS}"),
    "efficiency": PaperTable("tabulate_efficiency", LATENCY),
}

CLAIMED_FROM = ("lengths-medians", "bias", "efficiency", "table-1", "overlap", "similarities")
"""Tables that findings use besides the scores."""

SCORE_TABLES = {name: table.measure for name, table in TABLES.items() if table.measure}


def tables_of(rule: str) -> list[str]:
    """Return the names of the tables that a rule makes."""
    return [name for name, table in TABLES.items() if table.rule == rule]
