"""The settings in a late-interaction model's files: from a text to the vectors of its tokens; others are refused by name.

Three layouts are supported: ColBERT's own, whose checkpoint has ``linear.weight`` in addition to a BERT and ``artifact.metadata``
next to both; PyLate's, whose ``config_sentence_transformers.json`` has markers and lengths; and the MultiVectorEncoder's of
sentence-transformers.
"""

import string
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.data.document_text import KINDS, Kind
from beirflow.families.late_interaction.settings import LateSettings
from beirflow.models.card import Step
from beirflow.models.card_files import read_prompts
from beirflow.models.card_modules import (
    DENSE,
    LATE,
    MODEL_CONFIG,
    check_type,
    dense_step,
    module_config,
    other_family,
    transformer_config,
    transformer_step,
)
from beirflow.models.model_json import (
    COLBERT,
    LIBRARY_CONFIG,
    MODULES,
    TASKS,
    architecture_in,
    listed_modules,
    read_number,
    read_object,
    read_optional,
)
from beirflow.models.model_places import or_by_others

COLBERT_CLASS = "HF_ColBERT"
QUERY_LENGTH = 32  # length of queries in ColBERT and PyLate, unless stated
LONGEST_TEXT = 1 << 17  # most tokens that a model may claim to read

PUNCTUATION = tuple(string.punctuation)
LENGTHS: Mapping[Kind, str] = {"queries": "query_length", "documents": "document_length"}
PREFIXES: Mapping[Kind, str] = {"queries": "query_prefix", "documents": "document_prefix"}
MARKERS = {"queries": "[unused0]", "documents": "[unused1]"}  # markers of ColBERT, unless stated
OF_COLBERT: Mapping[Kind, str] = {"queries": "query_token_id", "documents": "doc_token_id"}  # keys of its markers

TOKENS = "token_embeddings"
MASK, POOLING = "MultiVectorMask", "Pooling"

OF_PYLATE = (
    *("query_prefix", "document_prefix", "query_length", "document_length", "query_expansion", "skiplist_words"),
    *("do_query_expansion", "attend_to_expansion_tokens", "attend_to_mask_tokens"),
)
"""Keys of ``config_sentence_transformers.json`` that PyLate writes, or wrote."""


@dataclass(frozen=True)
class Expansion:
    """Padding of a query with tokens that count."""

    length: int  # resulting tokens, special tokens and marker included
    attend: bool = False  # whether its own tokens see the added ones; these see its own in any case, and have vectors that count
    token: str | None = None  # the added token; None for the tokenizer's mask, or its end of a text where it has no mask
    cut: bool = True  # whether a longer query is cut to this length


@dataclass(frozen=True)
class Reading:
    """Steps from one kind of text to its vectors."""

    steps: tuple[Step, ...]  # the backbone, and what changes the vector of each token after it
    prompt: str = ""  # written before every text
    # the token that is put in after the first one, special or not, which the tokenizer knows as one; None for none
    marker: str | None = None
    expansion: Expansion | None = None  # padding of a text; None for nothing
    skipped: tuple[str, ...] = ()  # tokens whose vectors do not count
    # whether unknown tokens do not count either if one of the skipped words is no token, as in PyLate
    skips_unknown: bool = False

    @property
    def max_length(self) -> int | None:
        """Tokens after which a text is cut; None for as many as the model reads."""
        return self.steps[0].settings["max_length"]

    def cut_at(self, length: int | None) -> "Reading":
        """Return the same steps with another length, also of the expansion; with None the steps themselves."""
        if length is None:
            return self
        first = replace(self.steps[0], settings={**self.steps[0].settings, "max_length": length})
        expansion = self.expansion and replace(self.expansion, length=length)
        return replace(self, steps=(first, *self.steps[1:]), expansion=expansion)


@dataclass(frozen=True)
class TokenCard:
    """Recipe of a model that turns texts into vectors of tokens."""

    readings: Mapping[Kind, Reading]  # by kind of text
    open: Mapping[str, str] = field(default_factory=dict)  # by required setting, why the files do not have it
    overridden: tuple[str, ...] = ()  # names of the settings that the configuration has instead of the files

    def of_kind(self, kind: Kind) -> dict[str, Any]:
        """Return the recipe for one kind of text, for a record."""
        reading = self.readings[kind]
        facts = {key: value for key, value in asdict(reading).items() if value not in (None, (), False)}
        facts["steps"] = [asdict(step) for step in reading.steps]
        if reading.skipped:
            facts["skipped"] = " ".join(reading.skipped)
        return facts | {"overridden": list(self.overridden)}


