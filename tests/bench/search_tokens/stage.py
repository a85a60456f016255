"""Definition of the stage ``search-tokens``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

OURS, PEER, PRODUCT = "ours", "sentence-transformers, maxsim and top k", "product of the matrices alone"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    documents, queries = (2000, 40) if settings.quick else (20_000, 100)
    k = documents // 20
    source = folder / "input"
    outputs = {OURS: folder / "ours", PEER: folder / "peer", PRODUCT: folder / "product"}
    rest = (k, settings.cores)
    return Stage(
        name="search-tokens",
        input=f"{queries:,} queries of 32 tokens, {documents:,} documents of 160, 128 dimensions, k = {k:,}; ours from a file",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("search_tokens.inputs", source, documents, queries),
        sides=[
            Side(OURS, settings.own("search_tokens.ours", source, outputs[OURS], *rest), outputs[OURS]),
            Side(PEER, settings.peer("search_tokens.peer_maxsim", source, outputs[PEER], *rest), outputs[PEER]),
            Side(PRODUCT, settings.own("search_tokens.product", source, outputs[PRODUCT], *rest), outputs[PRODUCT]),
        ],
        check=settings.own("search_tokens.check", outputs[OURS], outputs[PEER]),
        targets=[
            Target("seconds", OURS, 0.6, over=PEER),
            Target("seconds", OURS, 1 / 0.6, over=PRODUCT, row="search-tokens, all and the product alone"),
            Target("memory", OURS, 0.6, over=PEER, row="search-tokens, memory"),
        ],
    )
