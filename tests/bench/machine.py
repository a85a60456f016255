"""The settings of a run and the machine that its figures are of.

``python -m bench.machine PACKAGE...`` says with what its interpreter computes, as JSON.
"""

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]

OWN = ("torch", "transformers", "snakemake", "numpy", "pyarrow")
PEERS = ("torch", "transformers", "beir", "faiss-cpu", "sentence-transformers", "bm25s", "numba", "numpy")
INSTRUCTIONS = ("avx2", "avx512_f", "avx512_bf16", "amx_bf16", "bf16")
BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}


@dataclass(frozen=True)
class Settings:
    """Choices of the command line."""

    quick: bool  # whether inputs are small and rounds few
    repeats: int | None  # rounds of every stage; None for each stage's own number
    own_python: str  # interpreter of beirflow's environment, in which our sides run
    peer_python: str  # interpreter of the environment that also has the peers' packages
    nfcorpus: Path | None  # the official archive of NFCorpus; None if nobody named its folder
    cores: int  # processor cores that every side may use

    def environment(self) -> Mapping[str, str]:
        """Variables of every child: our modules on the path, the same threads for every library, no network."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), str(self.cores))
        path = os.pathsep.join([str(REPOSITORY / "tests"), str(REPOSITORY / "src")])
        return {**os.environ, **threads, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}


def describe(own: Mapping[str, Any], cores: int, peers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Device, versions and commit, as they stand in the JSON file, from what the interpreters of ours and of the peers say."""
    return {
        "device": own["gpu"] or processor(),
        "processor": processor(),
        "cores": cores,
        "load": os.getloadavg()[0],
        "instructions": own["instructions"],
        "python": own["python"],
        "versions": {"beirflow": own["versions"], **({"peers": peers["versions"]} if peers else {})},
        "commit": _git("rev-parse", "HEAD"),
        "clean": _git("status", "--porcelain", "--untracked-files=no") == "",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def ask(settings: Settings, python: str, packages: Sequence[str] = ()) -> dict[str, Any]:
    """Ask an interpreter with what it computes."""
    command = [python, "-m", "bench.machine", *packages]
    return json.loads(subprocess.run(command, env=dict(settings.environment()), capture_output=True, check=True).stdout)


def probe(packages: Iterable[str]) -> dict[str, Any]:
    """Versions of Python and of those packages that are installed, instructions of the processor, and name of the GPU."""
    import torch  # here, so that the process that measures stays small

    installed = {each.name.lower(): each.version for each in importlib.metadata.distributions()}
    return {
        "python": sys.version.split()[0],
        "versions": {name: installed[name] for name in packages if name in installed},
        "instructions": [name for name in INSTRUCTIONS if torch.cpu.get_capabilities().get(name)],
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def computes_in_bfloat16(settings: Settings) -> bool:
    """Tell if the precision ``auto`` is bfloat16 here."""
    found = ask(settings, settings.own_python)
    return bool(found["gpu"]) or bool(BFLOAT16 & set(found["instructions"]))


def available_cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """Name of the processor."""
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.is_file() else ""
    name = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return name[1].strip() if name else platform.processor() or platform.machine()


def slug(device: str) -> str:
    """The name of a device as the name of a file."""
    plain = re.sub(r"\((R|TM)\)", "", device, flags=re.IGNORECASE)
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def _git(*arguments: str) -> str | None:
    """Ask git; None where there is no git or no repository."""
    try:
        return subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    sys.stdout.write(json.dumps(probe(sys.argv[1:])) + "\n")
