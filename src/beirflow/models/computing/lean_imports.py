"""Import a transformers model without the half of it that no encoder uses.

A model's module imports distributed training, torch's compiler and the losses of object detection: nearly two seconds in each
job, while a GPU waits. None of it runs when texts are encoded, and the vectors are the same to the last bit. If another version
of transformers needs more than these stand-ins, everything is imported as usual.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

import torch
import torch.distributed
import transformers.utils

from beirflow.run.devices import compute_exactly

Loaded = TypeVar("Loaded")

COMPILER = "torch._dynamo"
MASKS = f"{COMPILER}._trace_wrapped_higher_order_op"


def load_lean(load: Callable[[], Loaded]) -> Loaded:
    """Call a function that imports and loads a model; call it again, with everything importable, if something is missing."""
    compute_exactly()
    try:
        with _stand_ins():
            return load()
    except (ImportError, AttributeError):
        return load()


def import_ahead() -> None:
    """Import what loads a model, for jobs that are forked from this process."""
    load_lean(partial(import_module, "transformers.models.bert.modeling_bert"))
    for name in ("transformers.models.auto.tokenization_auto", "torch.fx.experimental.symbolic_shapes"):
        import_module(name)
    # It is made once for all types of models.
    import_module("transformers.conversion_mapping").get_checkpoint_conversion_mapping("bert")


@contextmanager
def _stand_ins() -> Iterator[None]:
    """Hide distributed torch and scipy from the imports inside, and stand in for the compiler."""
    patches: list[tuple[Any, str, Callable[..., Any]]] = [
        (torch.distributed, "is_available", _not_available),
        (torch.compiler, "disable", _unchanged),
        (transformers.utils, "is_scipy_available", _not_available),
    ]
    originals = [getattr(module, name) for module, name, _ in patches]
    for module, name, replacement in patches:
        setattr(module, name, replacement)
    # A compiler that is loaded already stays: its stand-in would lack what others use.
    modules = [] if COMPILER in sys.modules else [_module(COMPILER), _module(MASKS)]
    sys.modules.update({module.__name__: module for module in modules})
    had_compiler = "_dynamo" in vars(torch)
    if modules:
        torch._dynamo = modules[0]
    try:
        yield
    finally:
        for module in modules:
            del sys.modules[module.__name__]
        if modules and not had_compiler:
            del torch._dynamo
        for (module, name, _), original in zip(patches, originals, strict=True):
            setattr(module, name, original)


def _module(name: str) -> ModuleType:
    """Return a module of the compiler with the members that imports of models use."""
    module = ModuleType(name)
    decorators = dict.fromkeys(("assume_constant_result", "allow_in_graph", "disable"), _unchanged)
    vars(module).update(decorators, __path__=[], TransformGetItemToIndex=_transform_get_item_to_index)
    return module


def _transform_get_item_to_index() -> Any:
    """Load the compiler's class of this name, which masks that are given as functions need."""
    return import_module(MASKS).TransformGetItemToIndex()


def _not_available() -> bool:
    return False


def _unchanged(function: Any = None, *_: Any, **__: Any) -> Any:
    """Stand in for a decorator, with or without arguments, that tells the compiler something."""
    return _unchanged if function is None else function
