"""Definition of the stage ``score-pairs``."""

from pathlib import Path

from bench.machine import computes_in_bfloat16
from bench.settings import Settings
from bench.stage import CannotRunError, Side, Stage, Target

FLOAT32, AUTO, PEER = "ours, float32", "ours, auto", "CrossEncoder.predict"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    if settings.nfcorpus is None or not settings.nfcorpus.is_file():
        raise CannotRunError("no nfcorpus.zip; name it with --nfcorpus, or its folder in BEIRFLOW_ARCHIVES")
    pairs = 40 if settings.quick else 400
    source, bfloat16 = folder / "input", computes_in_bfloat16(settings)
    names = [FLOAT32, AUTO] if bfloat16 else [FLOAT32]
    outputs = {name: folder / name.removeprefix("ours, ") for name in (*names, PEER)}
    rest = settings.cores
    sides = [
        Side(name, settings.own("score_pairs.ours", source, outputs[name], name.removeprefix("ours, "), rest), outputs[name])
        for name in names
    ]
    peer = Side(PEER, settings.peer("score_pairs.peer_cross_encoder", source, outputs[PEER], rest), outputs[PEER])
    return Stage(
        name="score-pairs",
        input=f"{pairs:,} pairs of queries and documents of NFCorpus, all-MiniLM-L6-v2 with a head of random weights",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("score_pairs.inputs", settings.nfcorpus, source, pairs),
        sides=[*sides, peer],
        check=settings.own("score_pairs.check", *outputs.values()),
        targets=[
            Target("seconds", FLOAT32, 0.8, over=PEER, row="score-pairs, float32"),
            *([Target("seconds", AUTO, 0.45, over=PEER, row="score-pairs, auto")] if bfloat16 else []),
        ],
        left_out=[] if bfloat16 else [("score-pairs, auto", "no bfloat16 instructions, so auto is float32 here")],
    )
