"""What the doctor finds on machines that lack something."""

import argparse
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from beirflow.extensions.doctor import command as doctor
from beirflow.extensions.doctor import gpus, machine, packages
from beirflow.extensions.doctor.finding import OK, PROBLEM, WARNING, Finding
from beirflow.run.results_lock import LOCK
from beirflow.run.undocumented import LOCKS
from fake_gpus import LISTED, install_nvidia_smi
from forks import run_code_in_fork
from http_servers import FileServer

ON_CPU = {"build": None, "cuda": False, "device": "cpu", "precision": "torch.float32"}
SECRET = "hf_veryverysecret"  # of nobody


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A machine without a GPU, a hub and a host of BEIR that answer, and a torch that has started before."""
    with FileServer({"/": b"", "/beir": b""}) as server:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"{server.url}/")
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr(doctor, "beir_host", lambda: f"{server.url}/beir")
        monkeypatch.setattr(doctor, "probe_torch", lambda: ON_CPU)
        monkeypatch.setattr(doctor, "DEADLINE", 5.0)
        monkeypatch.chdir(tmp_path)
        yield server


def found(results: Path | None = None) -> dict[str, Finding]:
    """The findings by what they are about; of several, the worst."""
    order = (OK, WARNING, PROBLEM)
    every = sorted(doctor.findings(results or Path("results")), key=lambda each: order.index(each.status))
    return {each.what: each for each in every}


def run(*arguments: str) -> int:
    """The exit status of the command."""
    parser = argparse.ArgumentParser()
    doctor.add_arguments(parser)
    return doctor.main(parser.parse_args(arguments))


def test_a_machine_without_problems(bare_machine: FileServer, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run() == 0
    table = capsys.readouterr().out.splitlines()
    assert {line[:7].strip() for line in table} <= {"ok", "", "warning"}
    assert run("--json", "--results", str(tmp_path / "mine")) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [[*each] for each in listed] == [["status", "what", "found", "todo"]] * len(listed)
    by_what = {each["what"]: each for each in listed}
    assert by_what["hub"]["status"] == by_what["datasets of BEIR"]["status"] == "ok"
    assert by_what["results folder"]["found"].startswith(f"{tmp_path}/mine (not there yet; below {tmp_path}): ")
    assert {asked.path for asked in bare_machine.asked} == {"/", "/beir"}
    assert {asked.method for asked in bare_machine.asked} == {"HEAD"}
    assert [*tmp_path.iterdir()] == []  # nothing stays


def test_a_token_is_never_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://me:{SECRET}@127.0.0.1:1/hub?token={SECRET}")
    assert run() == 0
    out = capsys.readouterr().out
    assert SECRET not in out
    assert "token of the hub" in out
    assert "there" in out
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    assert found()["token of the hub"].found.startswith("none")


def test_hosts_that_refuse_fail_or_hang_are_warnings_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr(doctor, "beir_host", lambda: "http://127.0.0.1:1/beir")
        monkeypatch.setattr(doctor, "DEADLINE", 1.0)
        start = time.monotonic()
        findings = found()
        assert time.monotonic() - start < 4
    assert findings["hub"].status == findings["datasets of BEIR"].status == WARNING
    assert "no answer in 1 s" in findings["hub"].found
    assert "HF_ENDPOINT" in findings["hub"].todo
    assert "ConnectionError" in findings["datasets of BEIR"].found
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert found()["hub"].status == OK


def test_a_folder_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    assert run("--results", "/sys/results") == 1
    refused = found(Path("/sys/results"))["results folder"]
    assert refused.status == PROBLEM
    assert "/sys" in refused.found
    (tmp_path / "file").touch()
    assert found(tmp_path / "file")["results folder"].status == PROBLEM


@pytest.mark.parametrize(("free", "files"), [(1e9, 10**6), (1e12, 5)])
def test_little_room_is_a_warning(monkeypatch: pytest.MonkeyPatch, free: float, files: int) -> None:
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    counted = type("Counted", (), {"f_files": 10**7, "f_favail": files})
    monkeypatch.setattr("os.statvfs", lambda path: counted)
    (little,) = machine.of_folder("results folder", Path("results"), "set it")
    assert little.status == WARNING
    assert "make room" in little.todo
    assert f"{free / 1e9:,.1f} GB free, {files:,} more files" in little.found


def test_gpus_are_listed_with_memory_and_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in install_nvidia_smi(tmp_path, memory="80000 MiB, 580.95").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,2")
    monkeypatch.setattr(
        doctor, "probe_torch", lambda: {"build": "CUDA 13.0", "cuda": True, "device": "cuda", "precision": "torch.bfloat16"}
    )
    findings = [each for each in doctor.findings(Path("results")) if each.what in ("GPU", "torch")]
    assert [each.found.partition(", ")[0] for each in findings[:2]] == ["GPU 1 (Fake H100", "GPU 2 (Fake H100"]
    assert all(each.found.endswith(": 80000 MiB, driver 580.95") for each in findings[:2])
    assert findings[2].status == OK
    assert "device cuda; 'precision: auto' is bfloat16" in findings[2].found


@pytest.mark.parametrize(("build", "todo"), [(None, "install torch for CUDA"), ("CUDA 13.0", "update the driver")])
def test_a_gpu_that_torch_does_not_see_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: str | None, todo: str
) -> None:
    for name, value in install_nvidia_smi(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(doctor, "probe_torch", lambda: ON_CPU | {"build": build})
    unseen = found()["torch"]
    assert unseen.status == PROBLEM
    assert todo in unseen.todo


def test_a_driver_that_hangs_and_one_that_fails_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DEADLINE", 0.5)
    for name, value in install_nvidia_smi(tmp_path, LISTED).items():
        monkeypatch.setenv(name, value)
    program = tmp_path / "bin/nvidia-smi"
    program.write_text("#!/bin/sh\nexec sleep 20\n")
    start = time.monotonic()
    hangs = found()["GPUs"]
    assert time.monotonic() - start < 4
    assert (hangs.status, "set device: cpu" in hangs.todo) == (WARNING, True)
    monkeypatch.setattr(doctor, "DEADLINE", 5.0)
    program.write_text("#!/bin/sh\necho 'Unable to determine the device handle for GPU0: Unknown Error'\n")
    assert found()["GPUs"].status == PROBLEM


def test_torch_says_device_and_precision_of_this_machine() -> None:
    import torch

    from beirflow.run.devices import choose_precision

    ended = run_code_in_fork(gpus.PROBE)
    assert ended.returncode == 0, ended.stderr
    probed: Mapping[str, Any] = json.loads(ended.stdout)
    assert probed["cuda"] == torch.cuda.is_available()
    assert probed["precision"] == str(choose_precision("auto", torch.device(probed["device"])))
    assert probed["build"] == (torch.version.cuda and f"CUDA {torch.version.cuda}")
    (said,) = (each for each in gpus.of_gpus([], probed) if each.what == "torch")
    assert ("does not compute in bfloat16" in said.found) == (probed["precision"] != "torch.bfloat16")


def test_what_is_not_installed_or_too_old_has_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    versions: dict[str, str | None] = {"torch": "2.13.0", "transformers": "4.57.6", "tokenizers": "0.22", "onnx": "1.2"}
    versions |= {"snakemake": "9.27.1", "snakemake-executor-plugin-beirflow-slurm": None, "onnxruntime": None, "beirflow": "0.1"}
    versions |= {"faiss-gpu": "1.14"}
    monkeypatch.setattr(packages, "installed", versions.get)
    findings = {each.what: each for each in packages.of_packages()}
    assert findings["models"].status == PROBLEM
    assert "transformers 4.57.6 is not tested" in findings["models"].todo
    todo = "for clusters (in a checkout: pip install ./plugins/slurm): pip install 'beirflow[slurm]'"
    assert findings["slurm"] == (OK, "slurm", "not installed (optional)", todo)
    assert findings["onnx"].status == WARNING
    assert "onnxruntime MISSING" in findings["onnx"].found
    assert findings["faiss"].found == "faiss-cpu 1.14"  # the same module, for GPUs
    versions |= dict.fromkeys(("torch", "transformers", "tokenizers"))
    bare = {each.what: each for each in packages.of_packages()}["models"]
    assert bare.status == WARNING
    assert bare.todo.endswith("pip install 'beirflow[models]'")
    required = ["numpy>=2", "torch>=2.9,<3; extra == 'models'", "faiss-cpu>=9; extra == 'faiss'"]
    monkeypatch.setattr("importlib.metadata.requires", lambda package: required)
    versions |= {"torch": "1.0", "transformers": "5.5", "tokenizers": "0.22"}
    old = {each.what: each for each in packages.of_packages()}["models"]
    assert (old.status, old.todo) == (PROBLEM, "torch 1.0 is not tested: pip install 'torch<3,>=2.9'")
    versions["snakemake"] = None
    assert {each.what: each for each in packages.of_packages()}["Snakemake"].status == PROBLEM


@pytest.mark.parametrize(
    ("lines", "files", "expected"),
    [
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "250000 100000", "a/b/memory.max": "8000000000"}, (2.5, 8e9)),
        ("0::/gone/here", {"cpu.max": "400000 100000", "memory.max": "max"}, (4.0, None)),  # in a container
        ("5:cpu,cpuacct:/job\n4:memory:/job", {"cpu/job/cpu.max": "1 1"}, (None, None)),  # of version 1
    ],
)
def test_the_limits_of_a_container_are_the_least_of_its_groups(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: str,
    files: dict[str, str],
    expected: tuple[float | None, float | None],
) -> None:
    process = tmp_path / "self"
    process.write_text(f"{lines}\n")
    for name, content in files.items():
        path = tmp_path / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert machine.cgroup_limits(tmp_path / "groups", process) == expected
    assert machine.cgroup_limits(tmp_path / "groups", tmp_path / "no file") == (None, None)
    monkeypatch.setattr(machine, "cgroup_limits", lambda: (0.5, 1e9))
    cores, memory = machine.of_machine()
    assert (cores.status, cores.todo.endswith("use --cores 1")) == (WARNING, True)
    assert memory.found.startswith("1.0 GB, the limit of this container")


def test_locks_of_a_killed_run_are_named_with_the_command_that_removes_them(tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert found(results)["runs"].status == OK
    Path(LOCKS).mkdir(parents=True)
    Path(LOCKS, "0.input.lock").touch()
    left = found(results)["runs"]
    assert left.status == WARNING
    assert left.todo.endswith("beirflow run my.yaml --unlock")
    # A run that lives has its locks on purpose.
    (results / "logs").mkdir(parents=True)
    (results / "logs" / LOCK).write_text(json.dumps({"run": "x", "description": "a run since today,"}))
    ready, wait = os.pipe(), os.pipe()
    if not (child := os.fork()):
        import fcntl

        with open(results / "logs" / LOCK, "r+") as file:  # noqa: PTH123
            fcntl.lockf(file, fcntl.LOCK_EX, 1, 0)
            os.write(ready[1], b"x")
            os.read(wait[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    living = found(results)["runs"]
    os.write(wait[1], b"x")
    os.waitpid(child, 0)
    assert "a run since today" in living.found
    assert "--unlock" not in living.todo
