"""Latency: the time of one query, from its text to its ranked documents, with everything in memory.

Queries run one at a time; each family answers with the functions that make its runs. Times cover search over all documents, but
nothing outside, such as a network.
"""

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from beirflow.datasets.corpus_files import Documents, read_table, recorded_digest
from beirflow.files.digests import file_digest
from beirflow.files.layout import DOCUMENTS, QUERIES, RUN_RECORD
from beirflow.files.progress import silence
from beirflow.files.records import Job, read_json, write_record
from beirflow.jobs.by_name import by_name
from beirflow.jobs.hardware import ModelHardware
from beirflow.jobs.provenance import processor
from beirflow.runs.answers import Answer, Asked, NoAnswerError, Open, Opened
from beirflow.runs.family import System, system_of

MOST_QUERIES = 200  # drawn from all queries
SEED = 0  # of that draw
WARM_UP = 10  # queries answered once before the measurement
MOST_SECONDS = {"warm up": 30.0, "measure": 300.0}  # after which no further query begins
LEAST_QUERIES = 5  # measured regardless of the time limit

PERCENTILES = (50, 95)


def measure_latency(
    *,
    system: str,
    systems: Mapping[str, Mapping[str, Any]],
    dataset: str,
    top_k: int,
    output_path: str,
    job: Job,
    hardware: ModelHardware,
) -> None:
    """Measure the time of a query of one system on the CPU and, if the device is ``auto`` or ``cuda``, on a GPU; record it.

    ``systems`` holds the system and all that it is made from, as :func:`~beirflow.experiment.asked.asked_systems` states them.
    Raise DataError if a file is not the one that the run was made from.
    """
    asking = Asking(systems, dataset, job, hardware.threads)
    measurements: dict[str, dict[str, Any]] = {}
    reasons: dict[str, str] = {}
    with _surroundings(systems, hardware) as (devices, without_gpu, gpu):
        for place in devices:
            if place in measurements:  # nothing of the system is on a GPU
                continue
            try:
                measured_on, values = _measure(asking, system, top_k, replace(hardware, device=place))
                measurements[measured_on] = values
            except NoAnswerError as error:
                reasons[place] = str(error)
            gc.collect()  # what was in memory
    if "cuda" not in measurements:
        reasons.setdefault("cuda", without_gpu)
    run = asking.run(system)
    write_record(
        output_path,
        job,
        inputs={job.results / path: digest for path, digest in asking.read.items()},
        outputs={},
        sizes={key: value for key, value in run.get("bytes", {}).items() if key == "index"},
        system=system,
        dataset=dataset,
        documents=len(asking.doc_ids),
        queries=asking.query_ids,
        of_queries=asking.of_queries,
        seed=SEED,
        warm_up=min(WARM_UP, len(asking.query_ids)),
        top_k=top_k,
        threads=hardware.threads,
        processor=processor(),
        gpu=gpu,
        devices=measurements,
        reasons=reasons,
    )


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Return ``p50_ms`` and ``p95_ms``, linearly interpolated, and ``mean_ms`` of times in seconds."""
    times = 1000 * np.array(seconds)
    return {f"p{each}_ms": float(np.percentile(times, each)) for each in PERCENTILES} | {"mean_ms": float(times.mean())}


def time_answers(answer: Answer, queries: Sequence[str], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the seconds of each query, answered one at a time after a warm-up; fewer than all if they take long."""
    start = clock()
    # Caches fill and models load what they need at the first queries.
    for query in queries[:WARM_UP]:
        answer(query)
        if clock() - start > MOST_SECONDS["warm up"]:
            break
    seconds: list[float] = []
    start = clock()
    for query in queries:
        before = clock()
        answer(query)
        seconds.append(clock() - before)
        if clock() - start > MOST_SECONDS["measure"] and len(seconds) >= LEAST_QUERIES:
            break
    return seconds


