"""What a job gets: as Snakemake has it, however long, from a file that tells no secrets and does not stay."""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.iocontainers import InputFiles, OutputFiles, Params, Wildcards

from beirflow.run import rule_job
from beirflow.run.rule_job import FOLDER, Commands, read_job, remove_old_files
from warm_snakemake import run_warm

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

SOURCES = Path(rule_job.__file__).parents[2]

FILES = 3000  # whose names have more than a command can hold

SNAKEFILE = f"""
import sys
sys.path.insert(0, {str(SOURCES)!r})
from beirflow.run.rule_job import Commands

command_of = Commands(rules, config, deploys=False, dry=config.get("dry", False)).of
names = [f"in/{{'a' * 50}}-{{number}} of '{{wildcards}}'.json" for number in range({FILES}) for wildcards in "a"]

rule count:
    input:
        many=names,
        one=names[0],
    output:
        "results/{{system}}.json",
    log:
        "results/logs/count/{{system}}.log",
    params:
        command=command_of("count"),
        function="counting:count",
        code="c0de",
        settings=lambda wildcards: {{"depth": len(wildcards.system), "rows": {{"ä": [1.5, None]}}}},
        derived=lambda wildcards, input: len(input),
    threads: 2
    shell:
        "{{params.command}} {{threads}} {{log:q}}"
"""

COUNTING = """
import json
from pathlib import Path
def count(*, many_paths, one_path, output_path, system: str, depth, rows, derived, threads, device, job):
    text = Path(one_path).read_text()
    found = [len(many_paths), one_path == many_paths[0], text, system, depth, rows, derived, threads, device, job.name, job.code]
    Path(output_path).write_text(json.dumps(found))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def snakemake(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{SOURCES}{os.pathsep}{folder}"}
    status, output = run_warm(["--cores", "2", *arguments], folder, environment, warm_jobs=False)
    assert status == 0, output[-2000:]
    return output


def test_a_job_gets_more_files_than_a_command_can_name(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "counting.py").write_text(COUNTING)
    names = [f"in/{'a' * 50}-{number} of 'a'.json" for number in range(FILES)]
    assert sum(map(len, names)) > 1 << 17  # bytes of the longest argument
    for name in names:
        (folder / name).write_text("text")
    target = "results/two words.json"
    snakemake(folder, "--dry-run", "--printshellcmds", target, "--config", "device=cpu", "dry=true")
    assert not (folder / FOLDER).exists()
    snakemake(folder, target, "--config", "device=cpu")
    rows = {"ä": [1.5, None]}
    expected = [FILES, True, "text", "two words", 9, rows, FILES + 1, 2, "cpu", "count/two words", "c0de"]
    assert json.loads((folder / target).read_text()) == expected
    assert {path.stat().st_mode & 0o777 for path in (folder / FOLDER).iterdir()} == {0o600}
    assert len(list((folder / FOLDER).iterdir())) == 2  # of the job and of the configuration
    # How it computes is no reason to compute it again, nor is a file that is gone.
    for path in (folder / FOLDER).iterdir():
        path.unlink()
    assert "Nothing to be done" in snakemake(folder, target, "--config", "device=cuda", "--set-threads", "count=1")


def handed_over(folder: Path, **config: str) -> Path:
    """The file of a job."""
    of_rule = SimpleNamespace(params=Params(fromdict={"command": None, "function": "a:f"}))
    command_of = Commands(SimpleNamespace(a=of_rule), config, deploys=False, dry=False).of
    files = InputFiles(fromdict={"one": "x"}), OutputFiles(["y", "z"])
    text = str(command_of("a")(Wildcards(fromdict={"system": "s"}), *files))
    return folder / text.rpartition(" ")[2]


def test_a_job_never_gets_what_somebody_planted_in_place_of_its_file(folder: Path) -> None:
    path = handed_over(folder, device="cpu")
    honest, elsewhere = path.read_bytes(), folder / "elsewhere"
    for plant in (lambda: path.write_text("{}"), lambda: path.symlink_to(elsewhere), lambda: None):
        path.unlink()
        plant()
        assert handed_over(folder, device="cpu") == path
        assert (path.read_bytes(), path.is_symlink(), elsewhere.exists()) == (honest, False, False)
    job = read_job(str(path.relative_to(folder)), 3, "a.log")
    assert (job.rule, dict(job.input.items()), list(job.output), dict(job.output.items())) == ("a", {"one": "x"}, ["y", "z"], {})
    assert (job.params, job.wildcards, job.config) == ({"function": "a:f"}, {"system": "s"}, {"device": "cpu"})
    assert (job.threads, job.log) == (3, ["a.log"])


def test_files_of_jobs_go_after_a_week_unless_they_are_written_again(folder: Path) -> None:
    old, used = handed_over(folder, device="cpu"), handed_over(folder, device="cuda")
    for path in (folder / FOLDER).iterdir():
        os.utime(path, times=(0, time.time() - 8 * 24 * 3600))
    handed_over(folder, device="cuda")
    remove_old_files()
    assert not old.exists()
    assert read_job(str(used.relative_to(folder)), 1, "a.log").config == {"device": "cuda"}
