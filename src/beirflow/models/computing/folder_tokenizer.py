"""The tokenizer of a model folder: the tokens are those of its own ``tokenizer.json`` and flags.

transformers 5 builds the tokenizers of many classes again, from the vocabulary in ``tokenizer.json`` alone, and drops its other
parts: the normaliser, the pre-tokeniser, for some classes the post-processor, and ``add_bos_token`` and ``add_eos_token`` of
``tokenizer_config.json``. Models are trained, and their scores published, with what transformers 4 makes of these files: the
parts of ``tokenizer.json``, which the flags of a few classes change. This is done here for every class. A folder that
transformers 5 wrote is read without flags, since its ``tokenizer.json`` holds their effect.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors

from beirflow.core.errors import ModelError
from beirflow.core.outside_json import read_optional
from beirflow.models.card_modules import RUN_THE_LIBRARY

TOKENIZER, CONFIG = "tokenizer.json", "tokenizer_config.json"
LOCAL = {"trust_remote_code": False, "local_files_only": True}  # arguments of every loading function of transformers
TYPES = "token_type_ids"

LOWERING = frozenset(
    (
        *("Bert", "ConvBert", "DistilBert", "DPRContextEncoder", "DPRQuestionEncoder", "DPRReader", "Electra", "Funnel"),
        *("LayoutLM", "Lxmert", "MobileBert", "Realm", "RetriBert", "SqueezeBert"),
    )
)
"""Classes whose flags change the normaliser of BERT: ``do_lower_case``, ``strip_accents`` and ``tokenize_chinese_chars``."""

LOWERING_ONLY = frozenset(("LayoutLMv2", "MPNet", "RoFormer", "Splinter"))
"""Classes whose flags are the same but for ``tokenize_chinese_chars``."""

ENDS = {
    **dict.fromkeys(("CodeLlama", "Llama"), (True, "<s>", "</s>")),
    "Cohere": (True, "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    "Gemma": (True, "<bos>", "<eos>"),
    "GPTNeoX": (False, "<|endoftext|>", "<|endoftext|>"),
}
"""Classes whose post-processor is made of ``add_bos_token`` and ``add_eos_token``; the default of the first, and both tokens."""

CONVERTED = ("Llama", "MT5", "T5")
"""Classes that are converted from their sentencepiece model again if ``add_prefix_space`` is set."""

NESTED_PREFIX = ("Bloom", "Cohere")
"""Classes whose ``add_prefix_space`` counts for each part of their pre-tokeniser, where it is set."""

OF_SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model", "sentencepiece.model")
CONVERTERS = frozenset(
    ("Albert", "Barthez", "BigBird", "Camembert", "CodeLlama", "DebertaV2", "Gemma", "Llama", "MT5", "T5", "XLMRoberta")
)
"""Classes that are converted from a sentencepiece model alone as by transformers 4."""

LOST_TYPES = frozenset(
    ("Albert", "BertJapanese", "Funnel", "Herbert", "PreTrained", "RemBert", "RoCBert", "RoFormer", "Splinter", "XLNet")
)
"""Classes that gave token types in transformers 4 and give none in 5."""

CLASS_OF_TYPE = {
    **dict.fromkeys(
        (
            *("arcee", "deepseek_v2", "deepseek_v3", "diffllama", "ernie4_5", "ernie4_5_moe", "jamba", "jetmoe", "llama"),
            *("llama4", "llama4_text", "ministral", "mistral", "mistral3", "mixtral", "persimmon", "phi3", "phimoe", "zamba"),
            "zamba2",
        ),
        "Llama",
    ),
    **dict.fromkeys(("falcon_mamba", "olmo2", "stablelm"), "GPTNeoX"),
    "bloom": "Bloom",
    "longt5": "T5",
    "nystromformer": "Albert",
    "umt5": "T5",
    "xlm-roberta-xl": "XLMRoberta",
}
"""Class of the tokenizer of a type of model in transformers 4, where 5 has another or none."""

OF_VERSION_5 = ("TokenizersBackend", "PythonBackend", "SentencePieceBackend", "MistralCommonBackend")
"""Classes that transformers 4 does not have."""

PROBES = (
    *("", "x", " ", "two  spaces   and more", "In 2023 the oven ran 650841823 seconds", "$5.00, 50% of 1,234.5"),
    *("Café crème brûlée, naïve jalapeño", "e\u0301 combining", "o\ufb03cial \ufb02our \u2460 \uff21\uff22 \u338f ½ …"),
    *("EGGS AND Bacon, İstanbul", "漢字とかなの料理", "한국어 الطبخ ไทย", "Don't you'll ‘quoted’ ``back'' — em", "🍳🥓 👩‍🍳 ok"),
    *("tabs\tand\nlines", "http://a.b/c?d=e_f#tag @you"),
)
"""Texts that tokenizers read differently: numbers, accents, ligatures, capitals, other scripts, quotes, emoji, spaces."""

PROBE_PAIRS = (("hello oven", "salt 12 Pepper"), ("", ""))


def tokenizer_of(folder: Path) -> Any:
    """Load the tokenizer of a folder as transformers 4 reads its files; :func:`assumed_tokens` says whether 5 differs.

    Raises ModelError if the files contradict each other so that transformers 4 refuses them, or reads others.
    """
    from transformers import PreTrainedTokenizerFast

    config = read_optional(folder / CONFIG)
    loaded, fails = _loaded(folder)
    name, new = _class_of(folder, config, loaded)
    fast: Any = getattr(loaded, "backend_tokenizer", None)
    if fast is None:
        raise ModelError(f"{folder}: its {type(loaded).__name__} is written in Python, which is not read here; {RUN_THE_LIBRARY}")
    own = loaded
    pieces = next((path for path in (folder / each for each in OF_SENTENCEPIECE) if path.is_file()), None)
    if (folder / TOKENIZER).is_file():
        own = PreTrainedTokenizerFast.from_pretrained(folder, **_attributes(loaded, config, folder / TOKENIZER), **LOCAL)
    elif pieces is not None:
        own = _converted(loaded, name, config, pieces)
    elif name == "Deberta":  # transformers 5 writes [SEP] twice between two texts, and no types
        ends = [(token, fast.token_to_id(token)) for token in (loaded.cls_token, loaded.sep_token)]
        first, last = (token for token, _ in ends)
        single, pair = f"{first}:0 $A:0 {last}:0", f"{first}:0 $A:0 {last}:0 $B:1 {last}:1"
        fast.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ends)
    if own is not loaded:
        _without_limits(fast)
        _without_limits(own.backend_tokenizer)
        if not new:
            _apply_flags(own, name, config, folder, fast)
        if name == "RoFormer":  # splits words with a library that no file can name
            own.backend_tokenizer.pre_tokenizer = fast.pre_tokenizer
        other = f"{name}Tokenizer" if fails else type(loaded).__name__
        own.differs_from = other if fails or _probed(own.backend_tokenizer) != _probed(fast) else None
    if "model_input_names" not in config and name in LOST_TYPES and TYPES not in own.model_input_names:
        own.model_input_names = [*own.model_input_names, TYPES]
        own.types_are_open = new
    return own


def _loaded(folder: Path) -> tuple[Any, bool]:
    """Load a tokenizer as transformers 5 does; also tell whether its class cannot read tokenizer.json, so that it is left out."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        return AutoTokenizer.from_pretrained(folder, **LOCAL), False
    except (ImportError, AttributeError):  # something that is missing, perhaps only while models are loaded
        raise
    except Exception:  # those of the tokenizers library have no class of their own
        if not (folder / TOKENIZER).is_file():
            raise
        return PreTrainedTokenizerFast.from_pretrained(folder, **LOCAL), True


