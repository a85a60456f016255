"""Models of late interaction with random weights, in the layouts that hubs have."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from tiny_bert import save_tiny_bert, saved_once
from zoo import LLAMA, SIZES, change_json

DIM = 16
OTHER_TOKENS = {"w194": "[MASK]", "w195": "[unused0]", "w196": "[unused1]", "w197": ".", "w198": ",", "w199": "[Q] "}
"""By word of the tiny BERT's vocabulary, what it is here; the others are words."""

METADATA = {"query_maxlen": 12, "doc_maxlen": 20, "dim": DIM, "mask_punctuation": True, "attend_to_mask_tokens": False}


@saved_once
def save_backbone(folder: Path, seed: int = 0, positions: int = 64) -> Path:
    """The tiny BERT, with a mask, markers and punctuation in its vocabulary."""
    save_tiny_bert(folder, seed, positions=positions)
    path = folder / "tokenizer.json"
    described = json.loads(path.read_text())
    words = described["model"]["vocab"]
    described["model"]["vocab"] = {OTHER_TOKENS.get(word, word): number for word, number in words.items()}
    path.write_text(json.dumps(described))
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    PreTrainedTokenizerFast(tokenizer_file=str(path), model_max_length=positions, **special).save_pretrained(folder)
    return folder


def save_colbert(folder: Path, seed: int = 0, *, metadata: dict[str, Any] | None = METADATA, **weights: torch.Tensor) -> Path:
    """A checkpoint of ColBERT, as colbert-ir/colbertv2.0 is; None for one without artifact.metadata."""
    save_backbone(folder, seed)
    torch.manual_seed(seed + 1)
    own = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
    own |= {"linear.weight": torch.randn(DIM, 32)}
    save_file(own | weights, folder / "model.safetensors", metadata={"format": "pt"})
    change_json(folder / "config.json", architectures=["HF_ColBERT"])
    if metadata is not None:
        (folder / "artifact.metadata").write_text(json.dumps(metadata))
    return folder


def save_with_projection(backbone: Path, folder: Path, dim: int = 128) -> Path:
    """A checkpoint of ColBERT with a real BERT and a projection whose weights are random."""
    model = AutoModel.from_pretrained(backbone)
    AutoTokenizer.from_pretrained(backbone).save_pretrained(folder)
    model.save_pretrained(folder)
    torch.manual_seed(3)
    own = {f"bert.{name}": value.clone() for name, value in model.state_dict().items()}
    save_file(own | {"linear.weight": torch.randn(dim, model.config.hidden_size)}, folder / "model.safetensors", {"format": "pt"})
    change_json(folder / "config.json", architectures=["HF_ColBERT"])
    (folder / "artifact.metadata").write_text(json.dumps({"query_maxlen": 32, "doc_maxlen": 180}))
    return folder


def save_pylate(folder: Path, seed: int = 0, *, dense: int = 1, kind: str = "bert", **library: Any) -> Path:
    """A model as PyLate saves it: a Transformer, one or two Dense of its own, and the rest in the configuration."""
    save_backbone(folder, seed)
    if kind != "bert":
        torch.manual_seed(seed)
        sizes = {
            **SIZES,
            "max_position_embeddings": 64,
            "cls_token_id": 2,
            "sep_token_id": 3,
            **(LLAMA if kind == "qwen3" else {}),
        }
        AutoModel.from_config(AutoConfig.for_model(kind, **sizes)).eval().save_pretrained(folder)
    torch.manual_seed(seed + 1)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    sizes = [32, *[24] * (dense - 1), DIM]
    for number, (before, after) in enumerate(pairwise(sizes), 1):
        here = folder / f"{number}_Dense"
        here.mkdir()
        config = {"in_features": before, "out_features": after, "bias": False}
        config |= {"activation_function": "torch.nn.modules.linear.Identity"}
        (here / "config.json").write_text(json.dumps(config))
        save_file({"linear.weight": torch.randn(after, before)}, here / "model.safetensors")
        modules.append({"idx": number, "name": str(number), "path": here.name, "type": "pylate.models.Dense.Dense"})
    (folder / "modules.json").write_text(json.dumps(modules))
    change_json(folder / "sentence_bert_config.json", max_seq_length=19, do_lower_case=False)
    said = {"query_prefix": "[unused0]", "document_prefix": "[unused1]", "query_length": 12, "document_length": 20}
    said |= {"attend_to_expansion_tokens": False, "do_query_expansion": True, "similarity_fn_name": "MaxSim"}
    change_json(folder / "config_sentence_transformers.json", **said | {"model_type": "ColBERT"} | library)
    return folder
