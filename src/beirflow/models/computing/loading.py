"""Tokenizers and models of transformers from a folder: none of its code runs, no hub is asked, only tensors are read."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any

import torch
import transformers
from safetensors.torch import load_file
from transformers.utils import logging as transformers_logging

from beirflow.core.errors import ModelError, some
from beirflow.models.computing.folder_tokenizer import LOCAL as LOCAL
from beirflow.models.native_class import NAMES
from beirflow.models.refused_code import refuse_code, refuse_old_transformers
from beirflow.models.settings import ONNX
from beirflow.run.devices import compute_exactly, multiply, pack, prefers_onednn

PACKED = (torch.float32, torch.bfloat16)  # precisions of layers that have a copy of their weights in oneDNN's layout
MOST_PACKED = 1 << 31  # bytes of weights that a model may have twice

NOTHING = "(?!)"  # a pattern that matches nothing

# While it loads, transformers replaces methods of its classes for all threads; two at once would leave weights untied for good.
_LOADING = RLock()


def import_ahead() -> None:
    """Import what loads a model, for jobs that are forked from this process."""
    for name in ("models.bert.modeling_bert", "models.auto.tokenization_auto"):
        import_module(f"transformers.{name}")
    import_module("torch.fx.experimental.symbolic_shapes")
    # It is made once for all types of models.
    import_module("transformers.conversion_mapping").get_checkpoint_conversion_mapping("bert")


def load_model(kind: Any, folder: Path, weights: str, dtype: torch.dtype, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Load the model of a folder by a class of transformers; return it with the report on its weights, a file of this name."""
    if weights.endswith(ONNX):
        raise ModelError(f"{folder / weights} is an ONNX graph, which only dense systems read; name a file of torch in 'weights'")
    # Pickles, too, are read as tensors alone.
    tensors = {"use_safetensors": weights.endswith(".safetensors"), "weights_only": True}
    model, report = kind.from_pretrained(folder, dtype=dtype, output_loading_info=True, **tensors, **options, **LOCAL)
    return with_fast_products(model), report


class Linear(torch.nn.Linear):
    """A layer with the products of :func:`multiply` while nothing is trained."""

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Multiply vectors of shape (..., in) to (..., out)."""
        training = not torch.is_inference_mode_enabled()
        return super().forward(vectors) if training else multiply(vectors, self._matrix_for(vectors), self.bias)

    def _matrix_for(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the weights that multiply some vectors."""
        return self.weight


class PackedLinear(Linear):
    """A layer that has a copy of its weights in oneDNN's layout besides."""

    _packed: tuple[tuple[int, int], torch.Tensor] | None = None  # where the weights were, their version, and the copy

    def _matrix_for(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the copy, made again whenever the weights changed; the weights themselves where oneDNN does not multiply."""
        if vectors.device.type != "cpu" or vectors.dtype not in PACKED:
            return self.weight
        state = self.weight.data_ptr(), self.weight._version
        if self._packed is None or self._packed[0] != state:
            self._packed = state, pack(self.weight)
        return self._packed[1]


def with_fast_products(model: Any) -> Any:
    """Return a model whose layers have the products of oneDNN, where these are faster than torch's; the weights stay."""
    if prefers_onednn():
        # What derives from a layer computes something else.
        layers = [module for module in model.modules() if type(module) is torch.nn.Linear]
        packed = sum(layer.weight.nbytes for layer in layers) <= MOST_PACKED
        for layer in layers:
            layer.__class__ = PackedLinear if packed else Linear
    return model


def _make_masks_without_waiting() -> None:
    """Let transformers make each mask on CUDA: it looks whether one masks anything, for which the host would wait."""
    from transformers import AttentionMaskInterface
    from transformers.masking_utils import eager_mask, sdpa_mask

    def make_mask(make: Any, *, attention_mask: torch.Tensor | None = None, **named: Any) -> torch.Tensor | None:
        """Make a mask without waiting for the GPU."""
        if attention_mask is not None and attention_mask.is_cuda:
            named |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        mask: torch.Tensor | None = make(attention_mask=attention_mask, **named)
        return mask

    for attention, make in (("sdpa", sdpa_mask), ("eager", eager_mask)):
        AttentionMaskInterface.register(attention, partial(make_mask, make))


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Read the weights in a file by name, of safetensors or a pickle, of which only tensors are read."""
    return load_file(path) if path.suffix == ".safetensors" else torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def loading_from(folder: Path) -> Iterator[None]:
    """Load the model of a folder in the block, without bars and warnings; ModelError for whatever is raised.

    Nothing is loaded of a folder for which transformers would run code.
    """
    refuse_old_transformers(transformers.__version__)
    for name in ("config.json", "tokenizer_config.json"):
        refuse_code(folder / name, NAMES)
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    compute_exactly()
    try:
        _make_masks_without_waiting()
        with _LOADING:
            yield
    except ModelError:
        raise
    except Exception as error:  # transformers, safetensors and pickle each have exceptions of their own
        # Those of torch continue with advice that does not apply here.
        reason = str(error).strip().replace(":\n\t", ": ").partition("\n")[0]
        problem = f"the model in {folder} cannot be loaded ({type(error).__name__}: {reason})"
        todo = "beirflow runs no code from model folders and reads only tensors; save the model again with save_pretrained"
        raise ModelError(f"{problem}; {todo}") from error


def load_whole(
    kind: Any, folder: Path, weights: str, dtype: torch.dtype, *, may_lack: str = NOTHING, may_have: str = NOTHING
) -> Any:
    """Load the model of a folder, ready to compute; refuse weights as :func:`check_weights` does."""
    model, report = load_model(kind, folder, weights, dtype)
    check_weights(folder / weights, report["missing_keys"], report["unexpected_keys"], may_lack=may_lack, may_have=may_have)
    return model.eval()


def check_weights(
    path: Path, missing: Iterable[str], unused: Iterable[str], *, may_lack: str = NOTHING, may_have: str = NOTHING
) -> None:
    """Refuse weights that are missing, which would be random, or that no part of a model uses; patterns name exceptions."""
    lacks = (missing, may_lack, "no weights for", "these would be random")
    has = (unused, may_have, "weights that the model does not use:", "it is another model, or not saved whole")
    for names, but, says, problem in (lacks, has):
        if wrong := sorted(name for name in names if not re.search(but, name)):
            raise ModelError(f"{path} has {says} {some(wrong)}; {problem}")
