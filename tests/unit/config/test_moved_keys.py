"""Keys that are options of a command now: each is refused with a command, which works when pasted."""

import shlex
from collections import OrderedDict
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from snakemake.cli import parse_config

from beirflow.config.config_files import check_options
from beirflow.config.load import load_experiment
from beirflow.config.moved_keys import MOVED
from refusals import problems_of

BM25 = {"systems": "bm25", "datasets": "nfcorpus"}
DIGEST = "9f86d081" * 8
NOW = "remove this key: it is an option of a command now, beirflow"

# key, value, the command, and what Snakemake's command line gives to it
REFUSED: list[tuple[str, Any, str, str]] = [
    ("audit_folder", "/copy of/results", "audit '/copy of/results'", "{audit: {folder: /copy of/results}}"),
    ("audit_sample", 100, "audit results --sample 100", "{audit: {sample: 100}}"),
    ("manifest_sha256", DIGEST, f"audit results --manifest-sha256 {DIGEST}", f"{{audit: {{manifest_sha256: {DIGEST}}}}}"),
    ("manifest_signature", "m.json.sig", "audit results --signature m.json.sig", "{audit: {manifest_signature: m.json.sig}}"),
    ("allowed_signers", "signers", "audit results --allowed-signers signers", "{audit: {allowed_signers: signers}}"),
    ("of", "bm25/nfcorpus", "explain bm25/nfcorpus", "{explain: {result: bm25/nfcorpus}}"),
    ("compare_with", "/other/results", "compare results /other/results", "{compare: {other: /other/results}}"),
    ("folders", ["/of a", "/of-b"], "leaderboard '/of a' /of-b", "{leaderboard: {folders: [/of a, /of-b]}}"),
]


def pasted(problem: str, command: str) -> Any:
    """The options of a command that the command line of Snakemake in a message gives."""
    option, value = shlex.split(problem.rpartition("(with plain snakemake: ")[2].removesuffix(")"))
    assert option == "--config"
    check_options(1, [value])
    return load_experiment({**BM25, **parse_config([value])}).options(command)


@pytest.mark.parametrize(("key", "value", "own", "plain"), REFUSED)
def test_each_key_is_refused_with_its_command_which_works_when_pasted(key: str, value: Any, own: str, plain: str) -> None:
    (problem,) = problems_of({**BM25, key: value})
    assert problem == f"{key}: found {value!r}; {NOW} {own} (with plain snakemake: --config 'command={plain}')"
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


def test_the_command_of_several_keys_has_the_values_of_all_also_such_as_a_shell_or_yaml_would_read_otherwise(
    tmp_path: Path,
) -> None:
    values = {"manifest_signature": "it's {1}, # “2”: $HOME", "audit_sample": 20, "audit_folder": str(tmp_path / "ü ,b")}
    problems = problems_of({**BM25, "results": "my results", **values, "compare_with": "123"})
    assert [problem.partition(":")[0] for problem in problems] == [
        "audit_folder",
        "audit_sample",
        "manifest_signature",
        "compare_with",
    ]
    own = {problem.partition(f"{NOW} ")[2].rpartition(" (with plain")[0] for problem in problems[:3]}
    words = ["audit", values["audit_folder"], "--sample", "20", "--signature", values["manifest_signature"]]
    assert [shlex.split(each) for each in own] == [words]
    for problem in problems[:3]:
        assert pasted(problem, "audit") == {MOVED[key][1]: value for key, value in values.items()}
    assert "beirflow compare 'my results' 123 (" in problems[3]
    assert pasted(problems[3], "compare") == {"other": "123"}


def test_folders_with_what_was_published_of_them_keep_it() -> None:
    """The command line of beirflow has no place for it."""
    entries = ["/a", OrderedDict(path="/b", name="group B", manifest_sha256=DIGEST)]  # as Snakemake reads files
    (problem,) = problems_of({"folders": entries})
    assert f"{NOW} leaderboard (with plain" in problem
    assert pasted(problem, "leaderboard") == {"folders": entries}
    (problem,) = problems_of({"folders": "/a,/b"})  # as Snakemake's command line had them
    assert pasted(problem, "leaderboard") == {"folders": ["/a", "/b"]}


@pytest.mark.parametrize(
    ("config", "own"),
    [
        ({"audit_sample": 5}, "audit '{0}' --sample 5 --configfile b.yaml"),
        ({"audit_sample": 5, "audit_folder": "/copy"}, "audit /copy --sample 5 --configfile '{0}' --configfile b.yaml"),
        ({"of": "bm25/nfcorpus"}, "explain bm25/nfcorpus --configfile '{0}' --configfile b.yaml"),
        ({"folders": ["/a", "/b"]}, "leaderboard /a /b --configfile '{0}' --configfile b.yaml"),
        ({"compare_with": "/other"}, "compare results /other"),
    ],
)
def test_the_command_names_the_configuration_files(config: dict[str, Any], own: str, tmp_path: Path) -> None:
    files = [str(tmp_path / "my a.yaml"), "b.yaml"]
    with chdir(tmp_path):
        for file in files:
            Path(file).write_text("top_k: 1000")
        assert {each.partition(f"{NOW} ")[2].rpartition(" (with")[0] for each in problems_of(config, files)} == {
            own.format(files[0])
        }


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
        ({"audit": {"folder": "a\nb"}}, "command.audit.folder: found 'a\\nb'; "),
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
    stated = given.as_stated({**plain.configured, "configuration": {**plain.configured["configuration"], "command": "x"}}, {})
    assert stated.options("audit") == {}


def test_the_explained_result_is_the_one_of_the_command_or_each_with_a_published_score() -> None:
    two = {"systems": "bm25", "datasets": ["nfcorpus", "scifact"]}
    pages = [f"<results>/explanations/bm25/{name}.html" for name in two["datasets"]]
    assert load_experiment(two).explanations == pages
    assert load_experiment({**two, "command": {"explain": {"result": "bm25/scifact"}}}).explanations == pages[1:]
