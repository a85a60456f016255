"""Jobs as they run: their start, what they read and write, digests; one on the device, and two."""

import logging
import os
import subprocess
import sys
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

from beirflow.run.interrupts import SNAKEMAKE_PID
from bench.gpu.job import SHARING
from bench.gpu.rates import hours_for_beir
from bench.gpu.workload import Figures, Setting, evenly, need
from bench.machine import REPOSITORY

QUERIES = 10_000
MSMARCO_DOCUMENTS = 8_841_823

logger = logging.getLogger(__name__)


def jobs(setting: Setting) -> Figures:
    """Encode and search all texts as the rules do, alone and two at a time."""
    need("pyarrow")
    from beirflow.core.records import read_json

    folder = setting.folder.parent / "jobs"
    write_inputs(setting, folder)
    run = partial(seconds_of_jobs, setting, folder)
    run("encode_queries", 1)
    seconds = {f"{what}_{count}": run(what, count) for what in ("encode_chunk", "search_chunk") for count in (1, SHARING)}
    record, documents = read_json(folder / "chunk-0.json"), len(setting.texts)
    inside, tokens = sum(record["seconds"].values()), record["counts"]["tokens"]
    of_two = seconds[f"encode_chunk_{SHARING}"] / SHARING
    return {
        "documents": documents,
        "seconds": seconds,
        "seconds_of_record": record["seconds"],
        "seconds_around": seconds["encode_chunk_1"] - inside,
        "tokens_per_second": tokens / seconds["encode_chunk_1"],
        "tokens_per_second_of_two": tokens / of_two,
        "hours_for_beir": hours_for_beir(documents / of_two),
        "seconds_for_msmarco": seconds[f"search_chunk_{SHARING}"] / SHARING * MSMARCO_DOCUMENTS / documents,
    }


def write_inputs(setting: Setting, folder: Path) -> None:
    """Write a prepared corpus of one chunk, its queries, and the record of the model."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from beir_writer import write_corpus_record, write_documents
    from beirflow.core.records import Job, write_json
    from beirflow.models.model_files import fetch_model

    write_documents(folder / "documents.parquet", [setting.texts])
    queries = evenly(setting.texts, QUERIES)
    pq.write_table(pa.table({"query_id": [f"q{n}" for n in range(len(queries))], "text": queries}), folder / "queries.parquet")
    write_corpus_record(folder)
    fetch_model(
        system=setting.system, configured=["pooling", "similarity"], output_path=str(folder / "model.json"), job=Job(folder)
    )
    write_json(folder / "encoder.json", asdict(setting.system))


def seconds_of_jobs(setting: Setting, folder: Path, what: str, count: int) -> float:
    """Run so many jobs of a kind at once, each a process of its own; return the seconds until all have ended."""
    paths = os.pathsep.join([str(REPOSITORY / "tests"), str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "BEIRFLOW_LOCKS": str(folder / "locks"), SNAKEMAKE_PID: str(os.getpid())}
    start, command = (
        time.perf_counter(),
        [sys.executable, "-m", "bench.gpu.job", what, str(folder), setting.device.type, setting.precision],
    )
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "env": environment}
    children = [subprocess.Popen([*command, str(number)], **pipes) for number in range(count)]  # type: ignore[call-overload]
    ends = [child.communicate()[1] for child in children]
    for child, log in zip(children, ends, strict=True):
        if child.returncode:
            raise RuntimeError(f"{what} ended with status {child.returncode}: {log.strip().rpartition(chr(10))[2]}")
    seconds = time.perf_counter() - start
    logger.info("%s, %d at a time: %.1f s", what, count, seconds)
    return seconds
