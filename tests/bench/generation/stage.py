"""Definition of the stage ``generation``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

QUERIES, LONGEST = 40, 32
OURS, PEER = "ours", "the loop of beir"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    documents = 8 if settings.quick else 64
    source, outputs = folder / "input", {OURS: folder / "ours", PEER: folder / "loop"}
    rest = (QUERIES, LONGEST, settings.cores)
    return Stage(
        name="generation",
        input=f"{QUERIES} queries of up to {LONGEST} tokens for each of {documents} documents, in float32, by a T5 of the small"
        " size with random weights",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("generation.inputs", source, documents),
        sides=[
            Side(OURS, settings.own("generation.ours", source, outputs[OURS], *rest), outputs[OURS]),
            Side(PEER, settings.peer("generation.peer_generate", source, outputs[PEER], *rest), outputs[PEER]),
        ],
        check=settings.own("generation.check", QUERIES, *outputs.values()),
        targets=[Target("seconds", OURS, 0.5, over=PEER)],
    )
