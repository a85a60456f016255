"""The modules of a model, one by one: the settings of each that change vectors.

Unknown settings are refused by name. The classes of sentence-transformers moved between its versions, so the last part of its
type identifies a module.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.data.document_text import Kind
from beirflow.models.card import POOLING_MODES, Step
from beirflow.models.model_json import LIBRARY_CONFIG, MODULES, architecture_in, read_number, read_object, read_optional
from beirflow.models.native_class import NAMES
from beirflow.models.refused_code import refuse_code

MODEL_CONFIG, TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
TRANSFORMER_CONFIGS = tuple(
    f"sentence_{name}_config.json" for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
OTHER_FAMILIES = {
    **dict.fromkeys(("SparseEncoder", "MLMTransformer", "SpladePooling", "SparseStaticEmbedding", "ForMaskedLM"), "sparse"),
    **dict.fromkeys(("CrossEncoder", "ForSequenceClassification"), "rerank"),
    **dict.fromkeys(("MultiVectorEncoder", "MultiVectorMask", "ColBERT", "HF_ColBERT"), "late-interaction"),
    "ForTokenClassification": "lexical, as weights",
}
"""Family of systems that takes a model, by the end of the name of its class."""

GIVE_VECTORS = ("DPRContextEncoder", "DPRQuestionEncoder")
"""Architectures that give one vector a text, and no tokens to be pooled."""

_PADDED = "gives a text different vectors alone and in a batch with longer ones, so no vector is the right one"
REFUSED_TYPES = {
    **dict.fromkeys(("big_bird", "bigbird_pegasus", "funnel", "reformer"), _PADDED),
    "xlnet": "pads texts at the beginning and has its own token types, which beirflow does not support",
}
"""Types of models whose vectors would not be right, and why."""

OF_PAIRS = ("cross-encoder", "pooled-cross-encoder", "logit-score")  # kinds of rerankers, each of which implies the family

TASKS = {"sparse": "fill-mask", "cross-encoder": "sequence-classification", "logit-score": "text-generation"}
"""Name in sentence-transformers of the task of a family's backbones; the others extract features."""

OUTPUTS = dict.fromkeys(TASKS, "logits")
"""Output of its backbones that a family uses; the others use the last hidden state."""

HARMLESS = {"torch_dtype", "dtype", "attn_implementation", "add_pooling_layer", "use_safetensors", "use_fast", "padding_side"}
"""Arguments of a backend that change no vector here: precision is a setting of its own, and padding is masked."""

ACTIVATIONS = (
    *("Identity", "Tanh", "ReLU", "ReLU6", "GELU", "Sigmoid", "SiLU", "LeakyReLU", "ELU", "SELU", "CELU", "Softplus", "Softsign"),
    *("Mish", "Hardtanh", "Hardsigmoid", "Hardswish", "Hardshrink", "Softshrink", "Tanhshrink", "LogSigmoid"),
)
"""Known activations of a Dense module, by their names in torch.nn: functions of one number, without weights."""

NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Pooling": (("embedding_dimension", "word_embedding_dimension"),),
    "Dense": (("in_features",), ("out_features",)),
    "LayerNorm": (("dimension",),),
    "MultiVectorMask": (),
}
"""Keys without which sentence-transformers builds no such module, each with its older name. It reads a mask without a file as one
that hides no token, but writes the file with every mask."""

RUN_THE_LIBRARY = "`encoder: sentence-transformers` runs that library itself (docs/own-encoders.md)"
"""Remedy for modules of sentence-transformers that are not read here."""

OTHER_WEIGHTS = {
    "transformers_weights": ", a file of weights other than the hashed one; remove it",
    "quantization_config": "; save the model with plain weights",
}
"""Keys of ``config.json`` with which other weights than the plain ones would be loaded, and the remedies."""

DENSE = "SentenceTransformer"  # type of the models of dense systems
LATE = "late-interaction"


