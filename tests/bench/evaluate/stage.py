"""Definition of the stage ``evaluate``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

CUTOFFS = (1, 3, 5, 10, 100, 1000)
OURS, BEIR = "ours", "beir"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    queries, hits = (300, 1000) if settings.quick else (3000, 1000)
    source, ours, beir = folder / "input", folder / "ours", folder / "beir"
    return Stage(
        name="evaluate",
        input=f"{queries:,} queries, {hits:,} hits each, about 50 graded judgements each, cutoffs {', '.join(map(str, CUTOFFS))}",
        clock="call",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.own("evaluate.inputs", source, queries, hits),
        sides=[
            Side(OURS, settings.own("evaluate.ours", source, ours, *CUTOFFS), ours),
            Side(BEIR, settings.peer("evaluate.peer_beir", source, beir, *CUTOFFS), beir),
        ],
        check=settings.peer("evaluate.check", source, ours, beir, *CUTOFFS),
        targets=[Target("seconds", OURS, 0.5, over=BEIR)],
    )
