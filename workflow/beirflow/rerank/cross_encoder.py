"""Cross-encoders: sequence classifiers, whose raw logit is the score of a pair."""

import re
from collections.abc import Sequence

import numpy as np
import torch

from beirflow.computing.batching import pad
from beirflow.files.errors import ModelError
from beirflow.models.card_modules import refuse_type, transformer_step
from beirflow.models.model_json import MODULES
from beirflow.rerank.labels import relevant_label
from beirflow.rerank.pair_scorer import Pair, PairScorer, TokenPairs, beside_one, in_float32
from beirflow.rerank.saved_settings import check_activation

LABELS = (1, 2)
HEADS = ("classifier", "score")
"""Names of the last layers in the models of transformers."""


class CrossEncoder(PairScorer):
    """A sequence classifier with one label, or two of which one means relevant.

    A score is the raw logit; with two labels, that of the relevant one minus that of the other. Pairs are cut to the
    longest that the model reads, from the longer text first. In half precision, the last layers compute in float32.
    """

    loader = "AutoModelForSequenceClassification"
    backbone = "rerank"
    """Family whose backbones the model has, as sentence-transformers saves them."""

    takes_prompt = True
    left_over = re.compile(r"(^|\.)(pooler|cls\.(predictions|seq_relationship)|lm_head|vocab_(transform|layer_norm|projector))\.")

    def _check_folder(self) -> None:
        """Refuse what sentence-transformers would do and is not done here; it reads its own file beside modules.json alone."""
        super()._check_folder()
        refuse_type(self.folder)
        self._said_length: int | None = None
        if not (self.folder / MODULES).is_file():
            return
        said = transformer_step(self.folder, "", "documents", self.backbone).settings
        if said["lower_case"]:
            raise ModelError(
                f"{self.folder}: the configuration of its Transformer has do_lower_case; its tokenizer must do that instead"
            )
        self._said_length = said["max_length"]

    def _longest(self) -> int:
        """Tokens of the longest pair."""
        return self._length(self._said_length, self.tokenizer.model_max_length)

    def _prepare(self) -> None:
        """Refuse models that write, find the label that counts, and set the tokenizer."""
        if getattr(self.model.config, "is_encoder_decoder", False):
            problem = f"the model in {self.folder} is an encoder-decoder of type {self.model.config.model_type}"
            raise ModelError(f"{problem}, which reads pairs differently from a cross-encoder")
        self._relevant = self._relevant_label()
        if self.dtype != torch.float32:
            for head in filter(None, (getattr(self.model, name, None) for name in HEADS)):
                in_float32(head)
        self._padding = self._padding_id()
        self._check_batches()
        self._types = "token_type_ids" in self.tokenizer.model_input_names
        if fast := getattr(self.tokenizer, "backend_tokenizer", None):
            fast.no_padding()
            fast.enable_truncation(self.max_length, strategy="longest_first", direction=self.tokenizer.truncation_side)

    def _relevant_label(self) -> int:
        """Number of the label whose logit counts for a pair; the other's, if there is one, counts against it."""
        config = self.model.config
        if config.num_labels not in LABELS:
            problem = f"the model in {self.folder} has {config.num_labels} labels"
            raise ModelError(f"{problem}; one was expected, or two of which one means relevant")
        check_activation(self.folder, config.num_labels)
        if config.num_labels == 1:
            return 0
        try:
            named = relevant_label(config.id2label, config.label2id)
        except ModelError as error:
            raise ModelError(f"{self.folder}: {error}") from error
        if named is None:
            self.assumed.append(
                f"{self.system.name}: of the two labels of its model, which have no names, the second means relevant"
            )
        return 1 if named is None else named

    def _padding_id(self) -> int:
        """Id to fill batches with: the padding that the model knows, since heads of decoders look for the last other token."""
        own = self.model.config.get_text_config().pad_token_id
        return own if own is not None and 0 <= own < self._vocabulary else self.tokenizer.pad_token_id or 0

    def _check_batches(self) -> None:
        """Refuse a model whose score of a pair depends on the other pairs of its batch: by its states, or by its head."""
        self._check_padding(
            lambda ids, mask: self.model.base_model(input_ids=ids, attention_mask=mask).last_hidden_state[mask > 0], self._padding
        )
        try:
            self._check_padding(lambda ids, mask: beside_one(self._logits(input_ids=ids, attention_mask=mask)), self._padding)
        except ModelError as error:
            raise ModelError(
                f"{error}. Its head may look for the last token by pad_token_id of its config.json; correct it"
            ) from error

    def _logits(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Logits of a batch, of shape (rows, labels)."""
        logits: torch.Tensor = self.model(**inputs).logits
        return logits

    def _read(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]] | None]:
        """Token ids of pairs, and their types; the prompt stands before each query."""
        pairs = [(self._prompt + query, document) for query, document in pairs]
        fast = getattr(self.tokenizer, "backend_tokenizer", None)
        if fast is None:
            queries, documents = ([pair[side] for pair in pairs] for side in (0, 1))
            encoded = self.tokenizer(queries, documents, truncation="longest_first", max_length=self.max_length)
            ids, types = encoded["input_ids"], encoded.get("token_type_ids", [])
        else:
            encodings = fast.encode_batch_fast(pairs)
            ids, types = [each.ids for each in encodings], [each.type_ids for each in encodings]
        return ids, types if self._types else None

    def _compute(self, window: TokenPairs, rows: np.ndarray) -> np.ndarray:
        """Scores of one batch, float32 of shape (rows,)."""
        ids, mask = pad(window.ids, rows, self._padding)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if window.types is not None:
            inputs["token_type_ids"] = pad(window.types, rows, getattr(self.tokenizer, "pad_token_type_id", 0))[0]
        tensors = {name: torch.from_numpy(array).to(self.device) for name, array in inputs.items()}
        logits: np.ndarray = self._logits(**tensors).float().cpu().numpy()
        relevant = logits[:, self._relevant]
        return relevant if logits.shape[1] == 1 else relevant - logits[:, 1 - self._relevant]
