"""The rates of what is no encoder: SPLADE, a cross-encoder, a T5 that writes queries, a training; of random weights."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from bench.gpu.encoding import timed
from bench.gpu.workload import Figures, Setting, need

QUERY = 30  # characters of a text that make a query, about six words
BATCH = 64  # pairs of a step of training
OF_A_DOCUMENT, LENGTH = 80, 16
"""Queries that are written for a document, and their tokens: random weights do not end them, as real ones do."""

ABOVE = 3.8
"""Standard deviations that a logit must be above the mean to weigh something: some 200 terms of a text do."""


def saved(setting: Setting, kind: Any, config: Any) -> tuple[Path, Any]:
    """A folder for a model of transformers with random weights, with the tokenizer of the BERT; and the model, to be saved."""
    folder = setting.folder.with_name(kind.__name__)
    shutil.copytree(setting.folder, folder, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    return folder, kind(config).eval()


def like_bert(setting: Setting, **more: Any) -> Any:
    """The configuration of the BERT."""
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(setting.folder, architectures=None, **more)


def splade(setting: Setting) -> Figures:
    """Tokens a second that a SPLADE weighs."""
    need("pyarrow")
    from transformers import BertForMaskedLM

    from beirflow.families.sparse.layouts import read_parts
    from beirflow.families.sparse.settings import SparseSettings
    from beirflow.families.sparse.weigher import Weigher

    folder, model = saved(setting, BertForMaskedLM, like_bert(setting))
    model.cls.predictions.bias.data.fill_(-ABOVE * model.config.initializer_range * setting.shape.dim**0.5)
    model.save_pretrained(folder)
    part = read_parts(SparseSettings("splade", model=str(folder), head="splade")).documents
    weigher = Weigher("splade", part, **setting.on)

    def weigh(texts: list[str]) -> int:
        before = weigher.tokens
        for _ in weigher.windows(texts, "documents"):
            pass
        return weigher.tokens - before

    return timed(setting, weigh)


def cross_encoder(setting: Setting) -> Figures:
    """Tokens a second of pairs that a cross-encoder scores."""
    need("pyarrow")
    from transformers import BertForSequenceClassification

    from beirflow.families.rerank.scorers.load import load_scorer
    from beirflow.families.rerank.settings import RerankSettings

    folder, model = saved(setting, BertForSequenceClassification, like_bert(setting, num_labels=1))
    model.save_pretrained(folder)
    scorer: Any = load_scorer(RerankSettings("rerank", str(folder), first="bm25"), **setting.on)

    def score(texts: list[str]) -> int:
        before = scorer.tokens
        scorer.scores([(text[:QUERY], text) for text in texts])
        return scorer.tokens - before

    return timed(setting, score)


def writing(setting: Setting) -> Figures:
    """Tokens a second that a T5 writes, of queries for each document."""
    need("pyarrow")
    from transformers import T5Config, T5ForConditionalGeneration

    from beirflow.extensions.expansions.writer import QueryWriter
    from beirflow.families.expansions.settings import WrittenQueries

    shape = setting.shape
    sizes = {"d_model": shape.dim, "d_kv": shape.dim // shape.heads, "d_ff": 4 * shape.dim, "num_layers": shape.layers}
    ends = {"pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 0}
    config = T5Config(vocab_size=shape.vocabulary, num_heads=shape.heads, tie_word_embeddings=False, **sizes, **ends)
    folder, model = saved(setting, T5ForConditionalGeneration, config)
    model.save_pretrained(folder)
    settings = WrittenQueries(str(folder), queries=OF_A_DOCUMENT, query_length=LENGTH, max_length=shape.positions)
    writer = QueryWriter(settings, folder, **setting.on)

    def write(texts: list[str]) -> int:
        parts = writer.parts([str(number) for number in range(len(texts))], texts)
        return sum(part.counts["written_tokens"] for part in parts)

    return timed(setting, write, warm_up=512) | {"queries_at_once": writer.texts}


def training(setting: Setting) -> Figures:
    """Tokens a second of pairs that an encoder is trained with."""
    need("pyarrow")
    from beirflow.extensions.genq.steps import optimizer_of
    from beirflow.extensions.genq.trainee import Trainee

    how = {"device": setting.device.type, "precision": setting.precision, "max_length": setting.shape.positions}
    trainee = Trainee(setting.system, setting.folder, "dot", **how)
    optimizer = optimizer_of(trainee.model)

    def train(texts: list[str]) -> int:
        queries, documents = trainee.tokens([text[:QUERY] for text in texts], "queries"), trainee.tokens(texts, "documents")
        for first in range(0, len(texts), BATCH):
            rows = np.arange(first, min(first + BATCH, len(texts)))
            optimizer.zero_grad()
            trainee.loss(queries, documents, (rows, rows)).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return int(queries.lengths.sum() + documents.lengths.sum())

    return timed(setting, train, warm_up=1024)
