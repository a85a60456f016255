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
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.audit.chain import Chain
from beirflow.audit.configured import Configured
from beirflow.audit.folder.reading import part, read_columns
from beirflow.config.experiment import Experiment
from beirflow.core import layout
from beirflow.core.digests import file_digest
from beirflow.core.errors import DataError
from beirflow.core.kinds import PATTERNS, is_one_of
from beirflow.core.patterns import Pattern
from beirflow.core.records import RECORD_DIGEST, made_in, write_json
from beirflow.data.corpus_files import EXCLUDED_ROWS, FOOTER, footer_digest
from beirflow.data.prepare import excluded_rows_of
from beirflow.data.sources.forms import EXCLUDED
from beirflow.ranking.run_file import RUN
from beirflow.run.scratch import Scratch, scratch

FROM_RUNS = (layout.RUN.folder(), layout.CORPUS.folder())  # folders of files from which fused and reranked runs are made

RUNS, EXPANSIONS, INDEXES = (
    (layout.RUN, layout.RUN_RECORD),
    (layout.EXPANSION, layout.EXPANSION_RECORD),
    (layout.INDEX, layout.INDEX_RECORD),
)

FIRST = 100  # documents of each run in a pool, for each sampled query
PRECISIONS = ("float32", "float16", "bfloat16")  # the most precise first


@dataclass(frozen=True)
class Texts:
    """Queries with their judgements, and documents, of a prepared corpus."""

    dataset: str
    record: Mapping[str, Any]  # of the corpus
    queries: pa.Table
    qrels: pa.Table
    documents: pa.Table  # None for those of a file that is linked


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

        def some(table: pa.Table) -> pa.Table:
            """Return a random sample of rows."""
            return table.take(np.sort(random.choice(len(table), min(sample, len(table)), replace=False)))

        every, queries = read(layout.DOCUMENTS, "doc_id"), some(read(layout.QUERIES))
        documents = some(every)
        of_drawn = pc.field("query_id").isin(pc.unique(queries["query_id"]))
        qrels = read(layout.QRELS).filter(of_drawn)
        runs = {system: read(layout.RUN, system=system).filter(of_drawn) for system in systems}
        experiment = configured.experiment
        known = {name: experiment.systems[name].settings for name in systems if name in experiment.systems}
        # A reranker needs all documents that it scores.
        first = max([FIRST, *(experiment.family(name).reads(settings).depth or 0 for name, settings in known.items())])
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
    compared: set[str] = field(default_factory=set)  # compared representations and expansions

    @property
    def name(self) -> str:
        """System and corpus, for messages."""
        return f"{self.system} on {self.drawn.dataset}"

    @cached_property
    def corpus(self) -> dict[str, Any]:
        """Stored record of the corpus."""
        return self.chain.record(layout.CORPUS(dataset=self.drawn.dataset))

    def stored(self, path: str) -> list[str]:
        """Return the stored files of all chunks where a path has a chunk, which are one here; else the path."""
        names: dict[str, Any] = names_in(path)
        chunks = range(part(self.corpus, "chunks", kind=int)) if "chunk" in names else ()
        return [pattern_of(path)(**{**names, "chunk": chunk}) for chunk in chunks] or [path]

    def inputs(self, path: str) -> list[str]:
        """Return the inputs of the job that makes a file. Raises DataError if no rule makes it."""
        if (job := self.place.job(path)) is None:
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
        names = names_in(path)
        if is_one_of(path, RUNS) and names["system"] != self.system:
            self._take(layout.RUN(**names), self._hits(names["system"]))
        elif is_one_of(path, EXPANSIONS) and self.ids is not None and not is_written:
            self._take(layout.EXPANSION(**names), self.additions(path))
        elif "dataset" not in names or (self._sums_up(path) if self.ids is not None else not self._depends(path)):
            self._link(path)
        else:
            for name in self.inputs(path):
                self.obtain(name)
            job = self.place.job(path)
            if (job.computes or self.place.opens_files(job)) and not self.configured.knows(dict(job.wildcards.items())):
                raise DataError(f"the model or file that makes {path} is not known here; name it under custom.systems")
            self.place.run(job)

    def _sums_up(self, path: str) -> bool:
        """Test whether a file is made from all chunks of a corpus, and is neither index nor run."""
        if is_chunked(path) or is_one_of(path, (*INDEXES, *RUNS)):
            return False
        return any(map(is_chunked, self.inputs(path)))

    def _depends(self, path: str) -> bool:
        """Test whether a file depends on the queries; an index counts as dependent, since a stored one is not opened."""
        return is_one_of(path, INDEXES) or layout.QUERIES(dataset=self.drawn.dataset) in self.ancestors(path)

    def _link(self, path: str) -> None:
        """Take the outputs of a job from the results; in a pool, their records then name only files that are here."""
        is_of_corpus = "dataset" in names_in(path)
        outputs = self.place.outputs(self.place.job(path)) if is_of_corpus else [path]
        files = [name for name in self.chain.listing.files if any(f"{name}/".startswith(f"{each}/") for each in outputs)]
        if not files:
            raise FileNotFoundError(errno.ENOENT, "is missing", path)
        records = self.chain.records if is_of_corpus and self.ids is not None else {}
        self.place.link(self.chain.folder, [name for name in files if name not in records])
        for name in files:
            if record := records.get(name):
                write_record_here(self.place, self.place.folder / name, record, outputs={})

    def _take(self, path: str, rows: pa.Table) -> None:
        """Write some rows of a stored table, and a record of them."""
        file, stored = self.place.folder / path, layout.record_of(self.stored(path)[0]).as_posix()
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
        table = pa.concat_tables(
            [read_columns(self.chain.file(name), name) for name in self.stored(layout.EXPANSION(**names_in(path)))]
        )
        return table.take(pc.index_in(self.ids, value_set=table["doc_id"].combine_chunks()))


