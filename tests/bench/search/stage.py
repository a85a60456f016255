"""Definition of the stage ``search``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

K = 1000
OURS, FAISS, BEIR, LARGE = "ours", "faiss IndexFlatIP", "beir", "ours, four times the documents"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    queries, documents = (100, 50_000) if settings.quick else (1000, 200_000)
    source, large = folder / "input" / str(documents), folder / "input" / str(4 * documents)
    outputs = [folder / name for name in ("ours", "faiss", "beir", "large")]
    rest = (K, settings.cores)
    sides = [
        Side(OURS, settings.own("search.ours", source, outputs[0], *rest), outputs[0]),
        Side(FAISS, settings.peer("search.peer_faiss", source, outputs[1], *rest), outputs[1]),
        Side(BEIR, settings.peer("search.peer_beir", source, outputs[2], *rest), outputs[2]),
        Side(LARGE, settings.own("search.ours", large, outputs[3], *rest), outputs[3], runs=1),
    ]
    counts = [documents] if settings.quick else [documents, 4 * documents]
    memory = Target("growth", LARGE, 1.3, over=OURS, row="search-memory")
    return Stage(
        name="search",
        input=f"{queries:,} queries, {documents:,} documents, 384 dimensions, float32, k = {K}",
        clock="call",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.own("search.inputs", folder / "input", queries, *counts),
        sides=sides[:3] if settings.quick else sides,
        check=settings.peer("search.check", source, K, *outputs[:3]),
        targets=[Target("seconds", OURS, 1.15, over=FAISS), Target("seconds", OURS, 0.22, over=BEIR)]
        + ([] if settings.quick else [memory]),
        left_out=[("search-memory", "full form only")] if settings.quick else [],
    )
