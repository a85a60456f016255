"""The figures of the paper show their tables, and the same tables give the same bytes."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from beirflow.extensions.beir_paper import figures
from beirflow.extensions.beir_paper.printed_values import load_paper
from beirflow.extensions.beir_paper.registry import FIGURES
from beirflow.report.figure_style import house_style, save

SVG_TEXT = "{http://www.w3.org/2000/svg}text"
LENGTHS = pd.DataFrame(
    [("nq", "grade 0", 10, 12, 5), ("nq", "grade 1", 20, 25, 3), ("nq", "grade 1", 50, 63, 4)],
    columns=["dataset", "of", "from", "to", "documents"],
)


def tables(folder: Path, lengths: pd.DataFrame) -> None:
    overlap = pd.DataFrame([("nq", "scifact", 0.25)], columns=["dataset_a", "dataset_b", "similarity"])
    overlap.to_csv(folder / "overlap.csv", index=False)
    for name in ("lengths-retrieved", "lengths-judged"):
        lengths.to_csv(folder / f"{name}.csv", index=False)


def words(path: Path) -> set[str]:
    return {"".join(text.itertext()) for text in ElementTree.parse(path).iter(SVG_TEXT)}  # noqa: S314


def test_every_figure_is_drawn_as_pdf_and_svg_with_the_same_bytes(tmp_path: Path) -> None:
    tables(tmp_path, LENGTHS)
    figures.draw_figures(folder=str(tmp_path), pairs=[("x", "y")])
    written = {path.name for path in tmp_path.glob("*.[ps]*")}
    assert written == {f"{name}.{kind}" for name in FIGURES for kind in ("pdf", "svg")}
    assert "grade 0" in words(tmp_path / "lengths-judged.svg")
    with house_style():
        graph = figures.overlap_graph(pd.read_csv(tmp_path / "overlap.csv"), load_paper())
        save(graph, str(tmp_path), "again")
    for kind in ("pdf", "svg"):
        assert (tmp_path / f"again.{kind}").read_bytes() == (tmp_path / f"overlap-graph.{kind}").read_bytes()


def test_what_is_missing_is_said_in_words() -> None:
    with house_style():
        missing = [figures.similarities_figure(LENGTHS, []), figures.length_figure(LENGTHS[:0], "words")]
        alone = [figures.overlap_heatmap(OVERLAP[:0]), figures.overlap_graph(OVERLAP[:0], load_paper())]
    assert all(figure.axes == [] for figure in missing + alone)
    assert all("There is no" in figure.texts[0].get_text() for figure in missing)


def test_lengths_of_a_kind_are_a_violin() -> None:
    with house_style():
        (panel,) = figures.length_figure(LENGTHS, "words").axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["grade 0", "grade 1"]
    assert len(panel.collections) == 2


NAMES = ("scifact", "mine", "nfcorpus", "nq", "hotpotqa")
LIKE = {("scifact", "nfcorpus"): 0.6, ("nq", "hotpotqa"): 0.7}
PAIRS = [(a, b, LIKE.get((a, b), 0.1)) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
OVERLAP = pd.DataFrame(PAIRS, columns=["dataset_a", "dataset_b", "similarity"])


def test_like_stands_beside_like() -> None:
    matrix = np.eye(5)
    for i, j in ((0, 2), (3, 4)):
        matrix[i, j] = matrix[j, i] = 0.8
    order = figures.clustered(matrix)
    assert abs(order.index(0) - order.index(2)) == abs(order.index(3) - order.index(4)) == 1
    assert sorted(figures.clustered(np.full((3, 3), np.nan))) == [0, 1, 2]


def test_the_heat_map_has_a_number_for_every_pair() -> None:
    with house_style():
        panel = figures.overlap_heatmap(OVERLAP).axes[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert sorted(labels) == sorted(NAMES)
    shown = {(labels[round(y)], labels[round(x)]): text.get_text() for text in panel.texts for x, y in [text.get_position()]}
    assert len(shown) == 5 * 4
    assert shown["nq", "hotpotqa"] == shown["hotpotqa", "nq"] == ".70"


def test_like_datasets_are_near_in_the_graph_and_domains_have_shapes() -> None:
    with house_style():
        figure = figures.overlap_graph(OVERLAP, load_paper())
    places = {text.get_text(): np.array(text.xy) for text in figure.axes[0].texts}
    assert set(places) == set(NAMES)
    assert np.linalg.norm(places["nq"] - places["hotpotqa"]) < np.linalg.norm(places["nq"] - places["scifact"])
    lines = {line.get_label(): line.get_marker() for line in figure.axes[0].lines if not line.get_label().startswith("_")}
    assert set(lines) == {"Scientific", "Bio-Medical", "Wikipedia", figures.OWN}
    assert len(set(lines.values())) == 4
