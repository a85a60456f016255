"""Texts of a dataset, and how two encoders rank them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from beirflow import WORKFLOW
from beirflow.core.errors import ConfigError
from beirflow.data.document_text import document_text
from beirflow.data.sampling import drawn
from beirflow.data.sources.beir_files import Source, documents_in, read_judgements, read_queries
from beirflow.data.sources.source import CORPUS, QUERIES, qrels_of
from beirflow.evaluation.outside_runs import evaluate
from beirflow.families.dense.in_memory import search

QUERIES_DRAWN, DOCUMENTS_DRAWN, TOP = 50, 300, 10


class RealTexts(NamedTuple):
    """Texts by id, and judgements by query; none if the dataset has none."""

    source: str
    queries: dict[str, str]
    documents: dict[str, str]
    qrels: dict[str, dict[str, int]]


def draw(folder: str | None) -> RealTexts:
    """Draw queries of a folder in BEIR form, judged ones if there are any, their judged documents, and others.

    Without a folder, they are those of ``beirflow try``.
    """
    place = Path(folder) if folder else WORKFLOW / "trial"
    if missing := [name for name in (CORPUS, QUERIES) if not (place / name).is_file()]:
        raise ConfigError(f"--dataset {folder}: a dataset in BEIR form was expected here, but it has no {missing[0]}")
    source, qrels = Source(place), dict[str, dict[str, int]]()
    splits = sorted((path.stem for path in place.glob(qrels_of("*"))), key=lambda split: (split != "test", split))
    for _, each in read_judgements(source, splits[0]) if splits else ():
        qrels.setdefault(each.query_id, {})[each.doc_id] = each.score
    texts = {key: text for _, key, text, _ in read_queries(source) if isinstance(text, str) and (key in qrels or not qrels)}
    ids = [*texts]
    queries = {ids[row]: texts[ids[row]] for row in drawn(ids, wanted=QUERIES_DRAWN, seed=0)}
    qrels = {key: qrels[key] for key in queries if key in qrels}
    documents = {
        key: document_text(title or "", text)
        for numbers, block in source.blocks(CORPUS)
        for _, key, title, text in documents_in(source, numbers, block)
    }
    judged = [key for key in dict.fromkeys(key for rows in qrels.values() for key in rows) if key in documents]
    ids = [key for key in documents if key not in {*judged}]
    chosen = judged[:DOCUMENTS_DRAWN] + [ids[row] for row in drawn(ids, wanted=max(0, DOCUMENTS_DRAWN - len(judged)), seed=0)]
    if not queries or not (kept := {key: documents[key] for key in chosen if documents[key]}):
        raise ConfigError(f"--dataset {folder}: expected queries and documents, found {len(queries)} and {len(documents)}")
    return RealTexts(str(place) if folder else "the texts of beirflow try", queries, kept, qrels)


def rankings(texts: RealTexts, vectors: Mapping[str, tuple[np.ndarray, np.ndarray]], similarity: Any) -> dict[str, Any]:
    """Compare the rankings of the weights and of the server, each by its vectors of queries and of documents."""
    ids = [*texts.documents], [*texts.queries]
    runs = {
        name: search(None, (ids[0], documents), (ids[1], queries), k=TOP, similarity=similarity)
        for name, (queries, documents) in vectors.items()
    }
    tops = [run.groupby("query")["document"].agg(list) for run in runs.values()]
    shared = [len({*tops[0][key]} & {*tops[1][key]}) / len(tops[0][key]) for key in texts.queries]
    found: dict[str, Any] = {"texts": texts.source, "queries": len(texts.queries), "documents": len(texts.documents)}
    found |= {"shared_of_top_10": float(np.mean(shared)), "queries_with_the_same_top_10": int((tops[0] == tops[1]).sum())}
    judged = any(grade > 0 for rows in texts.qrels.values() for grade in rows.values())
    for name, run in runs.items() if judged else ():
        found[f"NDCG@10 of the {name}"] = float(evaluate(run, texts.qrels, ["NDCG@10"]).mean["NDCG@10"])
    return found
