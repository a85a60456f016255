"""Record what Snakemake logs in a few runs of the demo, for the tests of the terminal: python tests/record_log_stream.py.

To be run again with every new version of Snakemake; the tests ask for it.
"""

import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
STREAM = REPOSITORY / "tests/data/snakemake-log.jsonl"
ATTRIBUTES = ("event", "quietness", "jobid", "job_id", "rule_name", "rule_msg", "log", "exception")
"""Attributes of a record that are kept, if it has them."""

KITCHEN = "results/demo/corpora/kitchen/documents.parquet"
SCENES: dict[str, tuple[str, bool, int | None]] = {
    "success": (KITCHEN, False, None),
    "nothing to do": (KITCHEN, False, None),
    "failure": ("results/demo/corpora/debate/documents.parquet", True, None),
    "unknown target": ("results/demo/sumary.csv", False, None),
    "SIGINT": ("results/demo/corpora/forums-garden/documents.parquet", False, signal.SIGINT),
    "SIGTERM": ("results/demo/corpora/forums-bicycle/documents.parquet", False, signal.SIGTERM),
}
"""Target of each run, whether a dataset is broken, and the signal that Snakemake gets while its first job runs."""


def main() -> None:
    """Run every scene in one folder, and write all records."""
    lines = [json.dumps({"snakemake": version("snakemake")})]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(REPOSITORY / "tests/data/demo", folder / "tests/data/demo")
        for scene, (target, broken, number) in SCENES.items():
            if broken:
                corpus = folder / "tests/data/demo/debate/corpus.jsonl"
                corpus.write_text(corpus.read_text() + corpus.read_text().splitlines()[0] + "\n")
            command = [sys.executable, __file__, str(number or 0), "--directory", name, "--cores", "1", "--", target]
            subprocess.run(command, cwd=REPOSITORY, env=os.environ | {"RECORDS": f"{name}/records"}, check=False)
            lines += [json.dumps({"scene": scene} | json.loads(line)) for line in Path(name, "records").read_text().splitlines()]
            Path(name, "records").unlink()
        text = "\n".join(lines).replace(name, "/run").replace(sys.prefix, "/env").replace(str(REPOSITORY), "/beirflow")
    STREAM.write_text(
        re.sub(r"BEIRFLOW_SNAKEMAKE_PID=\d+|\d\d:\d\d:\d\d[.\d]*|T\d{6}\.\d+|\d+-\d+-\d+(?=…)|tmp\w{8}", "…", text) + "\n",
        "utf-8",
    )


def record(number: int, arguments: list[str]) -> None:
    """Run Snakemake in this process, and write its records."""
    from snakemake.cli import main as snakemake

    with Path(os.environ["RECORDS"]).open("w", encoding="utf-8") as stream:

        def write(log_record: logging.LogRecord) -> bool:
            kept: dict[str, Any] = {key: value for key, value in vars(log_record).items() if key in ATTRIBUTES}
            kept |= {"msg": log_record.msg, "levelno": log_record.levelno}
            stream.write(json.dumps(kept, default=lambda value: getattr(value, "name", str(value))) + "\n")
            stream.flush()
            if number and kept.get("event") == "job_info":
                # Later, since a handler of Snakemake drops an interrupt of its own work.
                threading.Timer(0.5, os.kill, (os.getpid(), number)).start()
            return True

        logging.getLogger("snakemake.logging").addFilter(write)
        snakemake(["--configfile", str(REPOSITORY / "tests/data/demo.yaml"), *arguments])


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else record(int(sys.argv[1]), sys.argv[2:])
