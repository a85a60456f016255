"""Definition of the stage ``weights-msmarco``."""

from pathlib import Path
from typing import NamedTuple

from bench.settings import Settings
from bench.stage import Side, Stage, Target

OURS = "ours"
K = 1000


class Size(NamedTuple):
    """How much is searched: one of the chunks, which are alike."""

    documents: int
    chunks: int
    queries: int


FULL, QUICK = Size(491_213, 18, 6980), Size(40_000, 2, 100)


def make(settings: Settings, folder: Path, size: Size | None = None) -> Stage:
    """The stage, with its files below a folder."""
    size = size or (QUICK if settings.quick else FULL)
    source, ours = folder / "input", folder / "ours"
    return Stage(
        name="weights-msmarco",
        input=f"{size.queries:,} queries of 40 terms, one of {size.chunks} chunks of {size.documents:,} documents of 150 weights,"
        f" simulated, k = {K}; from a file, with {settings.cores} threads",
        clock="call",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("search_weights.inputs", source, size.documents, size.queries),
        sides=[Side(OURS, settings.own("search_weights.ours", source, ours, K, settings.cores, "file"), ours)],
        check=settings.own("weights_msmarco.check", source, ours, K, size.chunks, settings.cores),
        targets=[Target("memory", OURS, 4e9)],
    )
