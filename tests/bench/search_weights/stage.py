"""Definition of the stage ``search-weights``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

K = 1000
OURS, PEER = "ours", "scipy, product and top k"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    documents, queries = (20_000, 100) if settings.quick else (200_000, 1000)
    source, outputs = folder / "input", {OURS: folder / "ours", PEER: folder / "scipy"}
    rest = (K, settings.cores)
    return Stage(
        name="search-weights",
        input=f"{queries:,} queries of 40 terms, {documents:,} documents of 150 weights, simulated, k = {K}; ours from a file",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("search_weights.inputs", source, documents, queries),
        sides=[
            Side(OURS, settings.own("search_weights.ours", source, outputs[OURS], *rest), outputs[OURS]),
            Side(PEER, settings.peer("search_weights.peer_scipy", source, outputs[PEER], *rest), outputs[PEER]),
        ],
        check=settings.own("search_weights.check", K, *outputs.values()),
        targets=[Target("seconds", OURS, 0.5, over=PEER)],
    )
