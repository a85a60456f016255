"""A backbone computed by ONNX Runtime: a graph instead of a transformers model."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from beirflow.core.errors import ModelError
from beirflow.models.card import Step
from beirflow.models.computing.padding_check import PROBE_TEXT, Compute, changed_by_padding
from beirflow.models.encoders.backbone import Backbone
from beirflow.models.onnx_file import read_onnx

logger = logging.getLogger(__name__)

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TYPES: Mapping[str, Any] = {
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(float)": np.float32,
    "tensor(bool)": np.bool_,
}
"""Type of an input in numpy, by its name in ONNX Runtime."""

TOKENS = ("last_hidden_state", "token_embeddings")
VECTOR = ("text_embeds", "pooler_output", "sentence_embedding")
"""Names that exporters give to the vectors of tokens, and to one vector a text."""

LOGITS = "logits"  # the name that exporters give to what a head computes, of words or labels
WHOLE = "sentence_embedding"  # the name of a vector that is made by all modules of sentence-transformers

PADDING_TOLERANCE = {"float32": 1e-3}
LOWER_TOLERANCE = 0.4
"""Largest change of a vector by padding, over its length, by precision and for all others. A quantised graph may scale all tokens
of a batch together. Two real models, made to read padding as text, changed by 0.61 and 0.72."""


class OnnxBackbone(Backbone):
    """A graph and its tokenizer, in place of a backbone of transformers.

    ``weights`` is the name of the graph below the folder of the model, which also has its configuration and its tokenizer;
    ``modes`` are those in the card, and afterwards those of pooling the
    graph's output; ``precision`` is that of its stored weights. Raises ModelError if ONNX Runtime is not installed or refuses the
    graph, or inputs or outputs of the graph are not understood.
    """

    def __init__(self, folder: Path, steps: Sequence[Step], weights: str, modes: list[str], *, device: torch.device) -> None:
        first, *others = steps
        self._path = folder / weights
        self.precision = read_onnx(self._path).precision
        self.threads = torch.get_num_threads()
        session = _session(self._path, device)
        output, rank = _choose_output(self._path, session.get_outputs(), modes, others)
        self._provider, self._output = session.get_providers()[0], output
        self.modes = ["pooler"] if rank == 2 else modes
        super().__init__(folder, first, weights, self.modes, torch.float32)
        # Until here a model of the same shape without weights has said how many tokens there are, and how long texts may be.
        width = getattr(self.model.config.get_text_config(), "hidden_size", None) if rank == 3 else None
        self.model = _Graph(self._path, session, output, rank, width)

    def _load(self, config: Any, kind: Any) -> Any:
        """Return a model of the same shape without weights, which the graph holds."""
        with torch.device("meta"):
            return kind.from_config(config) if hasattr(kind, "from_config") else kind(config)

    def made(self) -> dict[str, str]:
        """Return precision, library, provider and output, for a record."""
        import onnxruntime

        versions = {"onnxruntime": onnxruntime.__version__, "provider": self._provider, "graph_output": self._output}
        return {"precision": self.precision, **versions}

    def check_padding(self, compute: Compute) -> None:
        """Refuse a graph that reads padding as text: its exporter saw no padding and left the mask out."""
        apart = changed_by_padding(compute, next(self.token_ids([PROBE_TEXT])), self.max_length)
        if not apart <= PADDING_TOLERANCE.get(self.precision, LOWER_TOLERANCE):
            raise ModelError(
                f"{self._path} gives a text another vector when it is padded (by a share of {apart:.2g}), so the graph does not"
                " use its attention_mask; export it again with an example that has padding"
            )


class _Graph(nn.Module):
    """A graph that ONNX Runtime computes.

    ``rank`` is 3 for vectors of tokens, 2 for one vector per text; ``width`` the dimensions that a vector must have, None for
    any.
    """

    def __init__(self, path: Path, session: Any, output: str, rank: int, width: int | None) -> None:
        super().__init__()
        self._path, self._session, self._output, self._rank, self._width = path, session, output, rank, width
        self._inputs = _known_inputs(path, session.get_inputs())

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> Any:
        """Return the graph's output for a padded batch, ids and mask of shape (batch, tokens)."""
        ids = input_ids
        given = {"input_ids": ids, "attention_mask": attention_mask, "token_type_ids": torch.zeros_like(ids)}
        feed = {name: given[name].cpu().numpy().astype(kind) for name, kind in self._inputs.items()}
        try:
            [output] = self._session.run([self._output], feed)
        except Exception as error:  # ONNX Runtime has exceptions of its own
            raise RuntimeError(str(error).strip()) from error
        if output.ndim != self._rank or len(output) != len(ids):
            raise ValueError(f"its output {self._output} has the shape {output.shape} for ids of shape {tuple(ids.shape)}")
        if self._width not in (None, output.shape[-1]):
            raise ModelError(
                f"{self._path}: its output {self._output} has {output.shape[-1]} dimensions, and hidden_size in config.json is"
                f" {self._width}; export the model again, with last_hidden_state"
            )
        vectors = torch.from_numpy(output).to(ids.device)
        return SimpleNamespace(**{"last_hidden_state" if self._rank == 3 else "pooler_output": vectors})


