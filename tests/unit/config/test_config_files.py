"""Configuration files that cannot be read as they were meant, with file and line."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from beirflow.config.config_files import check_config_files, check_options, key_places
from beirflow.core.errors import ConfigError
from refusals import problems_of, refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("systems: bm25\n  datasets: scifact\n", ":2:11: mapping values are not allowed here in 'datasets: scifact'; indent"),
        ("custom:\n\tsystems: {}\n", ":2:1: found character '\\t' that cannot start any token in 'systems: {}'"),
        ("custom: {systems: {a: {run: /r/{dataset}.trec}}}\n", ":1:32: expected ',' or '}', but got '{' in 'custom"),
        ("systems: [bm25\n", ":2:1: expected ',' or ']', but got '<stream end>' in 'the end of the file'"),
        ("? {a: b}\n: c\n", ":1:3: found unhashable key in '? {a: b}'"),
        ("top_k: 2020-13-45\n", ": month must be in 1..12; indent"),
        ("systems: \x00\n", ": unacceptable character #x0000"),
        ("", ": found nothing, expected keys with values"),
        ("- bm25\n", ": found a list, expected keys"),
        (
            "systems: bm25\ncustom:\n  systems:\n  - {a: 1,\n     a: 2}\n",
            ":5:6: duplicate key 'a' (first in line 4); remove one",
        ),
        ("systems: bm25\nsystems: contriever\n", ":2:1: duplicate key 'systems' (first in line 1)"),
        (
            "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"{to}: &{to} [{', '.join([f'*{of}'] * 10)}]\n" for of, to in pairwise("abcdefghi")),
            ": its aliases (*name) expand to 1.23e+09 values, expected at most 1,000,000",
        ),
        (
            "a: &a {k: x}\n"
            + "".join(f"{to}: &{to} {{<<: [{', '.join([f'*{of}'] * 10)}]}}\n" for of, to in pairwise("abcdefghi")),
            ": its aliases (*name) expand to ",
        ),
        ("a: &a [*a]\n", ": its aliases (*name) expand to inf values"),
        ("a: " + "[" * 100_000, ": its lists and mappings are nested too deeply"),
        (b"\xff\xfe", ": cannot be read ('utf-8' codec"),
        (None, ": there is no such file; if this is a target, write two dashes before it: -- "),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_line_and_column(
    text: str | bytes | None, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "my.yaml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with refused(ConfigError, f"\n  {path}{expected}"):
        check_config_files([str(path)])


def test_a_good_file_is_accepted_json_with_tabs_too(tmp_path: Path) -> None:
    for name, text in {
        "a.yaml": "systems: bm25\ncustom: {systems: {a: {b: 1}, c: {b: 1}}}\n",
        "a.json": '{\n\t"systems": "bm25"}',
    }.items():
        (tmp_path / name).write_text(text)
        check_config_files([str(tmp_path / name)])


@pytest.mark.parametrize("wrong", ["a", "=", "summary"])
def test_words_of_the_configuration_have_names(wrong: str) -> None:
    with pytest.raises(ConfigError, match=f"--config: found '{wrong}'; expected name=value without spaces"):
        check_options(None, ["systems=bm25", wrong])


def test_a_run_has_a_core() -> None:
    """With none, Snakemake waits for ever; with fewer, jobs fail for other reasons."""
    for right in (None, 1, 10):
        check_options(right, [])
    for wrong in (0, -1):
        with pytest.raises(ConfigError, match=rf"--cores: found {wrong}; expected a number from 1, or 'all'"):
            check_options(wrong, [])


def test_a_problem_with_a_value_names_the_file_and_line_of_its_key(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    first.write_text("systems: [bm25]\ndatasets: [scifact]\ntop_k: 0\n")
    lines = ("main_measure: NDGC@10", "", "custom:", "  systems:", "    mine:", "      run: /x", "      trained_on:")
    second.write_text("\n".join([*lines, "        datasets: {nfcorpsu: train}", "top_k: 5", ""]))
    config = yaml.safe_load(first.read_text()) | yaml.safe_load(second.read_text()) | {"cutoffs": [9]}
    found = {line.partition(": ")[0]: line for line in problems_of(config, [str(first), str(second)])}
    assert "expected a measure with a cutoff, such as NDCG@10" in found["main_measure"]
    assert found["main_measure"].endswith(f" ({second}:1)")
    assert found["custom.systems.mine.trained_on.datasets.nfcorpsu"].endswith(f" ({second}:8)")
    # On the command line there are no lines.
    assert found["cutoffs"].endswith("or set cutoffs: [5]")
    assert key_places([str(first), str(second)])["systems.0"] == f"{first}:1"
    assert key_places([str(first), str(second)])["top_k"] == f"{second}:9"
    with_own = key_places([str(first), str(second)], ["top_k"])  # of the command
    assert (with_own["top_k"], with_own["systems.0"]) == ("--config", f"{first}:1")


def test_a_home_that_cannot_hold_a_cache_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(
        ConfigError, match=r"file/\.cache: Snakemake needs this folder for its cache.*set HOME, or XDG_CACHE_HOME"
    ):
        check_options(1, [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    check_options(1, [])
