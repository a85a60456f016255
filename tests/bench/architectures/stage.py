"""Definition of the stage ``architectures``."""

from pathlib import Path

from bench.architectures.inputs import ARCHITECTURES
from bench.settings import Settings
from bench.stage import Side, Stage, Target


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder."""
    texts = 200 if settings.quick else 1000
    source = folder / "input"
    sides, targets = [], []
    for name in ARCHITECTURES:
        ours, peer = (folder / name / side for side in ("ours", "peer"))
        sides += [
            Side(f"ours {name}", settings.own("architectures.ours", source, name, ours), ours),
            Side(f"peer {name}", settings.peer("architectures.peer", source, name, peer), peer),
        ]
        targets.append(Target("seconds", f"ours {name}", 0.45, over=f"peer {name}", row=f"encode with {name}"))
    return Stage(
        name="architectures",
        input=f"{texts:,} texts of 20 to 250 words; models of 6 layers and 384 dimensions with random weights; precision auto",
        clock="call",
        rounds=settings.rounds(full=3, quick=2),
        inputs=settings.peer("architectures.inputs", source, texts),
        sides=sides,
        check=settings.peer("architectures.check", folder, *ARCHITECTURES),
        targets=targets,
    )
