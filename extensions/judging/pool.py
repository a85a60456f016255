"""The unjudged documents in the first ranks of all systems, for a person or a program to judge.

``README.md`` describes ``pool/<dataset>.jsonl``.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beirflow.core.errors import DataError
from beirflow.core.records import Job, read_json, write_record
from beirflow.core.writing import atomic_path
from beirflow.data.corpus_files import PreparedCorpus, read_table
from beirflow.evaluation.extra_judgements import PAIR
from beirflow.ranking.run_file import read_run
from beirflow.report.analysis.document_scan import query_texts, texts_of

KEYS = ("query_id", "query", "doc_id", "title", "text", "grade")  # of a line of a pool


def pool_unjudged(
    *,
    dataset: str,
    corpus: PreparedCorpus,
    run_paths: Sequence[str],
    means_paths: Sequence[str],
    pool_depth: int,
    pool_path: str,
    record_path: str,
    job: Job,
) -> str:
    """Write the pool of a corpus and its record; return the number of pairs, in words.

    The record has the depth, the systems, the grades that the judgements of the corpus use, and counts.
    """
    qrels, means = read_table(corpus.qrels_path), [read_json(path) for path in means_paths]
    runs = [
        read_run(path, each["inputs"][job.below(path)], source)
        for path, each, source in zip(run_paths, means, means_paths, strict=True)
    ]
    pairs = unjudged(runs, qrels, pool_depth)
    texts = query_texts(corpus.queries_path)
    documents = texts_of(corpus.documents_path, {doc_id for _, doc_id in pairs})
    before = read_pool(pool_path) if Path(pool_path).exists() else ()
    filled = {(line["query_id"], line["doc_id"]): line for line in before if line["grade"] is not None}
    with atomic_path(pool_path) as partial, partial.open("w", encoding="utf-8", newline="\n") as lines:
        for query_id, doc_id in pairs:
            title, text = documents[doc_id]
            line = {"query_id": query_id, "query": texts[query_id], "doc_id": doc_id, "title": title, "text": text}
            line["grade"] = filled.pop((query_id, doc_id), {"grade": None})["grade"]
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
        lines.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in filled.values())
    digests: list[Mapping[str, str]] = [read_json(corpus.corpus_path)["outputs"], *(each["inputs"] for each in means)]
    write_record(
        record_path,
        job,
        inputs={job.results / path: digest for each in digests for path, digest in each.items()},
        outputs={},  # a person writes into the pool
        dataset=dataset,
        depth=pool_depth,
        systems=[each["system"] for each in means],
        grades=sorted(pc.unique(qrels["score"]).to_pylist()),
        counts={"pairs": len(pairs), "queries": len({query_id for query_id, _ in pairs})},
    )
    return f"{len(pairs):,} unjudged documents in the first {pool_depth} ranks of {len(means)} systems"


def unjudged(runs: Sequence[pa.Table], qrels: pa.Table, depth: int) -> list[tuple[str, str]]:
    """Return the query and document of unjudged pairs in the first ranks of some runs, in an order that reveals nothing of these.

    Queries without judgements are left out.
    """
    judged = pc.unique(qrels["query_id"])
    first = pa.concat_tables(
        run.filter(pc.and_(pc.less_equal(run["rank"], depth), pc.is_in(run["query_id"], value_set=judged))).select(PAIR)
        for run in runs
    )
    holes = first.join(qrels.select(PAIR), PAIR, join_type="left anti")
    pairs = set(zip(*(holes[name].to_pylist() for name in PAIR), strict=True))
    # Digests are the same every time, and no run changes them.
    return sorted(pairs, key=lambda pair: (_digest(pair[0]), _digest(*pair)))


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def read_pool(path: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a pool; raise DataError if one has other keys, or no whole number or null as grade."""
    for number, text in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), 1):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
            problem = (
                "" if isinstance(line, dict) and set(line) == set(KEYS) else f"expected a JSON object with {', '.join(KEYS)}"
            )
        except (ValueError, RecursionError) as error:
            problem = f"{type(error).__name__}: {error}"
        if not problem and not (line["grade"] is None or type(line["grade"]) is int):
            problem = f"the grade {line['grade']!r}, expected a whole number or null"
        if not problem and not all(isinstance(line[key], str) for key in KEYS[:-1]):
            problem = f"expected texts in {', '.join(KEYS[:-1])}"
        if problem:
            raise DataError(f"{path}, line {number}: {problem}; correct the line, or move the file away to make the pool again")
        yield line
