"""Rebuild files for sampled queries and documents in a scratch folder, by the rules that made the results.

What a pool of documents does not determine, such as the statistics of a corpus or the run of another system, is taken from the
results; other checks rebuild it. Expansions are taken too, except those of the sampled documents. No model is fetched: its record
comes from the results, and each job compares it with the files here.
"""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.audit.chain import Chain
from beirflow.audit.configured import Configured
from beirflow.audit.folder.reading import part, read_columns
from beirflow.audit.scratch import Scratch, scratch
from beirflow.core import kinds, layout
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.patterns import Pattern
from beirflow.core.records import RECORD_DIGEST, made_in, write_json
from beirflow.data.corpus_files import EXCLUDED_ROWS, FOOTER, footer_digest
from beirflow.data.prepare import excluded_rows_of
from beirflow.data.sources.forms import EXCLUDED
from beirflow.ranking.run_file import RUN

FROM_RUNS = (layout.RUN.folder(), layout.CORPUS.folder())  # folders of files from which fused and reranked runs are made

FIRST = 100  # documents of each run in a pool, for each sampled query
PRECISIONS = ("float32", "float16", "bfloat16")  # the most precise first


@dataclass
class CorpusSample:
    """Sampled queries and documents of a corpus."""

    dataset: str
    queries: pa.Table  # sampled rows of ``queries.parquet``
    qrels: pa.Table  # their judgements
    documents: pa.Array  # ids of the sampled documents
    every: pa.Array  # ids of all documents
    pool: pa.Array  # ids of the documents of the pool, in the order of the corpus
    runs: Mapping[str, pa.Table]  # by system, the hits of the sampled queries
    first: int  # number of first documents of each run in the pool

    @classmethod
    def of(
        cls, chain: Chain, configured: Configured, dataset: str, systems: list[str], sample: int, random: np.random.Generator
    ) -> "CorpusSample":
        """Sample queries and documents; all where there are fewer."""

        def read(pattern: Pattern, *columns: str, system: str = "") -> pa.Table:
            """Read columns of a file of the dataset."""
            path = pattern(dataset=dataset, system=system)
            return read_columns(chain.file(path), path, columns or None)

        def depth_of(name: str) -> int:
            """Return the configured depth of a system; 0 for none."""
            known = configured.experiment.systems.get(name)
            return (known and configured.experiment.family(name).reads(known.settings).depth) or 0

        def some(table: pa.Table) -> pa.Table:
            """Return a random sample of rows."""
            return table.take(np.sort(random.choice(len(table), min(sample, len(table)), replace=False)))

        every, queries = read(layout.DOCUMENTS, "doc_id"), some(read(layout.QUERIES))
        documents = some(every)
        of_drawn = pc.field("query_id").isin(pc.unique(queries["query_id"]))
        qrels = read(layout.QRELS).filter(of_drawn)
        runs = {system: read(layout.RUN, system=system).filter(of_drawn) for system in systems}
        # A reranker needs all documents that it scores.
        first = max(FIRST, *(depth_of(name) for name in systems))
        tables = [documents, qrels, *(run.filter(pc.field("rank") <= first) for run in runs.values())]
        pooled = pc.unique(pa.concat_tables([each.select(["doc_id"]) for each in tables])["doc_id"])
        ids = every["doc_id"].combine_chunks()
        pool = ids.filter(pc.is_in(ids, value_set=pooled))
        return cls(dataset, queries, qrels, documents["doc_id"].combine_chunks(), ids, pool, runs, first)


