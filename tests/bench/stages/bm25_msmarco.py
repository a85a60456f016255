"""BM25 on a corpus of MS MARCO's size, each job within 4 GB; and the corpus and the jobs of ``bm25``.

Passages have 56 words on average, and their lengths spread as those of ``prepare-msmarco``; three million different words make
about as many terms as MS MARCO has. What is drawn depends on the chunk alone, so that the check can draw it again.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from beirflow.core import layout
from beirflow.core.artifact import Step
from beirflow.core.records import Job, read_json
from beirflow.families.lexical import LexicalSettings
from beirflow.families.lexical.fields import Index
from bench.child import report
from bench.stages.texts import Writer, words

MEAN, SIGMA, LONGEST = 56, 0.45, 300
SYSTEM, SAMPLE = "bm25", 4

_VOCABULARY, _QUERIES = 1 << 20, (1 << 20) + 1
"""Seeds that no chunk has."""


def vocabulary(size: int) -> list[str]:
    """The words."""
    return words(np.random.default_rng(_VOCABULARY), size)


def chunk_ids(documents: int, chunks: int, chunk: int) -> np.ndarray:
    """Ids of the documents of a chunk, as numbers."""
    return np.arange(chunk, documents, chunks)


def draw_chunk(
    known: list[str], documents: int, chunks: int, chunk: int, mean: int = MEAN
) -> tuple[Writer, np.ndarray, np.ndarray]:
    """The writer of a chunk, the number of words of its documents, longest first, and the ranks of these words."""
    rng = np.random.default_rng(chunk)
    writer = Writer(rng, known)
    size = len(chunk_ids(documents, chunks, chunk))
    lengths = np.clip(rng.lognormal(np.log(mean) - SIGMA**2 / 2, SIGMA, size), 1, LONGEST * mean // MEAN).astype(int)
    lengths = -np.sort(-lengths)
    return writer, lengths, writer.draw(int(lengths.sum()))


def queries(known: list[str], count: int) -> pa.LargeStringArray:
    """Texts of queries."""
    return Writer(np.random.default_rng(_QUERIES), known).queries(count)


def inputs(folder: Path, documents: int, chunks: int, asked: int, size: int, mean: int = MEAN) -> None:
    """Write a corpus as ``prepare_corpus`` would have left it, chunk by chunk, and queries."""
    from beir_writer import write_corpus_record
    from beirflow.data.corpus_reader import DOCUMENTS

    folder.mkdir(parents=True)
    known = vocabulary(size)
    with pq.ParquetWriter(folder / "documents.parquet", DOCUMENTS, use_dictionary=False, write_page_checksum=True) as target:
        for chunk in range(chunks):
            writer, lengths, ranks = draw_chunk(known, documents, chunks, chunk, mean)
            ids = pa.array(chunk_ids(documents, chunks, chunk)).cast(pa.string())
            table = pa.table([ids, writer.write(ranks, lengths), pa.array(np.zeros(len(ids), np.int32))], schema=DOCUMENTS)
            target.write_table(table, row_group_size=len(table))
    names = [f"q{number}" for number in range(asked)]
    pq.write_table(pa.table({"query_id": names, "text": queries(known, asked)}), folder / "queries.parquet")
    write_corpus_record(folder, folder.parent)


class Jobs:
    """The jobs of the rules: each reads the input, and what the rules before it left."""

    def __init__(self, folder: Path, chunks: int, k: int, threads: int) -> None:
        self.k, self.threads, self.job = k, threads, Job(folder)
        self.documents, self.queries = (str(folder / f"input/{name}.parquet") for name in ("documents", "queries"))
        names = {"analyzer": Index().name, "system": SYSTEM, "dataset": "input"}
        self.postings = [str(folder / layout.POSTINGS(**names, chunk=chunk)) for chunk in range(chunks)]
        self.statistics = str(folder / layout.STATISTICS(**names))
        self.candidates = [str(folder / layout.CANDIDATES(**names, chunk=chunk)) for chunk in range(chunks)]
        self.run = str(folder / layout.RUN(**names))
        self.made = {
            "index_chunk": self.postings,
            "sum_statistics": [self.statistics],
            "search_index": self.candidates,
            "merge_chunks": [self.run],
        }

    def index_chunk(self, chunk: int) -> None:
        """Index a chunk."""
        from beirflow.families.lexical.index_chunk import index_chunk

        self._run(index_chunk, self.postings[chunk], documents=self.documents, index=Index(), chunk=chunk, threads=self.threads)

    def sum_statistics(self) -> None:
        """Sum up the statistics of all chunks."""
        from beirflow.families.lexical.statistics import sum_statistics

        self._run(sum_statistics, self.statistics, postings=self.postings, index=Index())

    def search_index(self, chunk: int) -> None:
        """Search a chunk."""
        from beirflow.families.lexical.search_index import search_index
        from beirflow.ranking.searched import Retrieval

        self._run(
            search_index,
            self.candidates[chunk],
            queries=self.queries,
            documents=self.documents,
            postings=self.postings[chunk],
            statistics=self.statistics,
            bm25=LexicalSettings(SYSTEM).bm25,
            retrieval=Retrieval(self.k, drop_self_matches=True),
        )

    def merge_chunks(self) -> None:
        """Merge the candidates of all chunks."""
        from bench.stages.merge import merge

        merge(SYSTEM, "input", self.candidates, Path(self.queries).parent, Path(self.run), self.k, self.job)

    def _run(self, step: Step, output: str, **arguments: Any) -> None:
        import steps

        steps.run(step, self.job, [output, str(Path(output).with_suffix(".json"))], **arguments)


def ours(output: Path, folder: Path, chunks: int, k: int, threads: int, *chunk: int) -> None:
    """Run one job of the rule after which the output is named, or those of all chunks, each in a process as Snakemake does."""
    jobs = Jobs(folder, chunks, k, threads)
    if chunk or output.name in ("sum_statistics", "merge_chunks"):
        getattr(jobs, output.name)(*chunk)
    else:
        for each in range(chunks):
            subprocess.run([sys.executable, "-m", "bench.job", *sys.argv[1:], str(each)], check=True)
    if not chunk:  # for their size
        for path in jobs.made[output.name]:
            (output / Path(path).name).hardlink_to(path)


class Occurrences:
    """Documents that have the terms of the sample.

    Attributes:
        lengths: Terms of each document, by its id, int64 of shape (documents,).
        found: For each term the documents that have it and how often.
    """

    def __init__(self, known: list[str], terms: list[str], documents: int, chunks: int) -> None:
        from beirflow.families.postings.analyzer import STOP_WORDS, analyze

        first = len(STOP_WORDS)  # stop words are the first words, and no others
        stems = analyze(" ".join(known))
        code_of = {term: code for code, term in enumerate(terms)}
        codes = np.array([-1] * first + [code_of.get(stem, -1) for stem in stems])
        if len(codes) != len(known):
            sys.exit(f"{len(known) - first} words, but {len(stems)} terms")
        self.lengths = np.zeros(documents, np.int64)
        parts: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in terms]
        for chunk in range(chunks):
            _, lengths, ranks = draw_chunk(known, documents, chunks, chunk)
            document = np.repeat(chunk_ids(documents, chunks, chunk), lengths)
            self.lengths += np.bincount(document[ranks >= first], minlength=documents)
            code = codes[ranks]
            for number, part in enumerate(parts):
                part.append(np.unique(document[code == number], return_counts=True))
        self.found = [tuple(np.concatenate(columns) for columns in zip(*part, strict=True)) for part in parts]


def brute_force(query: str, terms: list[str], where: Occurrences, k: int) -> list[tuple[str, float]]:
    """The k best documents of a query, of tied ones those with the first ids; ranked by score and then id, both descending."""
    from beirflow.families.lexical.bm25 import FieldStatistics, idfs, inverse_norms, length_codes, normalise, scores
    from beirflow.families.postings.analyzer import analyze

    settings = LexicalSettings(SYSTEM)
    field = FieldStatistics(int((where.lengths > 0).sum()), int(where.lengths.sum()))
    norms = inverse_norms(field, settings.k1, settings.b)[length_codes(where.lengths)]
    sums = np.zeros(len(where.lengths))
    for term, boost in sorted(Counter(analyze(query)).items()):
        ids, counts = where.found[terms.index(term)]
        if len(ids):
            weight = np.float32(boost) * idfs(np.array([len(ids)]), field.documents)
            sums[ids] += scores(normalise(counts, norms[ids]), np.repeat(weight, len(ids)))
    values = sums.astype(np.float32)
    positive = np.flatnonzero(values > 0)
    least = np.sort(values[positive])[-min(k, len(positive)) :][:1]
    near = positive[values[positive] >= least] if len(least) else positive
    kept = sorted(((str(i), float(values[i])) for i in near.tolist()), key=lambda hit: (-hit[1], hit[0].encode()))[:k]
    return sorted(kept, key=lambda hit: (hit[1], hit[0].encode()), reverse=True)


def check(folder: Path, k: int, documents: int, chunks: int, count: int, size: int) -> None:
    """Compare some queries of the run with brute force over the words that were drawn, which no index has seen."""
    from beirflow.families.postings.analyzer import analyze

    known, jobs = vocabulary(size), Jobs(folder, chunks, k, threads=1)
    texts = queries(known, count).to_pylist()
    sample = np.unique(np.linspace(0, count - 1, SAMPLE).astype(int)).tolist()
    terms = sorted({term for number in sample for term in analyze(texts[number])})
    where = Occurrences(known, terms, documents, chunks)
    run = pq.read_table(jobs.run)
    for number in sample:
        part = run.filter(pq.filters_to_expression([("query_id", "==", f"q{number}")])).sort_by("rank").to_pydict()
        if list(zip(part["doc_id"], part["score"], strict=True)) != brute_force(texts[number], terms, where, k):
            sys.exit(f"query {number}, {texts[number]!r}, has another ranking than by brute force")
    different = read_json(Path(jobs.statistics).with_suffix(".json"))["statistics"]["terms"]
    corpus = f"{documents:,} documents, {different:,} different terms"
    report(agree=f"{corpus}, {run.num_rows:,} rows; {len(sample)} queries are those of brute force")
