"""Paths below the results: patterns are filled in, read back, and never leave their folder."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beirflow.core import layout
from beirflow.core.patterns import NAME, Pattern, is_safe

PATTERNS = {name: value for name, value in vars(layout).items() if isinstance(value, Pattern)}
NAMES = st.from_regex(NAME, fullmatch=True)
UNSAFE = ["", ".", "..", ".hidden", "-x", "_x", "a/b", "a b", "a\n", "\na", "é", "a\\b", "a:b", "{dataset}", "*"]
"""Names that no system or dataset may have."""


def names_of(pattern: Pattern) -> list[str]:
    return re.findall(r"\{(\w+)\}", pattern)


def test_a_pattern_is_filled_in() -> None:
    assert layout.RUN(system="bm25", dataset="scifact") == "runs/bm25/scifact.parquet"
    assert layout.CANDIDATES(system="a", dataset="b-c", chunk=12) == "candidates/a/b-c/chunk-12.arrow"
    assert layout.LOG(job="encode_chunk/a/b/chunk-3") == "logs/encode_chunk/a/b/chunk-3.log"
    assert type(layout.SUMMARY()) is str
    # Snakemake calls what can be called, and fills in what stands in braces.
    found = layout.CHUNK_VECTORS.below("<results>")
    assert (found, callable(found)) == ("<results>/embeddings/{system}/{dataset}/chunk-{chunk}.npy", False)
    with pytest.raises(KeyError):
        layout.RUN(system="bm25")


@settings(max_examples=10)  # each of all patterns
@given(data=st.data())
def test_the_names_in_a_path_are_those_it_was_made_of(data: st.DataObject) -> None:
    for pattern in PATTERNS.values():
        kinds = {name: st.integers(0, 10**6).map(str) if name == "chunk" else NAMES for name in names_of(pattern)}
        names = data.draw(st.fixed_dictionaries(kinds))
        assert pattern.names_in(pattern(**names)) == names


OTHER_PATHS = {
    layout.RUN: ["runs/a/b.json", "runs/a.parquet", "runs/a/b/c.parquet", "more/runs/a/b.parquet", "/runs/a/b.parquet"],
    layout.METRICS: ["metrics/a/b.json\n", "metrics/a/b.json.bak", "metrics/a/bXjson"],
    layout.DOCUMENTS: ["corpora/a/queries.parquet"],
    layout.CHUNK_VECTORS: [f"embeddings/a/b/chunk-{chunk}.npy" for chunk in ("one", "", "-1")],
    layout.SUMMARY: ["summaryXcsv", ""],
}


def test_other_paths_and_unsafe_names_are_not_matched() -> None:
    for pattern, paths in OTHER_PATHS.items():
        assert [path for path in paths if pattern.names_in(path) is not None] == []
    for name in UNSAFE:
        assert layout.RUN.names_in(layout.RUN(system=name, dataset="b")) is None, name
        assert layout.METRICS.names_in(layout.METRICS(system="a", dataset=name)) is None, name
        assert layout.INSPECTION.names_in(layout.INSPECTION(dataset=name)) is None, name


def test_a_path_with_another_part_is_not_safe() -> None:
    paths = [place.format(part) for place in ("{}", "{}/a", "a/{}", "a/{}/b") for part in UNSAFE if part != "a/b"]
    assert [path for path in paths if is_safe(path)] == []


@given(path=st.text(st.sampled_from("ab.-_/\\ \n~"), max_size=8))
def test_a_safe_path_stays_where_it_is_put(path: str) -> None:
    if is_safe(path):
        inside = Path("/results", path)
        assert inside.resolve().is_relative_to("/results")
        assert str(inside) == f"/results/{path}"
