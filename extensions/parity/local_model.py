"""A model's own vectors of texts, and those that it would have with one or two settings changed."""

import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer

from beirflow.core.errors import ModelError
from beirflow.data.document_text import KINDS, Kind
from beirflow.models.card import POOLING_MODES
from beirflow.models.computing.arrival import NotFiniteError
from beirflow.models.computing.model_limits import readable_tokens
from beirflow.models.computing.pooling import pool
from beirflow.models.computing.token_reader import TokenReader
from beirflow.models.encoders.backbone import Backbone
from beirflow.models.encoders.encoder import TransformersEncoder
from beirflow.models.encoders.head import load_head
from beirflow.models.model_places import model_folder
from beirflow.models.settings import EncoderSettings

Probe = tuple[Kind, str]
Ids = list[int]

PRECISIONS = ("float16", "bfloat16", "int8")


def _without_accents(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFD", text) if unicodedata.category(each) != "Mn")


TRANSFORMS: dict[str, Callable[[str], str]] = {
    "texts are in lower case": str.lower,
    "accents are removed": _without_accents,
    "texts are in lower case without accents": lambda text: _without_accents(text.lower()),
    "spaces around texts are removed": str.strip,
    "line breaks are spaces": lambda text: text.replace("\n", " "),
    "runs of spaces and line breaks are one space": lambda text: " ".join(text.split()),
    "a space is written before texts": lambda text: f" {text}",
    "texts are in the form NFC of Unicode": partial(unicodedata.normalize, "NFC"),
    "texts are in the form NFD of Unicode": partial(unicodedata.normalize, "NFD"),
    "texts are in the form NFKC of Unicode": partial(unicodedata.normalize, "NFKC"),
    "control and format characters are removed": lambda text: "".join(
        each for each in text if each.isspace() or not unicodedata.category(each).startswith("C")
    ),
    "only ASCII is read": lambda text: text.encode("ascii", "ignore").decode(),
}
"""Changes of a text before it is tokenised, by what they are as a cause."""


class Finish(NamedTuple):
    """The steps that follow the vectors of tokens."""

    causes: tuple[str, ...]  # settings that are not the model's own
    mode: str
    modules: bool
    normalize: bool
    again: bool  # whether a vector that is cut is scaled to length 1 afterwards


class Reading(NamedTuple):
    """A way from texts to tokens."""

    cause: str  # what is not the model's own; empty for its own reading
    ids: Callable[[Probe], Ids]  # the tokens of a probe
    edit: Callable[[Ids], Ids] = list  # what becomes of them once they are cut
    cut: Callable[[Ids], Ids] | None = None  # how they are cut; None as the model's files say


class LocalModel:
    """A model in float32, text by text; ModelError for one that has two encoders, a graph, or a table of vectors."""

    def __init__(self, settings: EncoderSettings, dim: int) -> None:
        if settings.encoder or settings.query_model:
            raise ModelError(f"{settings.source}: expected one model with files of its own, that of the server")
        self.settings, self.folder = settings, model_folder(settings, download=True)
        self.encoder = self._load("float32")
        card, backbone = self.encoder.card, self.encoder.backbone
        if not isinstance(backbone, Backbone) or card.steps["queries"] != card.steps["documents"]:
            raise ModelError(f"{self.folder}: expected one transformer for queries and documents, in weights of torch")
        self.backbone, self.prompts = backbone, card.prompts
        steps = card.steps["documents"][1:]
        self._in_messages = "messages" in card.steps["documents"][0].settings
        self._own_modes = next((step.settings["modes"] for step in steps if step.kind == "pooling"), ["pooler"])
        self._normalizes = any(step.kind == "normalize" for step in steps)
        self._head = load_head(self.folder, [step for step in steps if step.kind != "normalize"], settings.weights)
        self._head.to(self.encoder.device)
        self._reader = TokenReader(deepcopy(backbone.tokenizer))  # which cuts nothing
        self._ends = self._special_tokens()
        self._before, self._after = map(len, self._ends)
        self._dim = dim  # of the server's vectors
        self._pooled: dict[tuple[int, ...], dict[str, torch.Tensor]] = {}

    def _special_tokens(self) -> tuple[Ids, Ids]:
        """Return the tokens that the tokenizer writes before and after every text."""
        whole, bare = self.ids("salt"), self.ids("salt", special=False)
        before = next((start for start in range(len(whole)) if whole[start : start + len(bare)] == bare), None)
        return ([], []) if before is None else (whole[:before], whole[before + len(bare) :])

    def _load(self, precision: str) -> TransformersEncoder:
        computed = "float32" if precision == "int8" else precision
        encoder = TransformersEncoder(self.settings, self.folder, device="auto", token_budget="auto", precision=computed)
        if precision == "int8":
            for module in encoder.model.modules():
                if isinstance(module, torch.nn.Linear):
                    scale = module.weight.data.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
                    module.weight.data = (module.weight.data / scale).round() * scale
        return encoder

    @property
    def max_length(self) -> int:
        """Return the tokens after which the model cuts texts; 2,048 where nothing says so."""
        return self.backbone.max_length or 2048

    @property
    def readable(self) -> int:
        """Return the most tokens that the model itself can read."""
        return readable_tokens(self.encoder.model)

    def own(self, probes: Sequence[Probe], precision: str = "float32") -> np.ndarray:
        """Encode n probes exactly as an evaluation does, float32 of shape (n, own dimensions)."""
        encoder = self.encoder if precision == "float32" else self._load(precision)
        vectors = np.zeros((len(probes), encoder.dim), np.float32)
        for kind, encode in zip(KINDS, (encoder.encode_queries, encoder.encode_corpus), strict=True):
            rows = [row for row, probe in enumerate(probes) if probe[0] == kind]
            vectors[rows] = encode([probes[row][1] for row in rows])
        return vectors

    def spreads(self, probes: Sequence[Probe]) -> Iterator[tuple[str, float]]:
        """Yield the precisions, each with the largest relative change that it makes to these weights' vectors."""
        exact = self.own(probes)
        for precision in PRECISIONS:
            try:
                yield precision, float(distances(self.own(probes, precision), exact).max())
            except NotFiniteError:  # float16 overflows
                continue

    def cut(self, ids: Ids, longest: int, side: str = "right") -> Ids:
        """Cut tokens to the first or last of them, and keep those that the tokenizer writes around texts."""
        start, end = ids[: self._before], ids[len(ids) - self._after :]
        text, room = ids[self._before : len(ids) - self._after], max(longest - self._before - self._after, 0)
        return ids if len(ids) <= longest else start + (text[:room] if side == "right" else text[len(text) - room :]) + end

    def ids(self, text: str, *, special: bool = True) -> Ids:
        """Return the tokens of a text that is not cut."""
        return next(self._reader.ids([text], special=special))

    def whole(self, probe: Probe) -> Ids:
        """Return the model's own tokens of a probe that is not cut."""
        return self.ids(self.prompts[probe[0]] + probe[1])

    def readings(self) -> Iterator[Reading]:
        """Yield the model's own reading of texts, then others."""
        prompts, whole = self.prompts, self.whole
        own = Reading("", self._framed if self._in_messages else whole)
        yield own
        if any(prompts.values()):
            yield self._prompted("the prompt is missing", {"queries": "", "documents": ""})
            yield self._prompted("the prompt is written twice", {kind: prompt * 2 for kind, prompt in prompts.items()})
            exchanged: dict[Kind, str] = {"queries": prompts["documents"], "documents": prompts["queries"]}
            yield self._prompted("queries and documents have one another's prompts", exchanged)
            for kind in KINDS:
                said = f"the prompt of {kind} is written before all texts"
                yield self._prompted(said, dict.fromkeys(KINDS, prompts[kind]))
                both = {each: prompts[kind] + prompts[each] for each in KINDS}
                yield self._prompted(f"{said}, also where there is one", both)
        first, last = self._ends
        if first or last:
            yield Reading("special tokens are missing", whole, lambda ids: ids[len(first) : len(ids) - len(last)])
        if first and last:
            yield Reading("the token before texts is missing", whole, lambda ids: ids[len(first) :])
            yield Reading("the token after texts is missing", whole, lambda ids: ids[: -len(last)])
        if first:
            yield Reading("the token before texts is written twice", lambda probe: first + whole(probe))
        if last:
            yield Reading("the token after texts is written twice", lambda probe: whole(probe) + last)
        yield from self.changed(own)

    def _prompted(self, cause: str, prompts: Mapping[Kind, str]) -> Reading:
        return Reading(cause, lambda probe: self.ids(prompts[probe[0]] + probe[1]))

    def changed(self, reading: Reading) -> Iterator[Reading]:
        """Yield a reading with texts that are changed before they are tokenised."""
        cased = None if reading.cause else self._cased()
        for cause, change in TRANSFORMS.items():

            def ids(probe: Probe, change: Callable[[str], str] = change) -> Ids:
                """Return the ids of a changed text."""
                kind, text = probe
                return reading.ids((kind, change(text))) if reading.cause else self.ids(change(self.prompts[kind] + text))

            yield reading._replace(cause=cause, ids=ids)
        if cased is not None:
            keeps = "texts keep their case"
            yield reading._replace(cause=keeps, ids=lambda probe: cased.encode(self.prompts[probe[0]] + probe[1]).ids)

    def _framed(self, probe: Probe) -> Ids:
        """Return the tokens of a probe in a chat template, which are cut already."""
        return self.encoder.tokens_of([probe[1]], probe[0]).ids.tolist()

    def _cased(self) -> Tokenizer | None:
        """Return the tokenizer without lower case; None where it has none."""
        fast = self._reader.fast
        if fast is None:
            return None
        state = json.loads(fast.to_str())
        text = json.dumps(state["normalizer"], separators=(",", ":"))
        kept = text.replace('"lowercase":true', '"lowercase":false')
        kept = kept.replace('{"type":"Lowercase"}', '{"type":"Strip","strip_left":false,"strip_right":false}')
        return Tokenizer.from_str(json.dumps(state | {"normalizer": json.loads(kept)})) if kept != text else None

    def finishes(self) -> Iterator[Finish]:
        """Yield what may follow the tokens' vectors; the first is the model's own, if it has the server's dimensions."""
        own = "+".join(self._own_modes)
        cut, more = self.encoder.dim > self._dim, self.encoder.dim < self._dim
        for mode in (own, *(each for each in (*POOLING_MODES, "pooler") if each != own)):
            for modules in (True, False)[: 1 + bool(len(self._head))]:
                for normalize in (self._normalizes, not self._normalizes):
                    for again in (False, True)[: 1 + cut]:
                        causes = [f"pooling is {mode}, and the model's files say {own}"] if mode != own else []
                        causes += [] if modules else ["modules after the pooling are left out"]
                        scaled = "vectors are scaled to length 1, which the model's files do not say"
                        causes += [] if normalize == self._normalizes else [scaled if normalize else "normalisation is missing"]
                        how = " and scaled to length 1 again" * again
                        causes += [f"vectors have {self._dim} dimensions in place of {self.encoder.dim}"] if more else []
                        causes += [f"vectors are cut to {self._dim} of {self.encoder.dim} dimensions{how}"] if cut else []
                        yield Finish(tuple(causes), mode, modules, normalize, again)

    def tokens(self, probes: Sequence[Probe], reading: Reading) -> list[tuple[int, ...]]:
        """Return the tokens of probes as they are read and cut."""
        cut = reading.cut or (lambda ids: self.cut(ids, self.max_length))
        return [tuple(reading.edit(cut(reading.ids(probe)))) for probe in probes]

    def vectors(self, probes: Sequence[Probe], ids: Sequence[tuple[int, ...]], finish: Finish) -> np.ndarray | None:
        """Encode n probes by their tokens, none without any: float32 of shape (n, dim of the server).

        None if the model has no such pooling, or its vectors have fewer dimensions then.
        """
        pooled = [self._modes_of(each).get(finish.mode) for each in ids]
        if any(each is None for each in pooled):
            return None
        with torch.inference_mode():
            vectors = torch.stack(pooled)  # type: ignore[arg-type]
            try:
                vectors = self._head(vectors) if finish.modules else vectors
            except RuntimeError:  # another pooling has other dimensions
                return None
            vectors = torch.nn.functional.normalize(vectors, dim=1) if finish.normalize else vectors
            vectors = vectors[:, : self._dim]
            vectors = torch.nn.functional.normalize(vectors, dim=1) if finish.again else vectors
        return vectors.cpu().numpy() if vectors.shape[1] == self._dim else None

    def _modes_of(self, ids: tuple[int, ...]) -> dict[str, torch.Tensor]:
        """Return the pooled vector of a text by pooling; the model computes it once."""
        if ids not in self._pooled:
            self._pooled[ids] = self._pool(ids)
        return self._pooled[ids]

    @torch.inference_mode()
    def _pool(self, ids: tuple[int, ...]) -> dict[str, torch.Tensor]:
        tensor = torch.tensor([ids], device=self.encoder.device)
        mask = torch.ones_like(tensor)
        output, found = self.backbone(tensor, mask), dict[str, torch.Tensor]()
        for modes in (self._own_modes, *([mode] for mode in (*POOLING_MODES, "pooler"))):
            with suppress(ModelError):  # no pooler, or nothing but one
                found["+".join(modes)] = pool(modes, output, mask)[0]
        return found


def distances(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the length of the difference of two vectors over that of the expected one, float64 of shape (n,)."""
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    return np.linalg.norm(found - expected, axis=1) / np.maximum(np.linalg.norm(expected, axis=1), 1e-30)


def cosines(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the cosine of each two vectors, float64 of shape (n,)."""
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    return np.einsum("ij,ij->i", found, expected) / np.maximum(lengths, 1e-30)
