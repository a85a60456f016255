"""Definition of the stage ``plan``."""

from pathlib import Path

from bench.settings import REPOSITORY, Settings
from bench.stage import Side, Stage, Target

OURS = "ours"


def make(settings: Settings, folder: Path, name: str = "plan", chunk_documents: int = 500_000, seconds: float = 20) -> Stage:
    """The stage, with its files below a folder; it should take at most so many seconds."""
    source, ours = folder / "input", folder / "ours"
    where = ["--snakefile", str(REPOSITORY / "Snakefile"), "--directory", str(ours)]
    command = [settings.own_python, "-m", "snakemake", "--configfile", str(source / "config.yaml"), *where]
    return Stage(
        name=name,
        input=f"snakemake --dry-run of fifteen datasets and four systems, chunks of {chunk_documents:,}, nothing computed yet",
        clock="process",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("plan.inputs", source, chunk_documents),
        sides=[Side(OURS, [*command, "--dry-run", "--cores", str(settings.cores)], ours)],
        check=settings.peer("plan.check", folder / "ours.out", chunk_documents),
        targets=[Target("seconds", OURS, seconds)],
    )
