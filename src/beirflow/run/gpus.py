"""The GPUs that this process may use, from nvidia-smi and CUDA_VISIBLE_DEVICES, before CUDA starts; and slots on them.

A slot is a file lock, which the kernel releases when the process ends. Every run of a user on a machine shares one folder
of lock files, named by the GPUs' UUIDs. There is nothing to clean up: a file without a lock means nothing, and a lock does not
outlive its process.
"""

import fcntl
import logging
import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from beirflow.core.errors import DeviceError

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 120
"""Time limit of nvidia-smi, which takes seconds where the driver is loaded for it, and never ends where the driver hangs."""

AMPLE_MIB = 40_000
"""Memory on which two jobs have room: a search keeps at most half of what is free, and a batch that is too large is halved."""

MOST_JOBS_PER_GPU = 16  # limit of ``jobs_per_gpu`` in the schema of the configuration

ASK_AGAIN_SECONDS = 0.5
REPORT_SECONDS = 60.0

LINE = re.compile(
    r"GPU (?P<index>\d+): (?P<name>.*) \(UUID: (?P<gpu>GPU-[^)]+)\)|MIG (?P<size>\S+) .*\(UUID: (?P<mig>MIG-[^)]+)\)"
)
"""Output of `nvidia-smi -L`: a GPU a line, and below it a line for each instance that it is divided into."""


@dataclass(frozen=True)
class Gpu:
    """A GPU, or an instance of one that is divided (MIG)."""

    index: int | None  # number of the GPU, as nvidia-smi counts
    name: str  # name of the model
    uuid: str  # its own, the same on every machine and in every order
    card: str  # the whole GPU's, which differs where this is an instance
    visible: str  # what CUDA_VISIBLE_DEVICES holds when it is the only one

    def __str__(self) -> str:
        number = "" if self.index is None else f" {self.index}"
        return f"GPU{number} ({self.name}, {self.uuid})"


def list_gpus() -> list[Gpu]:
    """Return all GPUs in the order of nvidia-smi, instances instead of a GPU that is divided; none if it is not on PATH.

    Raises DeviceError if nvidia-smi gives no answer, or sees GPUs and cannot reach any.
    """
    answer = ask_nvidia_smi("-L")
    gpus: list[Gpu] = []
    divided: set[str] = set()
    unknown = []
    for line in filter(None, map(str.strip, answer.splitlines())):
        match = LINE.fullmatch(line)
        if match and match["gpu"]:
            gpus.append(Gpu(int(match["index"]), match["name"], match["gpu"], match["gpu"], match["gpu"]))
        elif match and gpus:
            last = gpus[-1]
            divided.add(last.card)
            name = f"{last.name.split(' MIG ')[0]} MIG {match['size']}"
            gpus.append(Gpu(last.index, name, match["mig"], last.card, match["mig"]))
        else:
            unknown.append(line)
    problem = f"nvidia-smi -L says: {' '.join(unknown)}"
    if "device handle" in problem and not gpus:
        raise DeviceError(f"{problem}; no GPU can be reached. Restart the machine, or set device: cpu")
    if unknown:
        logger.log(logging.WARNING if "device handle" in problem else logging.INFO, "%s", problem)
    return [gpu for gpu in gpus if gpu.uuid not in divided]


