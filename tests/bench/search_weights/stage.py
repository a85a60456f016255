"""Definition of the stage ``search-weights``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

K = 1000
OURS, IN_MEMORY, PEER, BM25S = "ours", "ours, postings in memory", "scipy, product and top k", "bm25s, retrieve"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    documents, queries = (20_000, 100) if settings.quick else (200_000, 1000)
    source, rest = folder / "input", (K, settings.cores)
    outputs = {OURS: folder / "ours", IN_MEMORY: folder / "memory", PEER: folder / "scipy", BM25S: folder / "bm25s"}
    return Stage(
        name="search-weights",
        input=f"{queries:,} queries of 40 terms, {documents:,} documents of 150 weights, simulated, k = {K}; ours from a file",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("search_weights.inputs", source, documents, queries),
        sides=[
            Side(OURS, settings.own("search_weights.ours", source, outputs[OURS], *rest, "file"), outputs[OURS]),
            Side(IN_MEMORY, settings.own("search_weights.ours", source, outputs[IN_MEMORY], *rest, "memory"), outputs[IN_MEMORY]),
            Side(PEER, settings.peer("search_weights.peer_scipy", source, outputs[PEER], *rest), outputs[PEER]),
            Side(BM25S, settings.peer("search_weights.peer_bm25s", source, outputs[BM25S], *rest), outputs[BM25S]),
        ],
        check=settings.own("search_weights.check", K, outputs[OURS], outputs[PEER]),
        targets=[
            Target("seconds", OURS, 0.5, over=PEER),
            Target("seconds", OURS, 1.5, over=BM25S),
            Target("seconds", IN_MEMORY, 1.5, over=BM25S),
        ],
    )
