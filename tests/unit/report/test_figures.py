"""The figures: what they show is what was computed, and the same results give the same bytes."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from beirflow.core.errors import DataError
from beirflow.core.records import Job, write_json, write_record
from beirflow.evaluation.cost import collect_costs
from beirflow.report import figures
from beirflow.report.analysis.lengths import histogram
from beirflow.report.figure_style import MARKERS, house_style, save, style_of
from beirflow.report.figures import draw_figures
from beirflow.report.registry import functions, registered
from beirflow.report.results import Results
from results_writer import write_comparison, write_metrics

REPOSITORY = Path(__file__).parents[3]
ROWS = {"plain": ["plain"], "stack": ["stack-a", "stack-b"]}
SIZES = {"plain": 20, "stack-a": 6, "stack-b": 10}
POINTS = 72  # of an inch
SVG_TEXT = "{http://www.w3.org/2000/svg}text"
MEASURES = ("NDCG@10", "Recall@1", "Recall@10", "Recall@100", "Hole@10")


def values(system: str, corpus: str, measure: str) -> np.ndarray:
    return np.random.default_rng([*system.encode(), *corpus.encode(), *measure.encode()]).random(SIZES[corpus]).round(2)


def sources(folder: Path, systems: Sequence[str] = ("x", "y"), *, baseline: str = "x") -> Results:
    """Results of some systems on a plain dataset and one of two forums."""
    means, per_query, records, rows = [], [], [], []
    for system in systems:
        for corpus in SIZES:
            measures = {name: values(system, corpus, name) for name in MEASURES}
            paths = write_metrics(folder, system, corpus, measures)
            means.append(paths[0])
            per_query.append(paths[1])
            records.append(str(folder / f"runs/{system}/{corpus}.json"))
            write_record(records[-1], Job(folder), inputs={}, outputs={}, sizes={"index": 12_800 + SIZES[corpus]})
        stack = {name: np.mean([values(system, corpus, name).mean() for corpus in ROWS["stack"]]) for name in MEASURES}
        write_json(folder / f"metrics/{system}/stack.json", {"system": system, "dataset": "stack", "measures": stack})
        rows += [str(folder / f"metrics/{system}/{row}.json") for row in ROWS]
    inspections = {corpus: str(folder / f"inspection/{corpus}.json") for corpus in SIZES}
    for corpus, size in SIZES.items():
        lengths = {"all": histogram(np.full(size, size)), "relevant": histogram(np.zeros(0, np.int32))}
        lengths["retrieved"] = {system: histogram(np.arange(3 * size)) for system in systems}
        write_json(inspections[corpus], {"dataset": corpus, "lengths": lengths})
    comparison, costs = write_comparison(folder, [*zip(means, per_query, strict=True)], ROWS), str(folder / "cost.csv")
    collect_costs(means_paths=means, record_paths=records, rows=ROWS, costs_path=costs, job=Job(folder), additions={})
    inputs = [*rows, *means, *per_query, *inspections.values(), comparison, costs]
    known = {"main_measure": "NDCG@10", "baseline": baseline, "rows": ROWS, "blocks": [[name] for name in ROWS]}
    return Results(folder, input_paths=inputs, **known)


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    with house_style():
        yield


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return sources(tmp_path)


def text_of(path: Path) -> list[str]:
    return [element.text or "" for element in ElementTree.parse(path).iter(SVG_TEXT)]  # noqa: S314 (our own file)


def test_every_figure_has_a_function_and_a_caption() -> None:
    captions = {path.stem for path in (REPOSITORY / "workflow/report").glob("*.rst")}
    assert captions - {"report", "summary"} == {*functions("figure")}
    # Another baseline computes nothing again.
    assert "baseline" not in (REPOSITORY / "workflow/rules/analyse.smk").read_text()


def test_every_figure_is_written_twice_with_the_same_bytes_every_time(tmp_path: Path) -> None:
    results = sources(tmp_path)
    draw_figures(shared=results, folder=str(tmp_path / "one"))
    for name in ("document_lengths", "pareto"):  # audits draw all again
        save(registered("figure")[name](results), str(tmp_path / "two"), name)
    written = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert written.keys() == {f"{name}.{kind}" for name in functions("figure") for kind in ("pdf", "svg")}
    assert [name for name, content in written.items() if b"CreationDate" in content or b"dc:date" in content] == []
    again = {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    assert again == {name: written[name] for name in again}
    for name in functions("figure"):
        text = " ".join(text_of(tmp_path / f"one/{name}.svg"))
        named = [] if name in ("pareto", "critical_difference") else ["plain", "stack"]
        assert all(each in text for each in (*named, "y"))


def test_figures_fit_a_column_of_a_paper_in_its_font(results: Results, tmp_path: Path) -> None:
    for name, draw in registered("figure").items():
        with house_style(3.3, "DejaVu Serif"):
            save(draw(results), str(tmp_path), "figure", ["svg"])
        text = (tmp_path / "figure.svg").read_text()
        (width,) = re.findall(r'<svg [^>]*?width="([\d.]+)pt"', text, re.DOTALL)
        assert name == "critical_difference" or float(width) <= 3.3 * POINTS
        assert "DejaVu Serif" in text


def test_a_font_that_is_not_there_is_refused_with_the_nearest() -> None:
    found = r"figure_font: 'DejaVu Sanns' is not among the \d+ families of fonts of this machine; did you mean 'DejaVu Sans'\?"
    with pytest.raises(DataError, match=found), house_style(font="DejaVu Sanns"):
        pass


def test_differences_to_the_baseline_keep_the_order_of_the_datasets_and_have_the_sign_of_the_system(tmp_path: Path) -> None:
    for baseline, other in (("x", "y"), ("y", "x")):
        results = sources(tmp_path, baseline=baseline)
        (panel,) = figures.ndcg_difference(results).axes
        shown = {
            label.get_text(): next(bar.get_width() for bar in panel.patches if bar.get_y() + 0.35 == place)
            for place, label in enumerate(panel.get_yticklabels())
        }
        expected = {row: results.measures[other, row]["NDCG@10"] - results.measures[baseline, row]["NDCG@10"] for row in ROWS}
        assert shown == pytest.approx(expected)
        assert list(shown) == list(ROWS)
        assert panel.get_title(loc="left") == other
        assert {bar.get_hatch() is not None for bar in panel.patches if bar.get_width() < 0} <= {True}
    # A significant difference has a star.
    for p, stars in ((0.0249, [0, 1]), (0.0251, [])):
        results.significance["p"] = p
        (panel,) = figures.ndcg_difference(results).axes
        assert [text.get_position()[1] for text in panel.texts if text.get_text() == "*"] == stars


def test_stars_are_corrected_for_comparisons_with_the_baseline(tmp_path: Path) -> None:
    results = sources(tmp_path, ["x", "y", "z"])
    results.significance["p"] = 0.01  # of six tests; four of them are with the baseline
    assert (6 * 0.01 > 0.05, 4 * 0.01 < 0.05) == (True, True)
    figure = figures.ndcg_difference(results)
    assert [[text.get_text() for text in panel.texts].count("*") for panel in figure.axes] == [2, 2]
    means = {system: sum(results.measures[system, row]["NDCG@10"] for row in ROWS) for system in ("y", "z")}
    assert [panel.get_title(loc="left") for panel in figure.axes] == sorted(means, key=means.__getitem__, reverse=True)


def test_with_one_system_the_difference_says_that_there_is_nothing_to_compare_and_the_others_are_drawn(tmp_path: Path) -> None:
    drawn = {name: draw(sources(tmp_path, ["x"])) for name, draw in registered("figure").items()}
    said = {name: [text.get_text() for text in figure.texts] for name, figure in drawn.items() if not figure.axes}
    assert said == {
        **{key: ["x is the only system: there is nothing to compare it with."] for key in ("ndcg_difference", "pareto")},
        "critical_difference": [
            "Ranks are tested with at least 3 systems and 5 datasets of different corpora\n"
            "on which none was trained; here are 1 and 2."
        ],
    }


def test_recall_holes_and_the_distribution_over_queries_are_those_of_the_results(results: Results) -> None:
    plain, stack = figures.recall_over_k(results).axes
    assert [line.get_xdata().tolist() for line in plain.lines] == [[1, 10, 100]] * 2
    assert stack.lines[1].get_ydata().tolist() == [results.measures["y", "stack"][f"Recall@{k}"] for k in (1, 10, 100)]
    stack = figures.ndcg_per_query(results).axes[1]
    found = np.concatenate([values("y", corpus, "NDCG@10") for corpus in ROWS["stack"]])
    expected = {number / 100: np.mean(found >= number / 100) for number in range(1, 101)}
    assert dict(zip(stack.lines[1].get_xdata(), stack.lines[1].get_ydata(), strict=True)) == pytest.approx(expected)
    scores, shares = figures.holes(results).axes
    assert list(scores.lines[1].get_xdata()) == [results.measures["y", row]["NDCG@10"] for row in ROWS]
    assert list(shares.lines[0].get_xdata()) == [results.measures["x", row]["Hole@10"] for row in ROWS]


def test_from_seven_systems_on_values_are_printed_in_place_of_lines(tmp_path: Path) -> None:
    systems = [f"s{i}" for i in range(7)]
    results = sources(tmp_path, systems, baseline="s0")
    recall, reached, holes = (draw(results).axes for draw in (figures.recall_over_k, figures.ndcg_per_query, figures.holes))
    expected = [f"{results.measures[system, 'stack'][f'Recall@{k}']:.2f}"[1:] for system in systems for k in (1, 10, 100)]
    assert [text.get_text() for text in recall[1].texts] == expected
    best = [max(results.measures[system, "stack"][f"Recall@{k}"] for system in systems) for k in (1, 10, 100)]
    bold = {text.get_text() for text in recall[1].texts if text.get_fontweight() == "bold"}
    assert bold == {f"{value:.2f}"[1:] for value in best}
    assert [text.get_text() for text in reached[0].texts][1:3] == [
        f"{np.mean(results.per_query['s0', 'plain'] >= value):.2f}"[1:] for value in (0.25, 0.5)
    ]
    assert [text.get_text() for text in holes[1].texts][:7] == [
        f"{results.measures[system, 'plain']['Hole@10']:.2f}"[1:] for system in systems
    ]
    assert [axes.lines[:] for axes in (*recall, *reached, *holes)] == [[]] * 6


def test_lengths_of_forums_are_added_up_and_what_is_empty_is_left_out(results: Results) -> None:
    edges, counts = results.lengths["stack"]["x"]
    assert sum(counts) == 3 * (6 + 10)
    assert (counts[5], counts[0]) == (2, 2)
    assert len(edges) == len(counts) + 1
    plain, _ = figures.document_lengths(results).axes
    assert len(plain.collections) == 3
    assert [label.get_text() for label in plain.get_yticklabels()] == ["all documents", "relevant", "x", "y"]
    median = plain.lines[-2].get_xdata()[0]
    assert 25 <= median <= 32
    assert plain.lines[-2].get_ydata()[0] == 3  # the row of y


def test_cost_that_is_not_known_is_said_to_be(results: Results) -> None:
    speed, seconds, memory, disk = figures.cost(results).axes
    assert list(speed.lines[0].get_xdata()) == [100 / 4, 200 / 8]
    assert list(seconds.lines[0].get_xdata()) == [63, 126]
    assert memory.get_xlabel().endswith("unknown")
    assert disk.get_xlabel() == "index size\non disk, kB"
    assert list(disk.lines[0].get_xdata()) == pytest.approx(
        [sum(12_800 + SIZES[name] for name in names) / 1e3 for names in ROWS.values()]
    )


def test_systems_can_be_told_apart_without_colour() -> None:
    styles = style_of([f"system {number}" for number in range(len(MARKERS))])
    assert len({style["marker"] for style in styles.values()}) == len(MARKERS)
