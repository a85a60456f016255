"""The choice: quality, significance and cost beside scipy and arithmetic, and what the page says of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from beirflow.config.configuration import problems_with
from beirflow.config.load import load_experiment
from beirflow.core.errors import DataError
from beirflow.core.records import Job
from beirflow.extensions.choice.encoders import base_encoders
from beirflow.extensions.choice.page import answers, write_choice
from beirflow.extensions.choice.scatter import scatter
from beirflow.extensions.choice.table import ChoiceFiles, Prices, choice_table
from latencies import latency, write_latency
from results_writer import write_metrics

ROWS = {"plain": ["plain"], "stack": ["stack-a", "stack-b"]}
SIZES = {"plain": 8, "stack-a": 3, "stack-b": 4}
SYSTEMS = {"large": 0.25, "small": 0.24, "tiny": 0.05, "large-int8": 0.2}
"""Names, and what is added to random values."""

PRICES = Prices(hour=3.6, gigabyte_month=0.5)


def values(system: str, corpus: str) -> np.ndarray:
    random = np.random.default_rng(list(corpus.encode()))
    own = np.random.default_rng([*system.encode(), *corpus.encode()])
    return 0.5 * random.random(SIZES[corpus]) + SYSTEMS[system] + 0.02 * own.random(SIZES[corpus])


def made(folder: Path, encoders: Mapping[str, tuple[str, str]] = {"large-int8": ("large", "all")}) -> ChoiceFiles:
    """Results whose costs are round numbers; the index of ``tiny`` is not known."""
    means, per_query, latencies, costs = [], [], [], []
    for number, system in enumerate(SYSTEMS):
        exact = {"exact_10": 40, "exact_10_found": 30} if system == "large-int8" else {}
        for corpus, size in SIZES.items():
            counts = {"documents": 100, "queries": size, **exact}
            paths = write_metrics(folder, system, corpus, {"NDCG@10": values(system, corpus)}, counts=counts)
            means.append(paths[0])
            per_query.append(paths[1])
            ms = {"plain": 10.0, "stack-a": 20.0, "stack-b": 40.0}[corpus] * (number + 1)
            latencies.append(str(write_latency(folder, system, corpus, devices={"cpu": latency(ms)})))
        for row in ROWS:
            index = {"documents": 1000, "documents_reused": 500, "index_seconds": 2.0, "index_bytes": 4e6 / (number + 1)}
            costs.append({"system": system, "dataset": row, **index, **({"index_bytes": np.nan} if system == "tiny" else {})})
    pd.DataFrame(costs).to_csv(folder / "cost.csv", index=False)
    return ChoiceFiles(means, per_query, latencies, str(folder / "cost.csv"), ROWS, encoders)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return choice_table(made(tmp_path_factory.mktemp("choice")), PRICES).set_index("system", drop=False)


def mean(system: str, other: str = "") -> float:
    """The plain mean over the datasets, of which a stack is the plain mean of its forums."""
    of = {corpus: np.mean(values(system, corpus) - (values(other, corpus) if other else 0)) for corpus in SIZES}
    return float(np.mean([np.mean([of[corpus] for corpus in corpora]) for corpora in ROWS.values()]))


def test_quality_and_its_differences_are_means_over_datasets(table: pd.DataFrame) -> None:
    best = max(SYSTEMS, key=mean)
    assert list(table["system"]) == sorted(SYSTEMS, key=mean, reverse=True)
    for system in SYSTEMS:
        assert table.loc[system, "NDCG@10"] == pytest.approx(mean(system))
        assert table.loc[system, "low"] < mean(system) < table.loc[system, "high"]
        if system != best:
            assert table.loc[system, "difference"] == pytest.approx(mean(system, best))
    assert table.loc["large-int8", "loss"] == pytest.approx(mean("large-int8", "large"))
    assert table.loc["large-int8", "exact@10"] == 0.75
    assert table.loc[best, ["difference", "p", "p_holm"]].isna().all()
    assert table["encoder"].dropna().to_dict() == {"large-int8": "large"}


def test_the_test_is_that_of_scipy_with_every_query_weighed_as_in_the_mean(table: pd.DataFrame) -> None:
    shares = {"plain": 1 / 2, "stack-a": 1 / 4, "stack-b": 1 / 4}
    differences = np.concatenate(
        [shares[corpus] / size * (values("large-int8", corpus) - values("large", corpus)) for corpus, size in SIZES.items()]
    )
    signs = stats.permutation_test(
        (differences, np.zeros_like(differences)),
        lambda a, b, axis: (a - b).sum(axis),
        permutation_type="samples",
        n_resamples=1e6,
    )
    assert table.loc["large-int8", "loss_p"] == pytest.approx(signs.pvalue, abs=1e-12)


def test_the_interval_of_one_corpus_is_that_of_the_t_test(tmp_path: Path) -> None:
    files = made(tmp_path)
    keep = [number for number, path in enumerate(files.means_paths) if path.endswith("plain.json")]
    paths = (files.means_paths, files.per_query_paths, files.latency_paths)
    one = ChoiceFiles(*([each[number] for number in keep] for each in paths), files.costs_path, {"plain": ["plain"]}, {})
    table = choice_table(one, Prices()).set_index("system")
    for system in SYSTEMS:
        expected = stats.ttest_1samp(values(system, "plain"), 0).confidence_interval()
        assert tuple(table.loc[system, ["low", "high"]]) == pytest.approx(expected)
    assert table["price"].isna().all()


def test_costs_are_arithmetic_and_unknown_ones_are_on_no_front(table: pd.DataFrame) -> None:
    row = table.loc["small"]
    assert row["milliseconds"] == pytest.approx(2 * (10 + 30) / 2)
    assert row["p95_milliseconds"] == pytest.approx(2 * row["milliseconds"])
    assert row["bytes_per_million"] == pytest.approx(2 * 2e6 / 2000 * 1e6)
    assert row["index_seconds_per_million"] == pytest.approx(4 / 1000 * 1e6)  # half of the documents were computed here
    assert row["index_price"] == pytest.approx(4000 / 3600 * 3.6)
    assert row["month_price"] == pytest.approx(2 * 0.5)
    assert row["query_price"] == pytest.approx(40.0)
    assert table.loc["tiny", ["bytes_per_million", "price"]].isna().all()
    assert not table.loc["tiny", "front_of_price"]
    for cost in ("milliseconds", "bytes_per_million"):
        for system in table["system"]:
            other = table.drop(system)
            dominated = ((other[cost] <= table.loc[system, cost]) & (other["NDCG@10"] >= table.loc[system, "NDCG@10"])).any()
            assert table.loc[system, f"front_of_{cost}"] == (not dominated and pd.notna(table.loc[system, cost]))


BUSY = {"before": 24.0, "after": 30.2, "cores": 2}


def page_of(files: ChoiceFiles, folder: Path, **choice: float) -> str:
    (folder / "manifest.json").write_text("{}")
    paths = {f"{name}_path": str(folder / file) for name, file in (("table", "choice.csv"), ("page", "choice.html"))}
    manifest = str(folder / "manifest.json")
    write_choice(files=files, **paths, manifest_path=manifest, prices=PRICES, choice=choice, job=Job(folder))
    return (folder / "choice.html").read_text()


def test_a_latency_of_a_busy_machine_is_shown_and_decides_nothing(tmp_path: Path) -> None:
    files = made(tmp_path)
    write_latency(tmp_path, "small", "stack-b", devices={"cpu": latency(80.0, 9)}, load=BUSY)
    table = choice_table(files, PRICES).set_index("system")
    assert table.loc["small", "busy_milliseconds"] == 40
    assert table.loc["small", ["milliseconds", "p95_milliseconds", "query_price"]].isna().all()
    assert (table.loc["small", "latency_queries"], table.loc["small", "latency_load"]) == (5, 15.1)
    assert not table.loc["small", "front_of_milliseconds"]
    assert (table.loc["large", "milliseconds"], table.loc["large", "latency_load"]) == (20, 0.55)
    assert not table["busy_milliseconds"].drop("small").notna().any()
    page = page_of(files, tmp_path, milliseconds=50.0)
    assert "40.0 (busy)" in page
    assert "Latencies left out:</b> small, measured on a busy machine (load average up to 15.1 per core)." in page
    assert "add --forcerun measure_latency to the command" in page
    quiet = page_of(made(tmp_path / "quiet"), tmp_path / "quiet", milliseconds=50.0)
    assert "left out:</b>" not in quiet
    assert "the largest dataset has" not in quiet


@pytest.mark.parametrize(("documents", "estimated"), [(60, False), (999, False), (1000, True)])
def test_a_million_documents_are_not_estimated_from_a_few(tmp_path: Path, documents: int, estimated: bool) -> None:
    files = made(tmp_path)
    costs = pd.read_csv(files.costs_path).assign(documents=documents, documents_reused=0, load_seconds=3.0)
    costs.to_csv(files.costs_path, index=False)
    row = choice_table(files, PRICES).set_index("system").loc["small"]
    of_million = row[["bytes_per_million", "index_seconds_per_million", "price", "month_price", "index_price"]]
    assert of_million.notna().tolist() == [estimated] * 5
    assert (row["index_bytes"], row["load_seconds"], row["largest_dataset"]) == (4e6, 6.0, documents)
    reason = f"the largest dataset has {documents} documents, fewer than 1,000."
    page = page_of(files, tmp_path)
    assert (reason in page) != estimated
    # The time of a query decides then, and no number per million documents is in the answer.
    assert ("the fastest" in page.split("Quality and cost")[0]) != estimated
    assert ("per million documents" in page.split("Quality and cost")[0]) == estimated


def test_a_million_documents_are_estimated_from_the_large_datasets_alone(tmp_path: Path) -> None:
    files = made(tmp_path)
    costs = pd.read_csv(files.costs_path)
    small = costs["dataset"] == "plain"
    costs.loc[small, ["documents", "documents_reused", "index_seconds", "index_bytes"]] = [60, 0, 50.0, 1e6]
    costs.loc[~small, "documents_reused"] = 0
    costs.to_csv(files.costs_path, index=False)
    row = choice_table(files, PRICES).set_index("system").loc["small"]
    assert (row["bytes_per_million"], row["index_seconds_per_million"], row["index_bytes"]) == (2e9, 2000, 3e6)


def test_seconds_of_indexing_on_a_busy_machine_have_no_price(tmp_path: Path) -> None:
    files = made(tmp_path)
    costs = pd.read_csv(files.costs_path)
    costs["load_per_core"] = np.where((costs["system"] == "small") & (costs["dataset"] == "stack"), 8.0, 1.1)
    costs.to_csv(files.costs_path, index=False)
    table = choice_table(files, PRICES).set_index("system")
    assert table.loc["small", ["index_seconds_per_million", "index_price", "price"]].isna().all()
    assert (table.loc["small", "index_load"], table.loc["small", "month_price"]) == (8.0, 1.0)
    assert table.loc["large", ["index_seconds_per_million", "price"]].notna().all()
    page = page_of(files, tmp_path)
    assert "left out:</b> small, indexed on a busy machine (load average up to 8.0 per core)" in page


def test_other_queries_are_refused(tmp_path: Path) -> None:
    files = made(tmp_path)
    write_metrics(tmp_path, "tiny", "plain", {"NDCG@10": values("tiny", "plain")}, ids=[f"other{i}" for i in range(8)])
    with pytest.raises(DataError, match=r"plain.parquet: other queries than those of other systems; evaluate again: rm "):
        choice_table(files, PRICES)


def row(system: str, quality: float, p: float | None, ms: float, gigabytes: float, price: float | None) -> dict[str, Any]:
    names = ("p_holm", "difference", "difference_low", "difference_high")
    return {
        "system": system,
        "datasets": 2,
        "NDCG@10": quality,
        "low": quality - 0.01,
        "high": quality + 0.01,
        **dict(zip(names, (p, quality - 0.5, quality - 0.51, quality - 0.49) if p is not None else (np.nan,) * 4, strict=True)),
        "milliseconds": ms,
        "index_bytes": 1e9 * gigabytes,
        "bytes_per_million": 1e9 * gigabytes,
        "price": price,
    }


CHOICES = pd.DataFrame(
    [
        row("best", 0.5, None, 900, 40, 9.0),
        row("near", 0.49, 0.2, 90, 20, 5.0),
        row("dear", 0.485, 0.06, 40, 30, 8.0),
        row("poor", 0.3, 0.001, 1, 1, 1.0),
        row("worst", 0.2, 0.001, 0.5, 0.5, 0.5),
    ]
)


@pytest.mark.parametrize(
    ("budgets", "taken"),
    [
        ({}, {"near": "without a budget"}),
        ({"milliseconds": 100}, {"near": "without a budget, or within 100 ms per query"}),
        (
            {"milliseconds": 100, "gigabytes": 25},
            {"near": "with or without the budgets of 100 ms per query and 25 GB of index: "},
        ),
        ({"milliseconds": 50}, {"near": "without a budget", "dear": "within 50 ms per query"}),
        (
            {"milliseconds": 50, "gigabytes": 25},
            {"near": "within 25 GB", "dear": "within 50 ms per query: ", "poor": "within 50 ms per query and 25 GB of index: "},
        ),
        ({"gigabytes": 0.1}, {"near": "without a budget", "None": "within 0.1 GB of index: no system with known cost"}),
    ],
)
def test_by_each_budget_the_cheapest_that_is_not_significantly_worse_is_named(
    budgets: dict[str, float], taken: dict[str, str]
) -> None:
    (head, text), *found = answers(CHOICES, "NDCG@10", budgets)
    assert (head, text) == (
        "The best is best:",
        "mean NDCG@10 0.5000 (95 % interval 0.4900 to 0.5100). Not significantly worse: near and dear.",
    )
    for name, said in taken.items():
        assert any(name in head and said in text for head, text in found), found
    assert {head.split()[-1].rstrip(",") for head, _ in found} == set(taken)


def test_what_is_taken_though_it_is_significantly_worse_says_so_with_its_loss() -> None:
    *_, (head, text) = answers(CHOICES, "NDCG@10", {"milliseconds": 2})
    assert head == "Take poor"
    assert text == (
        "within 2 ms per query: the best within the budget, but significantly worse than the best overall. NDCG@10 0.3000, "
        "−0.2000 (−0.2100 to −0.1900) against the best. Cost: 1.00 per million documents in the first month, 1 ms per query, "
        "1 GB per million documents."
    )


def test_a_cheap_system_that_may_lose_much_is_no_choice() -> None:
    few = CHOICES.assign(difference_low=CHOICES["difference_low"] - 0.1)
    _, (head, text) = answers(few, "NDCG@10", {})
    assert head == "Undecided, perhaps near"
    assert "too few queries to exclude a loss of 0.1200; add queries or datasets" in text
    _, (head, text) = answers(CHOICES.assign(difference_low=np.nan), "NDCG@10", {})  # as of a single query
    assert head == "Undecided, perhaps near"
    assert "too few queries to exclude a loss; add" in text


def test_without_prices_bytes_decide_and_without_any_cost_nothing_does() -> None:
    unpriced = CHOICES.assign(price=np.nan)
    [(head, text)] = list(answers(unpriced, "NDCG@10", {}))[1:]
    assert (head, text.split(" that")[0]) == ("Take near", "without a budget: the one with the smallest index")
    fastest = unpriced.assign(bytes_per_million=np.nan)
    [(head, text)] = list(answers(fastest, "NDCG@10", {}))[1:]
    assert (head, text.split(" that")[0]) == ("Take dear", "without a budget: the fastest")
    # A cost that is not known of one of them, as after a busy machine, gives way to one that is.
    [(head, text)] = list(answers(CHOICES.assign(price=[9, 5, np.nan, 1, 0.5]), "NDCG@10", {}))[1:]
    assert (head, text.split(" that")[0]) == ("Take near", "without a budget: the one with the smallest index")
    [(head, text)] = list(answers(fastest.assign(milliseconds=[900, 90, np.nan, 1, 0.5]), "NDCG@10", {}))[1:]
    assert (head, text.split(" is not")[0]) == ("Take near", "without a budget: the fastest whose cost is known and which")
    unknown = unpriced.assign(bytes_per_million=np.nan, milliseconds=np.nan)
    assert "unknown costs" in list(answers(unknown, "NDCG@10", {}))[-1][1]


def test_names_in_a_plot_cover_neither_points_nor_each_other() -> None:
    random = np.random.default_rng(3)
    table = pd.DataFrame(
        {"system": [f"a-system-{i}" for i in range(30)], "cost": 10 ** random.random(30), "NDCG@10": random.random(30)}
    )
    plot = scatter(table.assign(low=np.nan, high=np.nan), "cost", "NDCG@10", "cost")
    named = [point for point in plot.points if point["label"]]
    assert len(named) > 5
    boxes = []
    for point in named:
        width, label = 6.1 * len(point["name"]), point["label"]
        left = label["x"] if label["anchor"] == "start" else label["x"] - width
        boxes.append((left, label["y"] - 9, left + width, label["y"] + 2))
        assert not any(left < other["x"] < left + width and label["y"] - 9 < other["y"] < label["y"] for other in plot.points)
    assert not any(
        a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for i, a in enumerate(boxes) for b in boxes[i + 1 :]
    )


def test_a_line_joins_an_encoder_with_what_differs_in_vectors_or_search_alone() -> None:
    systems = {
        "int8": {"variant_of": "contriever", "vectors": "int8"},
        "binary": {"variant_of": "contriever", "vectors": "binary"},
        "short": {"variant_of": "contriever", "vectors": "binary", "dimensions": 128},
        "graph": {"approximate": "contriever", "index": "hnsw", "m": 8, "ef_construction": 40, "ef_search": [10, 20]},
    }
    names = ["contriever", "int8", "binary", "short", "graph-ef-10", "graph-ef-20"]
    of = base_encoders(
        load_experiment({"systems": ["contriever", *systems], "datasets": "scifact", "custom": {"systems": systems}})
    )
    curves = [of.get(name, (None, None))[1] for name in names]
    table = pd.DataFrame({"system": names, "cost": [9, 3, 1, 2, 7, 8], "NDCG@10": np.linspace(0.9, 0.1, 6), "curve": curves})
    plot = scatter(table.assign(low=np.nan, high=np.nan), "cost", "NDCG@10", "cost", series="curve")
    place = {f"{point['x']:.1f},{point['y']:.1f}": point["name"] for point in plot.points}
    assert [[place[pair] for pair in line.split()] for line in plot.lines] == [
        ["binary", "int8", "contriever"],
        ["short", "contriever"],
        ["graph-ef-10", "graph-ef-20", "contriever"],
    ]


def test_the_page_is_the_same_every_time_and_its_record_has_prices_and_budgets(tmp_path: Path) -> None:
    files = made(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    pages = []
    for _ in range(2):
        paths = {f"{name}_path": str(tmp_path / file) for name, file in (("table", "choice.csv"), ("page", "choice.html"))}
        manifest, budgets = str(tmp_path / "manifest.json"), {"milliseconds": 50.0}
        write_choice(files=files, **paths, manifest_path=manifest, prices=PRICES, choice=budgets, job=Job(tmp_path))
        pages.append([(tmp_path / name).read_bytes() for name in ("choice.html", "choice.csv")])
    assert pages[0] == pages[1]
    record = json.loads((tmp_path / "choice.json").read_text())
    assert record["prices"] == {"hour": 3.6, "gigabyte_month": 0.5}
    assert record["choice"] == budgets
    assert set(record["outputs"]) == {"choice.html", "choice.csv"}
    assert b"Variants of large" in pages[0][0]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"prices": {"hour": -1}}, "prices.hour: found -1"),
        ({"prices": {"day": 1}}, "prices.day"),
        ({"choice": {"milliseconds": 0}}, "choice.milliseconds: found 0"),
        ({"choice": {"gigabytes": "ten"}}, "choice.gigabytes: found 'ten'"),
    ],
)
def test_prices_below_zero_and_budgets_of_nothing_are_refused(config: dict[str, Any], problem: str) -> None:
    (line,) = problems_with(config).lines
    assert line.startswith(problem)
