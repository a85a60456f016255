"""Definition of the stage ``prepare``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

OURS, BEIR, LARGE = "ours", "beir", "ours, four times the documents"
CHUNK_DOCUMENTS = 500_000  # the workflow's default


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    documents = 100_000 if settings.quick else 1_000_000
    source, large = folder / "input" / str(documents), folder / "input" / str(4 * documents)
    ours, beir, ours_large = (folder / name for name in ("ours", "beir", "large"))
    sides = [
        Side(OURS, settings.own("prepare.ours", source, ours, CHUNK_DOCUMENTS), ours),
        Side(BEIR, settings.peer("prepare.peer_beir", source), beir),
        Side(LARGE, settings.own("prepare.ours", large, ours_large, CHUNK_DOCUMENTS), ours_large, runs=1),
    ]
    counts = [documents] if settings.quick else [documents, 4 * documents]
    targets = [Target("seconds", OURS, 0.5, over=BEIR), Target("memory", OURS, 1e9)]
    return Stage(
        name="prepare",
        input=f"{documents:,} documents in JSON lines, about 490 bytes each, {1000:,} queries",
        clock="process",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.own("prepare.inputs", folder / "input", *counts),
        sides=sides[:2] if settings.quick else sides,
        check=settings.peer("prepare.check", source, ours),
        targets=targets if settings.quick else [*targets, Target("memory", LARGE, 1.5, over=OURS, row="prepare-4M")],
        left_out=[("prepare-4M", "full form only")] if settings.quick else [],
    )
