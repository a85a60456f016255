"""Self-describing runs: TREC form with the header of Open Runs, made from the records.

The header follows ir_metadata, Breuer, Keller and Schaer, SIGIR 2022, https://www.ir-metadata.org: YAML in comments, by the parts
of the PRIMAD model (platform, research goal, implementation, method, actor, data).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from beirflow.audit.checks import UNREADABLE
from beirflow.audit.folder.reading import part, read_record
from beirflow.config.main_measure import TABULATED
from beirflow.core.errors import DataError
from beirflow.extensions.exchange.layout import OPEN_RUN
from beirflow.ranking.run_file import queries_without_line, write_trec
from beirflow.ranking.run_rows import HEADER_END, HEADER_START

START, END = (f"{line.decode()}\n" for line in (HEADER_START, HEADER_END))

OF_THE_MACHINE = ("device", "driver")


def write_open_run(
    *, run_path: str, record_path: str, corpus_path: str, queries_path: str, manifest_path: str, output_path: str
) -> None:
    """Write a run in TREC form with a header that says where it comes from, made from the records of run, corpus and results.

    Raises DataError if a record cannot be read or is not about this run, or the run cannot be written in TREC form.
    """
    try:
        record, corpus, manifest = (read_record(Path(path)) for path in (record_path, corpus_path, manifest_path))
        metadata = metadata_of(record, corpus, manifest, queries_without_line(run_path, queries_path))
    except UNREADABLE as error:
        problem = f"{run_path} cannot be described: {type(error).__name__}: {error}"
        raise DataError(f"{problem}; see what is wrong with: snakemake --cores 1 audit") from error
    write_trec(
        run_path=run_path,
        record_path=record_path,
        queries_path=queries_path,
        output_path=output_path,
        tag=record["system"],
        header=header_of(metadata),
    )


def header_of(metadata: Mapping[str, Any]) -> str:
    """Return metadata as YAML in whole lines, each with ``#`` first, whatever is in the values."""
    content = yaml.safe_dump(dict(metadata), sort_keys=False, allow_unicode=False, width=1_000_000)
    return START + "".join(f"# {line}\n" for line in content.splitlines()) + END


def metadata_of(
    record: Mapping[str, Any], corpus: Mapping[str, Any], manifest: Mapping[str, Any], without_line: Sequence[str]
) -> dict[str, Any]:
    """Return what is known of a run by the parts of PRIMAD, with the judged queries ``without_line`` in it."""
    system, dataset = part(record, "system", kind=str), part(record, "dataset", kind=str)
    made, settings = part(record, "made", kind=dict), part(manifest, "systems", system, kind=dict)
    environment, repository = part(manifest, "environment", kind=dict), part(manifest, "repository", kind=dict)
    configuration = part(manifest, "configuration", kind=dict)
    retrieval = {"name": system, "method": settings["family"], **settings["settings"], "precision": made.get("precision")}
    return _known(
        {
            "tag": system,
            "platform": {
                "hardware": {key: made.get(key) for key in OF_THE_MACHINE},
                "operating system": {"kernel": environment["platform"]},
                "software": {
                    "libraries": {
                        "python": [f"{name} {version}" for name, version in environment["packages"].items() if version]
                    },
                    "python": environment["python"],
                },
            },
            "research goal": {
                "evaluation": {
                    "reporting measures": [*TABULATED],
                    "baseline": [configuration.get("baseline") or next(iter(part(manifest, "systems", kind=dict)))],
                }
            },
            "implementation": {
                "executable": {"cmd": f"snakemake <results>/{OPEN_RUN(system=system, dataset=dataset)}"},
                "source": {"lang": ["python"], **repository, "digest of the code": record["code"]},
            },
            "method": {
                "automatic": True,
                "score ties": "document ids descending, as trec_eval ranks",
                "documents": record["top_k"],
                "retrieval": [retrieval],
            },
            "actor": {"role": "experimenter"},
            "data": {
                "test collection": {
                    "name": dataset,
                    "split": corpus["split"],
                    "counts": corpus["counts"],
                    "judged queries without a line": list(without_line) or None,
                    "sha256": corpus["source_sha256"],
                },
                "sha256 of this run as Parquet": record["outputs"],
            },
        }
    )


def _known(value: Any) -> Any:
    """Return a value without what is None, or empty, in its mappings."""
    if isinstance(value, Mapping):
        return {key: _known(each) for key, each in value.items() if each is not None and each != {}}
    return list(map(_known, value)) if isinstance(value, list | tuple) else value
