"""Inspection of a corpus: queries with texts, judged documents and first hits, and document lengths.

Memory holds one number per document, the ids of counted or shown documents, and some rows of the corpus; never all texts.
``docs/files.md`` describes ``inspection/<dataset>.json``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import regex

from beirflow.config.main_measure import MAIN_MEASURE
from beirflow.core.records import Job, read_json, write_record
from beirflow.core.verified import check_digest
from beirflow.data.corpus_files import PreparedCorpus, read_table
from beirflow.data.query_lists import for_reading
from beirflow.evaluation.scores import read_per_query
from beirflow.families.postings.analyzer import analyze, analyze_all
from beirflow.families.postings.names import ENGLISH
from beirflow.report.analysis.document_scan import scan_documents
from beirflow.report.analysis.shown_queries import choose_queries, query_scores

DEPTH = 10  # shown hits of a query, whose lengths are counted
JUDGED = 20  # shown judged documents of a query
WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+")  # letters with their marks, and digits; a page may highlight them


@dataclass(frozen=True)
class EvaluatedRuns:
    """Runs, means and values of every system, in the same order."""

    run_paths: Sequence[str]
    means_paths: Sequence[str]
    per_query_paths: Sequence[str]


Ranked = dict[str, dict[str, tuple[int, float]]]
"""By sampled query, by document in rank order, rank and score."""


def inspect_dataset(
    *,
    dataset: str,
    corpus: PreparedCorpus,
    evaluated: EvaluatedRuns,
    analyzers: Sequence[str],
    output_path: str,
    job: Job,
    main_measure: str = MAIN_MEASURE,
) -> None:
    """Write the inspection of one corpus; ``analyzers`` are those of its lexical systems.

    Raise DataError if a file is not the one that was recorded.
    """
    record = read_json(corpus.corpus_path)
    means = {each["system"]: each for each in map(read_json, evaluated.means_paths)}
    scores = {
        system: read_per_query(means_path, path)[1][main_measure].fill_null(0).to_numpy()  # at other queries of a topic
        for system, means_path, path in zip(means, evaluated.means_paths, evaluated.per_query_paths, strict=True)
    }
    sample = choose_queries(np.stack(list(scores.values())), main_measure)
    all_queries = read_table(corpus.queries_path)
    queries = all_queries.take(pa.array(sample.rows)).to_pylist()
    # Only of these queries are whole rankings in memory.
    ids = [query["query_id"] for query in queries]
    first_hits = {
        system: read_first_hits(path, means[system]["inputs"][job.below(path)], means_path, DEPTH, ids)
        for system, means_path, path in zip(means, evaluated.means_paths, evaluated.run_paths, strict=True)
    }
    ranked = {system: of_sample for system, (_, of_sample) in first_hits.items()}
    qrels = read_table(corpus.qrels_path)
    grades = _grades(qrels, ids)
    entries: list[dict[str, Any]] = [
        {
            "id": query["query_id"],
            "text": for_reading(query["text"]),
            "relevant": sum(grade > 0 for grade in grades[query["query_id"]].values()),
            "values": {system: float(values[row]) for system, values in scores.items()},
            **_judged_and_hits(query["query_id"], grades[query["query_id"]], ranked),
        }
        for row, query in zip(sample.rows, queries, strict=True)
    ]
    relevant = qrels["doc_id"].filter(pc.greater(qrels["score"], 0))
    groups = [relevant, *(doc_ids for doc_ids, _ in first_hits.values())]
    texts, lengths = scan_documents(corpus.documents_path, _named(entries), groups)
    for entry in entries:
        shown = (texts[doc_id] for doc_id in _named([entry]) if doc_id in texts)
        entry["words"] = matched_words(entry["text"], (part for document in shown for part in document.values()), analyzers)
    write_record(
        output_path,
        job,
        inputs=_digests_of(record, [*means.values()], evaluated.run_paths, job),
        outputs={},
        dataset=dataset,
        split=record["split"],
        documents=record["counts"]["documents"],
        measure=main_measure,
        depth=DEPTH,
        systems=list(means),
        sample={"shown": len(sample.rows), "of": sample.of, "how": sample.how},
        queries=entries,
        texts=texts,
        scores=query_scores(
            all_queries["query_id"].to_pylist(), list(map(for_reading, all_queries["text"].to_pylist())), scores, sample.rows
        ),
        lengths={
            "unit": "words",
            "all": lengths[0],
            "relevant": lengths[1],
            "retrieved": dict(zip(means, lengths[2:], strict=True)),
        },
    )


def _digests_of(
    corpus: Mapping[str, Any], means: Sequence[Mapping[str, Any]], run_paths: Sequence[str], job: Job
) -> dict[Path, str]:
    """Return the digests of the files of a corpus, of means, and of the runs that these were computed from."""
    runs = ((job.below(path), each["inputs"][job.below(path)]) for path, each in zip(run_paths, means, strict=True))
    digests = {**corpus["outputs"], **{path: digest for each in means for path, digest in each["outputs"].items()}, **dict(runs)}
    return {job.results / path: digest for path, digest in digests.items()}


def _grades(qrels: pa.Table, ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return the judgements of some queries: by query, by document, the grade."""
    grades: dict[str, dict[str, int]] = {query_id: {} for query_id in ids}
    for row in qrels.filter(pc.is_in(qrels["query_id"], value_set=pa.array(ids, pa.string()))).to_pylist():
        grades[row["query_id"]][row["doc_id"]] = row["score"]
    return grades


