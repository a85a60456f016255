"""The rules that look at results, through Snakemake."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from beirflow.core.records import read_json, write_json
from workflow_runs import Workflow


def test_a_copied_folder_is_audited_without_configuration_sources_and_models(finished_lexical: Workflow, tmp_path: Path) -> None:
    elsewhere = Workflow(tmp_path / "elsewhere", {})
    shutil.copytree(finished_lexical.result(""), elsewhere.result(""))
    before = {path: path.stat().st_mtime_ns for path in elsewhere.result("").rglob("*") if path.is_file()}
    output = elsewhere.run("audit", cores=1)
    assert "The audit of results passed" in output
    report = elsewhere.read("audit.json")
    assert (report["verdict"], report["counts"]["failed"]) == ("passed", 0)
    after = {path: path.stat().st_mtime_ns for path in elsewhere.result("").rglob("*") if path.is_file()}
    new = {path.relative_to(elsewhere.result("")).as_posix() for path in after.keys() - before.keys()}
    assert new == {"audit.json", "audit.html", "logs/audit.log"}
    assert {path: after[path] for path in before} == before


def test_a_failed_audit_says_which_numbers_are_affected_and_its_repair_repairs_them(
    finished_lexical: Workflow, tmp_path: Path
) -> None:
    finished = finished_lexical
    path = finished.result("runs/tiny/small.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"?")
    output = finished.run("audit", cores=1, ok=False)
    assert "Affected numbers of the summary: tiny on small." in output
    assert path.read_bytes() == content[:-1] + b"?"
    checks = finished.read("audit.json")["sections"]["chain"]
    (found,) = [check for check in checks if check["status"] == "failed"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-c", found["repair"]], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert path.read_bytes() == content
    (aside,) = finished.folder.glob("results-aside-*")
    assert (aside / "runs/tiny/small.parquet").read_bytes() == content[:-1] + b"?"
    options = f"command={{audit: {{sample: 5}}, compare: {{other: {finished.result('')}}}}}"
    output = finished.run("--config", options, "--", "audit", "compare", "results/ro-crate-metadata.json", cores=1)
    assert "The audit of results passed" in output
    assert "Equal in all measures and rankings: tiny on small" in output
    sections = finished.read("audit.json")["sections"]
    assert {check["status"] for check in sections["sample"]} == {"passed"}
    assert finished.planned("results/summary.csv") == {}


def test_gate_and_explain_end_with_an_error_where_there_is_nothing_to_compare_with(
    reported_once: Workflow, tmp_path: Path
) -> None:
    finished = reported_once.copied(tmp_path / "finished")
    summary = finished.result("summary.csv")
    content = summary.read_bytes()
    summary.unlink()  # which must not be made again for nothing
    for gate, problem in (({}, "gate has no baseline"), ({"baseline": "tiny"}, "the only configured system")):
        finished.config["gate"] = gate
        assert problem in finished.run("gate", ok=False)
        assert not summary.exists()
    assert "explain: nothing is published of these systems" in finished.run("explain", ok=False)
    summary.write_bytes(content)
    finished.config["gate"] = {"baseline": str(finished.result(""))}
    assert "these results themselves" in finished.run("gate", ok=False)
    baseline = finished.folder / "baseline"
    shutil.copytree(finished.result(""), baseline)
    finished.config["gate"] = {"baseline": str(baseline)}
    assert "gate passed" in finished.run("gate", cores=2)
    manifest = read_json(baseline / "manifest.json")
    manifest["inputs"] = {}
    write_json(baseline / "manifest.json", manifest)
    assert "has no tiny on small" in finished.run("gate", ok=False)
    assert "<error message=" in finished.result("gate.xml").read_text(encoding="utf-8")
