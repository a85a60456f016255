"""The backbone of a model: a tokenizer and a transformers model, loaded with every weight accounted for."""

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers.normalizers import Lowercase
from tokenizers.normalizers import Sequence as Normalizers

from beirflow.core.errors import ModelError, some
from beirflow.data.document_text import Kind
from beirflow.models.card import Step
from beirflow.models.card_modules import GIVE_VECTORS, LATE, MODEL_CONFIG, RUN_THE_LIBRARY, TOKENIZER_CONFIG, family_of_class
from beirflow.models.computing.chat_template import PLAIN, Frame, chat_frames, is_plain
from beirflow.models.computing.folder_tokenizer import assumed_tokens, tokenizer_of
from beirflow.models.computing.loading import LOCAL, load_model, loading_from
from beirflow.models.computing.model_limits import UNLIMITED, check_length, known_tokens, readable_tokens, refuse_token_types
from beirflow.models.computing.padding_check import PROBE_TEXT, Compute, check_padding
from beirflow.models.computing.token_reader import TokenReader
from beirflow.models.model_json import read_object
from beirflow.models.native_class import check_settings

logger = logging.getLogger(__name__)

OF_T5 = {"t5": "T5", "mt5": "MT5", "umt5": "UMT5", "longt5": "LongT5", "t5gemma": "T5Gemma"}
ENCODER_CLASSES = {kind: f"{name}EncoderModel" for kind, name in OF_T5.items()}
"""Class of the encoder alone, by type of an encoder-decoder model."""

HEAD_ON_A_MODEL = re.compile(r"(\w+?)(For|WithLMHead)\w+")
"""Names of classes that add a head to the usual model of a type, such as BertForCL to BertModel."""

NOT_NEEDED = (
    r"(\w+\.)?pooler(\.dense)?\.(weight|bias)|(.+\.)?(position_ids|(original_)?inv_freq)"
    r"|(\w+\.)?(lm_head|decoder)(\.(dense|norm|layer_norm|decoder))?(\.(weight|bias))?"
)
"""Names of weights that no vector needs: of a pooler, of the words of a language model, and tables that a model computes."""

HEADS = re.compile(
    rf"{NOT_NEEDED}|(score|qa_outputs|classif(ier|ication_head)|cls\.(predictions|seq_relationship)|predictions|pred_layer|embed_out"
    r"|vocab_(transform|layer_norm|projector)|(lm|mask|generator|discriminator)_predictions|generator_lm_head|mlm_head"
    r"|sop_classifier|head(?=\.(dense|norm)\.))"
    r"(\.(dense|norm|out_proj|proj|transform|LayerNorm|layer_norm|decoder|classifier|lm_head|dense_prediction))*"
    r"(\.(weight|bias|gamma|beta))?|final_logits_bias"
)
"""These, and names of the weights of heads."""

OF_WHOLE = re.compile(rf"{HEADS.pattern}|(model\.)?decoder\..+")
"""All of these, and names of the weights of a decoder, where the encoder is used alone."""


