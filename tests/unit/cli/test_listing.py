"""The lists of the command are those of the catalogue, the measures that are computed, and the targets of the documentation."""

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from beirflow.cli import listing
from beirflow.config.systems import catalogue_systems
from beirflow.core.errors import ConfigError
from beirflow.core.extensions import extensions
from beirflow.data.catalogue.catalogue import load_catalogue
from beirflow.report.registry import functions

REPOSITORY = Path(__file__).parents[3]


def run(*arguments: str) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser()
    listing.add_arguments(parser)
    return listing.main(parser.parse_args(arguments))


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """The list as JSON."""
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_systems_are_those_of_the_catalogue_in_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys, "systems")
    assert [row["system"] for row in rows] == [*catalogue_systems()]
    by_name = {row["system"]: row for row in rows}
    assert by_name["contriever"] == {
        "system": "contriever",
        "family": "dense",
        "model": "facebook/contriever",
        "published scores": True,
    }
    assert by_name["bm25"]["model"] is None
    assert by_name["splade-v3"]["model"] == "naver/splade-v3"
    assert by_name["doct5query-t5-base"]["model"].startswith("texts from ")
    assert {row["system"] for row in rows if row["published scores"]} == {*load_catalogue().published} & {*by_name}


def test_datasets_have_the_facts_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["dataset"]: row for row in listed(capsys, "datasets")}
    assert [*rows] == [*load_catalogue().known_datasets]
    assert [*rows["scifact"].values()] == ["scifact", "Fact Checking", "Scientific", "English", 5183, 300, "CC BY-NC 2.0"]
    assert rows["cqadupstack"]["queries"] == 13_145  # of its twelve forums
    assert rows["cqadupstack"]["documents"] == 457_199


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("bright-long.p*", ["bright-long.pony", "bright-long.psychology"]), ("TWEET", ["signal1m"]), ("scifact", None)],
)
def test_a_pattern_is_of_names_or_a_part_of_any_cell(
    capsys: pytest.CaptureFixture[str], pattern: str, expected: list[str] | None
) -> None:
    names = [row["dataset"] for row in listed(capsys, "datasets", pattern)]
    assert sorted(names) == expected if expected else all("scifact" in name.lower() for name in names)
    assert names


def test_targets_of_extensions_are_in_their_readmes_and_figures_and_tables_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    ours = {row["target"]: row["content"] for row in listed(capsys, "targets")}
    for extension in extensions():
        files = (re.sub(r"\{(\w+)\}", r"<\1>", f"results/{path}") for path in extension.patterns if path.content)
        runs = [name for name, command in extension.commands.items() if command.content]
        added = {*(word for word in extension.targets if "{" not in word), *runs, *files}
        assert {name for name in added if name not in (extension.folder / "README.md").read_text()} == set()
        assert added <= ours.keys()
    assert all(name in ours["results/figures/<figure>.pdf"] for name in functions("figure"))
    assert all(name in ours["results/tables/<table>.tex"] for name in functions("table"))


def test_the_names_of_a_configuration_are_listed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = {
        "systems": {"short": {"family": "lexical", "k1": 0.5}},
        "datasets": {"mine": {"path": str(REPOSITORY / "tests/data/demo/kitchen")}},
    }
    config = {"systems": ["short"], "datasets": ["mine"], "custom": own, "results": "out/mine"}
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(config))
    of_mine = ("--config", str(tmp_path / "my.yaml"))
    assert listed(capsys, "systems", "short", *of_mine)[0]["family"] == "lexical"
    assert listed(capsys, "datasets", "mine", *of_mine)[0]["task"] is None
    assert run("targets", "trec.gz", *of_mine) == 0
    out = capsys.readouterr().out
    assert "out/mine/runs/<system>/<dataset>.trec.gz" in out
    assert "<system>: short\n<dataset>: mine\n" in out


@pytest.mark.parametrize("kind", ["datasets", "measures"])
def test_tables_are_aligned_and_fit_120_columns(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert run(kind) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert max(map(len, [header, *lines])) <= 120
    second = header.index(re.split(r" {2,}", header)[1])
    rows = lines[: lines.index("")]
    assert all(line[second - 2 : second] == "  " for line in rows if len(line) > second)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("system",), "did you mean 'systems'"),
        (("datasets", "scifat"), "nothing matches 'scifat'; did you mean 'scifact'"),
        (("measures", "zzz*"), "nothing matches 'zzz*'"),
        (("systems", "--config", "nowhere.yaml"), "there is no such file"),
    ],
)
def test_what_is_unknown_is_refused_with_the_nearest(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        run(*arguments)
    assert said in str(refused.value)
