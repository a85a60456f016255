"""Archives of the package, and environments in which nothing but what a test installs is beirflow's."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
BACKEND = ("hatchling", "editables", "packaging", "pathspec", "pluggy", "tomlkit", "trove_classifiers")
"""Modules that build the package."""

SITE_PACKAGES = Path(sysconfig.get_path("purelib"))
OFFLINE = ("--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation")


def build(project: Path, folder: Path, *targets: str) -> None:
    """Build archives of a project into a folder."""
    chosen = [word for target in targets for word in ("--target", target)]
    subprocess.run([sys.executable, "-m", "hatchling", "build", *chosen, "--directory", str(folder)], cwd=project, check=True)


def tracked(folder: str) -> set[str]:
    """Return the files of a folder of this repository that git knows."""
    listed = subprocess.run(["git", "ls-files", folder], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return set(listed.stdout.splitlines())


class Environment:
    """An environment of Python of its own, with no package but what is installed."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.folder, self.python = folder, folder / "bin/python"
        (self.site_packages,) = folder.glob("lib/python3.*/site-packages")

    def install(self, *what: str, options: tuple[str, ...] = OFFLINE) -> None:
        """Install by pip, without what it needs unless ``options`` are others; the modules that build lie on its path."""
        backend = self.folder / "backend"
        backend.mkdir(exist_ok=True)
        for path in (SITE_PACKAGES / name for name in BACKEND):
            if path.exists() and not (backend / path.name).exists():
                (backend / path.name).symlink_to(path)
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "install", *options, *what]
        subprocess.run(command, cwd=self.folder, env={**os.environ, "PYTHONPATH": str(backend)}, check=True)

    def borrow(self, *without: str) -> None:
        """Let it find the packages of the environment of the tests behind its own, but for some that cannot be imported."""
        blocked = f"import sys; sys.modules.update(dict.fromkeys({without!r}))"
        (self.site_packages / "borrowed.pth").write_text(f"{SITE_PACKAGES}\n{blocked}\n")

    def ask(self, code: str, folder: Path) -> str:
        """Return what a line of Python prints."""
        return self.run(["-c", code], folder).stdout.strip()

    def snakemake(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the installed workflow in a folder."""
        snakefile = self.ask("import beirflow; print(beirflow.SNAKEFILE)", folder)
        return self.run(["-m", "snakemake", "--snakefile", snakefile, "--cores", "2", *arguments], folder)

    def run(self, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run its Python in a folder."""
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run([str(self.python), *arguments], cwd=folder, env=alone, text=True, capture_output=True, check=False)
