"""``beirflow doctor``: what of this machine may keep a run from working, each with its remedy."""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

HELP = "check Python, packages, GPUs, hub, disk and locks of this machine"

PATIENCE = 5.0  # seconds in which a host answers
DEADLINE = 6.0  # seconds for all that may hang: hosts, nvidia-smi, the start of torch
LITTLE = 5e9  # bytes of a disk below which a run may not fit: the corpora of a middling dataset and their vectors
FEW_FILES = 10_000

OK, WARNING, PROBLEM = "ok", "warning", "problem"

EXTRAS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "models": ("dense, sparse, late-interaction and re-ranking models", ("torch", "transformers", "tokenizers")),
    "faiss": ("approximate indexes", ("faiss-cpu",)),
    "onnx": ("ONNX graphs", ("onnx", "onnxruntime")),
    "sentence-transformers": ("folders that this library encodes itself", ("sentence-transformers",)),
    "slurm": ("clusters (in a checkout: pip install ./plugins/slurm)", ("snakemake-executor-plugin-beirflow-slurm",)),
    "bucket": ("results in a bucket", ("snakemake-storage-plugin-s3",)),
}
"""By extra, what needs it, and its packages."""

INSTEAD = {"faiss-cpu": ("faiss-gpu", "faiss-gpu-cu12"), "onnxruntime": ("onnxruntime-gpu",)}  # packages with the same modules

PROBE = """
import json
import torch
from beirflow.run.devices import choose_device, choose_precision
device = choose_device("auto")
print(json.dumps({
    "build": torch.version.cuda and f"CUDA {torch.version.cuda}", "cuda": torch.cuda.is_available(), "device": device.type,
    "precision": str(choose_precision("auto", device)),
}))
"""
"""What torch says of this machine, in a process of its own, since torch may start slowly and its driver may hang."""


class Finding(NamedTuple):
    """A line of the table."""

    status: str  # ``ok``, ``warning`` or ``problem``
    what: str
    found: str
    todo: str = ""


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--results", default="results", metavar="FOLDER", help="the folder that runs write; results by default")
    parser.add_argument("--json", action="store_true", help="print a list of JSON objects in place of the table")
    parser.epilog = "Exit status 1 if there is a problem.\n\nExample: beirflow doctor"


def main(options: Namespace) -> int:
    """Print what was found; return 1 if anything is a problem."""
    import json

    found = [*findings(Path(options.results).expanduser())]
    if options.json:
        sys.stdout.write(f"{json.dumps([each._asdict() for each in found], indent=2, ensure_ascii=False)}\n")
    else:
        width = max(len(each.what) for each in found)
        for each in found:
            sys.stdout.write(f"{each.status:7}  {each.what:{width}}  {each.found}\n")
            if each.todo:
                sys.stdout.write(f"{'':{width + 11}}-> {each.todo}\n")
    return int(any(each.status == PROBLEM for each in found))


def findings(results: Path) -> Iterator[Finding]:
    """Yield what this machine has; whatever may hang is asked at once and waited for until the deadline."""
    from huggingface_hub import constants

    answers = _Answers(
        {
            "nvidia-smi": _list_gpus,
            "torch": _probe_torch,
            "hub": lambda: _status_of(constants.ENDPOINT),
            "BEIR": lambda: _status_of(_beir_host()),
        }
    )
    yield from _of_packages()
    yield from _of_gpus(answers.get("nvidia-smi"), answers.get("torch"))
    yield from _of_hub(answers.get("hub"))
    todo = "check the network and HTTPS_PROXY, or set data_dir to a folder with the datasets, or mirrors"
    yield _of_host("datasets of BEIR", _beir_host(), answers.get("BEIR"), todo)
    yield from _of_folder("results folder", results, "set 'results' to a folder on another disk")
    yield from _of_folder("cache of the hub", Path(constants.HF_HUB_CACHE), "set HF_HOME to a folder on another disk")
    yield from _of_machine()
    yield from _of_runs(results)


