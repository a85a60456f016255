"""The overlap of domains as heat map and graph."""

import numpy as np
import pandas as pd
from beirflow.paper.facts import load_facts
from beirflow.paper.figure_overlap import OWN, clustered, overlap_graph, overlap_heatmap
from beirflow.report.figure_style import house_style

NAMES = ("scifact", "mine", "nfcorpus", "nq", "hotpotqa")
LIKE = {("scifact", "nfcorpus"): 0.6, ("nq", "hotpotqa"): 0.7}
PAIRS = [(a, b, LIKE.get((a, b), 0.1)) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
OVERLAP = pd.DataFrame(PAIRS, columns=["dataset_a", "dataset_b", "similarity"])


def test_like_stands_beside_like() -> None:
    matrix = np.eye(5)
    for i, j in ((0, 2), (3, 4)):
        matrix[i, j] = matrix[j, i] = 0.8
    order = clustered(matrix)
    assert abs(order.index(0) - order.index(2)) == abs(order.index(3) - order.index(4)) == 1
    assert sorted(clustered(np.full((3, 3), np.nan))) == [0, 1, 2]


def test_the_heat_map_has_a_number_for_every_pair() -> None:
    with house_style():
        panel = overlap_heatmap(OVERLAP).axes[0]
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert sorted(labels) == sorted(NAMES)
    shown = {(labels[round(y)], labels[round(x)]): text.get_text() for text in panel.texts for x, y in [text.get_position()]}
    assert len(shown) == 5 * 4
    assert shown["nq", "hotpotqa"] == shown["hotpotqa", "nq"] == ".70"


def test_like_datasets_are_near_in_the_graph_and_domains_have_shapes() -> None:
    with house_style():
        figure = overlap_graph(OVERLAP, load_facts())
    places = {text.get_text(): np.array(text.xy) for text in figure.axes[0].texts}
    assert set(places) == set(NAMES)
    assert np.linalg.norm(places["nq"] - places["hotpotqa"]) < np.linalg.norm(places["nq"] - places["scifact"])
    lines = {line.get_label(): line.get_marker() for line in figure.axes[0].lines if not line.get_label().startswith("_")}
    assert set(lines) == {"Scientific", "Bio-Medical", "Wikipedia", OWN}
    assert len(set(lines.values())) == 4


def test_a_single_dataset_has_no_overlap() -> None:
    with house_style():
        assert overlap_heatmap(OVERLAP[:0]).axes == overlap_graph(OVERLAP[:0], load_facts()).axes == []