def _judged_and_hits(query_id: str, grades: Mapping[str, int], runs: Mapping[str, Ranked]) -> dict[str, Any]:
    """Return the judged documents of one query with their ranks, and the first hits of every system."""
    ranked = {system: run[query_id] for system, run in runs.items()}
    # Sorting keeps documents with the same grade in byte order of their ids, the order of judgements.
    best = sorted(grades.items(), key=lambda judgement: -judgement[1])[:JUDGED]
    return {
        "judged_total": len(grades),
        "judged": [
            {
                "doc_id": doc_id,
                "grade": grade,
                "ranks": {system: ranks[doc_id][0] if doc_id in ranks else None for system, ranks in ranked.items()},
            }
            for doc_id, grade in best
        ],
        "hits": {
            system: [
                # The shortest decimal of the float32; as float64 it would have meaningless digits.
                {"doc_id": doc_id, "score": float(str(np.float32(score))), "grade": grades.get(doc_id)}
                for doc_id, (_, score) in list(ranks.items())[:DEPTH]
            ]
            for system, ranks in ranked.items()
        },
    }


def _named(entries: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the ids of all documents that are shown."""
    judged = {document["doc_id"] for entry in entries for document in entry["judged"]}
    return judged.union(hit["doc_id"] for entry in entries for hits in entry["hits"].values() for hit in hits)


def read_first_hits(
    run_path: str, expected: str, source: str, depth: int, sample: Sequence[str]
) -> tuple[pa.ChunkedArray, Ranked]:
    """Return the documents in the first ``depth`` ranks of all queries, one per hit, and all ranks of a sample of queries.

    Raise DataError if the digest of the run is not the expected one, which ``source`` recorded.
    """
    check_digest(run_path, expected, source)
    ranked: Ranked = {query_id: {} for query_id in sample}
    of_sample = pc.field("query_id").isin(pa.array(sample, pa.string()))
    for row in pq.read_table(run_path, filters=of_sample).to_pylist():
        ranked[row["query_id"]][row["doc_id"]] = row["rank"], row["score"]
    return pq.read_table(run_path, columns=["doc_id"], filters=pc.field("rank") <= depth)["doc_id"], ranked


def matched_words(query: str, texts: Iterable[str], analyzers: Sequence[str] = (ENGLISH,)) -> list[str]:
    """Return the words of texts that share a term with a query under one of the analyzers: in lower case, distinct, sorted.

    They have the stem of a word of the query, and are no stop words.
    """
    words = sorted({word for text in texts for word in WORD.findall(text)})
    matched = set()
    for analyzer in analyzers:
        terms = set(analyze(query, analyzer))
        of_words = zip(words, analyze_all(words, analyzer), strict=True)
        # Lower case only now, since not every analyzer ignores case.
        matched |= {word.lower() for word, of_word in of_words if terms.intersection(of_word)}
    return sorted(matched)