def family_of_class(name: str) -> str | None:
    """Return the family that takes a class of models if it is not dense; modules of PyLate are late interaction."""
    name = "ColBERT" if name.startswith("pylate.") else name
    return next((family for end, family in OTHER_FAMILIES.items() if name.endswith(end)), None)


def other_family(name: str) -> str:
    """Return ``; a system of family …`` where a class belongs to another family, else an empty text."""
    family = family_of_class(name)
    return f"; a system of family {family} takes such models" if family else ""


def check_type(folder: Path, expected: str, *others: str | None) -> None:
    """Refuse a model that sentence-transformers uses as another type than those; None is one that states no type.

    The message names the family of systems that takes the model.
    """
    model_type = read_optional(folder / LIBRARY_CONFIG).get("model_type") or None
    if model_type in (expected, *others):
        return
    nothing = f"has no model_type, so sentence-transformers 6 takes it for a {DENSE}"
    found = f"says that this is a {model_type}" if model_type else nothing
    family = other_family(str(model_type)) or ("; a system of family dense takes such models" if model_type == DENSE else "")
    todo = f'Or, if it is one, fetch or copy the model again with all its files, or write "model_type": "{expected}" there'
    raise ModelError(f"{folder / LIBRARY_CONFIG} {found}, no {expected}{family}. {todo}")


def module_config(here: Path, name: str) -> dict[str, Any]:
    """Read the configuration of a module in a folder, by its class without the package; empty if it has none and needs none.

    Raises ModelError if the configuration is missing or lacks what such a module needs: what a default would replace may be
    anything.
    """
    path = here / MODEL_CONFIG
    if not path.is_file() and name not in NEEDED:
        return {}
    todo = "fetch or copy the model again, with its folders"
    if not path.is_file():
        raise ModelError(f"{here} has no {MODEL_CONFIG}, but the files of the model name a {name} there; {todo}")
    config = read_object(path)
    if missing := [keys[0] for keys in NEEDED.get(name, ()) if all(config.get(key) is None for key in keys)]:
        raise ModelError(f"{path} has no {' and no '.join(missing)}, so it is not the configuration of a {name}; {todo}")
    return config


def chat_templates(folder: Path) -> list[Path]:
    """Return the files with chat templates of a folder's tokenizer."""
    templates = [*folder.glob("chat_template.jinja"), *folder.glob("additional_chat_templates/*.jinja")]
    own = folder / TOKENIZER_CONFIG
    return [*templates, own] if read_optional(own).get("chat_template") else templates


def refuse_chat_template(folder: Path) -> None:
    """Refuse a folder whose tokenizer has a chat template: sentence-transformers 6 writes the texts of a bare model into it."""
    if templates := chat_templates(folder):
        raise ModelError(
            f"{templates[0]} has a chat template, and the folder does not say that texts are read without it ({MODULES}), so"
            " sentence-transformers 6 would write them into it, which beirflow does not. If the model was trained on plain texts,"
            f" say so with a copy of the folder without chat_template.jinja, and without chat_template in {TOKENIZER_CONFIG}"
        )


def transformer_config(here: Path) -> dict[str, Any]:
    """Read sentence-transformers' settings of a backbone, from the first file that has some; empty without one."""
    configs = (read_object(here / name) for name in TRANSFORMER_CONFIGS if (here / name).is_file())
    return next(filter(None, configs), {})


def transformer_step(folder: Path, place: str, kind: Kind, family: str = "dense") -> Step:
    """Read the step of a transformers backbone for a family: length of texts, and tokens or one vector as output."""
    here = folder / place
    wanted = known_settings(here, family)
    key = {"queries": "query_length", "documents": "document_length"}[kind]
    length = read_number(here, wanted, key if wanted.get(key) else "max_seq_length")
    lower_case = bool(wanted.get("do_lower_case"))
    if lower_case and family not in ("dense", LATE):
        raise ModelError(f"{here}: the configuration of its Transformer has do_lower_case; its tokenizer must do that instead")
    settings = {"max_length": length, "lower_case": lower_case, "output": _output(here, wanted, family)}
    return Step("transformer", place, settings | _messages(here, wanted, family))