class Backbone:
    """A model of transformers and its tokenizer, with the settings of a step of the card.

    Of the modes of pooling, only ``pooler`` needs the model's own pooler; ``inserted`` tokens are added to every text after
    tokenisation, and room is left for them; the weights ``loaded_elsewhere`` belong to its head, and then none of a head may be
    left over. ``model`` is not yet on its device; ``max_length`` is the number of tokens after which a text is cut, special ones
    included, None for no limit; ``vocabulary`` the number of tokens that the model knows, ``padding`` the id to fill batches
    with. Raises ModelError if the model cannot be loaded whole, or reads fewer tokens than are wanted.
    """

    _native = False  # whether the class of transformers computes a model whose files name code of their own
    _template: str | None = None  # effect of a chat template on texts

    def __init__(
        self,
        folder: Path,
        step: Step,
        weights: str,
        pooling: Sequence[str],
        dtype: torch.dtype,
        *,
        inserted: int = 0,
        loaded_elsewhere: Collection[str] | None = None,
    ) -> None:
        self._folder, self._path, self._dtype, self._inserted = folder, folder / weights, dtype, inserted
        self._pooling, self._step, self._loaded_elsewhere = pooling, step, loaded_elsewhere
        with loading_from(folder):
            config, kind = self._architecture()
            self.tokenizer = tokenizer_of(folder)
            self.model = self._load(config, kind)
        self.max_length = self._longest(step.settings["max_length"])
        self.vocabulary = known_tokens(self.model)
        self.padding = self.tokenizer.pad_token_id or 0
        refuse_token_types(self.tokenizer, self.model, folder)
        self._reader = TokenReader(self.tokenizer)
        if step.settings["lower_case"]:
            self._lower_case()
        self._cut()

    def _architecture(self) -> tuple[Any, Any]:
        """Return the configuration of the model, and the class that takes it."""
        import transformers

        config = transformers.AutoConfig.from_pretrained(self._folder, **LOCAL)
        architecture = (config.architectures or [""])[0]
        kind = transformers.AutoModel
        if encoder := ENCODER_CLASSES.get(config.model_type):
            kind = getattr(transformers, encoder)
            config.is_encoder_decoder = False  # only the encoder is loaded
        elif architecture in GIVE_VECTORS:
            kind = getattr(transformers, architecture)
        elif getattr(config, "is_encoder_decoder", False):
            problem = f"an encoder-decoder of type {config.model_type}, whose encoder is not known here; {RUN_THE_LIBRARY}"
            raise ModelError(f"the model in {self._folder} is {problem}")
        check_settings(self._folder / MODEL_CONFIG, config)
        if hasattr(config, "use_cache"):
            config.use_cache = False  # nothing is generated, and the keys of all layers would stay in memory
        config.return_dict = True
        return config, kind

    def _check_architecture(self, architecture: str, known: set[str]) -> None:
        """Refuse a class of model that transformers lacks, such as a decoder that attends in both directions."""
        head = HEAD_ON_A_MODEL.fullmatch(architecture)
        if architecture in known | {"", *ENCODER_CLASSES.values()} or (head and f"{head[1]}Model" in known):
            return
        if family_of_class(architecture) != LATE:
            raise ModelError(
                f"{self._folder / MODEL_CONFIG} names the architecture {architecture}, which transformers does not have; the"
                " usual model of its type may compute something else. If it computes the same, name that model's class in"
                " architectures, in a copy of the folder; else name a class of your own in 'encoder'"
            )

    def _load(self, config: Any, kind: Any) -> Any:
        """Load the model; refuse weights that leave a part of it at random, and a model that leaves a part of them out."""
        import transformers

        self._check_architecture((config.architectures or [""])[0], set(transformers.__all__))
        model, report = load_model(kind, self._folder, self._path.name, self._dtype, config=config)
        with_pooler = "pooler" in self._pooling
        if needed := sorted(name for name in report["missing_keys"] if with_pooler or "pooler" not in name.split(".")):
            raise ModelError(f"{self._path} has no weights for {some(needed)}; these would be random")
        if mismatched := sorted(str(name) for name in report.get("mismatched_keys", ())):
            raise ModelError(f"{self._path} has weights of other shapes than config.json says: {some(mismatched)}")
        unused = sorted(report["unexpected_keys"])
        self._native = bool(read_object(self._folder / MODEL_CONFIG).get("auto_map"))
        heads = OF_WHOLE if config.model_type in ENCODER_CLASSES else HEADS
        known = heads if self._loaded_elsewhere is None and not self._native else re.compile(NOT_NEEDED)
        # A projection, a norm or attention behind the model may be applied by its own code, which transformers does not know.
        if strange := [name for name in unused if name not in (self._loaded_elsewhere or ()) and not known.fullmatch(name)]:
            problem = "weights that the model of config.json does not use, and that are of no head known to give no vectors"
            todo = "if they change vectors, name a class of your own in 'encoder', else save the model without them"
            raise ModelError(f"{self._path} has {problem}: {some(strange)}; {todo}")
        if unused:
            logger.info("%s has weights of a head, which give no vectors and are left out: %s", self._path, some(unused))
        if with_pooler and self._step.settings["output"] == "tokens" and getattr(model, "pooler", None) is None:
            raise ModelError(f"pooling is 'pooler', but the model in {self._folder} has none; use mean or cls")
        return model

    def check_padding(self, compute: Compute) -> None:
        """Refuse a model that gives a text other vectors, computed from token ids, in a batch with longer ones."""
        ids = next(self.token_ids([PROBE_TEXT]))
        check_padding(self._folder, compute, ids, longest=self.max_length, dtype=self._dtype)

    def _longest(self, wanted: int | None) -> int | None:
        """Return the tokens after which a text is cut: those wanted, or else as many as tokenizer and model take."""
        own = self.tokenizer.model_max_length
        if not isinstance(own, int | float):
            path = self._folder / TOKENIZER_CONFIG
            raise ModelError(f"{path}: model_max_length is {own!r}, which is not a number of tokens")
        longest = wanted or min(readable_tokens(self.model), int(min(own, UNLIMITED)))
        check_length(self.model, longest)
        return longest if longest < UNLIMITED else None

    def _lower_case(self) -> None:
        """Set lower case, which sentence-transformers wants from a tokenizer that keeps case."""
        before = self._reader.fast.normalizer
        # A Sequence can be indexed and iterated, which its types do not say.
        parts: list[Any] = [] if before is None else list(before) if isinstance(before, Normalizers) else [before]  # type: ignore[call-overload]
        if not any(isinstance(part, Lowercase) for part in parts):
            self._reader.fast.normalizer = Normalizers([Lowercase(), *parts])

    def _cut(self) -> None:
        self._reader.cut(None if self.max_length is None else self.max_length - self._inserted)

    def shorten(self, max_length: int) -> None:
        """Cut texts after at most ``max_length`` tokens, special tokens included."""
        self.max_length = min(max_length, self.max_length or max_length)
        self._cut()

    def token_ids(self, texts: list[str], frame: Frame = PLAIN) -> Iterator[list[int]]:
        """Yield the token ids of each text in a frame, special tokens included."""
        for ids in self._reader.ids([frame.before + text + frame.after for text in texts], special=frame.special_tokens):
            if frame.end and self.max_length is not None and len(ids) >= self.max_length:
                end = frame.end[-len(ids) :]
                ids[len(ids) - len(end) :] = end
            yield ids

    def chat_frames(self, prompts: Mapping[Kind, str]) -> dict[Kind, Frame]:
        """Return what the chat template of the folder writes around texts, by their kind, with a prompt of each kind."""
        self._reader.cut(None)
        frames = chat_frames(self._folder, self.tokenizer, self._reader, self._step.settings["messages"], prompts)
        plain = all(is_plain(self._reader, frames[kind], prompts[kind]) for kind in prompts)
        self._template = "leaves their tokens as they are" if plain else "changes their tokens"
        self._cut()
        return frames

    def assumptions(self, name: str) -> list[str]:
        """Return sentences on what the files of the model of a system leave open, for records."""
        sentences = assumed_tokens(name, self.tokenizer)
        if self._native:
            native = f"{type(self.model).__name__} of transformers, in place of the code that its files name (auto_map)"
            sentences.append(f"{name}: its model is computed by {native}")
        if self._template:
            sentences.append(f"{name}: its chat template is written around texts, which {self._template}")
        return sentences

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        """Return the model's output for a padded batch, ids and mask of shape (batch, tokens)."""
        return self.model(input_ids=ids, attention_mask=mask)
