"""Keys that are options of a command now: each is refused with a command, which works when pasted."""

import shlex
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from snakemake.cli import parse_config

from beirflow.config.config_files import check_options
from beirflow.config.load import load_experiment
from beirflow.config.moved_keys import MOVED
from beirflow.config.reading import explanations
from beirflow.config.stated import experiment_of
from refusals import problems_of

BM25 = {"systems": "bm25", "datasets": "nfcorpus"}
DIGEST = "9f86d081" * 8
NOW = "remove this key: it is an option of a command now, beirflow"

REFUSED: list[tuple[str, Any, str]] = [
    ("audit_folder", "/copy of/results", "audit"),
    ("audit_sample", 100, "audit --sample"),
    ("manifest_sha256", DIGEST, "audit --manifest-sha256"),
    ("manifest_signature", "it's {1}, # “2”: $HOME", "audit --signature"),
    ("allowed_signers", "ü ,b", "audit --allowed-signers"),
    ("of", "bm25/nfcorpus", "explain"),
    ("compare_with", "123", "compare"),
    ("folders", ["/of a", OrderedDict(path="/b", name="group B", manifest_sha256=DIGEST)], "leaderboard"),
]
"""Key, a value that a shell or YAML would read otherwise, and the command."""


def pasted(problem: str, command: str) -> Any:
    """The options of a command that the command line of Snakemake in a message gives."""
    option, value = shlex.split(problem.rpartition("(with plain snakemake: ")[2].removesuffix(")"))
    assert option == "--config"
    check_options(1, [value])
    return load_experiment({**BM25, **parse_config([value])}).options(command)


@pytest.mark.parametrize(("key", "value", "own"), REFUSED)
def test_each_key_is_refused_with_its_command_which_works_when_pasted(key: str, value: Any, own: str) -> None:
    (problem,) = problems_of({**BM25, key: value})
    assert f"{NOW} {own} (with plain snakemake: --config '" in problem
    command, name, _ = MOVED[key]
    assert pasted(problem, command) == {name: value}


def test_no_other_key_is_one_of_these_and_each_is_an_option_of_the_schema() -> None:
    assert [key for key, *_ in REFUSED] == list(MOVED)
    assert not MOVED.keys() & load_experiment({}).config.keys()


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [("audit_sample", 0, "0"), ("manifest_sha256", None, "nothing"), ("folders", [], "[]"), ("of", "", "''")],
)
def test_a_key_without_a_value_is_to_be_removed(key: str, value: Any, found: str) -> None:
    command, _, option = MOVED[key]
    assert problems_of({key: value}) == [f"{key}: found {found}; {NOW} {f'{command} {option}'.strip()}"]


def test_a_moved_key_is_found_in_its_file_and_hides_no_other_problem(tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("systems: bm25\naudit_sample: 100\ntopk: 5\n")
    first, second = problems_of({"systems": "bm25", "audit_sample": 100, "topk": 5}, [str(file)])
    assert {first.rpartition(" (")[2], second.rpartition(" (")[2]} == {f"{file}:2)", f"{file}:3)"}


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("audit", "command: found 'audit'; expected keys with values or null"),
        ({"audit": None}, "command.audit: found nothing; expected keys with values"),
        ({"audit": {"sample": "many"}}, "command.audit.sample: found 'many'; expected a whole number"),
        ({"audit": {"sample": -1}}, "command.audit.sample: found -1; expected at least 0"),
        (
            {"audit": {"samples": 1}},
            "command.audit.samples: found 'samples'; no such key here, allowed are folder, output, sample,",
        ),
        ({"audit": {"folder": "a\nb"}}, "command.audit.listing: found 'a\\nb'; "),
        (
            {"explain": {"result": "bm25/scifact"}},
            "command.explain.result: found 'bm25/scifact'; allowed are null and bm25/nfcorpus",
        ),
        ({"leaderboard": {"folders": "/a"}}, "command.leaderboard.folders: found '/a'; expected a list"),
    ],
)
def test_wrong_options_are_refused_with_what_is_allowed(command: Any, problem: str) -> None:
    (found,) = problems_of({**BM25, "command": command})
    assert found.startswith(problem)


def test_options_decide_nothing_in_the_manifest_and_are_none_unless_given() -> None:
    plain, given = load_experiment(BM25), load_experiment({**BM25, "command": {"audit": {"sample": 5}}})
    assert given.configured == plain.configured
    assert (plain.options("audit"), given.options("audit"), given.options("compare")) == ({}, {"sample": 5}, {})
    stated = experiment_of(
        {**plain.configured, "configuration": {**plain.configured["configuration"], "command": "x"}}, {}, given
    )
    assert stated.options("audit") == {}


def test_the_explained_result_is_the_one_of_the_command_or_each_with_a_published_score() -> None:
    two = {"systems": "bm25", "datasets": ["nfcorpus", "scifact"]}
    pages = [f"<results>/explanations/bm25/{name}.html" for name in two["datasets"]]
    assert explanations(load_experiment(two)) == pages
    assert explanations(load_experiment({**two, "command": {"explain": {"result": "bm25/scifact"}}})) == pages[1:]
