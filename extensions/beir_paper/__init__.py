"""The BEIR paper besides its scores, as targets: overlap, lengths, annotation bias and efficiency, with the printed values."""

from collections.abc import Mapping
from pathlib import Path

from beirflow.core.extensions import Extension, Page
from beirflow.core.patterns import patterns_in
from beirflow.extensions.beir_paper import layout
from beirflow.extensions.beir_paper.registry import FIGURES, TABLES


def _printed() -> Mapping[str, object]:
    from beirflow.extensions.beir_paper.printed_values import printed_digests

    return {"printed": printed_digests()}


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    targets={"beir_paper": (layout.PAGE, "the BEIR paper besides its scores")},
    names={"table": lambda _: [*TABLES], "figure": lambda _: [*FIGURES]},
    pages={layout.RECORD: Page(layout.PAGE, "Tables, figures and findings of the BEIR paper besides scores", _printed)},
    note=(
        f'Overlap, lengths, annotation bias and efficiency with these results are in <a href="{layout.PAGE}">{layout.PAGE}</a>,'
        " once\nthat target was made."
    ),
    not_rebuilt=(layout.FIGURE_PDF, layout.FIGURE_SVG),
    from_outside={layout.TABLE: ("extra", "extra_by", "hole_extra", "ndcg_extra")},
)