def _session(path: Path, device: torch.device) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise ModelError(
            f"{path} is computed by ONNX Runtime, which is not installed here ({error}); install it with:"
            " pip install 'beirflow[onnx]', or name torch weights in 'weights'"
        ) from error
    if device.type == "mps":
        raise ModelError(f"{path}: ONNX graphs do not run on mps; set device: cpu, or name torch weights in 'weights'")
    wanted = "CUDAExecutionProvider" if device.type == "cuda" else "CPUExecutionProvider"
    absent = (
        f"{path}: the device is a GPU, but this onnxruntime does not compute on one; install onnxruntime-gpu, or set device: cpu"
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    # Errors only: warnings about the graph would fill the log.
    options.log_severity_level = 3
    # TensorFloat-32 would round more than float32 does.
    provider = (wanted, {"use_tf32": "0"}) if device.type == "cuda" else wanted
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=[provider])
    except Exception as error:  # ONNX Runtime has exceptions of its own
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"ONNX Runtime cannot load {path} ({reason}); export or fetch the model again") from error
    if session.get_providers()[0] != wanted:  # where CUDA's libraries do not suit it, it falls back to the CPU
        raise ModelError(absent)
    return session


def _known_inputs(path: Path, inputs: Sequence[Any]) -> dict[str, Any]:
    """Return the type of the numbers of each input of the graph."""
    names = [each.name for each in inputs]
    if strange := [name for name in names if name not in INPUTS]:
        raise ModelError(f"{path} wants {', '.join(strange)}; beirflow knows {', '.join(INPUTS)}, so export it with these")
    if missing := [name for name in INPUTS[:2] if name not in names]:
        raise ModelError(f"{path} does not take {' and '.join(missing)}, so that padding would be read as text; export it again")
    if fixed := [f"{each.name} of shape {each.shape}" for each in inputs if any(isinstance(size, int) for size in each.shape)]:
        raise ModelError(f"{path} takes {', '.join(fixed)} only; export it with free sizes for batch and tokens (dynamic axes)")
    if odd := [f"{each.name} as {each.type}" for each in inputs if each.type not in TYPES]:
        raise ModelError(f"{path} wants {', '.join(odd)}; known are {', '.join(TYPES)}")
    return {each.name: TYPES[each.type] for each in inputs}


def _choose_output(path: Path, outputs: Sequence[Any], modes: Sequence[str], others: Sequence[Step]) -> tuple[str, int]:
    """Return the output that a card means, and its rank: by name, or by rank where only one output has it."""
    ranks = {each.name: len(each.shape) for each in outputs if each.type in ("tensor(float)", "tensor(float16)")}
    named = ", ".join(f"{name} ({rank} dimensions)" for name, rank in ranks.items()) or "nothing with numbers of a vector"
    known, rank = (VECTOR, 2) if list(modes) == ["pooler"] else (TOKENS, 3)
    if name := _named(ranks, known, rank):
        return name, rank
    if rank == 3 and ranks.get(WHOLE) == 2:
        if extra := [step.kind for step in others if step.kind not in ("pooling", "normalize")]:
            raise ModelError(
                f"{path} gives {named}, and does not say whether the {' and '.join(extra)} of the model is in the graph; export"
                " it with last_hidden_state"
            )
        return WHOLE, 2
    raise ModelError(
        f"{path} gives {named}; expected {' or '.join(known)}, or a single output of {rank} dimensions. For the vector that the"
        " graph makes itself, say pooling: pooler"
    )


def _named(ranks: Mapping[str, int], names: Sequence[str], rank: int) -> str | None:
    """Return the first of some names that has a rank, else the only output that has it."""
    of_rank = [name for name, output_rank in ranks.items() if output_rank == rank and name != LOGITS]
    return next((name for name in names if name in of_rank), of_rank[0] if len(of_rank) == 1 else None)
