"""The runs that another run reads: read, checked, and recorded."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from beirflow.core.digests import file_digest
from beirflow.core.layout import QRELS, record_of
from beirflow.core.records import Job, check_inputs, output_digest, read_json, together, totals
from beirflow.ranking.run_file import NewRun, read_run


class FirstStages:
    """The runs of some systems on one corpus. Raises DataError if one is not as recorded, or of another corpus or system.

    ``runs`` have the columns of ``RUN``, in the order of the systems. ``corpus`` are the digests of
    queries and documents, neither of which is read, and ``inputs`` those of what was read, by path below the results.
    """

    def __init__(self, systems: Sequence[str], run_paths: Sequence[str], corpus_path: str, job: Job) -> None:
        self.systems, self._job = list(systems), job
        outputs = read_json(corpus_path)["outputs"]
        # A run does not depend on judgements.
        self.corpus = {name: digest for name, digest in outputs.items() if Path(name).name != Path(QRELS).name}
        self.inputs = dict(self.corpus)
        self.runs: list[pa.Table] = []
        self._records: list[dict[str, Any]] = []
        for system, path in zip(systems, run_paths, strict=True):
            record_path = str(record_of(path))
            record = read_json(record_path)
            check_inputs(record_path, record, self.corpus, system=system)
            digest = output_digest(record, path)
            self.runs.append(read_run(path, digest, record_path))
            self.inputs |= {job.below(path): digest, job.below(record_path): file_digest(record_path)}
            self._records.append(record)

    def write_record(
        self,
        run: NewRun,
        *,
        made: Mapping[str, Any],
        seconds: Mapping[str, float],
        sizes: Mapping[str, int] | None = None,
        read: Mapping[str, str] | None = None,
        jobs: Sequence[str] = (),
        **facts: Any,
    ) -> None:
        """Write the record of the run that was made from these, with further ``facts``.

        Its times and sizes are those of the first stages and its own: what it takes to have such a run. A system counts once,
        also where several of the first stages were made from it. ``read`` are other inputs, sha256 by path below the results,
        ``jobs`` other jobs that made it.
        """
        parts: dict[str, dict[str, Any]] = {}
        for record in self._records:
            own = {"seconds": record["seconds"], "bytes": record.get("bytes", {})}
            parts |= record.get("parts", {record["system"]: own})
        parts[run.system] = {"seconds": dict(seconds), "bytes": dict(sizes or {})}
        made_from = {job for record in self._records for job in (record["job"], *record.get("jobs", ()))}
        run.write_record(
            self._job,
            {self._job.results / path: digest for path, digest in (self.inputs | dict(read or {})).items()},
            made=together([*(record["made"] for record in self._records), made]),
            seconds=totals(parts.values(), "seconds"),
            sizes=totals(parts.values(), "bytes"),
            first_stages=self.systems,
            parts=parts,
            jobs=sorted(made_from | set(jobs)),
            **facts,
        )
