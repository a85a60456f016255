"""Definition of the stage ``merge``."""

from pathlib import Path
from typing import NamedTuple

from bench.settings import Settings
from bench.stage import Side, Stage, Target


class Size(NamedTuple):
    """How much is merged; ``chunks`` divides ``documents`` and is a multiple of ten."""

    queries: int
    documents: int
    chunks: int
    k: int


FULL, QUICK = Size(7000, 9_000_000, 180, 1000), Size(700, 400_000, 40, 1000)


def make(settings: Settings, folder: Path, size: Size | None = None) -> Stage:
    """The stage, with its files below a folder."""
    size = size or (QUICK if settings.quick else FULL)
    source, few, many = folder / "input", size.chunks // 10, size.chunks
    outputs = {chunks: folder / f"chunks-{chunks}" for chunks in (few, many)}
    sides = [
        Side(f"ours, {chunks} chunks", settings.own("merge.ours", source / str(chunks), output, size.k), output)
        for chunks, output in outputs.items()
    ]
    targets = [Target("memory", side.name, 4e9) for side in sides]
    growth = Target("memory", sides[1].name, 1.1, over=sides[0].name, row="merge-memory")
    return Stage(
        name="merge",
        input=f"candidates of {size.queries:,} queries in {size.documents:,} documents, k = {size.k}, {few} and {many} chunks",
        clock="process",
        rounds=settings.rounds(full=1, quick=1),
        inputs=settings.own("merge.inputs", source, *size),
        sides=sides,
        check=settings.own("merge.check", source / str(many), size.k, *outputs.values()),
        targets=targets if size.queries < FULL.queries else [*targets, growth],
        left_out=[("merge-memory", "full form only")] if size.queries < FULL.queries else [],
    )
