"""Check of the postings of a lexical system: sampled documents are analysed again, one at a time."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from beirflow.core.layout import POSTINGS, RUN, STATISTICS
from beirflow.data.document_text import split_title_and_text
from beirflow.families.expansions.spot_check import expansion_checks, stored_expansion
from beirflow.families.lexical.indexing import index_texts
from beirflow.families.lexical.postings import Postings
from beirflow.families.lexical.run_check import LexicalRunCheck
from beirflow.families.lexical.statistics import Statistics, add_up
from beirflow.families.postings.analyzer import analyze
from beirflow.families.spot_checks.compared_ranks import compare_ranks
from beirflow.families.spot_checks.spot_check import Finding, NotHereError, SpotCheck, Subject


def spot_checks(subject: Subject, sample: int, random: np.random.Generator) -> list[SpotCheck]:
    """Plan the checks of a lexical system on one corpus: of its postings, its run, and what a model added to documents."""
    settings = subject.system.settings.for_dataset(subject.row or subject.dataset)
    postings = PostingsCheck(subject, settings, sample, random)
    return [*expansion_checks(subject, sample, random, analyze), *postings.checks()]


class PostingsCheck(LexicalRunCheck):
    """The checks of the postings of one corpus, and where these were deleted of hits."""

    def checks(self) -> list[SpotCheck]:
        """Plan the check of postings, and of hits where postings were deleted."""
        folder = STATISTICS.folder(**self.names).rstrip("/")
        run = RUN(system=self.subject.system.name, dataset=self.subject.dataset)
        chunks = (POSTINGS(**self.names, chunk=chunk) for chunk in range(self.subject.chunks))
        are_here = all((self.subject.results / path).is_file() for path in chunks)
        return [
            SpotCheck("documents analysed again have the stored postings", folder, self.check_documents),
            *([] if are_here else [SpotCheck("hits analysed again have the recorded scores", run, self.check_hits)]),
        ]

    def check_documents(self) -> Finding:
        """Analyse some documents again and compare their terms with the postings."""
        drawn = self.subject.draw_documents(self.sample, self.random)
        for chunk, rows in enumerate(drawn):
            postings = self._postings(chunk)
            stored = _stored(postings, rows)
            filled = list(zip(postings.title_filled[rows], postings.text_filled[rows], strict=True))
            lengths = list(zip(postings.title_lengths[rows], postings.text_lengths[rows], strict=True))
            documents = self._documents(chunk, rows)
            for (doc_id, title, text, more), counts, has, length in zip(documents, stored, filled, lengths, strict=True):
                right = self._terms(title, text, more)
                same = counts == right and length == tuple(each.total() for each in right)
                if not same or has != self._filled(title, text, more):
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

        If all documents are, the statistics are compared first.

        Returns:
            The finding.

        Raises:
            NotHereError: Words have weights, or no sampled document is relevant to a query or a hit.
        """
        if self.settings.weights:
            raise NotHereError("words with weights are not analysed again without their postings")
        expected = "those of texts analysed again, by the stored statistics"
        parts = []
        for chunk, rows in enumerate(self.subject.draw_documents(self.sample, self.random)):
            documents = list(self._documents(chunk, rows))
            titles, texts = ([self._texts(*each[1:])[field] for each in documents] for field in (0, 1))
            columns = (pa.array(titles, pa.large_string()), pa.array(texts, pa.large_string()))
            doc_ids = pa.array([doc_id for doc_id, *_ in documents], pa.string())
            parts.append((doc_ids, index_texts([columns], analyzer=self.settings.analyzer)))
        ids = pa.concat_arrays([doc_ids for doc_ids, _ in parts])
        if len(ids) == self.subject.number_of_documents:
            table, counts = add_up(postings for _, postings in parts)
            stored = Statistics(self.path(STATISTICS))
            if counts != stored.counts or not table.equals(stored.read()):
                return Finding(False, f"{STATISTICS(**self.names)} has other terms or counts", "what texts analysed again give")
        query_ids, rows = self.subject.queries_among(self.subject.counterparts("doc_id", ids, self.sample))
        if not len(query_ids):
            raise NotHereError("no sampled document is relevant to a query or a hit")
        scores = self._scores(self.subject.queries.take(pa.array(rows)), parts)
        names = query_ids.to_pylist()
        return compare_ranks(self.subject, names, scores.blocks, expected=expected, ties=scores.ties, whole=False)

    def _terms(self, title: str, text: str, added: list[Any]) -> tuple[Counter[str], Counter[str]]:
        """Count the terms in the two fields of a document."""
        if self.settings.weights:
            terms: Counter[str] = Counter()
            for word, weight in added:
                for term in self._analyze(word):
                    terms[term] += _times(weight, self.settings.weights.scale)
            return Counter(), +terms
        in_title, in_text = self._texts(title, text, added)
        return Counter(self._analyze(in_title)), Counter(self._analyze(in_text))

    def _analyze(self, text: str) -> list[str]:
        return analyze(text, self.settings.analyzer)

    def _texts(self, title: str, text: str, added: list[Any]) -> tuple[str, str]:
        if self.settings.expansion and self.settings.expansion.join == "field":
            return " ".join(added), f"{title} {text}"
        return title, " ".join([text, *added])

    def _filled(self, title: str, text: str, added: list[Any]) -> tuple[bool, bool]:
        """Test whether the two fields of a document have more than white space; of words with weights, whether any counts."""
        if self.settings.weights:
            return False, any(_times(weight, self.settings.weights.scale) and _is_filled(word) for word, weight in added)
        in_title, in_text = self._texts(title, text, added)
        return _is_filled(in_title), _is_filled(in_text)


def _times(weight: float, scale: str) -> int:
    """Return how often a word of a weight counts."""
    return round(100 * (math.sqrt(weight) if scale == "sqrt" else weight))


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
