"""An encoder that is a user's class, with the interface of beir, sentence-transformers or MTEB."""

import inspect
import logging
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import ModelError, model_errors_of
from beirflow.core.progress import Progress
from beirflow.data.document_text import Kind, document_text, title_and_text
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.encoders.mteb_contract import ENCODE, METADATA, described_options, loader_of, mteb_options
from beirflow.models.own_class import described_error, load_class
from beirflow.models.settings import EncoderSettings

logger = logging.getLogger(__name__)

WINDOW_TEXTS = 4096  # texts that the class gets at once
BATCH_TEXTS = 128  # the ``batch_size`` that the class gets, as beir's search has it

METHODS: dict[Kind, str] = {"queries": "encode_queries", "documents": "encode_corpus"}
"""Methods of beir's contract, by kind of text."""

OF_TEXTS: dict[Kind, str] = {"queries": "encode_query", "documents": "encode_document"}
"""Methods of sentence-transformers, whose ``encode`` would leave prompts out."""

VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

LIBRARIES = ("torch", "transformers", "sentence_transformers", "mteb", "onnxruntime", "requests")


class OwnEncoder:
    """A class of the user's own as an encoder, of queries or documents.

    Its ``encode_queries`` gets a list of texts and its ``encode_corpus`` a list of ``{"title": …, "text": …}`` as the dataset has
    them, as in beir. Where it has neither, its ``encode_query`` and ``encode_document`` get a list of texts, or else its
    ``encode`` for both; documents are joined by :func:`~beirflow.data.document_text.document_text` then. An ``encode`` with
    ``task_metadata`` gets a DataLoader, as MTEB 2 has it. A method that takes ``batch_size``, ``show_progress_bar``,
    ``convert_to_tensor``, ``prompt_type`` or ``task_name`` gets it. It returns an array, a tensor on any device, or a list of
    rows.

    An object that was ``made`` elsewhere takes the place of one of the class. Tokens and truncated texts are unknown. Raises
    ModelError for a class that cannot be loaded, or has no method of these.
    """

    def __init__(self, system: EncoderSettings, kind: Kind, made: Any = None) -> None:
        self.system, self._kind = system, kind
        self._dim: int | None = None
        with model_errors_of(f"system {system.name}"):
            self._method = _method(load_class(system) if made is None else made, str(system.encoder), kind)
            self._options = _options(self._method, kind, system.task or "")

    @property
    def dim(self) -> int:
        """Dimensions of a vector; if none was encoded yet, one text is."""
        if self._dim is None:
            self._encode(["dimensions"], 0)
        return int(self._dim or 0)

    def made(self) -> dict[str, str]:
        """Return versions of libraries that the class may use, for the record; it chooses precision and device itself."""
        versions = {name: str(getattr(sys.modules[name], "__version__", "")) for name in LIBRARIES if name in sys.modules}
        return {"precision": "unknown", **versions, "python": platform.python_version()}

    def computation(self) -> dict[str, Any]:
        """Return nothing: the class decides."""
        return {}

    def counts_of(self, kind: str) -> dict[str, int]:
        """Return nothing: tokens are unknown."""
        return {}

    def described(self) -> dict[str, Any]:
        """Describe the way from a text to its vector, for the record."""
        own = {"encoder": self.system.encoder, "arguments": dict(self.system.arguments or {})}
        return {**own, "method": self._method.__name__, **described_options(self._options)}

    def windows(self, texts: Sequence[str], kind: Kind) -> Iterator[np.ndarray]:
        """Encode texts a window at a time, float32 of shape (texts, dim).

        Raises ModelError for a failure of the class or output that is not one vector per text, NotFiniteError for a vector that
        is not finite.
        """
        with Progress(f"encode with {self.system.name}", len(texts), kind) as progress:
            for start in range(0, len(texts), WINDOW_TEXTS):
                window = texts[start : start + WINDOW_TEXTS]
                yield self._encode(list(window), start)
                progress.advance(len(window))

    def _encode(self, texts: list[str], start: int) -> np.ndarray:
        """Encode some texts, float32 of shape (texts, dim), with all checks."""
        given = self._given(texts)
        # A class may sort the list in place, and then give the vectors of other texts.
        before = list(given) if isinstance(given, list) else []
        try:
            vectors = as_vectors(self._method(given, **self._options))
        except (Exception, SystemExit) as error:  # of code that is not ours
            logger.info("the error of %s", self.system.encoder, exc_info=error)
            reason = str(error) if isinstance(error, ModelError) else described_error(error)
            raise self._wrong(f"fails: {reason}") from error
        expected = (len(texts), "dimensions" if self._dim is None else self._dim)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise self._wrong(f"gives an array of shape {vectors.shape} for {len(texts)} texts; expected {expected}")
        if self._dim not in (None, vectors.shape[1]):
            raise self._wrong(f"gives vectors of {vectors.shape[1]} dimensions, after others of {self._dim}")
        self._dim = vectors.shape[1]
        places = [list(map(id, each)) for each in (before, given)] if before else [[], []]
        if places[0] != places[1] and sorted(places[0]) == sorted(places[1]):
            raise self._wrong("changes the order of the texts that it gets, so that vectors may be those of others; sort a copy")
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            raise NotFiniteError(start + int(np.argmin(finite)))
        return vectors

    def _given(self, texts: list[str]) -> Any:
        """Return texts as the method takes them."""
        parts = [title_and_text(text) for text in texts] if self._kind == "documents" else []
        if parts and self._method.__name__ == METHODS["documents"]:
            return [{"title": title, "text": text} for title, text in parts]
        read = [document_text(*each) for each in parts] or texts
        return loader_of(self._kind, read, parts, BATCH_TEXTS) if METADATA in self._options else read

    def _wrong(self, problem: str) -> ModelError:
        return ModelError(f"system {self.system.name}: {self._method.__name__} of {self.system.encoder} {problem}")


