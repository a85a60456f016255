"""Where and with what the figures were found."""

import json
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.stage import REPOSITORY, Settings

PROBE = """
import importlib.metadata as metadata, json, sys, torch
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
able = [name for name in ("avx2", "avx512_f", "avx512_bf16", "amx_bf16", "bf16") if torch.cpu.get_capabilities().get(name)]
gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
print(json.dumps({"versions": found, "instructions": able, "gpu": gpu, "python": sys.version.split()[0]}))
"""
OWN = ("torch", "transformers", "snakemake", "numpy", "pyarrow")
PEERS = ("torch", "transformers", "beir", "faiss-cpu", "sentence-transformers", "bm25s", "numba", "numpy")
BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}


def describe(settings: Settings, with_peers: bool) -> dict[str, Any]:
    """Device, versions and commit, as they stand in the JSON file."""
    own = _probe(settings, settings.own_python, OWN)
    peers = {"peers": _probe(settings, settings.peer_python, PEERS)["versions"]} if with_peers else {}
    return {
        "device": own["gpu"] or processor(),
        "processor": processor(),
        "cores": settings.cores,
        "load": os.getloadavg()[0],
        "instructions": own["instructions"],
        "python": own["python"],
        "versions": {"beirflow": own["versions"], **peers},
        "commit": _git("rev-parse", "HEAD"),
        "clean": _git("status", "--porcelain") == "",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def computes_in_bfloat16(settings: Settings) -> bool:
    """Whether the precision ``auto`` is bfloat16 here."""
    found = _probe(settings, settings.own_python, ())
    return bool(found["gpu"]) or bool(BFLOAT16 & set(found["instructions"]))


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


def _probe(settings: Settings, python: str, packages: tuple[str, ...]) -> Any:
    command = [python, "-c", PROBE, *packages]
    return json.loads(subprocess.run(command, env=dict(settings.environment()), capture_output=True, check=True).stdout)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.strip()
