"""The command line of beirflow: which arguments Snakemake gets, and what is refused before anything is written."""

import argparse
import importlib
import json
import os
import re
import shlex
import sys
from pathlib import Path
from string import Formatter
from types import ModuleType

import pytest
import snakemake.cli
import yaml

from beirflow import cli
from beirflow.cli import workflow_call
from beirflow.core.errors import DataError, VerdictError
from beirflow.core.layout import MANIFEST
from beirflow.run.provenance import TYPED
from forks import forget, run_in_fork


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a configuration, a dataset, and two folders that look like results."""
    work = tmp_path / "my work"
    (work / "data/qrels").mkdir(parents=True)
    (work / "data/corpus.jsonl").write_text('{"_id": "d", "title": "", "text": "x"}\n')
    (work / "data/queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    (work / "data/qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    config = {"systems": ["bm25"], "datasets": ["mine"], "custom": {"datasets": {"mine": {"path": "data"}}}}
    (work / "my.yaml").write_text(yaml.safe_dump(config))
    (work / "more.yaml").write_text("top_k: 50\ncutoffs: [10]\n")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text("{}")
    (tmp_path / "one/profile.yaml").write_text("executor: pbs-pro\n")
    monkeypatch.chdir(work)
    monkeypatch.setenv("BEIRFLOW_CLASS_FOLDERS", "")
    return work


@pytest.fixture
def snakemakes(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that Snakemake gets; it is not run."""
    lines: list[list[str]] = []

    def record() -> None:
        lines.append(sys.argv[1:])
        raise SystemExit(0)

    monkeypatch.setattr(snakemake.cli, "main", record)
    monkeypatch.setattr(sys, "argv", ["beirflow"])
    monkeypatch.setenv(TYPED, "")
    return lines


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def options_in(line: list[str]) -> object:
    """The content of the last configuration file of a command line."""
    parsed = snakemake.cli.get_argument_parser().parse_args(line)
    return json.loads(Path(parsed.configfile[-1]).read_text())


