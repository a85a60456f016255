"""Cross-encoders: sequence classifiers, whose raw logit is the score of a pair."""

from collections.abc import Sequence

import numpy as np
import torch

from beirflow.computing.batching import pad
from beirflow.computing.failing import in_words
from beirflow.computing.model_limits import UNLIMITED, readable_tokens
from beirflow.computing.padding_check import PROBE_TEXT, check_padding
from beirflow.files.errors import ModelError
from beirflow.models.card_modules import refuse_type, transformer_step
from beirflow.models.model_json import MODULES
from beirflow.rerank.pair_scorer import Pair, PairScorer, TokenPairs, in_float32

LABELS = (1, 2)
HEADS = ("classifier", "score")
"""What the last layers are called in the models of transformers."""


class CrossEncoder(PairScorer):
    """A sequence classifier with one label, or two of which the second means relevant.

    A score is the raw logit; with two labels, that of the second minus that of the first. Pairs are cut to the longest that the
    model reads, from the longer text first. In half precision, the last layers compute in float32.
    """

    loader = "AutoModelForSequenceClassification"

    def _check_folder(self) -> None:
        """Refuse what sentence-transformers would do and is not done here; it reads its own file beside modules.json alone."""
        super()._check_folder()
        self._said_length: int | None = None
        try:
            refuse_type(self.folder)
            if not (self.folder / MODULES).is_file():
                return
            said = transformer_step(self.folder, "", "documents", "rerank").settings
        except ModelError as error:
            raise self._wrong(str(error)) from error
        if said["lower_case"]:
            found = "the configuration of its Transformer has do_lower_case; its tokenizer must do that instead"
            raise self._wrong(f"{self.folder}: {found}")
        self._said_length = said["max_length"]

    def _longest(self) -> int:
        """Tokens of the longest pair: those that are asked for, or else as many as model and tokenizer take."""
        readable, asked = readable_tokens(self.model), self.system.max_length or self._said_length
        if asked is not None and asked > readable:
            raise self._wrong(f"max_length is {asked}, but the model reads at most {readable} tokens; set another max_length")
        longest = asked or min(readable, self.tokenizer.model_max_length)
        if longest >= UNLIMITED:
            raise self._wrong("the model names no length; set max_length")
        return int(longest)

    def _prepare(self) -> None:
        """Refuse other numbers of labels and models that write, and set the tokenizer."""
        if getattr(self.model.config, "is_encoder_decoder", False):
            found = f"the model in {self.folder} is an encoder-decoder of type {self.model.config.model_type}"
            raise self._wrong(f"{found}, which reads pairs differently from a cross-encoder")
        if self.model.config.num_labels not in LABELS:
            found = f"the model in {self.folder} has {self.model.config.num_labels} labels"
            raise self._wrong(f"{found}; one was expected, or two of which the second means relevant")
        if self.dtype != torch.float32:
            for head in filter(None, (getattr(self.model, name, None) for name in HEADS)):
                in_float32(head)
        self._check_padding()
        self._types = "token_type_ids" in self.tokenizer.model_input_names
        if fast := getattr(self.tokenizer, "backend_tokenizer", None):
            fast.no_padding()
            fast.enable_truncation(self.max_length, strategy="longest_first", direction=self.tokenizer.truncation_side)

    def _check_padding(self) -> None:
        """Refuse a model whose score of a pair depends on the other pairs of its batch."""
        ids = self.tokenizer(PROBE_TEXT)["input_ids"]
        try:
            with in_words(self.device, len(ids)):
                check_padding(
                    self.folder,
                    lambda ids, mask: self.model.base_model(input_ids=ids, attention_mask=mask),
                    ids,
                    padding=self.tokenizer.pad_token_id or 0,
                    longest=self.max_length,
                    device=self.device,
                    dtype=self.dtype,
                )
        except ModelError as error:
            raise self._wrong(str(error)) from error

    def _read(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]] | None]:
        """Token ids of pairs, and their types."""
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        if fast is None:
            queries, documents = ([pair[side] for pair in pairs] for side in (0, 1))
            encoded = self.tokenizer(queries, documents, truncation="longest_first", max_length=self.max_length)
            ids, types = encoded["input_ids"], encoded.get("token_type_ids", [])
        else:
            encodings = fast.encode_batch_fast(list(pairs))
            ids, types = [each.ids for each in encodings], [each.type_ids for each in encodings]
        return ids, types if self._types else None

    def _compute(self, window: TokenPairs, rows: np.ndarray) -> np.ndarray:
        """Scores of one batch, float32 of shape (rows,)."""
        ids, mask = pad(window.ids, rows, self.tokenizer.pad_token_id or 0)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if window.types is not None:
            inputs["token_type_ids"] = pad(window.types, rows, getattr(self.tokenizer, "pad_token_type_id", 0))[0]
        tensors = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
        logits: np.ndarray = self.model(**tensors).logits.float().cpu().numpy()
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
