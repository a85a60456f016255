"""Writers: documents in, queries that they may answer out (docT5query)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from beirflow.core.errors import ModelError
from beirflow.core.records import Job
from beirflow.extensions.expansions.decoder import Decoder, Written
from beirflow.extensions.expansions.loading import TextReader, load_model
from beirflow.extensions.expansions.making import make_expansion
from beirflow.extensions.expansions.sampler import draws, pick
from beirflow.families.expansions.settings import WrittenQueries
from beirflow.models.computing.arrival import send
from beirflow.models.computing.batching import Tokens, pad
from beirflow.models.computing.model_settings import Computing
from beirflow.run.devices import choose_precision, exact_device

TEXTS = {"cpu": 320, "cuda": 16_384}
"""Most queries that are written at a time, by device: each needs memory, and the more there are, the less each costs."""

USUAL_LENGTH = 32  # tokens of a query for which there is room; where more of them are longer than that, memory may run out

FEWER = 0.75  # largest part of the texts of a batch that continue when finished ones leave it

UNUSUAL = {
    **dict.fromkeys(
        ("temperature", "repetition_penalty", "encoder_repetition_penalty", "typical_p", "diversity_penalty"), (None, 0.0, 1.0)
    ),
    **dict.fromkeys(("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length", "min_new_tokens"), (None, 0)),
    **dict.fromkeys(("bad_words_ids", "suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id"), (None,)),
    **dict.fromkeys(("forced_eos_token_id", "sequence_bias", "forced_decoder_ids", "guidance_scale"), (None,)),
}
"""Unsupported settings of ``generate`` that a folder may ask for, each with the values that ask for nothing."""


class QueryWriter(TextReader):
    """A T5 that writes queries, at most ``texts`` at a time, and fewer where memory runs out.

    Raises ModelError if the model cannot be loaded, or cannot write.
    """

    def __init__(self, settings: WrittenQueries, folder: Path, *, device: str, precision: str, token_budget: int | str) -> None:
        self.settings, self.device = settings, exact_device(device)
        self.dtype = choose_precision(precision, self.device)
        from transformers import AutoModelForSeq2SeqLM

        tokenizer, self.model = load_model(AutoModelForSeq2SeqLM, settings, folder, self.dtype)
        self._check_generation()
        self.decoder = Decoder(self.model.to(self.device).eval())
        self.texts = texts_at_once(self.device, self.model.config, self.dtype, settings)
        super().__init__(settings.name, tokenizer, settings.max_length or 512, self.model.config.vocab_size, token_budget)

    def _check_generation(self) -> None:
        """Read the tokens that begin and end a text, and refuse what the model's folder asks for besides."""
        generation = self.model.generation_config
        for name, usual in UNUSUAL.items():
            value = getattr(generation, name, None)
            if value not in usual:
                raise ModelError(
                    f"{self.settings.name}: the model asks for {name} {value!r} when it writes, which is not done here"
                )
        ends = generation.eos_token_id
        self._first, self._ends = generation.decoder_start_token_id, [ends] if isinstance(ends, int) else list(ends or [])
        if self._first is None or not self._ends:
            raise ModelError(f"{self.settings.name}: the model does not say which tokens begin and end a text; save it with them")

    def _batches(self, lengths: np.ndarray) -> Iterator[np.ndarray]:
        for batch in super()._batches(lengths):
            while len(batch):
                size = max(1, (self.texts >> self.budget.halvings) // self.settings.queries)  # which may fall meanwhile
                yield batch[:size]
                batch = batch[size:]

    def _compute(self, window: Tokens, rows: np.ndarray, doc_ids: Sequence[str]) -> tuple[list[Any], dict[str, int]]:
        """Return the queries of some documents, without empty ones; and how many were empty, and tokens written."""
        numbers = draws(self.settings.seed, doc_ids, self.settings.queries, self.settings.query_length - 1)
        tokens = self._write(window, rows, numbers, doc_ids)
        lengths = (tokens >= 0).sum(axis=2)
        texts = [text[text >= 0].tolist() for text in tokens.reshape(-1, tokens.shape[2])]
        queries = [text.strip() for text in self.tokenizer.batch_decode(texts, skip_special_tokens=True)]
        by_document = [queries[start : start + tokens.shape[1]] for start in range(0, len(queries), tokens.shape[1])]
        kept = [[text for text in found if text] for found in by_document]
        written = sum(map(len, kept))
        counts = {"added_queries": written, "empty_queries": len(queries) - written, "written_tokens": int(lengths.sum())}
        return kept, counts

    @torch.inference_mode()
    def _write(self, window: Tokens, rows: np.ndarray, numbers: np.ndarray, doc_ids: Sequence[str]) -> np.ndarray:
        """Return tokens of the queries, -1 behind their ends, int64 of shape (documents, queries, places)."""
        ids, mask = (send(array, self.device) for array in pad(window, rows, self.tokenizer.pad_token_id or 0))
        chosen = send(numbers, self.device)
        next_tokens = torch.full(numbers.shape, -1, device=self.device)
        written = self.decoder.begin(ids, mask, numbers.shape[1])
        place = _Places(len(rows), numbers.shape[1], self.device)
        tokens = torch.full_like(place.texts, self._first)
        ends = torch.tensor(self._ends, device=self.device)
        finite = torch.ones(len(rows), dtype=torch.bool, device=self.device)
        for step in range(numbers.shape[2]):
            logits = self.decoder.step(written, tokens)
            finite[place.documents] &= logits.amax(dim=-1).isfinite().all(dim=1)
            where = place.documents[:, None], place.texts, step
            tokens = pick(logits, chosen[where], self.settings.top_k, self.settings.top_p)
            next_tokens[where] = torch.where(place.going_on, tokens, next_tokens[where])
            place.going_on &= ~torch.isin(tokens, ends)
            left = place.leave(written, tokens)
            if left is None:
                break
            tokens = left
        if not finite.all():
            name = doc_ids[int(finite.int().argmin())]
            todo = "use precision float32, or look at its text"
            raise ModelError(f"{self.name}: the logits for document {name!r} are infinity or not-a-number; {todo}")
        return next_tokens.cpu().numpy()


class _Places:
    """The documents and queries of the rows of a batch, and those that continue."""

    def __init__(self, documents: int, queries: int, device: torch.device) -> None:
        self.documents = torch.arange(documents, device=device)
        self.texts = torch.arange(queries, device=device).repeat(documents, 1)
        self.going_on = torch.ones_like(self.texts, dtype=torch.bool)

    def leave(self, written: Written, tokens: torch.Tensor) -> torch.Tensor | None:
        """Drop texts that have ended, where that makes the batch much smaller; return the tokens of the others, None if none."""
        counts = self.going_on.sum(dim=1)
        documents, width = torch.stack([counts.count_nonzero(), counts.max()]).tolist()  # all that the host waits for at a step
        if not documents:
            return None
        if documents * width > FEWER * self.going_on.numel():
            return tokens
        kept = counts.nonzero().flatten()
        # Unfinished rows come first; finished ones follow where another document has more.
        order = self.going_on[kept].int().argsort(dim=1, descending=True, stable=True)[:, :width]
        written.keep(kept, order)
        self.documents = self.documents[kept]
        self.texts, self.going_on = (each[kept].gather(1, order) for each in (self.texts, self.going_on))
        return tokens[kept].gather(1, order)


def texts_at_once(device: torch.device, model: Any, dtype: torch.dtype, settings: WrittenQueries) -> int:
    """Return how many queries a model, by its configuration, writes at a time: a power of two on CUDA, by the free memory.

    A third of that takes keys and values of queries and documents, and the logits: another job may write at the same time.
    """
    if device.type != "cuda":
        return TEXTS[device.type]
    of_a_token = 2 * model.num_decoder_layers * model.num_heads * model.d_kv * dtype.itemsize
    document = (settings.max_length or 512) / settings.queries
    each = of_a_token * (min(settings.query_length, USUAL_LENGTH) + document) + model.vocab_size * (dtype.itemsize + 4)
    fitting = max(1, int(torch.cuda.mem_get_info(device)[0] / 3 / each))
    return min(TEXTS["cuda"], 1 << (fitting.bit_length() - 1))


def write_queries(*, making: Computing[WrittenQueries], documents_path: str, chunk: int, output_path: str, job: Job) -> None:
    """Write queries for the documents of one chunk, as Parquet with their record."""
    make_expansion(load=QueryWriter, making=making, documents_path=documents_path, chunk=chunk, output_path=output_path, job=job)
