"""What makes a release: one version, an image of the pins, and workflows that run the project's own commands."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import beirflow

REPOSITORY = Path(__file__).parents[2]
DOCKERFILE = (REPOSITORY / "Dockerfile").read_text()
WORKFLOWS = {path.name: path.read_text() for path in sorted(REPOSITORY.glob(".github/workflows/*"))}


def test_every_file_that_states_the_version_states_that_of_the_package() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    metadata = json.loads((REPOSITORY / "codemeta.json").read_text())
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    (of_image,) = re.findall(r"^ARG VERSION=(.*)$", DOCKERFILE, re.MULTILINE)
    (of_workflow,) = re.findall(r'VERSION = .*, "(.*)"$', beirflow.SNAKEFILE.read_text(), re.MULTILINE)
    stated = {of_image, of_workflow, citation["version"], metadata["version"]}
    newest, *_ = re.findall(r"^## (.*)$", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert stated == {beirflow.__version__}
    assert newest == f"{beirflow.__version__} ({metadata['datePublished']})"
    assert citation["date-released"].isoformat() == metadata["datePublished"]
    assert project["description"] == citation["abstract"] == metadata["description"]
    assert project["keywords"] == citation["keywords"] == metadata["keywords"]
    assert project["authors"] == citation["authors"] == [{"name": author["name"]} for author in metadata["author"]]


def test_the_image_installs_what_the_makefile_installs_on_a_pinned_base_and_needs_no_root() -> None:
    named = [tuple(line.split(" ", 1)) for line in DOCKERFILE.splitlines() if re.match(r"[A-Z]+ ", line)]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # where make runs the tests
    command = ["make", "--no-print-directory", "--dry-run", "--always-make", ".venv/ready", "PYTHON=python3"]
    made = subprocess.run(command, cwd=REPOSITORY, env=alone, capture_output=True, text=True, check=True).stdout.splitlines()
    pins = [line for line in made if "--requirement" in line]
    assert len(pins) == 2
    assert [command for name, command in named if name == "RUN"][1:3] == pins
    (base,) = [image for name, image in named if name == "FROM"]
    assert re.fullmatch(r"docker\.io/library/python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", base)
    assert [user for name, user in named if name == "USER"] == ["65534"]


def test_the_image_stops_as_by_ctrl_c_and_lets_any_user_write_its_caches() -> None:
    assert "\nSTOPSIGNAL SIGINT\n" in DOCKERFILE
    (home,) = re.findall(r"^ENV HOME=(\S+)", DOCKERFILE, re.MULTILINE)
    (made,) = re.findall(r"^RUN mkdir --mode 1777 (.*)", DOCKERFILE, re.MULTILINE)
    assert {home, f"{home}/.cache", "/work"} == set(made.split())
    assert f" MPLCONFIGDIR={home}/.cache/" in DOCKERFILE


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_runs_commands_of_the_project_by_pinned_actions_and_may_write_nothing_by_itself(name: str) -> None:
    text = WORKFLOWS[name]
    workflow: dict[str, Any] = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    for action in re.findall(r"uses: (.*)$", text, re.MULTILINE):
        assert re.fullmatch(r"\./\.github/workflows/\w+\.yml|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    commands = "\n".join(step.get("run", "") for job in workflow["jobs"].values() for step in job.get("steps", []))
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
    assert {*re.findall(r"\bmake ([\w-]+)", commands)} <= {*targets}
    assert all(os.access(REPOSITORY / script, os.X_OK) for script in re.findall(r"^\.\w+/\S+", commands, re.MULTILINE))
    assert [each for each in re.findall(r"\bpipx run (\S+)", commands) if "==" not in each] == []


def test_a_push_runs_what_the_project_runs_and_a_release_all_of_it_before_it_publishes() -> None:
    tests, release = (yaml.safe_load(WORKFLOWS[name])["jobs"] for name in ("tests.yml", "release.yml"))
    assert ".ci/run" in [step.get("run") for step in tests["tests"]["steps"]]
    assert release["tests"]["uses"] == "./.github/workflows/tests.yml"
    reached = ["publish"]
    for job in reached:
        needed = release[job].get("needs", [])
        reached += [needed] if isinstance(needed, str) else needed
    assert {*reached} == {*release}
    assert [name for name, job in release.items() if "id-token" in job.get("permissions", {})] == ["publish"]
