"""Definition of the stage ``bm25``; its rows are ``index`` and ``search-bm25``."""

from pathlib import Path

import anserini

from bench.settings import Settings
from bench.stage import Side, Stage, Target

K = 1000
PEERS = {"bm25s": "peer_bm25s", "Lucene": "peer_lucene"}
INDEX, SEARCH = "index", "search-bm25"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder; what searches reads the index of the same round."""
    documents, queries = (20_000, 100) if settings.quick else (199_000, 1000)
    source, why = folder / "input", anserini.missing()
    modules = {"ours": "ours", **{name: module for name, module in PEERS.items() if name != "Lucene" or not why}}
    sides = []
    for what, rest in (("index", [settings.cores]), ("search", [K, settings.cores])):
        for name, module in modules.items():
            run = settings.own if name == "ours" else settings.peer
            made = [folder / f"{name}-index"] if what == "search" else []
            output = folder / f"{name}-{what}"
            sides.append(Side(f"{name}, {what}", run(f"bm25.{module}", what, source, *made, output, *rest), output))
    targets = [
        Target("seconds", "ours, index", 0.6, over="bm25s, index", row=INDEX),
        Target("seconds", "ours, search", 3, over="bm25s, search", row=SEARCH),
    ]
    beside_lucene = [
        Target("seconds", "ours, index", 1, over="Lucene, index", row=INDEX, clock="process"),
        Target("seconds", "ours, search", 0.1, over="Lucene, search", row=SEARCH, clock="process"),
    ]
    form = "ours one job a chunk, as the workflow runs it; bm25s with numba, in memory and compiled; Lucene in processes of Java"
    return Stage(
        name="bm25",
        input=f"{documents:,} documents of 180 words in one chunk, {queries:,} queries of 3 to 8, k = {K}, simulated;"
        f" {settings.cores} threads for each: {form}",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("bm25.inputs", source, documents, queries),
        sides=sides,
        check=settings.own("bm25.check", source, *(folder / f"{name}-search" for name in modules)),
        targets=targets if why else [*targets, *beside_lucene],
        left_out=[(f"{INDEX}, {SEARCH}: Lucene", why)] if why else [],
    )
