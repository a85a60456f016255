"""Make texts, and a model of each architecture in the layout of sentence-transformers.

python -m bench.architectures.inputs FOLDER TEXTS
"""

import json
import sys
from pathlib import Path
from typing import Any

ARCHITECTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "BERT": ("bert", "mean", {"num_attention_heads": 12}),
    "ModernBERT": ("modernbert", "cls", {"num_attention_heads": 6, "cls_token_id": 101, "sep_token_id": 102}),
    "decoder": ("qwen3", "lasttoken", {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 64}),
}
"""By name: the type of the model, its pooling, and sizes of its own."""


def save_model(folder: Path, name: str) -> None:
    """A model with random weights and the tokenizer of all-MiniLM-L6-v2."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    from bench.weights import weights_folder

    model_type, pooling, sizes = ARCHITECTURES[name]
    shared = {"vocab_size": 30_522, "hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536, "pad_token_id": 0}
    torch.manual_seed(0)
    config = AutoConfig.for_model(model_type, **shared, max_position_embeddings=512, **sizes)
    AutoModel.from_config(config).eval().save_pretrained(folder / "backbone")
    AutoTokenizer.from_pretrained(weights_folder()).save_pretrained(folder / "backbone")
    backbone = models.Transformer(str(folder / "backbone"), max_seq_length=256)
    SentenceTransformer(modules=[backbone, models.Pooling(384, pooling)], device="cpu").save(str(folder / "model"))


def main(folder: Path, count: int) -> None:
    """Write models/<name>/model and texts.json: words of the vocabulary, drawn by a seed."""
    import numpy as np

    from bench.weights import weights_folder

    vocabulary = Path(weights_folder(), "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = np.array([word for word in vocabulary if word.isalpha() and word.isascii()])
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(words, size)) for size in random.integers(20, 250, count)]
    folder.mkdir(parents=True)
    (folder / "texts.json").write_text(json.dumps(texts))
    for name in ARCHITECTURES:
        save_model(folder / "models" / name, name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