def _method(made: Any, name: str, kind: Kind) -> Callable[..., Any]:
    for names in (METHODS, OF_TEXTS):
        both = [getattr(made, method, None) for method in names.values()]
        if all(map(callable, both)):
            return getattr(made, names[kind])
        if any(map(callable, both)):
            raise ModelError(f"{name} has only one of {' and '.join(names.values())}; both are needed")
    if not callable(getattr(made, ENCODE, None)):
        raise ModelError(
            f"{name} has neither {' and '.join(METHODS.values())}, as beir calls them, nor {' and '.join(OF_TEXTS.values())}, as"
            " sentence-transformers does, nor encode, as MTEB does"
        )
    return getattr(made, ENCODE)


def _options(method: Callable[..., Any], kind: Kind, task: str) -> dict[str, Any]:
    usual = {"batch_size": BATCH_TEXTS, "show_progress_bar": False, "convert_to_tensor": False}
    parameters = inspect.signature(method).parameters
    takes_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    arguments: dict[str, Any] = {name: value for name, value in usual.items() if takes_all or name in parameters}
    arguments |= mteb_options(method, parameters, kind, task, takes_all=takes_all)
    others = list(parameters.values())[1:]
    needed = [
        each.name for each in others if each.default is each.empty and each.kind not in VARIABLE and each.name not in arguments
    ]
    if needed:
        raise ModelError(
            f"{method.__name__} wants {', '.join(needed)}, which beirflow does not pass; give them defaults, or write"
            f" {' and '.join(METHODS.values())}"
        )
    return arguments


def as_vectors(output: Any) -> np.ndarray:
    """Return the output of a class as float32 in memory of its own: a class may use the same tensor again.

    Raises TypeError for what are no numbers, or may be quantised ones.
    """
    if isinstance(output, list | tuple):
        output = [_without_torch(row) for row in output]
    array = np.asarray(_without_torch(output))
    if array.dtype.kind not in "fiu":
        raise TypeError(f"expected numbers, found {type(output).__name__} of {array.dtype}")
    if array.dtype.kind != "f" and array.dtype.itemsize == 1:
        todo = "give astype(float32) of the first, and np.unpackbits of the second"
        raise TypeError(f"found {array.dtype}, which may be quantised numbers or packed bits; {todo}")
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def _without_torch(value: Any) -> Any:
    """Convert a tensor to an array of a type that numpy has."""
    if not isinstance(value, torch.Tensor):
        return value
    tensor = value.detach().cpu()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()
