"""Check of the postings and of the run of a lexical system, on a sample.

Sampled documents are analysed again, one at a time; sampled queries are scored again for all documents, term by term and without
anything of ``search.py``. Both must agree in every bit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from beirflow.datasets.document_text import split_title_and_text
from beirflow.expansions.spot_check import expansion_checks, stored_expansion
from beirflow.files.layout import POSTINGS, RUN, STATISTICS, STATISTICS_RECORD
from beirflow.files.records import read_json
from beirflow.lexical.bm25 import length_codes, scores
from beirflow.lexical.indexing import index_texts
from beirflow.lexical.postings import Postings, read_postings
from beirflow.lexical.queries import AnalyzedQueries, ScoredField, analyze_queries, weigh
from beirflow.lexical.settings import LexicalSettings
from beirflow.lexical.statistics import FREQUENCIES, TABLE, CorpusStatistics, Frequencies
from beirflow.postings.analyzer import analyze
from beirflow.runs.compared_ranks import Scores, SearchCheck, compare_ranks
from beirflow.runs.spot_check import BLOCK_ROWS, Finding, NotHereError, SpotCheck, Subject


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a lexical system on one corpus: of its postings, its run, and what a model added to documents."""
    settings = subject.system.settings.for_dataset(subject.row or subject.dataset)
    postings = PostingsCheck(subject, settings, sample, random)
    return [*expansion_checks(subject, sample, random, analyze), *postings.checks()]


