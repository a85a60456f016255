"""The files, figures and tables of the page of the BEIR paper. It imports nothing large, since rules use it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from beirflow.extensions.papers.files import FOLDER

PRINTED = (Path(__file__).parent / "catalogue/beir-paper.yaml", FOLDER / "beir-2021.yaml")
"""The files that hold the printed values."""


class Figure(NamedTuple):
    """A figure of the page: heading, alternative text, and the name of the CSV of its numbers."""

    title: str
    alt: str
    table: str


FIGURES: Mapping[str, Figure] = {
    "overlap-heatmap": Figure("Vocabulary overlap (figure 2, left)", "Similarity of all pairs of datasets.", "overlap"),
    "overlap-graph": Figure("Vocabulary overlap (figure 2, right)", "Points; close ones share many words.", "overlap"),
    "lengths-retrieved": Figure("Lengths of retrieved documents (appendix)", "Violins per system.", "lengths-retrieved"),
    "lengths-similarities": Figure(
        "Lengths by similarity (appendix D)", "Violins of cosine and dot product.", "lengths-retrieved"
    ),
    "lengths-judged": Figure("Lengths of judged documents (figure 4)", "Violins per grade.", "lengths-judged"),
}

LENGTHS = ("lengths-retrieved", "lengths-judged", "lengths-medians", "similarities")
"""Tables of the lengths of documents."""

COMPARED = ("table-1", "overlap", *LENGTHS[2:], "bias", "efficiency")
"""Tables that findings compare."""

TABLES = (*COMPARED, *LENGTHS[:2], "findings")