def known_settings(here: Path, family: str) -> dict[str, Any]:
    """Read sentence-transformers' settings of a backbone for a family; ModelError for one that is not known."""
    wanted = transformer_config(here)
    arguments = {f"{what}_{end}" for what in ("model", "tokenizer", "config", "processor") for end in ("args", "kwargs")}
    known = {"max_seq_length", "unpad_inputs", "transformer_task", "modality_config", "module_output_name", *arguments}
    known |= {"processing_kwargs"} if family in OF_PAIRS else {"do_lower_case", "query_length", "document_length"}
    known |= {"query_expansion"} if family == LATE else set()
    strange = [key for key, value in wanted.items() if key not in known and value not in (None, {}, [], False)]
    for key in arguments & set(wanted):
        own = wanted[key] or {}
        strange += [f"{key}.{name}" for name in set(own if isinstance(own, dict) else [str(own)]) - HARMLESS]
    task = TASKS.get(family, "feature-extraction")
    if wanted.get("transformer_task", task) != task:
        strange.append("transformer_task")
    if strange:
        raise ModelError(
            f"{here}: the configuration of its Transformer has {', '.join(sorted(strange))}, which beirflow does not know"
        )
    return wanted


def _output(here: Path, wanted: Mapping[str, Any], family: str) -> str:
    """Return ``tokens`` or ``vector``, the output of a backbone; refuse weights that are meant for something else."""
    path = here / MODEL_CONFIG
    if not path.is_file():
        raise ModelError(f"{here} has no {MODEL_CONFIG}, so it is not a model folder")
    config = read_object(path)
    refuse_what_is_not_hashed(here, NAMES if family in ("dense", LATE) else ())
    refuse_type(here)
    architecture = architecture_in(config)
    usual = {"method": "forward", "method_output_name": OUTPUTS.get(family, "last_hidden_state")}
    text = (wanted.get("modality_config") or {}).get("text", usual)
    if text != usual:
        raise ModelError(f"{here}: its Transformer takes texts by {text}, which beirflow does not know")
    if not wanted and not (here / MODULES).is_file() and family_of_class(architecture) not in (None, family):
        raise ModelError(
            f"{path} says {architecture}: its head would not be used by a dense system{other_family(architecture)}. For the"
            " vectors of the bare model, load it with AutoModel and save it again"
        )
    return "vector" if architecture in GIVE_VECTORS else "tokens"


def _messages(here: Path, wanted: Mapping[str, Any], family: str) -> dict[str, str]:
    """Return the form of the messages that texts become in a chat template; empty for plain texts."""
    message = (wanted.get("modality_config") or {}).get("message")
    if message is None:
        return {}
    form = message.get("format", "auto")
    usual = {"method": "forward", "method_output_name": "last_hidden_state", "format": form}
    if family != "dense" or {**message, "format": form} != usual or form not in ("flat", "structured", "auto"):
        raise ModelError(
            f"{here}: its Transformer wraps texts in chat messages (modality_config), which beirflow does not in this form, or"
            f" for family {family}. If the model was trained on plain texts, remove 'message' there"
        )
    return {"messages": form}


def refuse_type(here: Path) -> None:
    """Refuse a folder with a type of model that would be computed wrongly."""
    kind = read_object(here / MODEL_CONFIG).get("model_type")
    if kind in REFUSED_TYPES:
        raise ModelError(f"{here / MODEL_CONFIG}: a model of type {kind} {REFUSED_TYPES[kind]}")


