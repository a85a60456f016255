"""Conditions on a run that a system can have made: ranked by the rule, of existing documents and queries, and long enough."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc

from beirflow.audit.chain.chain import Chain
from beirflow.audit.chain.checks import RecordError
from beirflow.audit.chain.reading import open_parquet, part, read_columns, read_rows
from beirflow.audit.facts.corpora import documents_of
from beirflow.core.layout import CORPUS, QRELS, QUERIES, RUN
from beirflow.data.corpus_files import OWN_CANDIDATES
from beirflow.data.sources.forms import CANDIDATES, EXCLUDED
from beirflow.ranking.run_file import RUN as COLUMNS

Ranked = tuple[str, list[str], list[float]]  # a query, the ids of its documents, best first, and their scores


@dataclass(frozen=True)
class RunRules:
    """Conditions on every query of a run."""

    top_k: int  # most documents
    drop: bool  # whether the document with the id of the query is dropped
    documents: int  # documents of the corpus
    queries: frozenset[str]  # ids of the queries that there are
    own: frozenset[str]  # those of them that are also ids of documents
    full: bool  # whether the system scores every document, so that a run is only shorter where the corpus is
    candidates: Mapping[str, frozenset[str]] | None = None  # by query, the documents that it ranks; None where these are all
    all_candidates: bool = True  # whether it ranks all of these
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by query, the documents of the corpus that it excludes

    def problem(self, ranked: Ranked) -> str:
        """Return the problem of the documents of a query or of their order; empty without one."""
        query, ids, scores = ranked
        if query not in self.queries:
            return f"query {query!r} is no query of this dataset"
        if len(ids) > self.top_k or len(set(ids)) < len(ids):
            return f"query {query!r} has {len(ids)} documents, {len(set(ids))} of them different; top_k is {self.top_k}"
        if self.candidates is not None:
            right = self.candidates.get(query, frozenset()) - self.excluded.get(query, frozenset())
            if not right.issuperset(ids) or (self.all_candidates and len(ids) < len(right - ({query} if self.drop else set()))):
                return f"query {query!r} has {len(ids)} documents, which are not its candidates, {len(right)}"
        if self.full and self.candidates is None and len(ids) != self.length(query):
            return f"query {query!r} has {len(ids)} documents, expected {self.length(query)}, since every document has a score"
        if self.drop and query in ids:
            return f"query {query!r} found the document of its own id, which is dropped for this dataset"
        if found := sorted(self.excluded.get(query, frozenset()).intersection(ids)):
            return f"query {query!r} found {found[0]!r}, which it excludes"
        if not all(isinstance(score, float) and math.isfinite(score) for score in scores):
            return f"query {query!r} has a score that is no finite number"
        # Code points of Python sort as bytes of UTF-8 do.
        pairs = pairwise(zip(scores, ids, strict=True))
        if not all(first > second for first, second in pairs):
            return f"query {query!r} is out of order"
        return ""

    def length(self, query: str) -> int:
        """Return the number of documents that a query finds if every document has a score."""
        own = {query} if self.drop and query in self.own else set()
        return min(self.top_k, self.documents - len(own.union(self.excluded.get(query, ()))))


def run_rules(chain: Chain, system: str, dataset: str) -> RunRules:
    """Return the conditions on a run."""
    path, ids = QUERIES(dataset=dataset), documents_of(chain, dataset).ids
    queries = read_columns(chain.file(path), path, ["query_id"])["query_id"]
    own = queries.filter(pc.is_in(queries.cast(pa.large_string()), value_set=ids))
    of_judgements = _judged_candidates(chain, dataset)
    family = chain.setup.families.get(str(part(chain.manifest, "systems", system, kind=dict).get("family")))
    return RunRules(
        top_k=part(chain.manifest, "configuration", "top_k", kind=int),
        drop=part(chain.corpora[dataset], "drop_self_matches", kind=bool),
        documents=len(ids),
        queries=frozenset(queries.to_pylist()),
        own=frozenset(own.to_pylist()),
        full=family is not None and family.scores_all,
        candidates=of_judgements if of_judgements is not None else _listed(chain, path, ids, CANDIDATES),
        all_candidates=of_judgements is not None or (family is not None and family.scores_all),
        excluded=_listed(chain, path, ids, EXCLUDED) or {},
    )


def _listed(chain: Chain, path: str, doc_ids: pa.Array, column: str) -> dict[str, frozenset[str]] | None:
    """Return the documents of the corpus that a column of the queries lists, by query; None without the column."""
    with open_parquet(chain.file(path), path) as file:
        if column not in file.schema_arrow.names:
            return None
        table = file.read(["query_id", column])
    named = pc.unique(table[column].combine_chunks().flatten())
    there = frozenset(named.filter(pc.is_in(named.cast(pa.large_string()), value_set=doc_ids)).to_pylist())
    return {row["query_id"]: there.intersection(row[column]) for row in table.to_pylist()}


def _judged_candidates(chain: Chain, dataset: str) -> dict[str, frozenset[str]] | None:
    """Return the documents that each query ranks, where these are the judged ones."""
    if not chain.record(CORPUS(dataset=dataset)).get(OWN_CANDIDATES):
        return None
    path, found = QRELS(dataset=dataset), dict[str, set[str]]()
    for query, doc_id in read_rows(chain.file(path), path, ("query_id", "doc_id")):
        found.setdefault(query, set()).add(doc_id)
    return {query: frozenset(ids) for query, ids in found.items()}


def read_run(chain: Chain, path: str) -> Iterator[Ranked]:
    """Yield the queries of a run in the order of the file; raise RecordError for other columns or ranks not counted from 1."""
    with open_parquet(chain.file(path), path) as file:
        # Scores of more digits than a run has would order documents whose scores are equal.
        if others := sorted({f"{column.name}: {column.type}" for column in {*file.schema_arrow} ^ {*COLUMNS}}):
            raise RecordError(f"has other columns than a run, {', '.join(others)}", path)
    rows = read_rows(chain.file(path), path, COLUMNS.names)
    for query, of_query in groupby(rows, key=itemgetter(0)):
        _, ids, scores, ranks = (list(column) for column in zip(*of_query, strict=True))
        if ranks != list(range(1, len(ids) + 1)):
            raise RecordError(f"the ranks of query {query!r} do not count from 1 to {len(ids)}", path)
        yield query, ids, scores


def unknown_documents(chain: Chain, system: str, dataset: str) -> Sequence[str]:
    """Return the ids that a run has and the corpus has not."""
    path = RUN(system=system, dataset=dataset)
    found = pc.unique(read_columns(chain.file(path), path, ["doc_id"])["doc_id"].combine_chunks()).cast(pa.large_string())
    return found.filter(pc.invert(pc.is_in(found, value_set=documents_of(chain, dataset).ids))).to_pylist()