class _Answers:
    """Answers that other threads wait for, none of which keeps this process from ending."""

    def __init__(self, questions: Mapping[str, Callable[[], Any]]) -> None:
        from concurrent.futures import Future
        from threading import Thread

        self._until = time.monotonic() + DEADLINE
        self._futures: dict[str, Future[Any]] = {name: Future() for name in questions}
        for name, question in questions.items():
            Thread(target=self._answer, args=(name, question), daemon=True).start()

    def _answer(self, name: str, question: Callable[[], Any]) -> None:
        try:
            self._futures[name].set_result(question())
        except Exception as error:  # whatever it is, it is what was found
            self._futures[name].set_result(error)

    def get(self, name: str) -> Any:
        """Return an answer, the exception in its place, or TimeoutError after the deadline."""
        try:
            return self._futures[name].result(max(0.0, self._until - time.monotonic()))
        except TimeoutError:
            return TimeoutError(f"no answer in {DEADLINE:.0f} s")


def _of_packages() -> Iterator[Finding]:
    """Yield Python, beirflow, Snakemake and the optional packages."""
    import platform

    import beirflow

    yield Finding(OK, "Python", f"{platform.python_version()}, {sys.executable}")
    here = f"{_installed('beirflow') or 'not installed, a checkout'}, {Path(beirflow.__file__).parent}"
    yield Finding(OK, "beirflow", here)
    yield _of_version("Snakemake", "snakemake", missing=PROBLEM)
    for extra, (purpose, packages) in EXTRAS.items():
        yield from _of_extra(extra, purpose, packages)


def _of_version(what: str, package: str, missing: str = OK) -> Finding:
    """Return the version of a package of which older ones do not work."""
    from beirflow.core.errors import ConfigError
    from beirflow.run.provenance import VERSIONS, check_version

    if not (version := _installed(package)):
        return Finding(missing, what, "not installed", f"pip install '{package}>={VERSIONS[package][0]}'")
    try:
        newer = check_version(package)
    except ConfigError as error:
        return Finding(PROBLEM, what, version, str(error))
    return Finding(WARNING if newer else OK, what, f"{version} (tried: {' to '.join(VERSIONS[package])})", newer)


