"""Paths below the results: patterns are filled in, read back, and never leave their folder."""

import re
from pathlib import Path

import pytest
from beirflow.files import layout
from beirflow.files import layout as layouts
from hypothesis import given, settings
from hypothesis import strategies as st

PATTERNS = {name: value for name, value in vars(layout).items() if isinstance(value, layouts.Pattern)}
NAMES = st.from_regex(layouts.NAME, fullmatch=True)
UNSAFE = ["", ".", "..", ".hidden", "-x", "_x", "a/b", "a b", "a\n", "\na", "é", "a\\b", "a:b", "{dataset}", "*"]
"""Names that no system or dataset may have."""


EXAMPLES = {
    "system": "bm25",
    "dataset": "scifact",
    "figure": "cost",
    "table": "leaderboard",
    "task": "SciFact",
    "depth": 100,
    "other": "fever",
}


def names_of(pattern: layouts.Pattern) -> list[str]:
    return re.findall(r"\{(\w+)\}", pattern)


def test_a_pattern_is_filled_in() -> None:
    assert layouts.RUN(system="bm25", dataset="scifact") == "runs/bm25/scifact.parquet"
    assert layout.CANDIDATES(system="a", dataset="b-c", chunk=12) == "candidates/a/b-c/chunk-12.npz"
    assert layout.LOG(job="encode_chunk/a/b/chunk-3") == "logs/encode_chunk/a/b/chunk-3.log"
    assert type(layouts.SUMMARY()) is str
    with pytest.raises(KeyError):
        layouts.RUN(system="bm25")


@settings(max_examples=10)  # each of all patterns
@given(data=st.data())
def test_the_names_in_a_path_are_those_it_was_made_of(data: st.DataObject) -> None:
    for pattern in PATTERNS.values():
        kinds = {name: st.integers(0, 10**6).map(str) if name == "chunk" else NAMES for name in names_of(pattern)}
        names = data.draw(st.fixed_dictionaries(kinds))
        assert pattern.names_in(pattern(**names)) == names


OTHER_PATHS = {
    layouts.RUN: ["runs/a/b.json", "runs/a.parquet", "runs/a/b/c.parquet", "more/runs/a/b.parquet", "/runs/a/b.parquet"],
    layouts.METRICS: ["metrics/a/b.json\n", "metrics/a/b.json.bak", "metrics/a/bXjson"],
    layout.DOCUMENTS: ["corpora/a/queries.parquet"],
    layouts.CHUNK_VECTORS: [f"embeddings/a/b/chunk-{chunk}.npy" for chunk in ("one", "", "-1")],
    layouts.SUMMARY: ["summaryXcsv", ""],
}


def test_other_paths_and_unsafe_names_are_not_matched() -> None:
    for pattern, paths in OTHER_PATHS.items():
        assert [path for path in paths if pattern.names_in(path) is not None] == []
    for name in UNSAFE:
        assert layouts.RUN.names_in(layouts.RUN(system=name, dataset="b")) is None, name
        assert layouts.METRICS.names_in(layouts.METRICS(system="a", dataset=name)) is None, name
        assert layout.INSPECTION.names_in(layout.INSPECTION(dataset=name)) is None, name


def test_a_pattern_is_plain_text_to_snakemake() -> None:
    """Snakemake calls what can be called, and fills in what stands in braces."""
    found = layouts.CHUNK_VECTORS.below("<results>")
    assert found == "<results>/embeddings/{system}/{dataset}/chunk-{chunk}.npy"
    assert not callable(found)


def test_what_is_made_for_people_is_for_reading() -> None:
    paths = [*(pattern(**EXAMPLES) for pattern in layouts.FOR_READING), "code/workflow/beirflow/files/layout.py"]
    assert [path for path in paths if not layouts.is_for_reading(path)] == []


READ_ON = ["DOCUMENTS", "CORPUS", "QUERY_VECTORS", "CANDIDATES", "RUN", "RUN_RECORD", "TREC_RUN", "METRICS", "PER_QUERY"]


def test_what_a_result_depends_on_is_not_for_reading() -> None:
    paths = [
        *(PATTERNS[name](system="a", dataset="b", chunk=0) for name in READ_ON),
        *(layouts.SUMMARY(), layout.MANIFEST(), layout.LOG(job="report"), layout.BENCHMARK(job="report")),
        *(
            "",
            "code",
            "codes/a",
            "more/code/a",
            "report.html/a",
            "figures/.hidden.pdf",
            "inspection/a/b.json",
            f"x/{layout.COST}",
        ),
    ]
    assert [path for path in paths if layouts.is_for_reading(path)] == []


@given(parts=st.lists(NAMES, min_size=1, max_size=4))
def test_paths_of_results_and_names_below_them_are_safe(parts: list[str]) -> None:
    assert layouts.is_safe("/".join(parts))
    assert all(layouts.is_safe(pattern(**dict.fromkeys(names_of(pattern), "0"))) for pattern in PATTERNS.values())


def test_a_path_with_another_part_is_not_safe() -> None:
    paths = [place.format(part) for place in ("{}", "{}/a", "a/{}", "a/{}/b") for part in UNSAFE if part != "a/b"]
    assert [path for path in paths if layouts.is_safe(path)] == []


@given(path=st.text(st.sampled_from("ab.-_/\\ \n~"), max_size=8))
def test_a_safe_path_stays_where_it_is_put(path: str) -> None:
    if layouts.is_safe(path):
        inside = Path("/results", path)
        assert inside.resolve().is_relative_to("/results")
        assert str(inside) == f"/results/{path}"


def test_the_record_of_a_file_has_its_name_beside_it() -> None:
    assert layouts.record_of(layouts.RUN(system="a", dataset="b.c")) == Path("runs/a/b.c.json")
    assert layouts.record_of(Path("/x/report.html")) == Path("/x/report.json")
    for kind in ("RUN", "REPORT", "AUDIT", "COMPARISON", "QUERY_VECTORS", "CHUNK_VECTORS"):
        assert str(layouts.record_of(PATTERNS[kind])) == PATTERNS[f"{kind}_RECORD"]
    assert layout.CORPUS.names_in("corpora/a/corpus.json") == {"dataset": "a"}
    assert layout.CRATE.names_in(layout.CRATE()) == {}
