"""Models that sentence-transformers itself computes, for folders that beirflow does not read.

In ``custom.systems``::

    my-lstm:
      encoder: sentence-transformers
      model: /models/my-lstm
      similarity: cosine

The folder is checked without the library: nothing runs or is read that the digests of its files do not cover. Each family names
its class, a subclass of :class:`LibraryModel`, in its settings.
"""

import importlib.metadata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from beirflow.core.errors import BeirflowError, ModelError
from beirflow.core.progress import Progress
from beirflow.data.document_text import KINDS, Kind
from beirflow.models.card import INSTRUCTORS, check_open
from beirflow.models.card_files import ROLES, read_prompts
from beirflow.models.card_modules import (
    DENSE,
    MODEL_CONFIG,
    chat_templates,
    check_type,
    refuse_what_is_not_hashed,
    transformer_config,
)
from beirflow.models.model_json import LIBRARY_CONFIG, MODULES, architecture_in, read_optional
from beirflow.models.model_layout import UNREAD, is_unread, module_folders
from beirflow.models.model_places import model_folder
from beirflow.models.refused_code import pairs_in
from beirflow.models.settings import LIBRARY, ModelSettings
from beirflow.models.tokenizer_growth import check_growth

FIRST_SAFE_VERSION = 6  # earlier versions import any class that the files of a local folder name
TOLERANCE = 1e-3  # largest change of a vector, over its length, by another text in its batch or by loading the model again
WINDOW = 1024  # texts or pairs that the library gets at once

PREFIXES: dict[Kind, str] = {kind: f"{ROLES[kind][0]}_prefix" for kind in KINDS}
"""By kind of text, the setting with what is written before every one."""


