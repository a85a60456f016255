"""Forge results as somebody would who wants them believed: edit files, and make every digest above them again."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.audit.audit import Sections, run_checks
from beirflow.audit.chain import Chain
from beirflow.audit.checks import FAILED as FAILED
from beirflow.audit.checks import NOT_CHECKED as NOT_CHECKED
from beirflow.audit.checks import PASSED as PASSED
from beirflow.audit.checks import WARNING as WARNING
from beirflow.audit.checks import Check
from beirflow.audit.manifest import Published
from beirflow.audit.repairs import Call
from beirflow.config.experiment import Experiment
from beirflow.config.load import load_experiment
from beirflow.config.readers import in_domain
from beirflow.core.digests import file_digest
from beirflow.core.layout import CORPUS, DOCUMENTS, MANIFEST, METRICS, REPORT_RECORD, SUMMARY
from beirflow.core.records import RECORD_DIGEST, read_json, write_json
from beirflow.data.corpus_files import FOOTER, footer_digest
from beirflow.evaluation.summary import kept_self_matches, summarize
from beirflow.extensions.genq.layout import TRAINED_FILE
from results_maker import Made, run_rules
from warm_snakemake import parse_each_rule_file_once
from workflow_rules import rule_codes

Edit = Callable[[dict[str, Any]], None]
"""Changes what a record holds."""


def put(*keys: Any, value: Any) -> Edit:
    """Puts a value where some keys lead."""

    def change(record: dict[str, Any]) -> None:
        place: Any = record
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


@dataclass
class Forger:
    """A folder of results whose files may be replaced; those that are not are shared with the original.

    Attributes:
        results: The folder.
        experiment: What the results were configured with, which knows sources and models; unless it is given, neither.
    """

    results: Path
    experiment: Experiment = field(default_factory=lambda: load_experiment({}))

    @classmethod
    def of(cls, made: Made, folder: Path) -> "Forger":
        """Results that a test may forge."""
        shutil.copytree(made.results, folder / "results", copy_function=_link)
        return cls(folder / "results", load_experiment(made.config))

    def path(self, name: str) -> Path:
        """A file of the results."""
        return self.results / name

    def replace(self, name: str, content: bytes) -> None:
        """Put another file in the place of one."""
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).unlink(missing_ok=True)
        self.path(name).write_bytes(content)

    def read(self, name: str) -> dict[str, Any]:
        """Read a record without its own digest."""
        record = json.loads(self.path(name).read_bytes())
        record.pop(RECORD_DIGEST, None)
        return dict(record)

    def edit(self, name: str, change: Edit | None = None, **values: Any) -> None:
        """Change a record: by a function, or keys whose double underscores go inside."""
        record = self.read(name)
        if change:
            change(record)
        for keys, value in values.items():
            *outside, last = keys.split("__")
            place = record
            for key in outside:
                place = place[key]
            place[last] = value
        write_json(self.path(name), record)

    def edit_table(self, name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
        """Change the rows of a Parquet file, which keeps its schema and row groups of the same sizes."""
        file = pq.ParquetFile(self.path(name))
        sizes = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
        schema, frame = file.schema_arrow, change(file.read().to_pandas())
        arrays = [pa.array(frame[field.name].to_numpy(), field.type) for field in schema]  # not-a-number is not null
        table = pa.Table.from_arrays(arrays, schema=schema)
        self.path(name).unlink()
        with pq.ParquetWriter(self.path(name), schema, compression="zstd", write_page_checksum=True) as writer:
            for start, rows in zip(accumulate(sizes, initial=0), [*sizes[:-1], len(frame)], strict=False):
                writer.write_table(table.slice(start, rows), row_group_size=max(1, rows))

    def edit_array(self, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
        """Change vectors."""
        vectors = change(np.load(self.path(name)).copy())
        self.path(name).unlink()
        np.save(self.path(name), vectors)

    def digest_again(self, but: str = "") -> None:
        """Make every record name the files as they are now, up to the manifest; one may stay as it is, whatever it holds."""
        digest_of = cache(lambda path: file_digest(self.path(path)))  # a record is written before others name it
        for name in self._records(but):
            self._digest(name, digest_of)
        if but != MANIFEST:
            manifest = self.read(MANIFEST)
            manifest["inputs"] = {path: digest_of(path) for path in manifest["inputs"] if self.path(path).exists()}
            manifest["outputs"] = {path: digest_of(path) for path in manifest["outputs"]}
            write_json(self.path(MANIFEST), manifest)

    def digest_summary_again(self) -> None:
        """The same, and the summary is made from the metrics as they are now."""
        self.digest_again()
        manifest = self.read(MANIFEST)
        means = [str(self.path(path)) for path in manifest["inputs"]]
        kept = kept_self_matches(manifest["datasets"])
        summarize(means_paths=means, summary_path=str(self.path(SUMMARY)), trained_on=in_domain(self.experiment), kept=kept)
        self.digest_again()

    def evaluate_again(self, system: str, *names: str) -> None:
        """Compute honest metrics, averages and a summary from runs and judgements as they are now, with every digest."""
        self.digest_again()
        rows = [row for row, forums in self.experiment.rows_of_forums.items() if set(names) & set(forums)]
        run_rules(self.results, self.experiment, [METRICS(system=system, dataset=name) for name in (*names, *rows)])
        for file in self.results.rglob("*.trec.gz"):
            file.unlink()
        self.digest_summary_again()

    def followed(self) -> Chain:
        """Walk from the manifest to every file, for single checks."""
        chain = Chain(self.results, read_json(self.path(MANIFEST)), call=Call(codes=rule_codes()))
        chain.follow()
        return chain

    def sections(self, sample: int = 0, **published: Any) -> Sections:
        """Everything that an audit says, by section; rule files are parsed once."""
        parse_each_rule_file_once()
        call = Call(codes=rule_codes())
        return run_checks(self.results, self.experiment, sample, 1, call=call, published=Published(**published))[1]

    def checks(self, sample: int = 0, **published: Any) -> list[Check]:
        """Everything that an audit says."""
        return [check for section in self.sections(sample, **published).values() for check in section]

    def failed(self, sample: int = 0, **published: Any) -> list[Check]:
        """List the checks that failed."""
        return [check for check in self.checks(sample, **published) if check.status == FAILED]

    def noticed(self, sample: int = 0) -> list[Check]:
        """List failures and warnings, without the one about the commit of the code, which is that of the tests."""
        found = [check for check in self.checks(sample) if check.status in (FAILED, WARNING)]
        return [check for check in found if "code" not in check.name.split()]

    def _records(self, but: str = "") -> Iterator[str]:
        """Records in an order in which each stands after those that it names."""
        names = {path.relative_to(self.results).as_posix() for path in self.results.rglob("*.json") if path.is_file()}
        names = {name for name in names if TRAINED_FILE.names_in(name) is None} - {MANIFEST, REPORT_RECORD, but}
        done: set[str] = set()

        def visit(name: str) -> Iterator[str]:
            if name in done:
                return
            done.add(name)
            for other in self.read(name).get("inputs", {}):
                if other in names:
                    yield from visit(other)
            yield name

        for name in sorted(names):
            yield from visit(name)

    def _digest(self, name: str, digest_of: Callable[[str], str]) -> None:
        """Make the digests in one record those of the files."""
        stored = json.loads(self.path(name).read_bytes())
        record = before = {key: value for key, value in stored.items() if key != RECORD_DIGEST}
        for key in {"inputs", "outputs"} & record.keys():
            there = {path: digest_of(path) for path in record[key] if self.path(path).is_file()}
            record = {**record, key: record[key] | there}
        dataset = CORPUS.names_in(name)
        if dataset and FOOTER in record and record["outputs"] != before["outputs"]:
            record[FOOTER] = footer_digest(self.path(DOCUMENTS(**dataset)))
        if record != before or stored.get(RECORD_DIGEST) is None:
            write_json(self.path(name), record)


def best_last(run: pd.DataFrame) -> pd.DataFrame:
    """A run with the documents of each query turned round, by scores that fit the ranking rule."""
    turned = run.assign(doc_id=run.groupby("query_id")["doc_id"].transform(lambda ids: ids[::-1].to_numpy()))
    in_order = turned.sort_values(["query_id", "score", "doc_id"], ascending=[True, False, False], ignore_index=True)
    return in_order.assign(rank=run["rank"])


def _link(source: str, target: str) -> None:
    Path(target).hardlink_to(source)


def named(checks: list[Check], path: str) -> list[Check]:
    """The checks that name a file."""
    return [check for check in checks if path in check.files]
