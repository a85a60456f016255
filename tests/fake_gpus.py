"""A machine with GPUs, as far as nvidia-smi shows them: a program of that name, which prints what it is given."""

import os
from collections.abc import Mapping
from pathlib import Path

UUIDS = [f"GPU-{digit * 8}-0000-0000-0000-000000000000" for digit in "abcd"]
LISTED = "".join(f"GPU {i}: Fake H100 (UUID: {uuid})\n" for i, uuid in enumerate(UUIDS))
MEMORY = "70000 MiB, 80000 MiB"
PROCESSES = "4711, /usr/bin/python3, 69000 MiB"


def install_nvidia_smi(folder: Path, listed: str = LISTED, status: int = 0, memory: str = "80000 MiB") -> Mapping[str, str]:
    """Write the program; the environment in which it is found, and locks are in the same folder."""
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "listed").write_text(listed)
    program = folder / "bin/nvidia-smi"
    program.write_text(f"""#!/bin/sh
case "$*" in
    -L) cat '{folder}/listed'; exit {status};;
    *memory.used,memory.total*) echo '{MEMORY}';;
    *gpu=memory.total*) echo '{memory}';;
    *query-compute-apps*) echo '{PROCESSES}';;
esac
""")
    program.chmod(0o755)
    return {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "BEIRFLOW_LOCKS": str(folder / "locks")}
