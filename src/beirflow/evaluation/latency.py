"""Latency and throughput: the time of one query, and of many at once, from the text to the ranked documents, all in memory.

Each family answers with the functions that make its runs, one query at a time, then all measured ones in one batch. Times cover
search over all documents, but nothing outside, such as a network.
``docs/files.md`` describes ``latency/<system>/<dataset>.json``.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.core.digests import file_digest
from beirflow.core.layout import DOCUMENTS, QUERIES, RUN_RECORD
from beirflow.core.progress import silence
from beirflow.core.records import Job, read_json, write_record
from beirflow.data.corpus_files import read_table, recorded_digest
from beirflow.evaluation.machine_load import OtherProcesses
from beirflow.families.answers import NoAnswerError, Open, Opened, SearchRequest
from beirflow.families.system import System, system_of
from beirflow.ranking.searched import read_every_id
from beirflow.run.by_name import by_name
from beirflow.run.hardware import ModelHardware, processor

MOST_QUERIES = 200  # drawn from all queries
SEED = 0  # of that draw
WARM_UP = 10  # further queries, answered once before the measurement; at most half of all
REPETITIONS = 3  # passes over the measured queries
RESAMPLES = 1000  # of the queries, for the interval of the median
MOST_SECONDS = {"warm up": 30.0, "measure": 300.0}  # after which no further query begins
LEAST_QUERIES = 5  # measured regardless of the time limit

FEWEST_OF_P95 = 20  # queries of which one is beyond the 95th percentile


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

    ``systems`` holds the system and all that it is made from, as of :func:`~beirflow.config.rule_inputs.answering_systems`.
    Raise DataError if a file is not the one that the run was made from.
    """
    asking = Asking(systems, dataset, job)
    measurements: dict[str, dict[str, Any]] = {}
    reasons: dict[str, str] = {}
    load, others = [os.getloadavg()[0]], OtherProcesses()
    gpu, without_gpu = None, "nothing of it computes on one"
    with ExitStack() as held:
        if any(entry["has_models"] for entry in systems.values()):
            import torch  # only if a system has a model

            hardware.use_threads()
            held.enter_context(hardware.gpu())
            if hardware.device in ("auto", "cuda") and torch.cuda.is_available():
                gpu = torch.cuda.get_device_name()
            else:
                without_gpu = f"device is {hardware.device}" if hardware.device in ("cpu", "mps") else "there is none here"
        for name, threads in [*([("cuda", hardware.threads)] if gpu else []), ("cpu", hardware.threads), ("cpu_1_thread", 1)]:
            if name in measurements or (name == "cpu_1_thread" and hardware.threads == 1):
                continue  # nothing of the system is on a GPU, or one thread is all
            on = replace(hardware, device=name.partition("_")[0], threads=threads)
            try:
                measured_on, values = _measure(asking, system, top_k, on)
                measurements[measured_on if name != "cpu_1_thread" else name] = values
            except NoAnswerError as error:
                reasons[name] = str(error)
            gc.collect()  # what was in memory
    load.append(os.getloadavg()[0])
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
        warm_up=len(asking.warm_up),
        load={"before": load[0], "after": load[1], "cores": os.cpu_count(), "others": others.cores()},
        top_k=top_k,
        threads=hardware.threads,
        processor=processor(),
        gpu=gpu,
        devices=measurements,
        reasons=reasons,
    )


def milliseconds(seconds: np.ndarray) -> dict[str, float | None]:
    """Return percentiles, linearly interpolated, the 95 % bootstrap interval of the median over queries, and the mean.

    Args:
        seconds: Times in seconds of shape (repetitions, queries), not-a-number where a query was not repeated.

    Returns:
        ``p50_ms``, ``p50_low_ms``, ``p50_high_ms``, ``p95_ms``, None for fewer than 20 queries, and ``mean_ms`` of the medians of
            the repetitions.
    """
    times = 1000 * np.nanmedian(seconds, axis=0)
    drawn = np.random.default_rng(SEED).integers(0, len(times), (RESAMPLES, len(times)))
    low, high = np.percentile(np.median(times[drawn], axis=1), [2.5, 97.5])
    p95 = float(np.percentile(times, 95)) if len(times) >= FEWEST_OF_P95 else None
    of_median = {"p50_ms": float(np.median(times)), "p50_low_ms": float(low), "p50_high_ms": float(high)}
    return {**of_median, "p95_ms": p95, "mean_ms": float(times.mean())}


def time_answers(
    answer: Callable[[Sequence[str]], object],
    warm_up: Sequence[str],
    batches: Sequence[Sequence[str]],
    clock: Callable[[], float] = time.perf_counter,
) -> np.ndarray:
    """Return the seconds of each batch in each repetition, of shape (repetitions, batches), after single queries that warm up.

    Batches that take long are fewer than all; the last repetition may end with not-a-number, and further ones are left out.
    """
    start = clock()
    # Caches fill and models load what they need at the first queries.
    for query in warm_up:
        answer([query])
        if clock() - start > MOST_SECONDS["warm up"]:
            break
    seconds: list[list[float]] = []
    start = clock()
    least = min(LEAST_QUERIES, len(batches))
    while len(seconds) < REPETITIONS and not _is_over(clock() - start, seconds, least):
        seconds.append([])
        for batch in batches[: len(seconds[0])] if len(seconds) > 1 else batches:
            before = clock()
            answer(batch)
            seconds[-1].append(clock() - before)
            if _is_over(clock() - start, seconds, least):
                break
    measured = np.full((len(seconds), len(seconds[0])), np.nan)
    for row, repetition in zip(measured, seconds, strict=True):
        row[: len(repetition)] = repetition
    return measured