def ask_nvidia_smi(*arguments: str) -> str:
    """Return the output of nvidia-smi, errors included; empty if it is not on PATH. DeviceError if it gives no answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 (no shell)
            [program, *arguments], capture_output=True, text=True, errors="replace", timeout=PATIENCE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        problem = f"nvidia-smi {' '.join(arguments)} gave no answer in {PATIENCE_SECONDS} s, so the driver or a GPU hangs"
        raise DeviceError(
            f"{problem}; look for Xid in the output of `sudo dmesg`, restart the machine, or set device: cpu"
        ) from None
    return done.stdout + done.stderr


def visible_gpus(gpus: Sequence[Gpu], wanted: str | None) -> list[Gpu]:
    """Return the GPUs that ``wanted``, a value of CUDA_VISIBLE_DEVICES or None, names, read as CUDA reads it.

    The first entry decides whether all are numbers, UUIDs of GPUs or UUIDs of instances; a UUID may be cut short while it is
    unique. The list ends where an entry names nothing, and is empty if one comes twice. A GPU that is named by its number keeps
    it in ``visible``: which it is on a machine with different GPUs depends on CUDA_DEVICE_ORDER, and CUDA then takes the one that
    was meant. Raises DeviceError if the value names GPUs, but CUDA would see none.
    """
    if wanted is None or not gpus:
        return list(gpus)
    entries = wanted.split(",")
    kind = next((kind for kind in ("GPU-", "MIG-") if wanted.startswith(kind)), "")
    chosen: list[Gpu] = []
    for entry in entries:
        gpu = _named(gpus, entry, kind)
        if gpu is None:
            break
        chosen.append(gpu)
    there = f"nvidia-smi shows {', '.join(str(gpu.index) for gpu in gpus)}; `nvidia-smi -L` lists their UUIDs"
    if len({gpu.uuid for gpu in chosen}) < len(chosen):
        raise DeviceError(f"CUDA_VISIBLE_DEVICES={wanted} names a GPU twice, and CUDA then sees none; name each once. {there}")
    # Entries such as -1 and NoDevFiles end the list on purpose.
    rest = [entry for entry in entries[len(chosen) :][:1] if re.match(r"\s*\+?\d|GPU-|MIG-", entry)]
    if rest and not chosen:
        raise DeviceError(f"CUDA_VISIBLE_DEVICES={wanted} names the GPU {rest[0]}, which is not there; {there}")
    if rest:
        logger.warning(
            "CUDA_VISIBLE_DEVICES=%s: CUDA ignores %s and what follows, which names no GPU; %s", wanted, rest[0], there
        )
    return chosen


def _named(gpus: Sequence[Gpu], entry: str, kind: str) -> Gpu | None:
    if not kind:
        number = re.match(r"\s*\+?(\d+)", entry)
        gpu = next((each for each in gpus if number and each.index == int(number[1])), None)
        return gpu and Gpu(gpu.index, gpu.name, gpu.uuid, gpu.card, str(gpu.index))
    if not entry.startswith(kind):
        return None
    if kind == "MIG-":  # older names of instances, which CUDA knows too, are not in the list
        whole = Gpu(None, "MIG instance", entry, entry, entry)
        return next((gpu for gpu in gpus if gpu.uuid.startswith(entry)), whole)
    cards = {gpu.card for gpu in gpus if gpu.card.startswith(entry)}
    return next(gpu for gpu in gpus if gpu.card in cards) if len(cards) == 1 else None


def jobs_that_fit(gpu: Gpu) -> int:
    """Return how many jobs compute on a GPU at a time by default: one loads while the other computes, where memory is ample.

    1 for an instance of a divided GPU, and where nvidia-smi does not say how much memory there is.
    """
    whole = gpu.uuid == gpu.card and gpu.uuid.startswith("GPU-")
    memory = re.fullmatch(r"(\d+) MiB", _ask_about(gpu, "gpu=memory.total").strip()) if whole else None
    return 2 if memory and int(memory[1]) >= AMPLE_MIB else 1


def memory_in_use(gpu: Gpu) -> str:
    """Describe the memory in use on a GPU and its processes; empty if nvidia-smi does not say."""
    memory = re.search(r"^(\d+ \w+), (\d+ \w+)$", _ask_about(gpu, "gpu=memory.used,memory.total"), re.MULTILINE)
    if not memory:
        return ""
    processes = _ask_about(gpu, "compute-apps=pid,process_name,used_memory")
    users = re.findall(r"^(\d+), (.+), ([^,\n]+)$", processes, re.MULTILINE)
    by = "".join(f"; process {pid} ({name}) has {used}" for pid, name, used in users)
    return f"{memory[1]} of its {memory[2]} are in use{by}"


def _ask_about(gpu: Gpu, query: str) -> str:
    """Return the answer of nvidia-smi about one card, a line per field."""
    return ask_nvidia_smi(f"--query-{query}", "--format=csv,noheader", f"--id={gpu.card}")


def lock_folder() -> Path:
    """Return the folder of lock files, BEIRFLOW_LOCKS or one in /tmp; DeviceError if it is no folder or others may write there.

    Not in TMPDIR or XDG_RUNTIME_DIR, which differ between two logins and jobs of one user, who would then share nothing.
    """
    folder = Path(os.environ.get("BEIRFLOW_LOCKS") or f"/tmp/beirflow-{os.getuid()}")  # noqa: S108 (checked below)
    todo = "remove it, or set BEIRFLOW_LOCKS to a folder of your own on this machine, the same for all runs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError as error:
        raise DeviceError(f"the folder of GPU locks, {folder}, cannot be made ({error}); {todo}") from error
    problems = {
        "is a link and not a folder": not stat.S_ISDIR(state.st_mode),
        f"belongs to user {state.st_uid}, not to you": state.st_uid != os.getuid(),
        "can be written by others": state.st_mode & 0o022,
    }
    for problem in filter(problems.get, problems):
        raise DeviceError(f"the folder of GPU locks, {folder}, {problem}; {todo}")
    return folder


def lease(most_jobs: Mapping[Gpu, int]) -> Gpu:
    """Wait for a slot of a GPU and hold it until this process ends; the one with the fewest jobs, and of these the first.

    ``most_jobs`` has the number of jobs that each GPU takes, this one included. Raises DeviceError if the folder of lock files
    cannot be used.
    """
    folder = lock_folder()
    start, reported = time.time(), 0.0
    while isinstance(found := _take(folder, most_jobs), str):
        if time.monotonic() - reported >= REPORT_SECONDS or not reported:
            reported = time.monotonic()
            since, places = time.strftime("%H:%M:%S", time.localtime(start)), sum(most_jobs.values())
            logger.info("waiting since %s for one of %d GPUs, %d jobs in all: %s", since, len(most_jobs), places, found)
        time.sleep(ASK_AGAIN_SECONDS)
    logger.info("uses %s, for which it waited %.1f s", found, time.time() - start)
    return found


def jobs_on(gpu: Gpu) -> int:
    """Return the number of jobs that hold a slot of a GPU now; DeviceError if the folder of lock files cannot be used."""
    folder = lock_folder()
    with _looking(folder):
        return sum(bool(_holder(path)) for path in _places(folder, gpu))


@contextmanager
def _looking(folder: Path) -> Iterator[None]:
    """Let one process probe at a time: a probe briefly holds the lock, and another process would take it for a job."""
    looking = _open(folder / "looking")
    try:
        fcntl.flock(looking, fcntl.LOCK_EX)
        yield
    finally:
        os.close(looking)


def _places(folder: Path, gpu: Gpu) -> list[Path]:
    # Older names of instances have slashes.
    return [folder / f"{gpu.uuid.replace('/', '_')}.{place}" for place in range(MOST_JOBS_PER_GPU)]


def _take(folder: Path, most_jobs: Mapping[Gpu, int]) -> Gpu | str:
    """Take a free slot until this process ends; else return the holders."""
    with _looking(folder):
        holders = {gpu: {path: _holder(path) for path in _places(folder, gpu)} for gpu in most_jobs}
        free = {gpu: [path for path, holder in places.items() if not holder] for gpu, places in holders.items()}
        # All slots are counted, since another run may allow more jobs than this one.
        open_to_this = [gpu for gpu, most in most_jobs.items() if MOST_JOBS_PER_GPU - len(free[gpu]) < most]
        if not open_to_this:
            return ", ".join(f"{gpu} by {holder}" for gpu, places in holders.items() for holder in filter(None, places.values()))
        # The first of equals, so that jobs fill a machine in the order in which a person counts its GPUs.
        gpu = max(open_to_this, key=lambda gpu: len(free[gpu]))
        descriptor = _open(free[gpu][0])  # which stays open
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        # Writing also makes the file young, so that what cleans up in /tmp leaves it.
        os.pwrite(descriptor, f"process {os.getpid()} since {time.strftime('%F %T')}".encode(), 0)
        return gpu


def _open(path: Path) -> int:
    """Return a descriptor of a lock file; processes that this one starts do not inherit it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise DeviceError(f"the GPU lock {path} cannot be opened ({error}); remove {path.parent}") from error


def _holder(path: Path) -> str:
    """Name the holder of a lock; empty without one."""
    if not path.exists():
        return ""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 100, 0).decode(errors="replace") or "an unknown process"
    else:
        return ""
    finally:
        os.close(descriptor)