def write_corpus(place: Scratch, texts: Texts) -> None:
    """Write a corpus of one chunk into a scratch folder, with a record from the stored one."""
    queries, documents = texts.queries, texts.documents
    paths = [each(dataset=texts.dataset) for each in (layout.DOCUMENTS, layout.QUERIES, layout.QRELS, layout.CORPUS)]
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
    pq.write_table(texts.qrels, files[2], compression="zstd")
    digest = part(texts.record, "outputs", paths[0], kind=str) if documents is None else file_digest(files[0])
    outputs = {paths[0]: digest, **{path: file_digest(file) for path, file in zip(paths[1:3], files[1:3], strict=True)}}
    write_record_here(place, files[3], texts.record, outputs=outputs, **{FOOTER: footer_digest(files[0])})


def write_record_here(
    place: Scratch, file: Path, record: Mapping[str, Any], *, outputs: Mapping[str, str], **fields: Any
) -> None:
    """Write a record with the digests of the files in a scratch folder."""
    inputs, stored = ({name: place.folder / name for name in record[key]} for key in ("inputs", "outputs"))
    here = {name: file_digest(path) for name, path in inputs.items() if path.is_file()}
    own = outputs or {name: file_digest(path) for name, path in stored.items()}
    others = {key: value for key, value in record.items() if key != RECORD_DIGEST}
    write_json(file, {**others, **fields, "inputs": here, "outputs": dict(own)})


@contextmanager
def rebuild(chain: Chain, configured: Configured, drawn: CorpusSample, ids: pa.Array | None) -> Iterator[Rebuild]:
    """Open a scratch folder with the sampled queries, and with some documents as one chunk; None for the whole corpus."""
    records = (chain.records.get(layout.RUN_RECORD(system=system, dataset=dataset)) for system, dataset in chain.runs)
    made = {precision for record in records if record for precision in made_in(record, "precision")}
    requested, pool = configured.auditor.config["precision"], {} if ids is None else {"chunk_documents": max(1, len(ids))}
    # Stored representations are searched with queries of the same precision only.
    precision = requested if requested != "auto" and pool else next((each for each in PRECISIONS if each in made), "auto")
    count, queries = len(drawn.every if ids is None else ids), drawn.queries.num_rows
    with scratch(with_pool(configured.experiment, drawn.dataset, count, queries, precision=precision, **pool)) as place:
        rebuilt = Rebuild(chain, configured, drawn, place, ids)
        path, documents = layout.DOCUMENTS(dataset=drawn.dataset), None
        if ids is None:
            place.link(chain.folder, [path])
        else:
            documents = pq.read_table(chain.file(path), filters=pc.field("doc_id").isin(ids))
        write_corpus(place, Texts(drawn.dataset, rebuilt.corpus, drawn.queries, drawn.qrels, documents))
        yield rebuilt


def with_pool(experiment: Experiment, name: str, documents: int, queries: int, **config: Any) -> Experiment:
    """Return an experiment in which a dataset has so many documents and queries, with changes of the configuration."""
    alone: dict[str, Any] = {"shares_texts_with": None, "sample_documents": None, "sample_queries": None}
    dataset = replace(experiment.datasets[name], documents=documents, queries=queries, **alone)
    return replace(experiment, config={**experiment.config, **config}, datasets={**experiment.datasets, name: dataset})


def names_in(path: str) -> dict[str, str]:
    """Return the names in a path of results, such as its system and dataset."""
    return pattern_of(path).names_in(path) or {}


def pattern_of(path: str) -> Pattern:
    """Return the pattern of a path of results."""
    pattern = next((each for each in PATTERNS if each.names_in(path) is not None), None)
    if pattern is None:
        raise DataError(f"{path} is no file that beirflow writes")
    return pattern


def is_chunked(path: str) -> bool:
    """Test whether a file belongs to one chunk of a corpus."""
    return "chunk" in names_in(path)
