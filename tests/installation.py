"""Archives of the package, and environments in which nothing but what a test installs is beirflow's."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
SITE_PACKAGES = Path(sysconfig.get_path("purelib"))
OFFLINE = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation")
Done = subprocess.CompletedProcess[str]


def build(project: Path, folder: Path) -> None:
    """Build the archives of a project into a folder, as ``make dist`` does."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "--directory", str(folder)], cwd=project, check=True)


class Environment:
    """An environment of Python of its own, with no package but what is installed."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.folder, self.bin = folder, folder / "bin"
        (self.site_packages,) = folder.glob("lib/python3.*/site-packages")

    def install(self, *what: str, options: tuple[str, ...] = OFFLINE) -> None:
        """Install by pip, without what it needs unless ``options`` are others."""
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install", *options, *what], check=True
        )

    def borrow(self, *without: str) -> None:
        """Give it the packages of the environment of the tests, but for some modules and what is beirflow's there."""
        for path in SITE_PACKAGES.iterdir():
            if path.name not in without and "beirflow" not in path.name and not (self.site_packages / path.name).exists():
                (self.site_packages / path.name).symlink_to(path)

    def run(self, folder: Path, program: str, *arguments: str) -> Done:
        """Run a program of it in a folder."""
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [str(self.bin / program), *arguments]
        return subprocess.run(command, cwd=folder, env=alone, text=True, capture_output=True, check=False)