class LibraryModel:
    """A model of sentence-transformers, in float32, from a folder in its layout.

    Before each call, the shortest text is computed alone and with the longest one; before the first call, both are computed again
    with the model loaded a second time. If a result changes, the model is refused. A prefix of None is the prompt that the folder
    names; the device ``auto`` is the GPU of the job if there is one. Raises ModelError if the library is not installed, or the
    folder is refused.
    """

    family: ClassVar[str] = "dense"
    library_class: ClassVar[str] = DENSE  # class of the library, and the type of model that its folders state
    types: ClassVar[tuple[str | None, ...]] = ()  # further types of which it reads all; None is that of a folder that states none
    bare: ClassVar[tuple[str, ...]] = ()  # ends of architectures of which it reads a folder without modules
    prefixes: ClassVar[tuple[str, ...]] = tuple(PREFIXES.values())
    arguments: ClassVar[tuple[str, ...]] = ("device", "batch_texts")

    def __init__(self, system: ModelSettings, *, device: str = "auto", batch_texts: int = 32, **_: str) -> None:
        self._system, self._folder = system, model_folder(system).absolute()
        self.check(self._folder, system)
        self._device, self._batch_texts = device, batch_texts
        self._model = self._load(0)
        self._loaded_twice = False

    @classmethod
    def check(cls, folder: Path, system: ModelSettings) -> None:
        """Refuse a folder that leaves prompts open, or with which something runs or is read that no digest covers."""
        if unknown := sorted((system.arguments or {}).keys() - {*cls.arguments}):
            raise ModelError(f"arguments has {', '.join(unknown)}; known are {', '.join(cls.arguments)}")
        is_bare = not (folder / MODULES).is_file()
        if is_bare and not cls._takes(architecture_in(read_optional(folder / MODEL_CONFIG))):
            others = f", or a model {' or '.join(f'…{end}' for end in cls.bare)}" if cls.bare else ""
            raise ModelError(f"{folder} is no model of a {cls.library_class}; expected a folder with {MODULES}{others}")
        check_type(folder, cls.library_class, *cls.types, *((None,) if is_bare else ()))
        _, open_prompts = read_prompts(read_optional(folder / LIBRARY_CONFIG)) if cls.prefixes else ({}, {})
        place = "arguments." if {*cls.prefixes} & {*cls.arguments} else ""
        check_open({place + key: why for key, why in open_prompts.items() if _prefix(system, key) is None})
        cls.check_use(folder)
        if links := [path for path in folder.rglob("*") if path.is_symlink() and path.is_dir()]:
            raise ModelError(f"{links[0]} is a link to a folder, whose files no digest covers; put a copy in its place")
        if odd := [path for path in folder.rglob("*") if not path.is_dir() and not path.is_file()]:
            raise ModelError(f"{odd[0]} is no regular file; put a file of the model in its place, or remove it")
        for here in module_folders(folder):
            if is_unread((here / "any").relative_to(folder)):
                raise ModelError(f"{here}: no digest covers a module there ({', '.join(UNREAD)}); rename its folder")
            check_growth(here)
            if timed := [path for path in chat_templates(here) if "strftime_now" in path.read_text(encoding="utf-8")]:
                raise ModelError(f"the chat template in {timed[0]} writes the time, so no result would be the same again")
            _refuse_what_is_elsewhere(here)

    @classmethod
    def _takes(cls, architecture: str) -> bool:
        return architecture.endswith(cls.bare)

    @classmethod
    def check_use(cls, folder: Path) -> None:
        """Refuse a folder whose results the family would use otherwise than its authors; by default none."""

    @property
    def device(self) -> Any:
        """The device that computes, of torch."""
        return self._model.device

    @classmethod
    def instead_of(cls, system: ModelSettings) -> str:
        """Return in a sentence the keys with which the model of a system is computed here; empty where it is not."""
        settings = replace(system, encoder=LIBRARY)
        try:
            folder = model_folder(settings)
            cls.check(folder, settings)
        except ModelError:
            return ""
        said = f"add `{cls.key(folder, system)}`, so that this library itself computes the model (docs/own-encoders.md)"
        return "" if system.query_model else said

    @classmethod
    def key(cls, folder: Path, system: ModelSettings) -> str:
        """Return the keys that an entry lacks to be computed here."""
        return f"encoder: {LIBRARY}"

    def made(self) -> dict[str, Any]:
        """Return precision, device and versions of the results, for the record."""
        from beirflow.models.computing.made import made_with

        version = importlib.metadata.version(LIBRARY)
        return {"precision": "float32", **made_with(self.device), "sentence_transformers": version}

    def computation(self) -> dict[str, Any]:
        """Return nothing: the library chooses its batches."""
        return {}

    def counts_of(self, kind: str) -> dict[str, int]:
        """Return nothing: tokens are unknown."""
        return {}

    def described(self) -> dict[str, Any]:
        """Describe what computes, for the record."""
        return {"encoder": LIBRARY, "class": self.library_class}

    def results(self, inputs: Sequence[Any], kind: Kind) -> Iterator[Any]:
        """Yield the results for texts, or pairs of texts, a window at a time. Raises ModelError if the library fails."""
        import torch

        with Progress(f"compute with {LIBRARY}", len(inputs), kind) as progress:
            for start in range(0, len(inputs), WINDOW):
                window = list(inputs[start : start + WINDOW])
                try:
                    yield self.computed(window, kind)
                except (BeirflowError, torch.OutOfMemoryError, torch.AcceleratorError):
                    raise
                except Exception as error:  # of code that is not ours
                    raise ModelError(f"{LIBRARY} fails on {self._folder}: {type(error).__name__}: {error}") from error
                progress.advance(len(window))

    def computed(self, inputs: list[Any], kind: Kind) -> Any:
        """Compute texts, or pairs of texts, once a short and a long one are as they should be."""
        if by_length := sorted((each for each in inputs if _letters(each)), key=_letters):
            self._check(by_length[0], by_length[-1], kind)
        return self._compute(inputs, kind)

    def _load(self, seed: int) -> Any:
        """Load the model; weights that its files lack are drawn with the seed."""
        _check_version()
        import torch

        import sentence_transformers
        from beirflow.models.computing.loading import loading_from

        own_gpu = "cuda" if torch.cuda.is_available() else "cpu"
        with loading_from(self._folder), torch.random.fork_rng(devices=[]):  # they are drawn on the CPU
            torch.manual_seed(seed)
            model = getattr(sentence_transformers, self.library_class)(
                str(self._folder),
                device=own_gpu if self._device == "auto" else self._device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": torch.float32},
            )
        if self._system.model in INSTRUCTORS:  # which the library knows by the name on the hub alone
            model.set_pooling_include_prompt(include_prompt=False)
        return model

    def _check(self, short: Any, long: Any, kind: Kind) -> None:
        """Refuse results that depend on the others of a batch, or on weights that the files lack."""
        if short == long and self._loaded_twice:
            return  # as when the latency of single queries is measured
        together = self._rows([short, long], kind)
        if _change(self._rows([short], kind), together[:1]) > TOLERANCE:
            raise ModelError(
                f"the model in {self._folder} gives a text different vectors alone and in a batch with a longer one,"
                " so no vector is the right one"
            )
        if not self._loaded_twice:
            del self._model  # first, so that memory holds one model
            self._model, self._loaded_twice = self._load(1), True
            if _change(together, self._rows([short, long], kind)) > TOLERANCE:
                raise ModelError(
                    f"the model in {self._folder} gives different vectors each time it is loaded: its files lack weights,"
                    " which are random then; fetch or save the model again"
                )

    def _compute(self, inputs: list[Any], kind: Kind) -> Any:
        """Compute texts or pairs in the form that the family takes."""
        raise NotImplementedError

    def _rows(self, inputs: list[Any], kind: Kind) -> Any:
        """Compute texts or pairs, an array for each."""
        return self._compute(inputs, kind)

    def _encode(self, texts: list[str], kind: Kind, **how: Any) -> Any:
        """Encode texts by the method of their kind."""
        encode = {"queries": self._model.encode_query, "documents": self._model.encode_document}[kind]
        prompt = _prefix(self._system, PREFIXES[kind])
        return encode(texts, prompt=prompt, batch_size=self._batch_texts, show_progress_bar=False, **how)


