"""The tables of the report say what the files say, of systems every prompt to the letter, and how datasets are cited."""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.report import tables
from beirflow.report.pages import Cell, Table
from beirflow.report.results import Results
from report_files import results_of

SUMMARY = pd.DataFrame(
    {
        "system": ["contriever", "contriever", "contriever", "toy", "toy", "toy"],
        "dataset": ["msmarco", "scifact", "mean of 2", "msmarco", "scifact", "mean of 2"],
        "split": ["dev", "test", None, "dev", "test", None],
        "NDCG@10": [0.25, 0.5, 0.375, 0.75, 0.5, 0.625],
        "Hole@10": [0.125, 0.25, 0.1875, 0.5, 1.0, 0.75],
    }
)


def made(function: Callable[[Results], Iterator[Table]], **frames: pd.DataFrame) -> Table | None:
    """Make the first table of some frames."""
    return next(function(results_of(**frames)), None)


def seen(table: Table) -> list[list[str]]:
    """Read the cells of the rows."""
    return [[cell.text for cell in row] for row in table.rows]


def test_holes_have_a_row_a_system_where_they_were_measured() -> None:
    table = made(tables.holes, summary=SUMMARY)
    assert [column.label for column in table.columns] == ["System", "msmarco", "scifact"]
    assert seen(table) == [["contriever", "0.1250", "0.2500"], ["toy", "0.5000", "1.0000"]]
    assert made(tables.holes, summary=SUMMARY.drop(columns="Hole@10")) is None


def test_a_query_that_all_systems_fail_counts_for_each_of_them_and_for_all() -> None:
    per_query = {("a", "d"): [0, 0, 0.5, 1], ("b", "d"): [0.25, 0, 0, 1], ("a", "e"): [1], ("b", "e"): [0]}
    arrays = {key: np.array(values) for key, values in per_query.items()}
    known = {"per_query": arrays, "rows": {"d": ["d"], "e": ["e"]}, "main_measure": "NDCG@10"}
    (table,) = tables.failures(results_of(**known, system_names=["a", "b"]))
    assert seen(table) == [["a", "50.0%", "0.0%"], ["b", "50.0%", "100.0%"], ["all of them", "25.0%", "0.0%"]]
    (alone,) = tables.failures(results_of(**known, system_names=["a"]))
    assert seen(alone) == [["a", "50.0%", "0.0%"]]


def test_significance_has_no_column_of_what_is_not_defined() -> None:
    numbers = {
        "low": -0.5,
        "high": 0.25,
        "p": 0.00001,
        "p_holm": 1.0,
        "effect_size": float("nan"),
        "queries": 1234,
        "detectable": 0.25,
    }
    rows = [{"dataset": "d", "measure": "NDCG@10", "system_a": "a", "system_b": "b", "difference": -0.125, **numbers}]
    table = made(tables.significance, significance=pd.DataFrame(rows))
    assert table
    assert seen(table)[0] == [
        "d",
        "NDCG@10",
        "a − b",
        "−0.1250",
        "−0.5000",
        "+0.2500",
        "1.00000",
        "0.00001",
        "0.2500",
        "1,234",
    ]
    assert made(tables.significance, significance=pd.DataFrame(columns=list(rows[0]))) is None


def test_cost_is_read_in_units_for_people() -> None:
    seconds = dict.fromkeys((f"{name}_seconds" for name in ("index", "queries", "search", "evaluate")), 1.5)
    row = {"system": "s", "dataset": "d", "documents": 5000, "documents_reused": 0, "documents_per_second": 10.4, **seconds}
    row |= {"seconds": 6.0, "peak_memory_bytes": float("nan"), "index_bytes": 3 << 20, "precision": "float32", "devices": None}
    table = made(tables.cost, costs=pd.DataFrame([row]))
    assert seen(table) == [["d", "s", "float32", "5,000", "0", "10", "1.5", "1.5", "1.5", "1.5", "6.0", "3.0"]]
    assert sum(span for _, span in table.groups) == len(table.columns) - 1
    assert table.rows[0][-1] == Cell("3.0", 3.0)
    assert seen(made(tables.cost, costs=pd.DataFrame([row | {"rerank_seconds": float("nan")}]))) == seen(table)
    for stages, shown in (
        ({"rerank_seconds": 12.5}, ["1.5", "1.5", "1.5", "12.5", "1.5"]),
        ({"expand_seconds": 2.5, "train_seconds": 12.5}, ["2.5", "12.5", "1.5", "1.5", "1.5", "1.5"]),
        ({"expand_seconds": 12.5}, ["12.5", "1.5", "1.5", "1.5", "1.5"]),
    ):
        table = made(tables.cost, costs=pd.DataFrame([row | stages]))
        assert [text for text in seen(table)[0] if text.endswith(".5")] == shown
        assert sum(span for _, span in table.groups) == len(table.columns) - 1


DATASETS = pd.DataFrame(
    {
        "system": ["a", "a", "b", "a", "a"],
        "dataset": ["scifact", "mine", "scifact", "nfcorpus.dev.sample-50-seed-7", "mean of 3"],
        "split": ["test", "test", "test", "dev", None],
        "documents": [5183, 60, 5183, 3633, 8876],
        "queries": [300, 18, 300, 50, 368],
    }
)


def test_every_dataset_of_the_catalogue_is_cited_and_every_entry_is_whole() -> None:
    catalogue = load_catalogue()
    collections = {collection.citation for collection in catalogue.newer.collections.values()}
    assert set(tables.citations()) == {tables.BEIR, *catalogue.datasets, *catalogue.own_copies, *collections}
    for name, entry in tables.citations().items():
        assert entry.count("{") == entry.count("}"), name
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))
        assert {"author", "title", "year"} <= set(fields), name
        assert re.fullmatch(r"(19|20)\d\d", fields["year"]), name


