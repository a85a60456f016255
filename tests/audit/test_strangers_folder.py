"""Audits of an unpacked archive through Snakemake: its files are data, whatever they are called and wherever they are."""

import hashlib
import os
import shlex
import sys
from pathlib import Path

import pytest

from beirflow.core.records import read_json
from forger import Forger
from warm_snakemake import REPOSITORY, run_warm
from workflow_runs import Workflow

PLANTED = "import os\nopen(os.environ['BEIRFLOW_MARK'], 'a').write(__file__ + '\\n')\n"
MODULES = (
    "snakemake",
    "beirflow",
    "pandas",
    "pickle",
    "encodings",
    "sitecustomize",
    "mine_enc",
    "torch",
    "flash_attn",
    "matplotlib",
)
WITHOUT_FORKS = """
import sys
import beirflow.run.worker as module
module.start_worker = lambda *arguments: None
from snakemake.cli import main
main()
"""


@pytest.fixture
def copied(forger: Forger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workflow:
    """A working folder as a stranger packed it: modules of many names, and a lock, beside honest results."""
    monkeypatch.setenv("BEIRFLOW_MARK", str(tmp_path / "marks"))
    copy = Workflow(tmp_path / "copy", {})
    copy.folder.mkdir()
    forger.results.rename(copy.result(""))
    for folder in (copy.folder, copy.folder / ".snakemake/scripts"):
        for name in MODULES:
            (folder / name).mkdir(parents=True)
            (folder / name / "__init__.py").write_text(PLANTED)
            (folder / f"{name}.py").write_text(PLANTED)
    return copy


def marks(tmp_path: Path) -> str:
    """Which of the planted modules were imported."""
    path = tmp_path / "marks"
    return path.read_text() if path.exists() else ""


def state(folder: Path) -> dict[Path, int]:
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("path", ["", ":relative"])
def test_no_code_beside_the_results_runs_where_jobs_are_forked(copied: Workflow, tmp_path: Path, path: str) -> None:
    copied.environment = {"PYTHONPATH": path}  # of its own, so that the server of jobs is one that was just started
    assert "The audit of results passed" in copied.run("audit", cores=1)
    assert marks(tmp_path) == ""


def test_no_code_beside_the_results_runs_where_python_is_started_for_each_job(copied: Workflow, tmp_path: Path) -> None:
    copied.program = (sys.executable, "-c", WITHOUT_FORKS)
    copied.environment = {"PYTHONPATH": f":{REPOSITORY / 'src'}"}
    assert "The audit of results passed" in copied.run("audit", cores=1)
    assert marks(tmp_path) == ""


def test_results_of_others_are_only_read_and_the_verdict_is_in_the_folder_of_the_auditor(
    copied: Workflow, forger: Forger, tmp_path: Path
) -> None:
    audited = copied.folder / "results"
    mine = Workflow(tmp_path / "my folder", {"command": {"audit": {"folder": str(audited)}}})
    mine.folder.mkdir()
    before = state(copied.folder)
    assert f"The audit of {audited} passed" in mine.run("audit", cores=1)
    assert state(copied.folder) == before
    assert marks(tmp_path) == ""
    (folder,) = (mine.folder / "audits").iterdir()
    report = read_json(folder / "audit.json")
    assert (report["verdict"], report["folder"]) == ("passed", str(audited))
    assert f"Audit of {audited}: passed" in (folder / "audit.html").read_text()
    written = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert written == {"audit.json", "audit.html", "logs/audit.log", "logs/results.lock"}
    assert not mine.result("").exists()
    # A failure, which a list of locked files excuses nowhere.
    Forger(audited).edit("embeddings/tiny/small/queries.json", rows=9)
    for working in (copied, mine):
        locks = working.folder / ".snakemake/locks"
        locks.mkdir(exist_ok=True)
        (locks / "7.output.lock").write_text(f"{audited}/x\n{audited}/embeddings/tiny/small/queries.json\n")
    assert "intact: failed" in mine.run("audit", cores=1, ok=False)
    repairs = {check["repair"] for checks in read_json(folder / "audit.json")["sections"].values() for check in checks}
    (again,) = {repair.partition("&& snakemake")[2] for repair in repairs if repair.endswith("summary.csv") and "&&" in repair}
    assert f"--directory '{mine.folder}'" in again
    assert f" --config results={audited} -- {audited}/" in again


def test_the_audited_folder_is_no_working_folder(copied: Workflow) -> None:
    inside = Workflow(copied.result("runs"), {"command": {"audit": {"folder": ".."}}})
    assert "is in the audited folder" in inside.run("audit", cores=1, ok=False)
    assert not copied.result("runs/audits").exists()


@pytest.mark.parametrize("name", ["logs", "logs/audit.log", "logs/audit.error.json", "logs/results.lock"])
def test_no_log_of_an_audit_is_written_through_a_link(copied: Workflow, tmp_path: Path, name: str) -> None:
    elsewhere, link = tmp_path / "elsewhere", copied.result(name)
    for victim in ("audit.log", "audit.error.json", "results.lock"):
        (elsewhere / victim).parent.mkdir(exist_ok=True)
        (elsewhere / victim).write_text("precious")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere if name.endswith("logs") else elsewhere / link.name)
    before = state(elsewhere)
    assert f"{name} is a link" in copied.run("audit", cores=1, ok=False)
    assert state(elsewhere) == before
    assert (copied.folder / ".snakemake/beirflow/logs/audit.log").is_file()


@pytest.mark.parametrize("name", [".snakemake", ".snakemake/scripts", "audits"])
def test_a_working_folder_with_links_of_others_is_refused(copied: Workflow, tmp_path: Path, name: str) -> None:
    (copied.folder / name).rename(tmp_path / "elsewhere") if name.startswith(".") else (tmp_path / "elsewhere").mkdir()
    (copied.folder / name).symlink_to(tmp_path / "elsewhere")
    if name == "audits":
        copied.config["command"] = {"audit": {"folder": "results"}}
    output = copied.run("audit", cores=1, ok=False)
    assert f"{copied.folder / name} is a link to {tmp_path / 'elsewhere'}" in output
    assert f"beirflow audit {shlex.quote(str(copied.folder / 'results'))}" in output
    assert not copied.result("audit.json").exists()
    assert name != "audits" or not list((tmp_path / "elsewhere").iterdir())


def test_a_class_of_the_auditor_is_not_taken_from_the_folder_of_others(copied: Workflow, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "config.yaml").write_text("custom: {systems: {mine: {encoder: 'mine_enc:Enc', similarity: dot}}}")
    command = ["--configfile", str(mine / "config.yaml"), "--snakefile", str(REPOSITORY / "Snakefile")]
    command += ["--directory", str(copied.folder), "--cores", "1", "--config", "systems=mine", "--", "results/models/mine.json"]
    for folder in (copied.folder, copied.folder / ".snakemake/scripts"):
        (folder / "mine_enc/__init__.py").write_text(f"{PLANTED}class Enc: pass\n")
    status, output = run_warm(command, tmp_path, os.environ)
    assert (status, f"no module mine_enc with a source file on Python's path, nor in {mine} and" in output) == (1, True), output
    (mine / "mine_enc.py").write_text("class Enc: pass\n")
    status, output = run_warm(command, tmp_path, os.environ)
    assert status == 0, output
    assert read_json(copied.result("models/mine.json"))["files"] == {
        "mine_enc.py": hashlib.sha256((mine / "mine_enc.py").read_bytes()).hexdigest()
    }
    assert marks(tmp_path) == ""