SNAKEFILE = ["--snakefile", str(workflow_call.snakefile())]
ALL = [*SNAKEFILE, "--cores", "all", "--configfile", "my.yaml"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("run my.yaml", [*ALL, "--", "summary"]),
        ("run my.yaml summary results/metrics/bm25/mine.json", [*ALL, "--", "summary", "results/metrics/bm25/mine.json"]),
        ("run my.yaml --configfile more.yaml", [*ALL, "more.yaml", "--", "summary"]),
        ("run my.yaml --cores 3 -n", [*SNAKEFILE, "--configfile", "my.yaml", "--cores", "3", "-n", "--", "summary"]),
        # A target between Snakemake's options is one of Snakemake's.
        ("run my.yaml --keep-going report -- summary", [*ALL, "--keep-going", "--", "summary", "report"]),
        ("run my.yaml --config results=mine -- mine/summary.csv", [*ALL, "--config", "results=mine", "--", "mine/summary.csv"]),
        ("run my.yaml --executor slurm --jobs 9", [*SNAKEFILE, "--configfile", "my.yaml", "--executor", "slurm", "--jobs", "9"]),
        ("report my.yaml", [*ALL, "--", "report"]),
        ("audit my.yaml --config results=../one", [*ALL, "--config", "results=../one", "--", "audit"]),
        ("audit --config results=../one", [*SNAKEFILE, "--cores", "all", "--config", "results=../one", "--", "audit"]),
        ("explain my.yaml", [*ALL, "--", "explain"]),
    ],
)
def test_snakemake_gets_configuration_options_and_targets(words: str, line: list[str], snakemakes: list[list[str]]) -> None:
    line = line if "--" in line else [*line, "--", "summary"]
    assert cli.main(shlex.split(words)) == 0
    assert snakemakes == [line]
    assert os.environ[TYPED].endswith(f" {words}")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (
            "audit {one} --sample 5 --manifest-sha256 ab",
            {"command": {"audit": {"folder": "{one}", "sample": 5, "manifest_sha256": "ab"}}},
        ),
        (
            "audit ../one --signature my.yaml --allowed-signers more.yaml",
            {
                "command": {
                    "audit": {
                        "folder": "{one}",
                        "manifest_signature": "{work}/my.yaml",
                        "allowed_signers": "{work}/more.yaml",
                    }
                }
            },
        ),
        ("audit ../one -o here", {"command": {"audit": {"folder": "{one}", "output": "{work}/here"}}}),
        ("audit my.yaml --sample 0", {"command": {"audit": {"sample": 0}}}),
        ("compare ../one {two}", {"results": "{one}", "command": {"compare": {"other": "{two}"}}}),
        (
            "leaderboard ../one ../two --sample 3",
            {"command": {"leaderboard": {"folders": ["{one}", "{two}"]}, "audit": {"sample": 3}}},
        ),
        ("explain my.yaml bm25/mine", {"command": {"explain": {"result": "bm25/mine"}}}),
        (
            "explain bm25/nfcorpus",
            {"command": {"explain": {"result": "bm25/nfcorpus"}}, "systems": ["bm25"], "datasets": ["nfcorpus"]},
        ),
        ("gate my.yaml --baseline ../one", {"gate": {"baseline": "{one}"}}),
    ],
)
def test_options_travel_in_a_configuration_file_that_stays(
    words: str, options: object, snakemakes: list[list[str]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The configuration is checked elsewhere: here, what it says.
    monkeypatch.setattr(workflow_call, "_check", lambda *_: None)
    places = {"one": folder.parent / "one", "two": folder.parent / "two", "work": folder}

    def filled(value: object) -> object:
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [filled(each) for each in value]
        return value.format(**places) if isinstance(value, str) else value

    before = written(folder)
    assert cli.main([word.format(**{key: str(place) for key, place in places.items()}) for word in shlex.split(words)]) == 0
    assert options_in(snakemakes[0]) == filled(options)
    (new,) = {path for path in written(folder) - before if path.endswith(".json")}
    assert new.startswith(".snakemake/beirflow/")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("run", "name a configuration, such as my.yaml; `beirflow init` writes one"),
        ("run no.yaml", "no.yaml: there is no such file; expected a configuration"),
        ("run data", "data: is a folder; expected a configuration"),
        ("run my.yaml more.yaml", "more.yaml: a second configuration, where one is expected"),
        ("explain my.yaml more.yaml", "more.yaml: a second configuration, where one is expected"),
        ("run my.yaml sumary", "sumary: unknown target; did you mean 'summary'?"),
        (
            "run my.yaml results/metrics/bm52/mine.json",
            "results/metrics/bm52/mine.json: unknown target; did you mean 'results/metrics/bm25/mine.json'?",
        ),
        ("run my.yaml papers/beir-2020", "papers/beir-2020: unknown target; did you mean 'papers/beir-2021'?"),
        ("run my.yaml qqqq", "qqqq: unknown target; docs/targets.md lists all files"),
        ("run my.yaml --not-an-option", "--not-an-option: neither this command nor Snakemake has this option"),
        (
            "run my.yaml --profile ../one",
            "../one/profile.yaml: no executor 'pbs-pro' is installed here; type: pip install snakemake-executor-plugin-pbs-pro",
        ),
        ("run my.yaml --cores 0", "--cores: found 0; expected a number from 1, or 'all'"),
        ("run my.yaml --config top_k=many", "the configuration (config.yaml, --configfile, --config) cannot be used"),
        ("audit", "results: there is no such folder; expected a folder of results, with manifest.json"),
        ("audit ../one ../two", "../two: expected nothing behind ../one"),
        ("audit ..", "..: there is no manifest.json, so no finished results; did you mean '../one'?"),
        ("audit ../one --signature my.yaml", "--signature: name the keys that you accept, too"),
        ("audit ../one --signature no.sig --allowed-signers my.yaml", "--signature: no.sig: there is no such file"),
        ("audit ../one --sample many", "argument --sample: invalid int value: 'many'"),
        ("compare ../one", "found ../one; expected two folders of results"),
        ("compare ../one ../one", "../one: the same folder twice"),
        ("leaderboard", "name the folders of results"),
        ("leaderboard ../one data", "data: there is no manifest.json"),
        ("gate my.yaml --baseline data", "data: there is no manifest.json"),
        ("explain", "found nothing; expected a configuration, a result"),
        ("explain bm25/mine bm25/other", "found bm25/mine bm25/other; expected a configuration, a result"),
        ("demo .", ".: this is there already, and is no folder of the demo"),
        ("rum my.yaml", "'rum' is no command of beirflow; did you mean 'run'?"),
    ],
)
def test_input_that_cannot_be_used_is_a_sentence_with_exit_status_2_and_nothing_is_written(
    words: str, sentence: str, snakemakes: list[list[str]], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = written(folder.parent)
    assert cli.main(shlex.split(words)) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith(sentence)
    assert output.err.count("\n") == 1 + ("cannot be used" in sentence)  # a wrong value of it has a line of its own
    assert (snakemakes, written(folder.parent)) == ([], before)


def test_every_rule_and_every_kind_of_file_is_a_target() -> None:
    from beirflow.config.load import load_experiment
    from beirflow.core.kinds import PATTERNS
    from beirflow.report.overview import is_made

    assert {"summary", "report", "choice", "beir_paper", "audit", "try", "runs", "tables", "clean_representations"} <= {
        *workflow_call.rule_names()
    }
    experiment = load_experiment({"systems": ["bm25"], "datasets": ["scifact"], "results": "out/mine"})
    names = {"system": "bm25", "dataset": "scifact", "row": "scifact", "archive": "scifact", "analyzer": "lucene-english"}
    names |= {"table": "leaderboard", "figure": "pareto", "paper": "contriever-2021"}
    for pattern in PATTERNS:
        fields = {name for _, name, _, _ in Formatter().parse(pattern) if name}
        path = pattern(**{name: names.get(name, 1) for name in fields})
        assert is_made(f"out/mine/{path}", "out/mine", experiment), path
        assert not is_made(f"out/other/{path}", "out/mine", experiment)
    assert not is_made("out/mine/metrics/bm52/scifact.json", "out/mine", experiment)
    words = ("papers/contriever-2021", "papers/contriever-2022", "out/mine/papers/contriever-2022/index.html")
    assert [is_made(word, "out/mine", experiment) for word in words] == [True, False, False]


def test_what_a_shell_reads_again_from_the_printed_command_is_what_snakemake_got(
    snakemakes: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my config.yaml").write_text(Path("my.yaml").read_text())
    assert cli.main(["run", "my config.yaml", "--config", "results=my results", "--", "my results/summary.csv"]) == 0
    program, *words = shlex.split(capsys.readouterr().err)
    assert Path(program).name == "snakemake"
    assert words == snakemakes[0]


def test_the_exit_status_of_snakemake_is_that_of_the_command(
    monkeypatch: pytest.MonkeyPatch, snakemakes: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    ends = [(SystemExit(code), status) for code, status in ((0, 0), (None, 0), (1, 1), (130, 130), ("words", 1))]
    for how, status in ((KeyboardInterrupt(), 1), *ends):

        def end(how: BaseException = how) -> None:
            raise how

        monkeypatch.setattr(snakemake.cli, "main", end)
        assert cli.main(["run", "my.yaml"]) == status
    assert capsys.readouterr().err.endswith("words\n")


def test_every_command_has_a_line_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for name in cli.command_names():
        module = cli.command_module(name)
        assert module.HELP
        assert "\n" not in module.HELP
        assert cli.main([name, "--help"]) == 0
        assert re.search(rf"Examples?: beirflow {name}\b", capsys.readouterr().out)
    assert cli.main([]) == 0
    overview = capsys.readouterr().out
    assert all(f"  {name} " in overview for name in cli.command_names())


def test_help_imports_nothing_heavy() -> None:
    heavy = {"snakemake", "yaml", "numpy", "pandas", "jsonschema", "torch", "pyarrow", "pydantic"}

    def show_help() -> None:
        forget("beirflow", *heavy)
        importlib.import_module("beirflow.cli").main(["run", "--help"])
        assert not heavy & {*sys.modules}

    done = run_in_fork(show_help)
    assert done.returncode == 0, done.stderr


def test_a_verdict_is_printed_with_exit_status_1_and_an_error_is_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("beirflow.cli.checked")
    module.HELP = "a command that does not call Snakemake"
    module.add_arguments = lambda parser: parser.add_argument("file")

    def main(options: argparse.Namespace) -> int:
        raise (VerdictError if options.file == "verdict" else DataError)(f"of {options.file}")

    module.main = main
    monkeypatch.setattr(cli, "COMMANDS", {"check": "checked"})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert cli.main(["check", "verdict"]) == 1
    assert capsys.readouterr() == ("of verdict\n", "")
    assert cli.main(["check", "file"]) == 2
    assert capsys.readouterr() == ("", "of file\n")
    assert cli.main(["check", "file", "--unknown"]) == 2
    assert capsys.readouterr() == ("", "unrecognized arguments: --unknown; all options: beirflow check --help\n")