class Asking:
    """The systems and the corpus of a measurement, read once for all devices.

    ``query_ids`` and ``texts`` are the drawn queries of ``of_queries``; ``read`` has digests of what was read, by path below the
    results.
    """

    def __init__(self, systems: Mapping[str, Mapping[str, Any]], dataset: str, job: Job, threads: int) -> None:
        self._entries, self.dataset, self.job, self.threads = systems, dataset, job, threads
        self.systems: dict[str, System] = {name: system_of(name, entry) for name, entry in systems.items()}
        documents, queries = (str(job.results / pattern(dataset=dataset)) for pattern in (DOCUMENTS, QUERIES))
        self.read = job.digests({path: recorded_digest(path) for path in (documents, queries)})
        with Documents(documents) as file:
            self._sizes = file.sizes
            self.doc_ids = file.read(range(len(file.sizes)), ["doc_id"])["doc_id"].combine_chunks()
        table = read_table(queries)
        self.of_queries = table.num_rows
        drawn = np.random.default_rng(SEED).permutation(table.num_rows)[:MOST_QUERIES]
        self.query_ids, self.texts = (table[name].take(pa.array(drawn)).to_pylist() for name in ("query_id", "text"))

    def run(self, system: str) -> dict[str, Any]:
        """Return the record of the run of a system, and note its digest."""
        path = RUN_RECORD(system=system, dataset=self.dataset)
        self.read[path] = file_digest(self.job.results / path)
        return read_json(self.job.results / path)

    def opener(self, on: Mapping[str, Any], top_k: int) -> Callable[[str], Opened]:
        """Return a function that opens systems on a device by their names, each once, to answer with the first k documents."""

        @cache
        def opened(name: str) -> Opened:
            answers = self._entries[name]["answers"]
            if answers is None:
                raise NoAnswerError(f"{name} was made elsewhere, so that it cannot be asked")
            open_answers: Open = by_name(answers)  # imported only now: it may need torch
            return open_answers(
                Asked(
                    **on,
                    job=self.job,
                    system=self.systems[name],
                    dataset=self.dataset,
                    run=self.run(name),
                    doc_ids=self.doc_ids,
                    sizes=self._sizes,
                    top_k=top_k,
                    threads=self.threads,
                    read=self.read,
                    systems=self.systems,
                    open=opened,
                )
            )

        return opened


class _Devices(NamedTuple):
    """Measured devices, a GPU first; why a system may have no time on a GPU; and the name of the GPU."""

    names: list[str]
    without_gpu: str
    gpu: str | None


@contextmanager
def _surroundings(systems: Mapping[str, Mapping[str, Any]], hardware: ModelHardware) -> Iterator[_Devices]:
    """Hold a GPU meanwhile, if there is one; torch is imported only if a system has a model."""
    if not any(entry["has_models"] for entry in systems.values()):
        yield _Devices(["cpu"], "nothing of it computes on one", None)
        return
    import torch

    device = hardware.device
    hardware.use_threads()
    with hardware.gpu():
        if device in ("auto", "cuda") and torch.cuda.is_available():
            yield _Devices(["cuda", "cpu"], "nothing of it computes on one", torch.cuda.get_device_name())
        else:
            yield _Devices(["cpu"], f"device is {device}" if device in ("cpu", "mps") else "there is none here", None)


def _measure(asking: Asking, system: str, top_k: int, hardware: ModelHardware) -> tuple[str, dict[str, Any]]:
    """Return the device on which a system was measured, and the measurement."""
    try:
        opened = asking.opener(hardware.on, top_k)(system)
        with silence():
            seconds = time_answers(opened.answer, asking.texts)
    # No other class is common to the errors of all devices that lack memory.
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        raise NoAnswerError(f"there is too little memory for what is searched, besides the model: {error}") from error
    measured_on = "cuda" if "cuda" in opened.where.values() else "cpu"
    return measured_on, {**milliseconds(seconds), "queries": len(seconds), "where": dict(opened.where), "made": dict(opened.made)}
