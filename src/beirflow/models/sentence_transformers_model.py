"""A ready-made encoder class that runs sentence-transformers itself, for folders with modules that beirflow does not read.

In ``custom.systems``::

    my-lstm:
      encoder: sentence-transformers
      arguments: {model: /models/my-lstm}
      similarity: cosine

The folder is checked without the library: nothing runs or is read that the digests of its files do not cover.
"""

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind
from beirflow.models.card import check_open
from beirflow.models.card_files import read_prompts
from beirflow.models.card_modules import DENSE, MODEL_CONFIG, check_type, refuse_what_is_not_hashed, transformer_config
from beirflow.models.model_json import LIBRARY_CONFIG, MODULES, read_optional
from beirflow.models.model_layout import module_folders
from beirflow.models.refused_code import pairs_in, refuse_old_transformers
from beirflow.models.settings import LIBRARY
from beirflow.models.tokenizer_growth import check_growth

FIRST_SAFE_VERSION = 6  # earlier versions import any class that the files of a local folder name
TOLERANCE = 1e-3  # largest change of a vector, over its length, by another text in its batch or by loading the model again


class SentenceTransformersModel:
    """Encode with sentence-transformers, in float32, the model in the absolute path of a folder in its layout.

    Before each call, its shortest text is encoded alone and with the longest one; before the first call, both are encoded again
    with the model loaded a second time. If a vector changes, the model is refused. A prefix of None is the prompt that the folder
    names; the device ``auto`` is the GPU of the job if there is one. Raises ModelError if the library is not installed, or the
    folder is refused.
    """

    def __init__(
        self,
        *,
        model: str,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        device: str = "auto",
        batch_texts: int = 32,
    ) -> None:
        self._folder = check_folder(model=model, query_prefix=query_prefix, document_prefix=document_prefix)
        self._prefixes: dict[Kind, str | None] = {"queries": query_prefix, "documents": document_prefix}
        self._device, self._batch_texts = device, batch_texts
        self._model = self._load(0)
        self._loaded_twice = False

    def encode_query(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n queries, float32 of shape (n, dim)."""
        return self._encode(list(texts), "queries")

    def encode_document(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n documents, title included, float32 of shape (n, dim)."""
        return self._encode(list(texts), "documents")

    def _load(self, seed: int) -> Any:
        """Load the model; weights that its files lack are drawn with the seed."""
        _check_version()
        import torch
        from sentence_transformers import SentenceTransformer

        own_gpu = "cuda" if torch.cuda.is_available() else "cpu"
        with torch.random.fork_rng(devices=[]):  # they are drawn on the CPU
            torch.manual_seed(seed)
            return SentenceTransformer(
                str(self._folder),
                device=own_gpu if self._device == "auto" else self._device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": torch.float32},
            )

    def _encode(self, texts: list[str], kind: Kind) -> np.ndarray:
        if by_length := sorted((text for text in texts if text.strip()), key=len):
            self._check(by_length[0], by_length[-1], kind)
        return self._vectors(texts, kind)

    def _check(self, short: str, long: str, kind: Kind) -> None:
        """Refuse vectors that depend on the other texts of a batch, or on weights that the files lack."""
        if short == long and self._loaded_twice:
            return  # as when the latency of single queries is measured
        together = self._vectors([short, long], kind)
        if _change(self._vectors([short], kind), together[:1]) > TOLERANCE:
            raise ModelError(
                f"the model in {self._folder} gives a text different vectors alone and in a batch with a longer one,"
                " so no vector is the right one"
            )
        if not self._loaded_twice:
            del self._model  # first, so that memory holds one model
            self._model, self._loaded_twice = self._load(1), True
            if _change(together, self._vectors([short, long], kind)) > TOLERANCE:
                raise ModelError(
                    f"the model in {self._folder} gives different vectors each time it is loaded: its files lack weights,"
                    " which are random then; fetch or save the model again"
                )

    def _vectors(self, texts: list[str], kind: Kind) -> np.ndarray:
        encode = {"queries": self._model.encode_query, "documents": self._model.encode_document}[kind]
        vectors: np.ndarray = encode(
            texts, prompt=self._prefixes[kind], batch_size=self._batch_texts, show_progress_bar=False, convert_to_numpy=True
        )
        return vectors


def check_folder(*, model: str, query_prefix: str | None = None, document_prefix: str | None = None, **others: object) -> Path:
    """Refuse a folder that leaves prompts open, or with which something runs or is read that no digest covers.

    The parameters are the arguments of the class. Returns the folder.
    """
    folder = Path(str(model)).expanduser()
    if not folder.is_absolute() or not (folder / MODULES).is_file():
        raise ModelError(f"arguments.model is {model!r}; expected the absolute path of a folder with {MODULES}")
    check_type(folder, DENSE, None)
    _, open_prompts = read_prompts(read_optional(folder / LIBRARY_CONFIG))
    given = {"query_prefix": query_prefix, "document_prefix": document_prefix}
    check_open({f"arguments.{key}": why for key, why in open_prompts.items() if given[key] is None})
    if links := [path for path in folder.rglob("*") if path.is_symlink() and path.is_dir()]:
        raise ModelError(f"{links[0]} is a link to a folder, whose files no digest covers; put a copy in its place")
    if odd := [path for path in folder.rglob("*") if not path.is_dir() and not path.is_file()]:
        raise ModelError(f"{odd[0]} is no regular file; put a file of the model in its place, or remove it")
    for here in module_folders(folder):
        check_growth(here)
        _refuse_what_is_elsewhere(here)
    return folder


def _refuse_what_is_elsewhere(here: Path) -> None:
    """Refuse a module whose files name code, weights or a tokenizer outside its folder."""
    if (here / MODEL_CONFIG).is_file():
        refuse_what_is_not_hashed(here)
    for key, text in pairs_in(transformer_config(here)):
        if isinstance(text, str) and (key.endswith("name_or_path") or "/" in text):
            raise ModelError(f"{here}: the configuration of its Transformer names {text!r} in {key}, which no digest covers")


def _check_version() -> None:
    """Refuse a missing library, or a version that runs code of local folders."""
    todo = "install it with: pip install 'beirflow[sentence-transformers]'"
    try:
        version = importlib.metadata.version(LIBRARY)
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelError(f"encoder: {LIBRARY} runs that library, which is not installed here; {todo}") from error
    if int(version.partition(".")[0]) < FIRST_SAFE_VERSION:
        raise ModelError(f"{LIBRARY} {version} imports any class that a folder names; version 6 does not, {todo}")
    refuse_old_transformers(importlib.metadata.version("transformers"))


def _change(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest distance of two vectors of a text over the length of the first; not-a-number counts as no change."""
    lengths = np.maximum(np.linalg.norm(first, axis=1), 1e-30)
    return float(np.nan_to_num(np.linalg.norm(first - second, axis=1) / lengths).max(initial=0.0))
