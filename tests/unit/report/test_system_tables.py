"""The tables of systems say what ``systems.csv`` says, every prompt to the letter."""

import pandas as pd
from beirflow.report.pages import Table
from beirflow.report.system_tables import settings_table, systems_table

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
    ("truncated_queries", "scifact", "3", "record", None),
    ("truncated_documents", "scifact", "1200", "record", None),
    ("truncated_documents", "arguana", "34", "record", None),
]
LEXICAL = [("family", None, "lexical", "configuration", None), ("k1", None, "0.9", "configuration", None)]


def settings(*systems: list[tuple[str | None, ...]]) -> pd.DataFrame:
    return pd.DataFrame([(f"s{i}", *row) for i, rows in enumerate(systems) for row in rows], columns=COLUMNS)


def seen(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_a_row_says_what_a_system_is_and_where_its_configuration_differs_from_its_files() -> None:
    dense, lexical = seen(systems_table(settings(ENCODER, LEXICAL)))
    how = "pooling cls (its files say mean) · similarity cosine · max_length of queries 64"
    models = "some/encoder at 0123456789; queries: some/other"
    prompts = ["“query: ” (its files say ask: )", "nothing"]
    assert dense == ["s0", "dense", models, how, *prompts, "float32", "3 queries, 1,234 documents"]
    assert lexical == ["s1", "lexical", "", "k1 0.9", "", "", "", ""]
    every = {row[1]: row[2:] for row in seen(settings_table(settings(ENCODER)))}
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
    first, second = seen(systems_table(settings(fused, late)))
    assert first[3] == "weights 0.3, 0.7 · tuned_on nfcorpus.dev: …"
    assert second[3] == "pool_factor 2 · lossy averaged · assumed late: a is b"


def test_prompts_of_several_datasets_are_counted_and_stand_in_the_table_of_all_settings() -> None:
    prompts = [("query_prefix", name, f"{name}: ", "configuration", None) for name in ("arguana", "scifact")]
    table = settings([("family", None, "dense", "configuration", None), *prompts])
    assert seen(systems_table(table))[0][4] == "2 prompts, by dataset: see all settings"
    assert seen(settings_table(table))[1:] == [
        ["s0", "query_prefix", "arguana", "arguana: ", "configuration", ""],
        ["s0", "query_prefix", "scifact", "scifact: ", "configuration", ""],
    ]
