"""Commands that an audit prints can be pasted, wherever one is; nothing is deleted, and good files are not called left over."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beirflow.audit.audit import audit, run_checks
from beirflow.audit.checks import Check
from beirflow.audit.repairs import Call, Repairs, quoted
from beirflow.audit.verdict import grades
from beirflow.config.load import load_experiment
from beirflow.core.layout import LOG, job_error
from beirflow.core.writing import own_partial
from beirflow.run.results_lock import LOCK, RUN
from forger import FAILED, NOT_CHECKED, WARNING, Forger, named
from warm_snakemake import REPOSITORY

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
    call = Call("/code/Snakefile", str(tmp_path), ["my conf.yaml", "/etc/more.yaml"], config)
    words = shlex.split(Repairs("results/demo", call, "now").make_again(["runs/x/y.json"], ["runs/x/y.json", "summary.csv"]))
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
    (unknown,) = [check for check in checks if check.name == "no file is left over"]
    assert (unknown.status, "it is not known whether" in unknown.found) == ("not checked", True)


def test_files_of_file_managers_and_the_signature_are_named_and_fail_nothing(forger: Forger) -> None:
    names = [".DS_Store", "manifest.json.sig", "runs/.DS_Store", "runs/tiny/Thumbs.db"]
    for name in names:
        forger.path(name).write_bytes(b"Bud1")
    assert forger.failed() == []
    (meaningless,) = [check for check in forger.checks() if check.found.endswith("are no results, and were not opened")]
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
    assert (found.status, sorted(found.files), "the rules write_card, of which" in found.found) == (
        NOT_CHECKED,
        sorted(names),
        True,
    )


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
    assert "3 unfinished files of an interrupted job, on which" in found.found
    subprocess.run(["bash", "-c", found.repair], check=True)
    assert forger.noticed() == []
    assert not any("partial" in path.name for path in forger.results.rglob("*"))


def test_scores_that_are_nothing_are_found_in_their_own_file(forger: Forger) -> None:
    """And not in the manifest, of all systems on all datasets."""
    forger.edit_table("runs/tiny/small.parquet", lambda run: run.assign(score=None))
    forger.digest_again()
    assert {check.results for check in forger.failed(sample=2) if check.results} <= {(("tiny", "small"),)}


@pytest.fixture
def running(forger: Forger) -> Iterator[None]:
    """A run, in another process, that holds the results."""
    program = (
        "import sys\nfrom pathlib import Path\nfrom beirflow.run.results_lock import begin_run\nbegin_run(Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", f"{program}\nprint(flush=True)\nsys.stdin.read()", str(forger.path("logs"))]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        yield
        process.kill()


def with_locks(forger: Forger, folder: Path, *paths: str) -> tuple[list[Check], dict[str, str]]:
    """Give the checks and the grades of results of which Snakemake's lists of locked files in a folder name some paths."""
    (folder / ".snakemake/locks").mkdir(parents=True, exist_ok=True)
    (folder / ".snakemake/locks/0.output.lock").write_text("".join(f"{path}\n" for path in paths))
    _, sections, _ = run_checks(forger.results, forger.experiment, 0, 1, call=Call(directory=str(folder)))
    return [check for section in sections.values() for check in section], dict(grades(sections))


BUSY = "embeddings/tiny/small/queries.json"


@pytest.mark.usefixtures("running")
def test_a_run_in_progress_is_said_and_no_failure(forger: Forger, tmp_path: Path) -> None:
    forger.edit(BUSY, rows=9)
    assert named(forger.failed(), BUSY)
    checks, steps = with_locks(forger, tmp_path, f"results/{BUSY}", "results/embeddings/tiny/small/queries.npy", "elsewhere/x")
    assert [check for check in checks if check.status == FAILED] == []
    assert any("in progress" in check.found for check in named(checks, BUSY))
    assert (steps["intact"], steps["recomputed"]) == ("undecided", "yes")


@pytest.mark.usefixtures("running")
def test_a_run_in_progress_excuses_only_failures_of_the_files_that_it_writes(forger: Forger, tmp_path: Path) -> None:
    forger.edit_table("runs/tiny/small.parquet", lambda run: run.assign(score=run["score"] + 1))
    checks, steps = with_locks(forger, tmp_path, f"results/{BUSY}", "results/x")
    assert named([check for check in checks if check.status == FAILED], "runs/tiny/small.parquet")
    assert steps["intact"] == "failed"


def test_a_list_of_locked_files_without_a_living_run_excuses_nothing(forger: Forger, tmp_path: Path) -> None:
    """Also one that came with a lock of the results, which nobody holds, and logs behind a link."""
    forger.edit(BUSY, rows=9)
    for link in (False, True):
        (place := tmp_path / f"logs-{link}").mkdir()
        (place / LOCK).write_text('{"run": "0", "description": "a run"}')
        place.rename(forger.path("logs")) if not link else forger.path("logs").symlink_to(place)
        checks, steps = with_locks(forger, tmp_path, f"results/{BUSY}")
        assert named([check for check in checks if check.status == FAILED], BUSY)
        assert steps["intact"] == "failed"
        assert not any(check.undecided for check in checks)
        if not link:
            forger.path("logs").rename(tmp_path / "moved")


def test_the_run_of_the_audit_itself_excuses_only_what_it_writes(
    forger: Forger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`snakemake audit results/report.html`: the lock of Snakemake is that of this very run."""
    forger.edit(BUSY, rows=9)
    monkeypatch.setenv(RUN, "mine")
    checks, _ = with_locks(forger, tmp_path, "results/report.html", "results/report.json")
    assert named([check for check in checks if check.status == FAILED], BUSY)


def test_where_systems_are_not_configured_the_verdict_says_what_was_not_compared(forger: Forger) -> None:
    words = audit(folder=str(forger.results), experiment=load_experiment({}))
    _, line, *rest = words.splitlines()
    assert (
        line == "  intact: yes · consistent: yes · recomputed: yes · traced to sources: no · traced to models: no · sampled: no"
    )
    shown = "\n".join(rest[rest.index("NOT compared:") :])
    assert "the source of more is not here (and 3 more)" in shown
    assert "it is not known here where the model of second is (and 1 more)" in shown
    assert "the sample is 0" in shown