class PostingsCheck(SearchCheck):
    """The checks of the postings of one corpus."""

    settings: LexicalSettings

    @property
    def names(self) -> dict[str, str]:
        """Names in the paths of the postings."""
        return {"analyzer": self.settings.index.name, "dataset": self.subject.dataset}

    def checks(self) -> list[SpotCheck]:
        """Plan the three checks, or a fourth where postings were deleted."""
        statistics = STATISTICS(**self.names)
        run = RUN(system=self.subject.system.name, dataset=self.subject.dataset)
        chunks = (POSTINGS(**self.names, chunk=chunk) for chunk in range(self.subject.chunks))
        are_here = all((self.subject.results / path).is_file() for path in chunks)
        return [
            SpotCheck("documents analysed again have the stored postings", statistics.rpartition("/")[0], self.check_documents),
            SpotCheck("statistics added up again are those of the postings", statistics, self.check_statistics),
            SpotCheck("queries searched again have the recorded ranks", run, self.check_ranks),
            *([] if are_here else [SpotCheck("hits analysed again have the recorded scores", run, self.check_hits)]),
        ]

    def check_documents(self) -> Finding:
        """Analyse some documents again and compare their terms with the postings."""
        drawn = self.subject.draw_documents(self.sample, self.random)
        for chunk, rows in enumerate(drawn):
            postings = self._postings(chunk)
            stored = _stored(postings, rows)
            filled = list(zip(postings.title_filled[rows], postings.text_filled[rows], strict=True))
            documents = self._documents(chunk, rows)
            for (doc_id, title, text, more), counts, has in zip(documents, stored, filled, strict=True):
                if counts != self._terms(title, text, more) or has != self._filled(title, text, more, counts):
                    problem = f"{self.subject.name}: the postings of the document {doc_id!r} are others"
                    return Finding(False, problem, "the terms of its title and its text")
        number = sum(map(len, drawn))
        said = f"{self.subject.name}: {number} documents, every term as often as in the postings"
        return Finding(True, said, drawn=(number, self.subject.number_of_documents))

    def _documents(self, chunk: int, rows: np.ndarray) -> Iterator[tuple[str, str, str, list[Any]]]:
        """Yield id, title, text and additions of some documents of a chunk."""
        table = self.subject.documents(chunk).take(rows)
        joined, doc_ids = table["text"].combine_chunks(), table["doc_id"].to_pylist()
        titles, texts = map(pa.Array.to_pylist, split_title_and_text(joined, table["title_bytes"].to_numpy()))
        yield from zip(doc_ids, titles, texts, stored_expansion(self.subject, self.settings.added, chunk, rows), strict=True)

    def check_hits(self) -> Finding:
        """Compare the run with scores of sampled documents that are analysed again, by stored statistics; no postings are read.

        Returns:
            The finding.

        Raises:
            NotHereError: Words have weights, or no sampled document is relevant to a query or a hit.
        """
        if self.settings.weights:
            raise NotHereError("words with weights are not analysed again without their postings")
        parts = []
        for chunk, rows in enumerate(self.subject.draw_documents(self.sample, self.random)):
            documents = list(self._documents(chunk, rows))
            titles, texts = ([self._texts(*each[1:])[field] for each in documents] for field in (0, 1))
            columns = (pa.array(titles, pa.large_string()), pa.array(texts, pa.large_string()))
            doc_ids = pa.array([doc_id for doc_id, *_ in documents], pa.string())
            parts.append((doc_ids, index_texts([columns], analyzer=self.settings.analyzer)))
        ids = pa.concat_arrays([doc_ids for doc_ids, _ in parts])
        query_ids, rows = self.subject.queries_among(self.subject.counterparts("doc_id", ids, self.sample))
        if not len(query_ids):
            raise NotHereError("no sampled document is relevant to a query or a hit")
        scores = self._scores(self.subject.queries().take(pa.array(rows)), parts)
        expected = "those of texts analysed again, by the stored statistics"
        names = query_ids.to_pylist()
        return compare_ranks(self.subject, names, scores.blocks, expected=expected, ties=scores.ties, whole=False)

    def check_statistics(self) -> Finding:
        """Add up the postings of all chunks again, not of a sample: every score depends on each of them."""
        path, record_path = (str(pattern(**self.names)) for pattern in (STATISTICS, STATISTICS_RECORD))
        stored, record = pq.read_table(self._path(path)), read_json(self._path(record_path))["statistics"]
        try:
            table, counts = plain_statistics(self._postings(chunk) for chunk in range(self.subject.chunks))
        except ValueError as error:
            return Finding(False, f"{self.subject.name}: {error}", "as many terms as its postings give it")
        if counts != record:
            wrong = ", ".join(key for key in counts if counts[key] != record.get(key)) or "more than that"
            return Finding(False, f"{record_path} says other {wrong}", "what the postings give")
        if not table.equals(stored.cast(table.schema)):
            return Finding(False, f"{path} has other terms, or another number of documents with them", "what the postings give")
        return Finding(True, f"{self.subject.name}: {len(table)} terms of {counts['documents']} documents")

    def _terms(self, title: str, text: str, added: list[Any]) -> tuple[Counter[str], Counter[str]]:
        """Count the terms in the two fields of a document."""
        if self.settings.weights:
            terms: Counter[str] = Counter()
            for word, weight in added:
                for term in self._analyze(word):
                    terms[term] += round(100 * (weight**0.5 if self.settings.weights.scale == "sqrt" else weight))
            return Counter(), +terms
        in_title, in_text = self._texts(title, text, added)
        return Counter(self._analyze(in_title)), Counter(self._analyze(in_text))

    def _analyze(self, text: str) -> list[str]:
        return analyze(text, self.settings.analyzer)

    def _texts(self, title: str, text: str, added: list[Any]) -> tuple[str, str]:
        if self.settings.expansion and self.settings.expansion.join == "field":
            return " ".join(added), f"{title} {text}"
        return title, " ".join([text, *added])

    def _filled(self, title: str, text: str, added: list[Any], counts: tuple[Counter[str], Counter[str]]) -> tuple[bool, bool]:
        """Test whether the two fields of a document have more than white space; of words with weights, whether any has one."""
        if self.settings.weights:
            return False, bool(counts[1]) or any(weight and _is_filled(word) for word, weight in added)
        in_title, in_text = self._texts(title, text, added)
        return _is_filled(in_title), _is_filled(in_text)

    def score(self, queries: pa.Table, rows: np.ndarray) -> Scores:
        """Score all documents for some queries, term by term."""
        parts = ((self.subject.doc_ids(chunk), self._postings(chunk)) for chunk in range(self.subject.chunks))
        return self._scores(queries, parts)

    def _scores(self, queries: pa.Table, parts: Iterable[tuple[pa.Array, Postings]]) -> Scores:
        analyzed = analyze_queries(queries["text"], self.settings)
        frequencies = Frequencies(self._path(STATISTICS(**self.names)), self.settings.searched)
        record = read_json(self._path(STATISTICS_RECORD(**self.names)))
        statistics = CorpusStatistics.of_record(record["statistics"])
        fields = weigh(analyzed, self.settings, statistics, frequencies.of(analyzed.terms))
        blocks = (block for doc_ids, postings in parts for block in _blocks(doc_ids, postings, analyzed, fields))
        return Scores(blocks, ties=self.settings.ties)

    def _postings(self, chunk: int) -> Postings:
        return read_postings(self._path(POSTINGS(**self.names, chunk=chunk)), self.settings.index.name)

    def _path(self, path: str) -> str:
        return str(self.subject.file(path))


def _blocks(
    doc_ids: pa.Array, postings: Postings, queries: AnalyzedQueries, fields: list[ScoredField]
) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """Yield ids and scores of the documents of a chunk, some at a time."""
    place = pc.fill_null(pc.index_in(queries.terms, value_set=postings.terms), -1).to_numpy()[queries.pair_terms]
    for start in range(0, len(doc_ids), BLOCK_ROWS):
        ids = doc_ids.slice(start, BLOCK_ROWS)
        found = np.zeros((len(queries.starts) - 1, len(ids)))
        matched = np.zeros(found.shape, bool)
        for query, (first, last) in enumerate(zip(queries.starts[:-1], queries.starts[1:], strict=True)):
            for pair in queries.pairs[first:last][place[queries.pairs[first:last]] >= 0]:
                rows, each = _score_term(postings, fields, int(pair), int(place[pair]), start, len(ids))
                found[query, rows] += each
                matched[query, rows] |= True
        yield ids, np.where(matched, found.astype(np.float32), -np.inf)


