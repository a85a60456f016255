"""Definition of the stage ``prepare-msmarco``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

OURS = "ours"
DOCUMENTS, CHUNK_DOCUMENTS = 8_841_823, 500_000


def make(settings: Settings, folder: Path, documents: int | None = None, chunk_documents: int = CHUNK_DOCUMENTS) -> Stage:
    """The stage, with its files below a folder; of as many documents as MS MARCO has, where no number is given."""
    documents = documents or (600_000 if settings.quick else DOCUMENTS)
    source, ours = folder / "input" / str(documents), folder / "ours"
    return Stage(
        name="prepare-msmarco",
        input=f"{documents:,} passages of MS MARCO's shape in JSON lines, chunks of {chunk_documents:,}",
        clock="process",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("msmarco.inputs", source, documents),
        sides=[Side(OURS, settings.own("prepare.ours", source, ours, chunk_documents), ours)],
        check=settings.own("msmarco.check", source, ours, -(-documents // chunk_documents)),
        targets=[Target("memory", OURS, 4e9)],
    )