def test_a_dataset_has_one_row_with_its_licence_and_one_entry_of_bibtex() -> None:
    rows = [[cell.text for cell in row] for row in made(tables.datasets, summary=DATASETS).rows]
    assert [row[0] for row in rows] == ["scifact", "mine", "nfcorpus.dev.sample-50-seed-7"]
    assert rows[0][:4] == ["scifact", "test", "5,183", "300"]
    assert rows[0][-2:] == [load_catalogue().datasets["scifact"][0].licence, "scifact"]
    assert rows[1][4:] == [""] * 4
    assert rows[2][-1] == "nfcorpus"
    text = tables.bibtex(DATASETS["dataset"])
    assert re.findall(r"^@\w+\{([\w-]+),", text, re.MULTILINE) == ["beir", "scifact", "nfcorpus"]
    assert tables.bibtex(["mine"]) == ""


def test_a_dataset_says_which_relevant_documents_no_system_can_find_only_where_there_are_some() -> None:
    headers = [column.label for column in made(tables.datasets, summary=DATASETS).columns]
    table = made(
        tables.datasets, summary=DATASETS.assign(unreachable=[None, "3 of 9 relevant documents", *[None] * (len(DATASETS) - 2)])
    )
    (place,) = [number for number, column in enumerate(table.columns) if column.label not in headers]
    assert table.columns[place].label == "Unreachable relevant documents"
    assert "3 of 9 relevant documents" in [row[place].text for row in table.rows]


REVISION = "0123456789abcdef0123456789abcdef01234567"
COLUMNS = ["system", "setting", "dataset", "value", "said_by", "model_says"]
ENCODER = [
    ("family", None, "dense", "configuration", None),
    ("model", None, "some/encoder", "configuration", None),
    ("revision", None, REVISION, "configuration", None),
    ("query_model", None, "some/other", "configuration", None),
    ("pooling", None, "cls", "configuration", "mean"),
    ("similarity", None, "cosine", "configuration", "cosine"),
    ("max_length of queries", None, "64", "model", None),
    ("query_prefix", None, "query: ", "configuration", "ask: "),
    ("document_prefix", None, None, "model", None),
    ("precision", None, "float32", "record", None),
    ("dim", None, "384", "record", None),
    ("trained_on", None, "nq train", "configuration", None),
    ("truncated_queries", "scifact", "3", "record", None),
    ("truncated_documents", "scifact", "1200", "record", None),
    ("truncated_documents", "arguana", "34", "record", None),
]
LEXICAL = [("family", None, "lexical", "configuration", None), ("k1", None, "0.9", "configuration", None)]


def settings(*systems: list[tuple[str | None, ...]]) -> pd.DataFrame:
    return pd.DataFrame([(f"s{i}", *row) for i, rows in enumerate(systems) for row in rows], columns=COLUMNS)


def test_a_row_says_what_a_system_is_and_where_its_configuration_differs_from_its_files() -> None:
    dense, lexical = seen(made(tables.systems, systems=settings(ENCODER, LEXICAL)))
    how = "pooling cls (model files: mean) · similarity cosine · max_length of queries 64"
    models = "some/encoder at 0123456789; queries: some/other"
    prompts = "queries: “query: ” (model files: ask: ); documents: none"
    assert dense == ["s0", "dense", models, how, prompts, "float32", "3 queries, 1,234 documents", "nq train"]
    assert lexical == ["s1", "lexical", "", "k1 0.9", "", "", "", ""]
    every = {row[1]: row[2:] for row in seen(made(tables.settings, systems=settings(ENCODER)))}
    assert every["revision"] == ["all", REVISION, "configuration", ""]
    assert every["pooling"] == ["all", "cls", "configuration", "mean"]
    assert every["max_length of queries"][2] == "files of the model"
    assert every["dim"] == ["all", "384", "record of the run", ""]


def test_what_records_alone_say_is_shown_where_it_decides_over_scores() -> None:
    fused = [("family", None, "fusion", "configuration", None), ("weights", None, "0.3, 0.7", "record", None)]
    fused += [("tuned_on", None, "nfcorpus.dev: …", "record", None)]
    late = [("model", None, "m", "configuration", None), ("weights", None, "model.safetensors", "configuration", None)]
    late += [("pool_factor", None, "2", "configuration", None), ("lossy", None, "averaged", "record", None)]
    late += [("assumed", None, "late: a is b", "record", None)]
    first, second = seen(made(tables.systems, systems=settings(fused, late)))
    assert first[3] == "weights 0.3, 0.7 · tuned_on nfcorpus.dev: …"
    assert second[3] == "pool_factor 2 · lossy averaged · assumed late: a is b"


def test_prompts_of_several_datasets_are_counted_and_stand_in_the_table_of_all_settings() -> None:
    prompts = [("query_prefix", name, f"{name}: ", "configuration", None) for name in ("arguana", "scifact")]
    table = settings([("family", None, "dense", "configuration", None), *prompts])
    assert seen(made(tables.systems, systems=table))[0][-1] == "queries: 2 prompts by dataset: see all settings"
    assert seen(made(tables.settings, systems=table))[1:] == [
        ["s0", "query_prefix", "arguana", "arguana: ", "configuration"],
        ["s0", "query_prefix", "scifact", "scifact: ", "configuration"],
    ]