def assumed_types(name: str, tokenizer: Any) -> list[str]:
    """Return in a sentence that a model may have been trained without types of tokens; nothing where its files tell."""
    if not getattr(tokenizer, "types_are_open", False) or not any(tokenizer.backend_tokenizer.encode(*PROBE_PAIRS[0]).type_ids):
        return []
    return [f"{name}: its model was trained with the types of tokens in {TOKENIZER}, which transformers 5 wrote and leaves out"]


def assumed_tokens(name: str, tokenizer: Any) -> list[str]:
    """Return in a sentence, for a record, that a system's tokens are not those of the class in transformers 5; else nothing."""
    other = getattr(tokenizer, "differs_from", None)
    if not other:
        return []
    return [f"{name}: its tokens are those of its {TOKENIZER} and its flags, from which {other} of transformers 5 departs"]


def _class_of(folder: Path, config: Mapping[str, Any], loaded: Any) -> tuple[str, bool]:
    """Return the class of a folder's tokenizer in transformers 4, as ``Bert``, and whether transformers 5 wrote the folder."""
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES

    model = read_optional(folder / "config.json")
    named = config.get("tokenizer_class") or model.get("tokenizer_class")
    new = "backend" in config or named in OF_VERSION_5
    if not named and (kind := model.get("model_type")) in CLASS_OF_TYPE:
        return CLASS_OF_TYPE[kind], new
    usual = named or TOKENIZER_MAPPING_NAMES.get(model.get("model_type")) or type(loaded).__name__
    if usual in OF_VERSION_5 and not named:
        return "PreTrained", new
    return str(usual).removesuffix("Fast").removesuffix("Tokenizer"), new


