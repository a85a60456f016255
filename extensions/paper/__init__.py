"""The BEIR paper as targets: its tables, figures and findings, computed from the available results, beside the printed ones."""

from collections.abc import Mapping
from pathlib import Path

from beirflow.core.extensions import Extension, Page
from beirflow.core.patterns import patterns_in
from beirflow.extensions.paper import layout


def _tables() -> list[str]:
    from beirflow.extensions.paper.registry import TABLES

    return [*TABLES]


def _figures() -> list[str]:
    from beirflow.extensions.paper.registry import FIGURES

    return [*FIGURES]


def _printed() -> Mapping[str, object]:
    from beirflow.extensions.paper.printed_values import printed_digests

    return {"printed": printed_digests()}


EXTENSION = Extension(
    folder=Path(__file__).parent,
    patterns=patterns_in(layout),
    targets={"paper": (layout.PAGE, "the BEIR paper's tables")},
    files={layout.PAGE: "the tables, figures and findings of the BEIR paper"},
    names={"table": _tables, "figure": _figures},
    pages={layout.RECORD: Page(layout.PAGE, "Tables, figures and claims of the BEIR paper", _printed)},
    note=(
        f'The tables, figures and findings of the BEIR paper with these results are in <a href="{layout.PAGE}">{layout.PAGE}</a>,'
        " once\nthat target was made."
    ),
    not_rebuilt=(layout.FIGURE_PDF, layout.FIGURE_SVG),
    from_outside={layout.TABLE: ("extra", "extra_by", "hole_extra", "ndcg_extra")},
)