def _of_extra(extra: str, purpose: str, packages: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the packages of an extra, or that it is not installed."""
    versions = {name: next(filter(None, map(_installed, (name, *INSTEAD.get(name, ())))), None) for name in packages}
    install = f"pip install 'beirflow[{extra}]'"
    if not any(versions.values()):
        status, without = (WARNING, "only BM25, imported runs and fusions work") if extra == "models" else (OK, "optional")
        yield Finding(status, extra, f"not installed ({without})", f"for {purpose}: {install}")
        return
    found = ", ".join(f"{name} {version or 'MISSING'}" for name, version in versions.items())
    if missing := [name for name, version in versions.items() if not version]:
        yield Finding(WARNING, extra, found, f"{' and '.join(missing)} for {purpose}: {install}")
        return
    wrong = list(_out_of_range(extra, versions))
    yield Finding(PROBLEM if wrong else OK, extra, found, "; ".join(wrong))


def _out_of_range(extra: str, versions: Mapping[str, str | None]) -> Iterator[str]:
    """Yield the packages of an extra whose versions this version of beirflow does not allow, where it is installed."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        required = [Requirement(each) for each in requires("beirflow") or ()]
    except PackageNotFoundError:
        return
    for each in required:
        version = versions.get(each.name)
        of_extra = each.marker is not None and each.marker.evaluate({"extra": extra}) and not each.marker.evaluate({"extra": ""})
        if version and of_extra and not each.specifier.contains(version, prereleases=True):
            yield f"{each.name} {version} is not tested: pip install '{each.name}{each.specifier}'"


def _installed(package: str) -> str | None:
    """Return the version of an installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _list_gpus() -> list[tuple[Any, str]]:
    """Return the visible GPUs, each with its memory and driver as nvidia-smi says them."""
    import os

    from beirflow.run.gpus import ask_nvidia_smi, list_gpus, visible_gpus

    gpus = visible_gpus(list_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))
    query = ("--query-gpu=memory.total,driver_version", "--format=csv,noheader")
    return [(gpu, ask_nvidia_smi(*query, f"--id={gpu.card}").strip()) for gpu in gpus]


def _probe_torch() -> Mapping[str, Any]:
    """Return what torch says of its device; empty without torch."""
    import json
    import os
    import subprocess

    if not _installed("torch"):
        return {}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", PROBE]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False)  # noqa: S603 - this program
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip().splitlines() or ["it says nothing"])[-1])
    probed: Mapping[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return probed


def _of_gpus(gpus: Any, probed: Any) -> Iterator[Finding]:
    """Yield the GPUs, whether torch reaches them, and the precision that ``auto`` is."""
    if isinstance(gpus, Exception):
        hint = "the driver may hang: try nvidia-smi, or set device: cpu" if isinstance(gpus, TimeoutError) else ""
        yield Finding(WARNING if hint else PROBLEM, "GPUs", f"nvidia-smi: {gpus}", hint)
        gpus = []
    elif not gpus:
        yield Finding(OK, "GPUs", "none that nvidia-smi shows, so models run on the CPU")
    for gpu, memory in gpus:
        yield Finding(OK, "GPU", f"{gpu}: {memory.replace(', ', ', driver ') or 'memory not known'}")
    if isinstance(probed, Exception):
        slow = "a busy machine or a slow disk; run this again" if "Timeout" in type(probed).__name__ else ""
        problem = f"did not start in {DEADLINE:.0f} s" if slow else str(probed)
        todo = slow or "install torch again: pip install --force-reinstall torch"
        yield Finding(WARNING if slow else PROBLEM, "torch", f"{_installed('torch')}; {problem}", todo)
    elif probed and gpus and not probed["cuda"]:
        todo = "update the driver, or install torch for an older CUDA"
        todo = todo if probed["build"] else "install torch for CUDA: pip install torch"
        yield Finding(PROBLEM, "torch", f"built for {probed['build'] or 'CPUs'}; sees no GPU", f"{todo}; or set device: cpu")
    elif probed:
        precision = str(probed["precision"]).removeprefix("torch.")
        why = "" if precision == "bfloat16" else f", since this {probed['device']} does not compute in bfloat16"
        device = f"built for {probed['build'] or 'CPUs'}; device {probed['device']}"
        yield Finding(OK, "torch", f"{device}; 'precision: auto' is {precision}{why}")


def _beir_host() -> str:
    from beirflow.data.catalogue.catalogue import load_catalogue

    return load_catalogue().host


def _status_of(address: str) -> int:
    """Return the status with which a host answers."""
    import requests

    return requests.head(address, timeout=PATIENCE, allow_redirects=False).status_code


def _of_host(what: str, address: str, answer: Any, todo: str) -> Finding:
    """Return whether a host answered; of an error, its kind, since its text may hold the address."""
    from beirflow.core.addresses import shown

    if isinstance(answer, int):
        words = f"answers with status {answer}"
    else:
        words = f"cannot be reached ({answer if isinstance(answer, TimeoutError) else type(answer).__name__})"
    reached = isinstance(answer, int) and answer < 500
    return Finding(OK if reached else WARNING, what, f"{shown(address)} {words}", "" if reached else todo)


def _of_hub(answer: Any) -> Iterator[Finding]:
    """Yield whether the hub answers, and whether there is a token for it, which is not shown."""
    from huggingface_hub import constants, get_token

    from beirflow.core.addresses import shown

    if constants.HF_HUB_OFFLINE:
        yield Finding(OK, "hub", f"{shown(constants.ENDPOINT)}: not used, HF_HUB_OFFLINE is set")
    else:
        todo = "check HF_ENDPOINT, the network and HTTPS_PROXY; models in folders, packages and the cache work"
        yield _of_host("hub", constants.ENDPOINT, answer, todo)
    token = "there" if get_token() else "none, which only models and datasets that are not public need"
    yield Finding(OK, "token of the hub", token)


def _of_folder(what: str, folder: Path, move: str) -> Iterator[Finding]:
    """Yield whether a folder, or the nearest that exists above it, can be written, has room, and locks files.

    ``move`` says how another folder is named.
    """
    import fcntl
    import os
    import shutil
    import tempfile

    from beirflow.core.disks import disk_problem, local_locks

    here = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    name = f"{folder.absolute()}{'' if here == folder.absolute() else f' (not there yet; below {here})'}"
    lock: Exception | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=here, prefix=".beirflow-doctor-") as file:
            file.write(bytes(1 << 16))
            file.flush()
            os.fsync(file.fileno())
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                lock = error
    except OSError as error:
        error.filename = str(here)
        problem = (disk_problem(error) or f"{here} cannot be written ({error})").partition("; ")[0]  # the rest is for a run
        yield Finding(PROBLEM, what, f"{name}: {problem}", f"make it writable and make room, or {move}")
        return
    free, files = shutil.disk_usage(here).free, os.statvfs(here)
    few = files.f_files > 0 and files.f_favail < FEW_FILES  # some file systems count no files
    found = f"{name}: {free / 1e9:,.1f} GB free, {f'{files.f_favail:,}' if files.f_files else 'any number of'} more files"
    todo = "" if free >= LITTLE and not few else f"make room, or {move}; beirflow estimate my.yaml says what a run needs"
    yield Finding(WARNING if todo else OK, what, found, todo)
    if lock is not None:
        yield Finding(WARNING, what, f"files cannot be locked there ({lock})", "take care that one run at a time writes there")
    elif option := local_locks(here):
        yield Finding(
            WARNING, what, f"mounted with {option}", "its locks hold on this machine alone: run on one machine at a time"
        )


def _of_machine() -> Iterator[Finding]:
    """Yield cores and memory, and the limits of a container or a job."""
    import math
    import os

    import psutil

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit, memory = cgroup_limits()
    whole = psutil.virtual_memory().total
    if limit is not None and limit < usable:
        todo = f"Snakemake's '--cores all' is {usable}; use --cores {max(1, math.floor(limit))}"
        yield Finding(WARNING, "cores", f"{usable}, of which this container or job may use {limit:g}", todo)
    else:
        yield Finding(OK, "cores", f"{usable} of {os.cpu_count()}")
    limited = memory is not None and memory < whole
    found = f"{memory / 1e9:,.1f} GB, the limit of this container or job, of {whole / 1e9:,.1f} GB" if limited and memory else ""
    yield Finding(OK, "memory", found or f"{whole / 1e9:,.1f} GB")


def cgroup_limits(
    root: Path = Path("/sys/fs/cgroup"), process: Path = Path("/proc/self/cgroup")
) -> tuple[float | None, float | None]:
    """Return the cores and the bytes of memory to which control groups limit this process; None without a limit.

    The limit is the least of its group and those above it, in either version of control groups.
    """
    try:
        lines = [line.split(":", 2) for line in process.read_text().splitlines()]
    except OSError:
        return None, None
    cores, memory = list[float](), list[float]()
    for _, controllers, path in (line for line in lines if len(line) == 3):
        names = [controllers, *controllers.split(",")] if controllers else [""]
        for top in dict.fromkeys(root / name for name in names if not name or {*name.split(",")} & {"cpu", "memory"}):
            below = top / path.lstrip("/")
            for group in (each for each in (below, *below.parents) if each == top or top in each.parents):
                cores += _cores_of(group)
                memory += [*_numbers(group / "memory.max"), *_numbers(group / "memory.limit_in_bytes")]
    return min(cores, default=None), min(memory, default=None)


def _cores_of(group: Path) -> list[float]:
    both = _numbers(group / "cpu.max") or [*_numbers(group / "cpu.cfs_quota_us"), *_numbers(group / "cpu.cfs_period_us")]
    return [both[0] / both[1]] if len(both) > 1 and both[0] > 0 else []


def _numbers(path: Path) -> list[float]:
    """Return the numbers in a file; none if it has a word, ``max``, or is not there."""
    try:
        return [float(word) for word in path.read_text().split()]
    except (OSError, ValueError):
        return []


def _of_runs(results: Path) -> Iterator[Finding]:
    """Yield a run that writes the results now, or locks that a killed one left in this folder."""
    from beirflow.run.results_lock import living_run
    from beirflow.run.undocumented import LOCKS

    if living := living_run(results / "logs"):
        yield Finding(WARNING, "runs", living)
    elif left := [path for path in Path(LOCKS).glob("*") if path.is_file()]:
        found = f"{Path(LOCKS).absolute()} has {len(left)} locks, and no run has {results}: a killed run left them"
        yield Finding(WARNING, "runs", found, "if no other run works in this folder: beirflow run my.yaml --unlock")
    else:
        yield Finding(OK, "runs", f"none in this folder, and none writes {results}")