def system_card(folder: Path, settings: LateSettings) -> TokenCard:
    """Read the card of a system; the lengths of its configuration override those of the model's files."""
    with or_by_others(settings):
        card = read_token_card(folder)
    configured = settings.explicit("document_length", "query_length", "pool_factor")
    return replace(
        card,
        readings={kind: reading.cut_at(configured.get(LENGTHS[kind])) for kind, reading in card.readings.items()},
        open={key: why for key, why in card.open.items() if key not in configured},
        overridden=tuple(configured),
    )


def read_token_card(folder: Path) -> TokenCard:
    """Read the card of a model of late interaction from its folder.

    Raises ModelError if the files cannot be read, are of another family, or ask for something that is not supported.
    """
    return _of_modules(folder) if (folder / MODULES).is_file() else _of_colbert(folder)


def _of_colbert(folder: Path) -> TokenCard:
    config = read_object(folder / MODEL_CONFIG)
    described = read_object(folder / COLBERT) if (folder / COLBERT).is_file() else None
    if described is None and architecture_in(config) != COLBERT_CLASS:
        problem = f"{folder} has neither {MODULES} nor {COLBERT}, and its {MODEL_CONFIG} does not name {COLBERT_CLASS}"
        raise ModelError(f"{problem}, so it is not a known late-interaction model{other_family(architecture_in(config))}")
    settings = described or {}
    if (similarity := settings.get("similarity", "cosine")) not in ("cosine", "l2"):
        raise ModelError(f"{folder / COLBERT} compares tokens by {similarity!r}; cosine and l2 are known, which rank alike")
    projection = Step("dense", "", {"activation": "Identity", "residual": False})  # in the file of the backbone
    steps = {kind: (transformer_step(folder, "", kind, LATE), projection, Step("normalize")) for kind in KINDS}
    punctuation = PUNCTUATION if settings.get("mask_punctuation", True) else ()
    length = _length(folder / COLBERT, settings, "query_maxlen") or QUERY_LENGTH
    documents = _length(folder / COLBERT, settings, "doc_maxlen")
    why = f"{folder} has no doc_maxlen in {COLBERT}, the maximum number of tokens of a document"
    expansion = Expansion(length, attend=bool(settings.get("attend_to_mask_tokens")))
    markers = {kind: str(settings.get(key) or MARKERS[kind]) for kind, key in OF_COLBERT.items()}
    of_queries = Reading(steps["queries"], marker=markers["queries"], expansion=expansion).cut_at(length)
    of_documents = Reading(steps["documents"], marker=markers["documents"], skipped=punctuation).cut_at(documents)
    return TokenCard({"queries": of_queries, "documents": of_documents}, {} if documents else {"document_length": why})


def _of_modules(folder: Path) -> TokenCard:
    """Read the card of a folder in the layout of PyLate or of sentence-transformers."""
    library = read_optional(folder / LIBRARY_CONFIG)
    names = {module.type.rpartition(".")[2]: module.place for module in listed_modules(folder)}
    pylate = library.get("model_type") == "ColBERT" or any(key in library for key in OF_PYLATE)
    if not (pylate or MASK in names) and (folder / COLBERT).is_file():
        return _of_colbert(folder)  # modules of the dense model that it was trained from, as in mxbai-colbert-large-v1
    _check_family(folder, library, names, pylate)
    mask = names.get(MASK)
    words, skipping = _skipped(folder, mask, library)
    prompts, open_prompts = read_prompts(library)
    readings = {}
    for kind in KINDS:
        steps = _steps(folder, kind)
        if mask is None and steps[-1].kind != "normalize":
            steps = (*steps, Step("normalize"))  # PyLate does both without a module
        _check_order(folder, steps)
        marker = str(library.get(PREFIXES[kind]) or "")
        reading = Reading(steps, prompts[kind].removeprefix(marker), marker or None)
        if kind in skipping:
            reading = replace(reading, skipped=words, skips_unknown=mask is None)
        readings[kind] = _with_lengths(folder, reading, kind, library, pylate)
    return TokenCard(readings, open_prompts)


def _check_family(folder: Path, library: Mapping[str, Any], names: Mapping[str, str], pylate: bool) -> None:
    """Refuse a model of another family, and scores that are not known."""
    if POOLING in names or not (pylate or MASK in names):
        problem = f"{folder / MODULES} has {', '.join(names)}"
        raise ModelError(
            f"{problem}, which give one vector per text and none per token; a system of family dense takes such models"
        )
    check_type(folder, "MultiVectorEncoder", "ColBERT", *((DENSE, None) if pylate else ()))
    check_similarity(folder, library)


def check_similarity(folder: Path, library: Mapping[str, Any]) -> None:
    """Refuse scores that are not known, by the settings that sentence-transformers has in a folder."""
    similarity = str(library.get("similarity_fn_name") or "maxsim").lower()
    if similarity not in ("maxsim", "cosine", "dot"):  # PyLate wrote the last two, which it does not read
        raise ModelError(f"{folder / LIBRARY_CONFIG} wants the similarity {similarity!r}, and only maxsim is known")


