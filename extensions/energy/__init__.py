"""Energy that jobs use, by the counters of the machine, and its emissions."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval

from beirflow.core.extensions import Addition, Extension, Observer
from beirflow.core.keys import OrNull
from beirflow.core.layout import COST
from beirflow.extensions.energy.layout import ENERGY

if TYPE_CHECKING:
    from beirflow.run.gpus import Gpu

JOULES = ("machine_joules", "processor_joules", "gpu_joules")
COLUMNS = (*JOULES, "processor_share", "carbon_intensity", "co2_grams")  # of ``cost.csv``


def _around(results: Path, job: str) -> AbstractContextManager[None]:
    from beirflow.extensions.energy.meter import metered

    return metered(results / ENERGY(job=job))


def _gpu(gpu: "Gpu | None", jobs: Callable[[], int] | None) -> None:
    from beirflow.extensions.energy.meter import count_gpu

    count_gpu(gpu, jobs)


@dataclass(frozen=True)
class Keys:
    """Keys of the configuration."""

    carbon_intensity: OrNull[Annotated[float, Interval(ge=0, le=2000)]] = None
    """Grams of CO2 per kilowatt-hour at the site of the jobs; null if not known."""


EXTENSION = Extension(
    keys=Keys,
    folder=Path(__file__).parent,
    patterns=(ENERGY,),
    from_outside={COST: COLUMNS},
    observer=Observer(_around, _gpu),
    additions={
        "collect_costs": Addition("beirflow.extensions.energy.costs:energy_columns", ("carbon_intensity",)),
    },
)
