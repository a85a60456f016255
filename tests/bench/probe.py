"""Say with what an interpreter computes, as JSON: python -m bench.probe PACKAGE..."""

import importlib.metadata
import json
import sys
from collections.abc import Iterable
from typing import Any

import torch

INSTRUCTIONS = ("avx2", "avx512_f", "avx512_bf16", "amx_bf16", "bf16")


def probe(packages: Iterable[str]) -> dict[str, Any]:
    """Versions of Python and of those packages that are installed, instructions of the processor, and name of the GPU."""
    installed = {each.name.lower(): each.version for each in importlib.metadata.distributions()}
    return {
        "python": sys.version.split()[0],
        "versions": {name: installed[name] for name in packages if name in installed},
        "instructions": [name for name in INSTRUCTIONS if torch.cpu.get_capabilities().get(name)],
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(probe(sys.argv[1:])) + "\n")