def _is_filled(text: str) -> bool:
    return any(letter > " " for letter in text)


def _stored(postings: Postings, rows: np.ndarray) -> list[tuple[Counter[str], Counter[str]]]:
    """Return the counts of terms in titles and texts of some documents, from the postings."""
    of_rows: list[tuple[Counter[str], Counter[str]]] = [(Counter(), Counter()) for _ in rows]
    here = np.flatnonzero(np.isin(postings.rows, rows))
    terms = postings.terms.take(np.searchsorted(postings.starts, here, side="right") - 1).to_pylist()
    places = np.searchsorted(rows, postings.rows[here]).tolist()
    for posting, term, place in zip(here.tolist(), terms, places, strict=True):
        for counts, column in zip(of_rows[place], (postings.title_counts, postings.text_counts), strict=True):
            if count := int(column[posting]):
                counts[term] = count
    return of_rows


def _score_term(
    postings: Postings, fields: list[ScoredField], pair: int, place: int, start: int, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a block whose documents have a term in one of the fields, and the term's scores there, float64."""
    every = slice(postings.starts[place], postings.starts[place + 1])
    first, last = np.searchsorted(postings.rows[every], [start, start + size]) + every.start
    rows = postings.rows[first:last]
    titles, texts = (column[first:last].astype(np.int64) for column in (postings.title_counts, postings.text_counts))
    # Where a document has no text it is in no index but that of title and text together.
    counts = {"contents": titles + texts, "title": np.where(postings.text_filled[rows], titles, 0), "text": texts}
    lengths = {"title": postings.title_lengths[rows], "text": postings.text_lengths[rows]}
    lengths["contents"] = lengths["title"] + lengths["text"]
    total, present = np.zeros(len(rows)), np.zeros(len(rows), bool)
    for field in fields:
        some = np.flatnonzero(counts[field.name])
        inverse = field.inverse_norms[length_codes(lengths[field.name][some])]
        total[some] += scores(np.full(len(some), field.weights[pair]), counts[field.name][some], inverse)
        present[some] = True
    return rows[present] - start, total[present]


def plain_statistics(chunks: Iterable[Postings]) -> tuple[pa.Table, dict[str, Any]]:
    """Count over the postings of all chunks, a second implementation of the statistics.

    Returns in how many documents each field has each term, as ``TABLE``, terms in byte order; and the other counts, as their
    record has them. Raises ValueError if a document has another length than its postings give it.
    """
    tables, fields, others = [TABLE.empty_table()], np.zeros((len(FREQUENCIES), 2), np.int64), np.zeros(3, np.int64)
    for number, chunk in enumerate(chunks):
        documents, per_term = len(chunk.text_filled), np.diff(chunk.starts)
        term, filled = np.repeat(np.arange(len(chunk.terms)), per_term), chunk.text_filled
        has = (np.ones(len(term), bool), (chunk.title_counts > 0) & filled[chunk.rows], chunk.text_counts > 0)
        counts = (np.bincount(term[each], minlength=len(chunk.terms)) for each in has)
        tables.append(pa.Table.from_arrays([chunk.terms, *map(pa.array, counts)], schema=TABLE))
        titles, texts = (
            np.bincount(chunk.rows, weights=times, minlength=documents).astype(np.int64)
            for times in (chunk.title_counts, chunk.text_counts)
        )
        for found, stored in ((titles, chunk.title_lengths), (texts, chunk.text_lengths)):
            if not np.array_equal(found, stored):
                row = int(np.flatnonzero(found != stored)[0])
                raise ValueError(f"document {row} of chunk {number} has the length {stored[row]}, and {found[row]} terms")
        for place, lengths in enumerate((titles + texts, titles * filled, texts)):
            fields[place] += (lengths > 0).sum(), lengths.sum()
        others += documents, (~(chunk.title_filled | filled)).sum(), (~filled).sum()
    names = list(FREQUENCIES)
    whole = pa.concat_tables(tables).group_by("term").aggregate([(name, "sum") for name in names])
    table = whole.select(["term", *(f"{name}_sum" for name in names)]).rename_columns(TABLE.names).cast(TABLE).sort_by("term")
    counted = {name: {"documents": int(some), "terms": int(all_)} for name, (some, all_) in zip(names, fields, strict=True)}
    sums = dict(zip(("documents", "without_contents", "without_text"), others.tolist(), strict=True))
    return table, {**sums, "fields": counted, "terms": len(table)}
