"""The load of the machine during a measurement, with processes that compute, and the rule by which a machine was busy."""

import os
import subprocess
import sys
import time

import pytest

from beirflow.evaluation import machine_load
from beirflow.evaluation.machine_load import OtherProcesses, is_busy

COMPUTE = """
import sys, time
while time.process_time() < 1:
    pass
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("load", "threads", "busy"),
    [
        # Known: more than a tenth of the machine beyond the cores that are left.
        ({"before": 9.0, "after": 9.0, "cores": 2, "others": 0.2}, 2, False),  # load of what ended before
        ({"before": 0.0, "after": 2.0, "cores": 2, "others": 0.3}, 2, True),
        ({"before": 0.0, "after": 2.0, "cores": 16, "others": 9.0}, 8, False),
        ({"before": 0.0, "after": 2.0, "cores": 16, "others": 9.7}, 8, True),
        ({"before": 0.0, "after": 2.0, "cores": 4, "others": 0.3}, 8, False),
        # Not known, as in a short measurement.
        ({"before": 2.5, "after": 3.0, "cores": 2, "others": None}, 2, False),
        ({"before": 24.0, "after": 30.2, "cores": 2}, 2, True),
        ({"before": 3.1, "after": 1.0, "cores": 2}, 2, True),
    ],
)
def test_a_machine_is_busy_if_other_processes_take_what_the_measurement_needs(
    load: dict[str, float | None], threads: int, busy: bool
) -> None:
    assert is_busy({"load": load, "threads": threads}) == busy


def test_what_a_process_that_is_no_child_computes_is_of_others_and_what_a_child_does_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert OtherProcesses().cores() is None  # too short
    monkeypatch.setattr(machine_load, "SHORTEST", 0.0)
    start, others = machine_load._clocks(), OtherProcesses()
    with subprocess.Popen([sys.executable, "-c", COMPUTE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        elapsed, own, every = (now - then for now, then in zip(machine_load._clocks(), start, strict=True))
        child.communicate()
    assert 0.9 < own <= every + 0.1
    assert others.cores() == pytest.approx((every - own) / elapsed, abs=0.3 * (os.cpu_count() or 1))

    others, began = OtherProcesses(), time.perf_counter()
    # A process whose parent ended belongs to nobody here.
    fork = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {COMPUTE!r}], stdin=subprocess.DEVNULL)"
    subprocess.run([sys.executable, "-c", fork], check=True, stdout=subprocess.PIPE)  # until the grandchild has printed
    assert (others.cores() or 0) * (time.perf_counter() - began) > 0.9
