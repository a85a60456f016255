"""What a run of the benchmarks was asked to do, and with what."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Settings:
    """Choices of the command line.

    Attributes:
        quick: Whether inputs are small and rounds few.
        repeats: Rounds of every stage; None for each stage's own number.
        own_python: Interpreter of beirflow's environment, in which our sides run.
        peer_python: Interpreter of the environment that also has the peers' packages.
        nfcorpus: The official archive of NFCorpus; None if nobody named one.
        cores: Processor cores that every side may use.
        device: ``auto``, or ``cpu`` to hide GPUs from all sides.
    """

    quick: bool
    repeats: int | None
    own_python: str
    peer_python: str
    nfcorpus: Path | None
    cores: int
    device: str

    def own(self, module: str, *arguments: object) -> list[str]:
        """Command that runs a module of this package in beirflow's environment."""
        return [self.own_python, "-m", f"bench.{module}", *map(str, arguments)]

    def peer(self, module: str, *arguments: object) -> list[str]:
        """Command that runs a module of this package in the environment of the peers."""
        return [self.peer_python, "-m", f"bench.{module}", *map(str, arguments)]

    def rounds(self, full: int, quick: int) -> int:
        """Number of rounds of a stage."""
        return self.repeats or (quick if self.quick else full)

    def environment(self) -> Mapping[str, str]:
        """Variables of every child: our modules on the path, the same threads for every library, no network."""
        threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), str(self.cores))
        hidden = {"CUDA_VISIBLE_DEVICES": ""} if self.device == "cpu" else {}
        path = os.pathsep.join([str(REPOSITORY / "tests"), str(REPOSITORY / "workflow")])
        return {**os.environ, **threads, **hidden, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