def refuse_what_is_not_hashed(here: Path, native: Collection[str] = ()) -> None:
    """Refuse a model folder with which something else would run than its digests cover.

    That is code of its own or of a kernel, an adapter, files elsewhere, other weights, or quantised ones. ``native`` is as for
    :func:`~beirflow.models.refused_code.refuse_code`.
    """
    config = read_object(here / MODEL_CONFIG)
    tokenizer = here / TOKENIZER_CONFIG
    tokenizer_config = read_optional(tokenizer)
    for name, held in ((MODEL_CONFIG, config), (tokenizer.name, tokenizer_config)):
        refuse_code(here / name, native)
        files = [
            key for key, value in held.items() if isinstance(value, str) and key.endswith("_file") and key != "tokenizer_file"
        ]
        # Others that a tokenizer opens: arguments by their place, a vocabulary elsewhere, and other versions of tokenizer.json.
        named = ("init_inputs", "vocab", "merges", "fast_tokenizer_files") if name == tokenizer.name else ()
        files += [key for key in named if held.get(key) and held[key] != ["tokenizer.json"]]
        if files:
            raise ModelError(
                f"{here / name} names files elsewhere ({', '.join(files)}), which no digest covers; remove these keys"
            )
    if (here / "adapter_config.json").is_file():
        raise ModelError(f"{here} has an adapter (adapter_config.json); merge it into the model (merge_and_unload) and save that")
    for key, todo in OTHER_WEIGHTS.items():
        if config.get(key):
            raise ModelError(f"{here / MODEL_CONFIG} has {key}{todo}")


def _pooling(place: str, config: Mapping[str, Any]) -> Step:
    legacy = {"mean_sqrt_len": "mean_sqrt_len_tokens", **{mode: mode for mode in POOLING_MODES}}
    modes = config.get("pooling_mode")
    if modes is None:
        ends = {"cls": "cls_token", "lasttoken": "lasttoken", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens"}
        modes = [mode for mode in POOLING_MODES if config.get(f"pooling_mode_{ends.get(mode, f'{mode}_tokens')}")] or ["mean"]
    modes = [legacy.get(mode, mode) for mode in ([modes] if isinstance(modes, str) else modes)]
    if unknown := [mode for mode in modes if mode not in POOLING_MODES]:
        raise ModelError(f"{place}: pooling is {', '.join(map(str, unknown))}; known are {', '.join(POOLING_MODES)}")
    if not config.get("include_prompt", True):
        raise ModelError(
            f"{place}: the tokens of the prompt are left out of the pooling (include_prompt), which is not done here"
        )
    return Step("pooling", place, {"modes": modes, "include_prompt": True})


def _dense(place: str, config: Mapping[str, Any]) -> Step:
    _one_vector_in_and_out(place, config)
    return dense_step(place, config)


def dense_step(place: str, config: Mapping[str, Any]) -> Step:
    """Read a Dense module, of texts or of tokens."""
    activation = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    name = activation.rpartition(".")[2]
    if not activation.startswith("torch.") or name not in ACTIVATIONS:
        raise ModelError(f"{place}: the activation is {activation}; known are those of torch.nn: {', '.join(ACTIVATIONS)}")
    known = {"in_features", "out_features", "bias", "activation_function", "use_residual"}
    known |= {"module_input_name", "module_output_name"}
    if strange := sorted(set(config) - known):
        raise ModelError(f"{place}: a Dense module has {', '.join(strange)}, which beirflow does not know")
    return Step("dense", place, {"activation": name, "residual": bool(config.get("use_residual", False))})


def _normalize(place: str, config: Mapping[str, Any]) -> Step:
    _one_vector_in_and_out(place, config)
    return Step("normalize", place)


READERS: dict[str, Callable[[str, Mapping[str, Any]], Step]] = {
    "Pooling": _pooling,
    "Dense": _dense,
    "LayerNorm": lambda place, _: Step("layer_norm", place),
    "Normalize": _normalize,
    "StaticEmbedding": lambda place, _: Step("static", place, {"output": "tokens"}),
}
"""Readers of the configuration of a module, by its class of sentence-transformers; backbones and routes have others."""


def _one_vector_in_and_out(place: str, config: Mapping[str, Any]) -> None:
    """Refuse a module that works on the vectors of tokens: that is late interaction."""
    names = {config.get(f"module_{end}_name") or "sentence_embedding" for end in ("input", "output")}
    if names != {"sentence_embedding"}:
        raise ModelError(
            f"{place}: works on {', '.join(sorted(names))}; a system of family late-interaction takes vectors of tokens"
        )
