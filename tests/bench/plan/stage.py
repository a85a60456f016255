"""Definition of the stage ``plan``."""

from pathlib import Path

from bench.settings import REPOSITORY, Settings
from bench.stage import Side, Stage, Target

OURS = "ours"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    source, ours = folder / "input", folder / "ours"
    where = ["--snakefile", str(REPOSITORY / "Snakefile"), "--directory", str(ours)]
    command = [settings.own_python, "-m", "snakemake", "--configfile", str(source / "config.yaml"), *where]
    return Stage(
        name="plan",
        input="snakemake --dry-run of fifteen datasets and four systems, nothing computed yet",
        clock="process",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("plan.inputs", source),
        sides=[Side(OURS, [*command, "--dry-run", "--cores", str(settings.cores)], ours)],
        check=settings.peer("plan.check", folder / "ours.out"),
        targets=[Target("seconds", OURS, 20)],
    )