def _steps(folder: Path, kind: Kind) -> tuple[Step, ...]:
    steps: tuple[Step, ...] = ()
    for module, place in listed_modules(folder):
        name = module.rpartition(".")[2]
        known = module.startswith(("sentence_transformers.", "pylate."))
        if known and name == "Transformer":
            steps += (transformer_step(folder, place, kind, LATE),)
        elif known and name in ("Dense", "Normalize"):
            config = module_config(folder / place, name)
            names = {config.get(f"module_{end}_name") or TOKENS for end in ("input", "output")}
            if names != {TOKENS}:
                raise ModelError(f"{folder / place}: works on {', '.join(sorted(names))}; expected vectors of tokens, {TOKENS}")
            steps += (dense_step(place, config) if name == "Dense" else Step("normalize", place),)
        elif not (known and name in (MASK, "Dropout")):
            expected = f"known are Transformer, Dense, {MASK}, Normalize and Dropout"
            raise ModelError(f"{folder / MODULES} asks for {module}, which is not known here; {expected}")
    return steps


def _check_order(folder: Path, steps: tuple[Step, ...]) -> None:
    """Require a backbone that gives tokens, what changes their vectors, and at the end length 1."""
    kinds = [step.kind for step in steps]
    tokens = bool(steps) and steps[0].settings.get("output") == "tokens"
    if not tokens or kinds.count("transformer") != 1 or kinds[0] != "transformer" or kinds[-1] != "normalize":
        expected = "a Transformer that gives tokens, Dense, and Normalize at the end: only vectors of length 1 are searched"
        raise ModelError(f"{folder / MODULES}: the modules are {', '.join(kinds)}; expected {expected}")


def _skipped(folder: Path, mask: str | None, library: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
    """Read which tokens have vectors that do not count, and in which kinds of text."""
    if mask is None:
        words = library.get("skiplist_words")
        return _words(folder / LIBRARY_CONFIG, PUNCTUATION if words is None else words), ("documents",)
    path = folder / mask / MODEL_CONFIG
    config = module_config(folder / mask, MASK)
    if config.get("keep_only_token_ids"):
        raise ModelError(f"{path} has keep_only_token_ids, which models of images have; only texts are read here")
    tasks = config.get("skiplist_tasks") or ["document"]
    tasks = [tasks] if isinstance(tasks, str) else tasks
    return _words(path, config.get("skiplist_words") or ()), tuple(kind for kind, task in TASKS.items() if task in tasks)


def _words(path: Path, words: Any) -> tuple[str, ...]:
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise ModelError(f"{path}: skiplist_words are no list of tokens")
    return tuple(words)


def _with_lengths(folder: Path, reading: Reading, kind: Kind, library: Mapping[str, Any], pylate: bool) -> Reading:
    """Read the lengths of texts and the filling of queries: the backbone's own file wins over PyLate's."""
    path = folder / LIBRARY_CONFIG
    of_backbone = transformer_config(folder / reading.steps[0].folder)
    key = LENGTHS[kind]
    length = _length(path, of_backbone if key in of_backbone else library, key)
    wanted = of_backbone if "query_expansion" in of_backbone else library
    expansion = None
    if kind == "queries" and "query_expansion" in wanted:
        expansion = _expansion(path, wanted["query_expansion"])
    elif kind == "queries" and pylate and library.get("do_query_expansion") is not False:
        attend = library.get("attend_to_expansion_tokens", library.get("attend_to_mask_tokens"))
        expansion = Expansion(length or QUERY_LENGTH, attend=bool(attend))
    if expansion is None:
        return reading.cut_at(length)
    longest = expansion.length if expansion.cut else length and max(length, expansion.length)
    return replace(reading.cut_at(longest), expansion=expansion)


_length = partial(read_number, most=LONGEST_TEXT)


def _expansion(path: Path, wanted: Any) -> Expansion | None:
    """Read sentence-transformers' ``query_expansion``."""
    if wanted is None:
        return None
    known = {"strategy", "attend", "token", "length"}
    if not isinstance(wanted, dict) or set(wanted) - known or wanted.get("strategy") not in ("fixed", "min"):
        raise ModelError(f"{path}: query_expansion is {wanted!r}; known are the strategies fixed and min, with {sorted(known)}")
    length = _length(path, wanted, "length")
    if length is None:
        raise ModelError(f"{path}: query_expansion has no length")
    return Expansion(length, bool(wanted.get("attend")), wanted.get("token"), wanted["strategy"] == "fixed")
