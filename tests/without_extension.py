"""A program that runs without one of the project's extensions, as in an installation that lacks its folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]

WITHOUT = """
import json, pathlib, sys
import beirflow
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
for path in beirflow.EXTENSIONS.iterdir():
    if path.name != name:
        (folder / path.name).symlink_to(path)
beirflow.EXTENSIONS = folder
"""


def without_extension(name: str, folder: Path, program: str, *arguments: str) -> Any:
    """What a program prints last, as JSON; ``folder`` is a new one, and arguments are from the third on."""
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    command = [sys.executable, "-c", WITHOUT + program, str(folder), name, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