class SentenceTransformersModel(LibraryModel):
    """An encoder of one vector a text."""

    types = (None,)

    @classmethod
    def key(cls, folder: Path, system: ModelSettings) -> str:
        """Return the same, and the similarity that the folder names, or else the library's own."""
        named = read_optional(folder / LIBRARY_CONFIG).get("similarity_fn_name")
        similarity = f", similarity: {'dot' if named == 'dot' else 'cosine'}"
        return super().key(folder, system) + ("" if vars(system).get("similarity") else similarity)

    def encode_query(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n queries, float32 of shape (n, dim)."""
        return self.computed(list(texts), "queries")

    def encode_document(self, texts: Sequence[str]) -> np.ndarray:
        """Encode n documents, title included, float32 of shape (n, dim)."""
        return self.computed(list(texts), "documents")

    def _compute(self, inputs: list[Any], kind: Kind) -> np.ndarray:
        vectors: np.ndarray = self._encode(inputs, kind, convert_to_numpy=True)
        return vectors


def _prefix(system: ModelSettings, key: str) -> str | None:
    """Return a prefix, of a setting or else of the arguments; None is the prompt of the folder."""
    prefix: str | None = vars(system).get(key, (system.arguments or {}).get(key))
    return prefix


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


def _letters(text: str | tuple[str, str]) -> int:
    """Count the letters of a text, or of a pair of texts."""
    return len("".join(text).strip())


def _change(first: Iterable[np.ndarray], second: Iterable[np.ndarray]) -> float:
    """Return the largest distance of two results for a text over the length of the first; not-a-number counts as no change."""
    distances = [
        np.linalg.norm(one - other) / max(float(np.linalg.norm(one)), 1e-30) if one.shape == other.shape else np.inf
        for one, other in zip(first, second, strict=True)
    ]
    return float(np.nan_to_num(distances).max(initial=0.0))
