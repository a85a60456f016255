"""Word weighers: documents in, the weight of each of their words out (DeepCT)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.core.records import Job
from beirflow.extensions.expansions.loading import TextReader, load_model
from beirflow.extensions.expansions.making import make_expansion
from beirflow.families.expansions.settings import WordWeights
from beirflow.models.computing.arrival import send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.model_settings import Computing
from beirflow.models.computing.packed_attention import first_position
from beirflow.run.devices import choose_precision, exact_device

CONTINUES = "##"
"""Prefix of a word piece that continues a word."""

DECIMALS = 5  # decimals of a weight, as the authors' program prints them


class WordWeigher(TextReader):
    """A token classifier with one label: the weight of a word is that of its first piece, of a repeated word the largest.

    Raises ModelError if the model cannot be loaded, or has other labels.
    """

    nothing: Any = ((), ())

    def __init__(self, settings: WordWeights, folder: Path, *, device: str, precision: str, token_budget: int | str) -> None:
        self.device = exact_device(device)
        from transformers import AutoModelForTokenClassification

        dtype = choose_precision(precision, self.device)
        tokenizer, model = load_model(AutoModelForTokenClassification, settings, folder, dtype)
        if model.config.num_labels != 1:
            raise ModelError(
                f"{settings.name}: the model in {folder} has {model.config.num_labels} labels; expected one, the weight"
            )
        self.model = model.to(self.device).eval()
        longest = model.config.max_position_embeddings - first_position(model.base_model)
        reads = min(longest, tokenizer.model_max_length, settings.max_length or longest)
        super().__init__(settings.name, tokenizer, reads, len(model.get_input_embeddings().weight), token_budget)
        self._pieces = np.array(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))), object)
        self._special = np.zeros(len(self._pieces), bool)
        self._special[[tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id]] = True
        self._continues = np.array([piece.startswith(CONTINUES) for piece in self._pieces])

    @torch.inference_mode()
    def _compute(self, window: Tokens, rows: np.ndarray, doc_ids: Sequence[str]) -> tuple[list[Any], dict[str, int]]:
        """Return words and weights of some documents, without words that weigh nothing; and how many there are."""
        ids, mask = pad(window, rows, self.tokenizer.pad_token_id or 0)
        tensors = [send(array, self.device) for array in (ids, mask)]
        logits = self.model(input_ids=tensors[0], attention_mask=tensors[1]).logits[..., 0].float().cpu().numpy()
        wrong = np.flatnonzero(~np.isfinite(np.where(mask, logits, 0)).all(axis=1))
        if len(wrong):
            problem = f"the weights for document {doc_ids[wrong[0]]!r} hold infinity or not-a-number"
            raise ModelError(f"{self.name}: {problem}; use precision float32, or look at its text")
        weights = np.round(logits.astype(np.float64), DECIMALS)
        values = [
            self._words(ids[row, :length], weights[row, :length]) for row, length in enumerate(window.lengths[rows].tolist())
        ]
        return values, {"added_weights": sum(len(words) for words, _ in values)}

    def _words(self, ids: np.ndarray, weights: np.ndarray) -> tuple[list[str], list[float]]:
        """Return different words of a document, in the order in which they come, and their weights, those above 0."""
        by_word: dict[str, float] = {}
        for word, weight in self._pieced(ids[~self._special[ids]], weights[~self._special[ids]]):
            by_word[word] = max(weight, by_word.get(word, 0.0))
        kept = {word: weight for word, weight in by_word.items() if weight > 0}
        return list(kept), list(kept.values())

    def _pieced(self, ids: np.ndarray, weights: np.ndarray) -> Iterator[tuple[str, float]]:
        """Yield words put together from their pieces, each with the weight of the first."""
        firsts = np.flatnonzero(~self._continues[ids])
        if len(ids) and (not len(firsts) or firsts[0]):
            firsts = np.concatenate([[0], firsts])
        for start, end in zip(firsts.tolist(), [*firsts[1:].tolist(), len(ids)], strict=True):
            rest = (piece.removeprefix(CONTINUES) for piece in self._pieces[ids[start + 1 : end]])
            yield self._pieces[ids[start]] + "".join(rest), float(weights[start])


def weigh_words(*, making: Computing[WordWeights], documents_path: str, chunk: int, output_path: str, job: Job) -> None:
    """Weigh the words of the documents of one chunk, and write the weights as Parquet with their record."""
    make_expansion(load=WordWeigher, making=making, documents_path=documents_path, chunk=chunk, output_path=output_path, job=job)