def _is_over(elapsed: float, seconds: Sequence[Sequence[float]], least: int) -> bool:
    """Test whether no further batch begins, given the seconds since the first one, the measured times, and the least number."""
    return bool(seconds) and elapsed > MOST_SECONDS["measure"] and len(seconds[0]) >= least


class Asking:
    """The systems and the corpus of a measurement, read once for all devices.

    ``query_ids`` and ``texts`` are the drawn queries of ``of_queries``, ``warm_up`` the texts of others; ``read`` has digests
    of what was read, by path below the results.
    """

    def __init__(self, systems: Mapping[str, Mapping[str, Any]], dataset: str, job: Job) -> None:
        self._entries, self.dataset, self.job = systems, dataset, job
        self.systems: dict[str, System] = {name: system_of(name, entry) for name, entry in systems.items()}
        documents, queries = (str(job.results / pattern(dataset=dataset)) for pattern in (DOCUMENTS, QUERIES))
        self.read = job.digests({path: recorded_digest(path) for path in (documents, queries)})
        self.doc_ids, self._sizes = read_every_id(documents)
        table = read_table(queries)
        self.of_queries = table.num_rows
        drawn = np.random.default_rng(SEED).permutation(table.num_rows)
        apart = min(WARM_UP, table.num_rows // 2)
        self.warm_up = table["text"].take(pa.array(drawn[:apart])).to_pylist()
        measured = pa.array(drawn[apart : apart + MOST_QUERIES])
        self.query_ids, self.texts = (table[name].take(measured).to_pylist() for name in ("query_id", "text"))

    def run(self, system: str) -> dict[str, Any]:
        """Return the record of the run of a system, and note its digest."""
        path = RUN_RECORD(system=system, dataset=self.dataset)
        self.read[path] = file_digest(self.job.results / path)
        return read_json(self.job.results / path)

    def opener(self, hardware: ModelHardware, top_k: int) -> Callable[[str], Opened]:
        """Return a function that opens systems on a device by their names, each once, to answer with the first k documents."""

        @cache
        def opened(name: str) -> Opened:
            """Open a system by name."""
            answers = self._entries[name]["answers"]
            if answers is None:
                raise NoAnswerError(f"{name} was made outside, so it cannot answer queries")
            open_answers: Open = by_name(answers)  # imported only now: it may need torch
            return open_answers(
                SearchRequest(
                    **hardware.on,
                    job=self.job,
                    system=self.systems[name],
                    dataset=self.dataset,
                    run=self.run(name),
                    doc_ids=self.doc_ids,
                    sizes=self._sizes,
                    top_k=top_k,
                    threads=hardware.threads,
                    read=self.read,
                    systems=self.systems,
                    open=opened,
                )
            )

        return opened


def _measure(asking: Asking, system: str, top_k: int, hardware: ModelHardware) -> tuple[str, dict[str, Any]]:
    """Return the device on which a system was measured, and the measurement."""
    try:
        if "torch" in sys.modules:
            hardware.use_threads()
        opened = asking.opener(hardware, top_k)(system)
        with silence():
            single = [[text] for text in asking.texts]
            seconds = time_answers(opened.answer, asking.warm_up, single)
            single, batch = single[: seconds.shape[1]], [asking.texts[: seconds.shape[1]]]
            encoding = time_answers(opened.encode, [], single) if opened.encode else None
            together = time_answers(opened.answer, [], batch)
            encoding_together = time_answers(opened.encode, [], batch) if opened.encode else None
    # No other class is common to the errors of all devices that lack memory.
    except RuntimeError as error:
        if not by_name("beirflow.run.devices:is_out_of_memory")(error):  # imported only now: BM25 needs no torch
            raise
        raise NoAnswerError(f"there is too little memory for what is searched, besides the model: {error}") from error
    measured_on = "cuda" if "cuda" in opened.where.values() else "cpu"
    values = milliseconds(seconds) | _parts(seconds, encoding, together, encoding_together)
    values |= {"repetitions": len(seconds), "queries": seconds.shape[1]}
    return measured_on, {**values, "threads": hardware.threads, "where": dict(opened.where), "made": dict(opened.made)}


def _parts(
    seconds: np.ndarray, encoding: np.ndarray | None, together: np.ndarray, encoding_together: np.ndarray | None
) -> dict[str, float | None]:
    """Return median milliseconds of encoding and, as what is left of each query, of search; and queries per second of a batch.

    The times are of single queries and of repetitions of the batch; a part is None if there are no parts.
    """
    queries, whole = seconds.shape[1], float(np.median(together))
    encode = None if encoding_together is None else float(np.median(encoding_together))
    search = None if encode is None else whole - encode
    values: dict[str, float | None] = {"encode_p50_ms": None, "search_p50_ms": None}
    if encoding is not None and encoding.shape[1] >= queries:
        every, first = (1000 * np.nanmedian(times, axis=0) for times in (seconds, encoding))
        values = {"encode_p50_ms": float(np.median(first)), "search_p50_ms": float(np.median(np.maximum(every - first, 0)))}
    return values | {
        "batch_queries_per_second": queries / whole,
        "batch_low_queries_per_second": queries / float(together.max()),
        "batch_high_queries_per_second": queries / float(together.min()),
        "batch_encode_queries_per_second": queries / encode if encode else None,
        "batch_search_queries_per_second": queries / search if search and search > 0 else None,
    }