@dataclass
class Rebuild:
    """Scratch folder in which runs of the sampled queries are rebuilt."""

    chain: Chain
    configured: Configured
    drawn: CorpusSample
    place: Scratch
    ids: pa.Array | None  # of the documents; None for the whole corpus
    system: str = ""  # system whose run is rebuilt
    known: dict[str, set[str]] = field(default_factory=dict)  # cache of :meth:`ancestors`

    @property
    def name(self) -> str:
        """System and corpus, for messages."""
        return f"{self.system} on {self.drawn.dataset}"

    @cached_property
    def corpus(self) -> dict[str, Any]:
        """Stored record of the corpus."""
        return self.chain.record(layout.CORPUS(dataset=self.drawn.dataset))

    def write_corpus(self) -> None:
        """Write documents, queries, judgements and their record."""
        path = layout.DOCUMENTS(dataset=self.drawn.dataset)
        documents = None
        if self.ids is None:
            self.place.link(self.chain.folder, [path])
        else:
            documents = pq.read_table(self.chain.file(path), filters=pc.field("doc_id").isin(self.ids))
        write_corpus(self.place, self.drawn.dataset, self.corpus, self.drawn.queries, self.drawn.qrels, documents)

    def inputs(self, path: str) -> list[str]:
        """Return the inputs of the job that makes a file. Raises DataError if no rule makes it."""
        job = self.place.job(path)
        if job is None:
            raise DataError(f"no rule here makes {path}")
        return self.place.inputs(job)

    def ancestors(self, path: str) -> set[str]:
        """Return all files of this corpus from which a file is made, directly or not, without runs of other systems."""
        if path not in self.known:
            inputs = self.inputs(path)
            own = [name for name in inputs if not name.startswith(FROM_RUNS) and "dataset" in names_in(name)]
            self.known[path] = {*inputs, *(each for name in own for each in self.ancestors(name))}
        return self.known[path]

    def obtain(self, path: str, *, is_written: bool = False) -> None:
        """Make a file and its inputs; or take it from the results if it depends on more than is here."""
        if (self.place.folder / path).exists():
            return
        kind = pattern_of(path)
        names = kind.names_in(path) or {}
        if kind in (layout.RUN, layout.RUN_RECORD) and names["system"] != self.system:
            self._take(layout.RUN(**names), self._hits(names["system"]))
        elif "dataset" not in names or (self.ids is None and not self._depends(path)):
            self._link(path, is_whole=True)
        elif kind in (layout.EXPANSION, layout.EXPANSION_RECORD) and not is_written:
            self._take(layout.EXPANSION(**names), self.additions(path))
        elif self.ids is not None and self._sums_up(path):
            self._link(path, is_whole=False)
        else:
            for name in self.inputs(path):
                self.obtain(name)
            job = self.place.job(path)
            if (job.computes or self.place.opens_files(job)) and not self._is_known(dict(job.wildcards.items())):
                raise DataError(f"the model or file that makes {path} is not known here; name it under custom.systems")
            self.place.run(job)

    def _is_known(self, names: Mapping[str, str]) -> bool:
        """Test whether the model of a system or of an expansion is one of the auditor."""
        if "system" in names:
            return names["system"] in self.configured.known
        experiment = self.configured.experiment
        return any(names["expansion"] in experiment.expansions.of_system(system) for system in self.configured.known)

    def _sums_up(self, path: str) -> bool:
        """Test whether a file is made from all chunks of a corpus, and is neither index nor run."""
        if is_chunked(path) or pattern_of(path) in (layout.INDEX, layout.INDEX_RECORD, layout.RUN, layout.RUN_RECORD):
            return False
        return any(map(is_chunked, self.inputs(path)))

    def _depends(self, path: str) -> bool:
        """Test whether a file depends on the queries; an index counts as dependent, since a stored one is not opened."""
        if pattern_of(path) in (layout.INDEX, layout.INDEX_RECORD):
            return True
        return layout.QUERIES(dataset=self.drawn.dataset) in self.ancestors(path)

    def _link(self, path: str, *, is_whole: bool) -> None:
        """Take the outputs of a job from the results; unless ``is_whole``, their records then name only files that are here."""
        job = None if is_whole and "dataset" not in (pattern_of(path).names_in(path) or {}) else self.place.job(path)
        outputs = [path] if job is None else self.place.outputs(job)
        files = [name for name in self.chain.listing.files if any(f"{name}/".startswith(f"{each}/") for each in outputs)]
        if not files:
            raise FileNotFoundError(errno.ENOENT, "is missing", path)
        for name in files:
            self.chain.file(name)
        self.place.link(self.chain.folder, files if is_whole else [name for name in files if name not in self.chain.records])
        for name in files if not is_whole else ():
            if record := self.chain.records.get(name):
                write_record_here(self.place, self.place.folder / name, record, outputs={})

    def _take(self, path: str, rows: pa.Table) -> None:
        """Write some rows of a stored table, and a record of them."""
        file, stored = self.place.folder / path, layout.record_of(with_chunk(pattern_of(path), path, 0)).as_posix()
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, file, compression="zstd", write_page_checksum=True)
        record = self.chain.record(stored)
        counted = {"rows": rows.num_rows} if "rows" in record else {}
        write_record_here(self.place, layout.record_of(file), record, outputs={path: file_digest(file)}, **counted)

    def _hits(self, system: str) -> pa.Table:
        """Return the hits of another system's run among the documents here, with their ranks here."""
        if (run := self.drawn.runs.get(system)) is None:
            raise DataError(f"there is no run of {system}")
        if self.ids is None:
            return run
        here = run.filter(pc.is_in(run["doc_id"], value_set=self.ids)).to_pandas()
        here["rank"] = (here.groupby("query_id", sort=False).cumcount() + 1).astype(np.int32)
        return pa.Table.from_pandas(here, RUN, preserve_index=False)

    def additions(self, path: str) -> pa.Table:
        """Return the stored additions to the documents here."""
        chunks = range(part(self.corpus, "chunks", kind=int))
        names = [with_chunk(layout.EXPANSION, layout.EXPANSION(**names_in(path)), chunk) for chunk in chunks]
        table = pa.concat_tables([read_columns(self.chain.file(name), name) for name in names])
        return table.take(pc.index_in(self.ids, value_set=table["doc_id"].combine_chunks()))


