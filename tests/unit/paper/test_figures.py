"""The figures of the paper show their tables, and the same tables give the same bytes."""

from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
from beirflow.paper.facts import load_facts
from beirflow.paper.figure_overlap import overlap_graph
from beirflow.paper.figures import against_baseline_figure, draw_figures, length_figure
from beirflow.paper.score_tables import against_baseline
from beirflow.paper.scores import Scores
from beirflow.report.figure_style import house_style, save
from beirflow.report.registry import PAPER_FIGURES

SVG_TEXT = "{http://www.w3.org/2000/svg}text"
LENGTHS = pd.DataFrame(
    [("nq", "grade 0", 10, 12, 5), ("nq", "grade 1", 20, 25, 3), ("nq", "grade 1", 50, 63, 4)],
    columns=["dataset", "of", "from", "to", "documents"],
)


def tables(folder: Path, lengths: pd.DataFrame) -> None:
    ours = Scores({("base", "nq"): 0.3, ("x", "nq"): 0.4})
    against_baseline(ours, {}, "base", load_facts()).to_csv(folder / "against-baseline.csv", index=False)
    overlap = pd.DataFrame([("nq", "scifact", 0.25)], columns=["dataset_a", "dataset_b", "similarity"])
    overlap.to_csv(folder / "overlap.csv", index=False)
    for name in ("lengths-retrieved", "lengths-judged"):
        lengths.to_csv(folder / f"{name}.csv", index=False)


def words(path: Path) -> set[str]:
    return {"".join(text.itertext()) for text in ElementTree.parse(path).iter(SVG_TEXT)}  # noqa: S314


def test_every_figure_is_drawn_as_pdf_and_svg_with_the_same_bytes(tmp_path: Path) -> None:
    tables(tmp_path, LENGTHS)
    draw_figures(folder=str(tmp_path))
    assert {path.name for path in tmp_path.glob("*.[ps]*")} == {
        f"{name}.{kind}" for name in PAPER_FIGURES for kind in ("pdf", "svg")
    }
    assert {"x", "BM25+CE", "16"} <= words(tmp_path / "against-baseline.svg")
    with house_style():
        graph = overlap_graph(pd.read_csv(tmp_path / "overlap.csv"), load_facts())
        save(graph, str(tmp_path), "again")
    for kind in ("pdf", "svg"):
        assert (tmp_path / f"again.{kind}").read_bytes() == (tmp_path / f"overlap-graph.{kind}").read_bytes()


def test_what_is_missing_is_said_in_words() -> None:
    with house_style():
        for figure in (length_figure(LENGTHS[:0], "words"), against_baseline_figure(pd.DataFrame(columns=["source"]))):
            assert figure.axes == []
            assert "There is no" in figure.texts[0].get_text()


def test_bars_are_as_long_as_the_counts() -> None:
    table = against_baseline(Scores({}), {}, "bm25", load_facts())
    with house_style():
        (panel,) = against_baseline_figure(table).axes
    widths = {(round(bar.get_y() + bar.get_height() / 2), bar.get_width()) for bar in panel.patches if bar.get_width()}
    last = len(table) - 1
    assert {(last, 16), (last, -2), (0, -18)} <= widths


def test_lengths_of_a_kind_are_a_violin() -> None:
    with house_style():
        (panel,) = length_figure(LENGTHS, "words").axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["grade 0", "grade 1"]
    assert len(panel.collections) == 2
