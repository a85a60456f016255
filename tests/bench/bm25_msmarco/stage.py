"""Definition of the stage ``bm25-msmarco``."""

from pathlib import Path
from typing import NamedTuple

from bench.settings import Settings
from bench.stage import Side, Stage, Target


class Size(NamedTuple):
    """How much is indexed and searched."""

    documents: int
    chunks: int
    queries: int
    words: int


FULL, QUICK = Size(8_841_823, 18, 6980, 3_000_000), Size(600_000, 2, 500, 1_000_000)
K = 1000

RULES = ("index_chunk", "sum_statistics", "search_index", "merge_chunks")
"""In their order."""


def make(settings: Settings, folder: Path, size: Size | None = None) -> Stage:
    """The stage, with its files below a folder; each side reads what those before it wrote in the same round."""
    size = size or (QUICK if settings.quick else FULL)
    rest = (folder, size.chunks, K, settings.cores)
    sides = [Side(f"ours, {rule}", settings.own("bm25_msmarco.ours", rule, *rest), folder / rule) for rule in RULES]
    return Stage(
        name="bm25-msmarco",
        input=f"{size.documents:,} passages of 56 words in {size.chunks} chunks, {size.queries:,} queries of 3 to 8, k = {K}, all"
        f" simulated; the jobs of a rule one after the other, with {settings.cores} threads",
        clock="process",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("bm25_msmarco.inputs", folder / "input", *size),
        sides=sides,
        check=settings.own("bm25_msmarco.check", folder, K, *size),
        targets=[Target("memory", side.name, 4e9) for side in sides],
    )
