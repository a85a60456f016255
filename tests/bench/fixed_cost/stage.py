"""Definition of the stage ``fixed-cost``."""

from pathlib import Path

from bench.settings import Settings
from bench.stage import Side, Stage, Target

OURS, IMPORTS = "ours", "import torch, transformers"


def make(settings: Settings, folder: Path) -> Stage:
    """The stage, with its files below a folder.

    Both sides run in beirflow's environment: what else is installed changes how long transformers takes to be imported.
    """
    source, ours = folder / "input", folder / "ours"
    return Stage(
        name="fixed-cost",
        input="encode_chunk of one document with all-MiniLM-L6-v2, beside the two imports alone",
        clock="process",
        rounds=settings.rounds(full=7, quick=3),
        inputs=settings.own("fixed_cost.inputs", source),
        sides=[
            Side(OURS, settings.own("fixed_cost.ours", source, ours, settings.cores), ours),
            Side(IMPORTS, [settings.own_python, "-c", "import torch, transformers"], folder / "imports"),
        ],
        check=settings.peer("fixed_cost.check", ours),
        targets=[Target("seconds", OURS, 1.5, over=IMPORTS)],
    )
