"""Bad input ends in a clear message and a non-zero exit, before anything is written, wherever it comes from."""

import hashlib
import re
import subprocess
from pathlib import Path

from beir_writer import zip_folder
from http_servers import Answer, FileServer
from workflow_runs import Workflow, small_dataset


def test_a_configuration_that_cannot_be_used_is_refused_before_any_job_with_all_that_is_wrong(workflow: Workflow) -> None:
    """Other mistakes, and the words for them, are in tests/unit/test_experiment.py and test_models.py."""
    workflow.config |= {"cutofs": [1], "precision": "float8"}
    output = workflow.run("results/summary.csv", ok=False)
    assert "cutofs: found 'cutofs'; no such key here" in output
    assert "precision: found 'float8'; allowed are auto, float32, bfloat16, float16" in output
    assert "Traceback" not in output
    assert not (workflow.folder / "results").exists()


def test_a_wrong_archive_gets_no_name_the_users_is_taken_and_a_cut_connection_is_resumed(
    workflow: Workflow, own_copy: Path
) -> None:
    archive = zip_folder(small_dataset(workflow.folder / "data/scifact"), workflow.folder / "scifact.zip").read_bytes()
    catalogue = own_copy / "workflow/catalogue/datasets.yaml"
    facts = catalogue.read_text()
    with FileServer({"/scifact.zip": archive}, always={"/official/scifact.zip": Answer(404)}) as server:
        official = re.search(r"^host: (.*)$", facts, re.MULTILINE)
        assert official
        catalogue.write_text(facts.replace(official[1], f"{server.url}/official").replace("2816079", str(len(archive))))
        workflow.repository = own_copy
        workflow.config |= {"datasets": ["scifact"], "mirrors": [server.url]}
        output = workflow.run("results/data/scifact.zip", ok=False)
        assert f"{server.url}/scifact.zip: served a file with md5" in output
        assert f"{server.url}/official/scifact.zip: HTTP status 404" in output
        assert not list(workflow.result("data").glob("*"))
        # The printed command, after the failed job, whose output Snakemake removes.
        md5 = hashlib.md5(archive, usedforsecurity=False).hexdigest()
        catalogue.write_text(catalogue.read_text().replace("5f7d1de60b170fc8027bb7898e2efca1", md5))
        copy = re.search(r"^ *mkdir -p .* && cp scifact.zip .*$", output, re.MULTILINE)
        assert copy
        subprocess.run(["sh", "-c", copy[0]], cwd=workflow.folder, check=True)
        asked = len(server.asked)
        workflow.run("results/data/scifact.zip")
        assert len(server.asked) == asked
        workflow.result("data/scifact.zip").unlink()
        server.answers = iter([Answer(cut_after=len(archive) // 2)])
        workflow.run("results/data/scifact.zip")
        assert server.ranges[-1] == f"bytes={len(archive) // 2}-"
        asked = len(server.asked)
        workflow.run("results/data/scifact.zip", "--forcerun", "download_dataset")
        assert len(server.asked) == asked
    assert workflow.result("data/scifact.zip").read_bytes() == archive
    # The archive is good, but it is not the corpus of the catalogue.
    output = workflow.run("results/corpora/scifact/corpus.json", ok=False)
    assert "expected 5,183 documents, found 30" in output
    assert not [path for path in workflow.result("corpora").rglob("*") if path.is_file()]