def _attributes(loaded: Any, config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return what the class of a tokenizer sets where its files say nothing: special tokens, the sides, the inputs."""
    known = Tokenizer.from_file(str(path)).get_vocab()
    named = {key: token for key, token in loaded.special_tokens_map.items() if isinstance(token, str) and token in known}
    others = {key: getattr(loaded, key) for key in ("padding_side", "truncation_side", "model_input_names")}
    return {key: value for key, value in (named | others).items() if config.get(key) is None}


def _apply_flags(tokenizer: Any, name: str, config: Mapping[str, Any], folder: Path, fast: Tokenizer) -> None:
    """Change the parts of a tokenizer as its class in transformers 4 does; ``fast`` is what 5 makes of the folder."""
    own = tokenizer.backend_tokenizer
    if name in LOWERING | LOWERING_ONLY:
        _apply_lowering(own, name, config, folder, fast)
    prefix = config.get("add_prefix_space", name == "LayoutLMv3")
    if name in CONVERTED:
        _apply_conversion(own, name, config, folder)
    elif isinstance(prefix, bool) and own.pre_tokenizer is not None:
        state = json.loads(own.pre_tokenizer.__getstate__())
        if state["type"] == "ByteLevel" and state["add_prefix_space"] != prefix:
            own.pre_tokenizer = _changed(own.pre_tokenizer, "add_prefix_space", prefix)
        elif prefix and name in NESTED_PREFIX:
            own.pre_tokenizer = _changed(own.pre_tokenizer, "add_prefix_space", True)
    if name in ENDS:
        own.post_processor = _ends(tokenizer, config, folder, *ENDS[name])


def _apply_lowering(own: Tokenizer, name: str, config: Mapping[str, Any], folder: Path, fast: Tokenizer) -> None:
    """Set lower case, accents and Chinese characters of BERT's normaliser by the flags; other normalisers stay as they are."""
    if own.normalizer is None:
        if _probed(own) != _probed(fast):
            raise ModelError(
                f"{folder / TOKENIZER} has no normalizer, and its class, {name}Tokenizer, has one: transformers 4 refuses this"
                f" folder, and 5 adds one. Set tokenizer_class to PreTrainedTokenizerFast in {CONFIG} if it has none"
            )
        return
    state = json.loads(own.normalizer.__getstate__())
    if state.pop("type") != "BertNormalizer":
        return
    state |= {"lowercase": config.get("do_lower_case", True), "strip_accents": config.get("strip_accents")}
    if name in LOWERING:
        state["handle_chinese_chars"] = config.get("tokenize_chinese_chars", True)
    own.normalizer = normalizers.BertNormalizer(**state)


def _apply_conversion(own: Tokenizer, name: str, config: Mapping[str, Any], folder: Path) -> None:
    """Set the parts that transformers 4 converts from the sentencepiece model again, where ``add_prefix_space`` is set."""
    prefix = config.get("add_prefix_space")
    if prefix is None:
        return
    before = _probed(own)
    legacy = config.get("legacy") is not False
    scheme = "never" if not prefix else "always" if legacy else "first"
    if name == "Llama":
        added = [normalizers.Prepend("▁")] if prefix else []
        own.normalizer = normalizers.Sequence([*added, normalizers.Replace(" ", "▁")]) if legacy else None
        own.pre_tokenizer = None if legacy else pre_tokenizers.Metaspace("▁", scheme, split=False)
    else:
        own.pre_tokenizer = pre_tokenizers.Metaspace("▁", scheme)
    if _probed(own) != before and not any((folder / each).is_file() for each in ("tokenizer.model", "spiece.model")):
        raise ModelError(
            f"{folder / CONFIG} sets add_prefix_space and legacy otherwise than {TOKENIZER} there, and the sentencepiece"
            f" model that transformers 4 would convert again is not there; remove add_prefix_space from {CONFIG}"
        )


def _changed(part: Any, key: str, value: bool) -> Any:
    """Return a part of a tokenizer with another value of a switch, wherever it has one."""
    old, new = (f'"{key}":{json.dumps(each)}'.encode() for each in (not value, value))
    part.__setstate__(part.__getstate__().replace(old, new))
    return part


def _ends(tokenizer: Any, config: Mapping[str, Any], folder: Path, adds_bos: bool, bos: str, eos: str) -> Any:
    """Return the post-processor that writes the first and the last token as the flags say; the rest are defaults of a class."""
    adds = {"bos": config.get("add_bos_token", adds_bos), "eos": config.get("add_eos_token", False)}
    tokens = {"bos": tokenizer.bos_token or bos, "eos": tokenizer.eos_token or eos}
    known = {key: tokenizer.backend_tokenizer.token_to_id(tokens[key]) for key, wanted in adds.items() if wanted}
    if unknown := [key for key, number in known.items() if number is None]:
        key = unknown[0]
        raise ModelError(
            f"{folder}: add_{key}_token is true, but its tokenizer has no {tokens[key]!r}; name {key}_token in {CONFIG}"
        )
    first, last = ([tokens[key]] if key in known else [] for key in ("bos", "eos"))
    single, other = ([f"{each}:{number}" for each in (*first, text, *last)] for number, text in enumerate(("$A", "$B")))
    special = [(tokens[key], number) for key, number in known.items()]
    return processors.TemplateProcessing(single=single, pair=single + other, special_tokens=special)


def _converted(loaded: Any, name: str, config: Mapping[str, Any], pieces: Path) -> Any:
    """Convert a sentencepiece model to a tokenizer as transformers 4 does."""
    from transformers import AddedToken, PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import SLOW_TO_FAST_CONVERTERS

    if name not in CONVERTERS:
        raise ModelError(
            f"{pieces.parent} has its tokenizer in {pieces.name} alone, which transformers 5 reads otherwise than 4 for the class"
            f" {name}Tokenizer; load and save it with transformers 4.57, which writes {TOKENIZER}"
        )
    settings: dict[str, Any] = {"keep_accents": False, "do_lower_case": name == "Albert", "split_by_punct": False, "legacy": None}
    settings |= {"add_prefix_space": True, "extra_ids": 100}
    slow = SimpleNamespace(**{key: config.get(key, default) for key, default in settings.items()}, vocab_file=str(pieces))
    slow.legacy, slow._extra_ids = slow.legacy is not False, slow.extra_ids
    converter: Any = SLOW_TO_FAST_CONVERTERS["T5Tokenizer" if name == "MT5" else f"{name}Tokenizer"](slow)
    for key in ("pad_token", "bos_token", "eos_token"):
        setattr(slow, key, getattr(loaded, key))
    converter.SpmExtractor = _Merges  # that of transformers 5 expects other arguments than its converters give
    slow.convert_ids_to_tokens = lambda number: converter.proto.pieces[number].piece
    slow.convert_tokens_to_ids = [piece for piece, _ in converter.vocab(converter.proto)].index
    fast = converter.converted()
    named = {
        key: token for key, token in loaded.special_tokens_map.items() if key in config or fast.token_to_id(token) is not None
    }
    added = {int(number): AddedToken(**token) for number, token in config.get("added_tokens_decoder", {}).items()}
    kept = ("model_max_length", "chat_template", "padding_side", "truncation_side", "model_input_names", "split_special_tokens")
    return PreTrainedTokenizerFast(
        tokenizer_object=fast,
        added_tokens_decoder=added,
        extra_special_tokens=loaded.extra_special_tokens,
        **named,
        **{key: getattr(loaded, key) for key in kept},
    )


class _Merges:
    """The merges of a sentencepiece model of pairs, by the scores of its pieces."""

    def __init__(self, path: str) -> None:
        from sentencepiece import SentencePieceProcessor

        self._pieces = SentencePieceProcessor(model_file=path)

    def extract(self, vocab_scores: Any) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Return the numbers of the pieces, and the merges."""
        from transformers.convert_slow_tokenizer import generate_merges

        vocabulary = {self._pieces.id_to_piece(number): number for number in range(self._pieces.get_piece_size())}
        return vocabulary, generate_merges(vocabulary, vocab_scores)


def _without_limits(fast: Tokenizer) -> None:
    """Remove padding and truncation that a tokenizer was saved with; its users set their own."""
    fast.no_padding()
    fast.no_truncation()


def _probed(fast: Tokenizer) -> list[tuple[list[int], list[int]]]:
    """Return ids and types of the probes, which show how a tokenizer reads texts."""
    return [(each.ids, each.type_ids) for each in _encodings(fast)]


def _encodings(fast: Tokenizer) -> Iterator[Any]:
    yield from (fast.encode(text) for text in PROBES)
    yield from (fast.encode(*pair) for pair in PROBE_PAIRS)


def readable(tokenizer: Any, token: int) -> str:
    """Return a token as readable text: the letters that its bytes are; as the tokenizer has it where there are none."""
    return str(tokenizer.decode([token]).strip() or tokenizer.convert_ids_to_tokens(token))