def write_corpus(
    place: Scratch,
    name: str,
    stored: Mapping[str, Any],
    queries: pa.Table,
    qrels: pa.Table,
    documents: pa.Table | None,
) -> None:
    """Write a corpus into a scratch folder, from its stored record, as one chunk; ``documents`` are None if linked."""
    patterns = (layout.DOCUMENTS, layout.QUERIES, layout.QRELS, layout.CORPUS)
    paths = [each(dataset=name) for each in patterns]
    files = [place.folder / path for path in paths]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    if documents is not None:
        groups = max(1, len(documents))
        pq.write_table(documents, files[0], row_group_size=groups, write_page_checksum=True, use_dictionary=False)
        if EXCLUDED_ROWS in queries.column_names:
            ids = documents["doc_id"].combine_chunks().cast(pa.large_string())
            rows = excluded_rows_of(queries[EXCLUDED].combine_chunks(), ids)
            queries = queries.set_column(queries.column_names.index(EXCLUDED_ROWS), EXCLUDED_ROWS, rows)
    pq.write_table(queries, files[1], compression="zstd")
    pq.write_table(qrels, files[2], compression="zstd")
    digest = part(stored, "outputs", paths[0], kind=str) if documents is None else file_digest(files[0])
    outputs = {paths[0]: digest, **{path: file_digest(file) for path, file in zip(paths[1:3], files[1:3], strict=True)}}
    write_record_here(place, files[3], stored, outputs=outputs, **{FOOTER: footer_digest(files[0])})


def write_record_here(
    place: Scratch, file: Path, record: Mapping[str, Any], *, outputs: Mapping[str, str], **fields: Any
) -> None:
    """Write a record with the digests of the files in a scratch folder."""
    inputs, stored = ({name: place.folder / name for name in record[key]} for key in ("inputs", "outputs"))
    here = {name: file_digest(path) for name, path in inputs.items() if path.is_file()}
    own = outputs or {name: file_digest(path) for name, path in stored.items()}
    others = {key: value for key, value in record.items() if key != RECORD_DIGEST}
    write_json(file, {**others, **fields, "inputs": here, "outputs": dict(own)})


Kind = TypeVar("Kind", bound=Rebuild)


@contextmanager
def rebuild(kind: type[Kind], chain: Chain, configured: Configured, drawn: CorpusSample, ids: pa.Array | None) -> Iterator[Kind]:
    """Open a scratch folder with the sampled queries, and with some documents as one chunk; None for the whole corpus."""
    name, experiment = drawn.dataset, configured.experiment
    config, datasets = dict(experiment.config), dict(experiment.datasets)
    count = len(drawn.every if ids is None else ids)
    alone: dict[str, Any] = {"shares_texts_with": None, "sample_documents": None, "sample_queries": None}
    datasets[name] = replace(datasets[name], documents=count, queries=drawn.queries.num_rows, **alone)
    if ids is not None:
        config["chunk_documents"] = max(1, count)
    records = (chain.records.get(layout.RUN_RECORD(system=system, dataset=dataset)) for system, dataset in chain.runs)
    made = {precision for record in records if record for precision in made_in(record, "precision")}
    requested = configured.auditor.config["precision"]
    # Stored representations are searched with queries of the same precision only.
    config["precision"] = (
        requested if requested != "auto" and ids is not None else next((each for each in PRECISIONS if each in made), "auto")
    )
    with scratch(replace(experiment, config=config, datasets=datasets)) as place:
        rebuilt = kind(chain, configured, drawn, place, ids)
        rebuilt.write_corpus()
        yield rebuilt


def names_in(path: str) -> dict[str, str]:
    """Return the names in a path of results, such as its system and dataset."""
    return pattern_of(path).names_in(path) or {}


def pattern_of(path: str) -> Pattern:
    """Return the pattern of a path of results."""
    pattern = next((each for each in kinds.PATTERNS if each.names_in(path) is not None), None)
    if pattern is None:
        raise DataError(f"{path} is no file that beirflow writes")
    return pattern


def is_chunked(path: str) -> bool:
    """Test whether a file belongs to one chunk of a corpus."""
    return "chunk" in names_in(path)


def with_chunk(pattern: Pattern, path: str, chunk: int) -> str:
    """Return the path of a pattern with the names in another path and a chunk."""
    names: dict[str, Any] = {**(pattern.names_in(path) or {}), "chunk": chunk}
    return pattern(**names)
