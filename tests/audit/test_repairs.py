"""Commands that an audit prints can be pasted, wherever one is; nothing is deleted, and good files are not called left over."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from beirflow.audit.audit import audit
from beirflow.audit.repairs import Call, quoted
from beirflow.config.load import load_experiment
from beirflow.core.layout import LOG, job_error
from beirflow.core.writing import own_partial
from forger import FAILED, NOT_CHECKED, WARNING, Forger

HOSTILE = [
    "notes; touch PWNED #",
    "$(touch PWNED)",
    "`touch PWNED`",
    "two\nlines",
    "-rf",
    "it's",
    'a "b" c',
    "caf\udce9",
    "\x1b[2J",
    "~",
    "*",
]


def test_a_repair_that_is_pasted_moves_what_it_names_and_does_nothing_else(forger: Forger, tmp_path: Path) -> None:
    """From any folder, however the file and the folder of the results are called."""
    spaced = tmp_path / "my results"
    forger.results.rename(spaced)
    forger.results = spaced
    for name in HOSTILE:
        (spaced / name).write_text(name, errors="surrogateescape")
    (found,) = forger.failed()
    (tmp_path / "where I am").mkdir()
    subprocess.run(["bash", "-c", found.repair], cwd=tmp_path / "where I am", check=True)
    assert list((tmp_path / "where I am").iterdir()) == []
    assert not (spaced / "PWNED").exists()
    (aside,) = tmp_path.glob("my results-aside-*")
    moved = {path.name: path.read_text(errors="surrogateescape") for path in aside.iterdir()}
    assert moved == dict(zip(HOSTILE, HOSTILE, strict=True))
    assert forger.failed() == []


def test_a_repair_repeats_how_the_audit_was_called(tmp_path: Path) -> None:
    config = {"datasets": ["a b", "c"], "device": "cpu", "command": {"audit": {"manifest_sha256": "0" * 64}}}
    call = Call("/code/Snakefile", str(tmp_path), ["my conf.yaml", "/etc/more.yaml"], config, stamp="now")
    words = shlex.split(call.make_again(Path("results/demo"), ["runs/x/y.json"], ["runs/x/y.json", "summary.csv"]))
    assert words[:3] == ["mkdir", "-p", f"{tmp_path}/results/demo-aside-now/runs/x/"]
    moved = ["mv", f"{tmp_path}/results/demo/runs/x/y.json", f"{tmp_path}/results/demo-aside-now/runs/x/"]
    assert words[3:8] == ["&&", *moved, "&&"]
    called = ["snakemake", "--snakefile", "/code/Snakefile", "--directory", str(tmp_path), "--cores", "2"]
    targets = ["results/demo/runs/x/y.json", "results/demo/summary.csv"]
    options = ["--configfile", f"{tmp_path}/my conf.yaml", "/etc/more.yaml", "--config", 'datasets=["a b", "c"]', "device=cpu"]
    assert words[8:] == [*called, *options, "--", *targets]


def test_a_repair_of_results_elsewhere_says_where_they_are(tmp_path: Path) -> None:
    """Otherwise no rule makes the file that it names."""
    call = Call(directory=str(tmp_path), config={"results": "of mine", "command": {"audit": {"sample": "3"}}})
    assert shlex.split(call.snakemake(["of mine/summary.csv"]))[-4:] == [
        "--config",
        "results=of mine",
        "--",
        "of mine/summary.csv",
    ]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_quoted_word_is_the_same_word_to_a_shell(word: str) -> None:
    done = subprocess.run(["bash", "-c", f"printf %s {quoted(word)}"], capture_output=True, check=True)
    assert done.stdout == os.fsencode(word)
    assert quoted(word).isprintable()


def test_below_a_record_that_cannot_be_read_nothing_is_called_left_over(forger: Forger) -> None:
    """Nobody is told to move vectors away that took days."""
    content = forger.path("runs/tiny/small.json").read_bytes()
    forger.replace("runs/tiny/small.json", b"?" + content[1:])
    checks = forger.checks()
    assert not any("embeddings" in check.repair for check in checks if check.status in (FAILED, WARNING))
    (unknown,) = [check for check in checks if "perhaps needed by a record that cannot be read" in check.found]
    assert unknown.status == "not checked"


def test_files_of_file_managers_and_the_signature_are_named_and_fail_nothing(forger: Forger) -> None:
    names = [".DS_Store", "manifest.json.sig", "runs/.DS_Store", "runs/tiny/Thumbs.db"]
    for name in names:
        forger.path(name).write_bytes(b"Bud1")
    assert forger.failed() == []
    (meaningless,) = [check for check in forger.checks() if check.found.startswith("not opened, since they are no results")]
    assert (meaningless.status, list(meaningless.files)) == ("not checked", names)


def test_files_of_an_extension_that_is_not_here_are_not_checked_and_those_of_nobody_fail(forger: Forger) -> None:
    names = ["cards/tiny.md", "cards.html"]
    for name in names:
        forger.replace(name, b"a card")
    assert sorted(path for check in forger.failed() for path in check.files) == sorted(names)
    forger.replace("logs/write_card/tiny.log", b"")  # of a rule that nothing here has
    forger.replace("metrics/tiny/card.md", b"a card")  # where no extension writes
    (failed,) = forger.failed()
    assert list(failed.files) == ["metrics/tiny/card.md"]
    (found,) = [check for check in forger.checks() if "needs the extension that writes" in check.found]
    assert (found.status, sorted(found.files)) == (NOT_CHECKED, sorted(names))


def test_why_a_job_failed_once_is_no_left_over(forger: Forger) -> None:
    """A job that runs again deletes it; one that is not needed any more, such as a download, does not."""
    path = job_error(forger.path(LOG(job="download_dataset/small")))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    assert forger.failed() == []


def test_a_manifest_that_names_no_metrics_makes_nothing_left_over_a_failure(forger: Forger) -> None:
    forger.edit("manifest.json", inputs={})
    assert not any("embeddings" in check.repair for check in forger.failed())


def test_left_overs_of_an_earlier_configuration_are_one_warning_with_one_command(forger: Forger) -> None:
    names = [
        "metrics/old/small.json",
        "runs/old/small.parquet",
        "embeddings/old/small/chunk-0.npy",
    ]
    for name in [*names, "candidates/tiny/small/chunk-0.arrow"]:
        forger.replace(name, b"x")
    (found,) = forger.noticed()
    assert (found.status, found.results) == (WARNING, ())
    assert {*names, "candidates/tiny/small/chunk-0.arrow"} == set(found.files)
    subprocess.run(["bash", "-c", found.repair], check=True)
    assert forger.noticed() == []


def test_what_an_interrupted_job_left_is_one_warning_with_one_command(forger: Forger) -> None:
    partial = own_partial(forger.path("embeddings/tiny/small/chunk-0.npy"))
    old = "embeddings/old/small"
    forger.path(old).mkdir(parents=True)
    folder = own_partial(forger.path(f"{old}/prepare"))
    folder.mkdir()
    names = [path.relative_to(forger.results).as_posix() for path in (partial, folder / "chunk-0.txt")]
    names.append(f"{old}/.partial-chunk-1.npy")
    for name in names:
        forger.replace(name, b"x")
    (found,) = forger.noticed()
    assert (found.status, found.results, sorted(found.files)) == (WARNING, (), sorted(names))
    assert "an interrupted job was writing" in found.found
    subprocess.run(["bash", "-c", found.repair], check=True)
    assert forger.noticed() == []
    assert not any("partial" in path.name for path in forger.results.rglob("*"))


def test_scores_that_are_nothing_are_found_in_their_own_file(forger: Forger) -> None:
    """And not in the manifest, of all systems on all datasets."""
    forger.edit_table("runs/tiny/small.parquet", lambda run: run.assign(score=None))
    forger.digest_summary_again()
    assert {check.results for check in forger.failed(sample=2) if check.results} <= {(("tiny", "small"),)}


def test_where_systems_are_not_configured_the_verdict_says_what_was_not_checked(forger: Forger) -> None:
    words = audit(folder=str(forger.results), experiment=load_experiment({}))
    _, line, *rest = words.splitlines()
    assert line == "  intact: yes · as configured: yes · replayed: yes · traced to sources: no · sampled: no"
    shown = "\n".join(rest[rest.index("NOT checked:") :])
    assert "the source of more is not here" in shown
    assert "the sample is 0" in shown
