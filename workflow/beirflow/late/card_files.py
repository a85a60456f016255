"""Read the settings of a late-interaction model from its folder; unsupported ones are refused by name."""

import string
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from beirflow.datasets.document_text import KINDS, Kind
from beirflow.files.errors import ModelError
from beirflow.late.card import Expansion, Reading, TokenCard
from beirflow.models.card import Step
from beirflow.models.card_files import LIBRARY_CONFIG, read_prompts
from beirflow.models.card_modules import LATE, MODEL_CONFIG, dense_step, other_family, transformer_config, transformer_step
from beirflow.models.model_json import COLBERT, MODULES, below, listed_modules, read_object

COLBERT_CLASS = "HF_ColBERT"
QUERY_LENGTH = 32
"""Of ColBERT and PyLate, where nothing says another."""

LONGEST_TEXT = 1 << 17
"""Tokens: as many as any model is said to read."""

PUNCTUATION = tuple(string.punctuation)
MARKERS = {"queries": "[unused0]", "documents": "[unused1]"}
"""Of ColBERT, where nothing says others."""

TOKENS = "token_embeddings"
MASK, POOLING = "MultiVectorMask", "Pooling"

OF_PYLATE = (
    *("query_prefix", "document_prefix", "query_length", "document_length", "query_expansion", "skiplist_words"),
    *("do_query_expansion", "attend_to_expansion_tokens", "attend_to_mask_tokens"),
)
"""Keys of ``config_sentence_transformers.json`` that PyLate writes, or wrote."""


def read_token_card(folder: Path) -> TokenCard:
    """Read what a model of late interaction says about itself.

    Args:
        folder: The folder of the model.

    Returns:
        Its card.

    Raises:
        ModelError: The files cannot be read, are of another family, or ask for something that is not understood.
    """
    return _of_modules(folder) if (folder / MODULES).is_file() else _of_colbert(folder)


def _of_colbert(folder: Path) -> TokenCard:
    """The card of a checkpoint of ColBERT."""
    config = read_object(folder / MODEL_CONFIG)
    described = read_object(folder / COLBERT) if (folder / COLBERT).is_file() else None
    if described is None and COLBERT_CLASS not in (config.get("architectures") or []):
        problem = f"{folder} has neither {MODULES} nor {COLBERT}, and its {MODEL_CONFIG} does not name {COLBERT_CLASS}"
        architecture = str((config.get("architectures") or [""])[0])
        raise ModelError(f"{problem}, so it is not a known late-interaction model{other_family(architecture)}")
    said = described or {}
    if said.get("similarity", "cosine") not in ("cosine", "l2"):
        raise ModelError(
            f"{folder / COLBERT} compares tokens by {said['similarity']!r}; cosine and l2 are known, which rank alike"
        )
    projection = Step("dense", "", {"activation": "Identity", "residual": False})
    steps = {kind: (transformer_step(folder, "", kind, LATE), projection, Step("normalize")) for kind in KINDS}
    punctuation = PUNCTUATION if said.get("mask_punctuation", True) else ()
    length = _number(folder / COLBERT, said, "query_maxlen") or QUERY_LENGTH
    documents = _number(folder / COLBERT, said, "doc_maxlen")
    why = f"{folder} has no doc_maxlen in {COLBERT}, the maximum number of tokens of a document"
    card = TokenCard(
        queries=Reading(
            steps["queries"],
            marker=str(said.get("query_token_id") or MARKERS["queries"]),
            expansion=Expansion(length, attend=bool(said.get("attend_to_mask_tokens"))),
        ).cut_at(length),
        documents=Reading(steps["documents"], marker=str(said.get("doc_token_id") or MARKERS["documents"]), skipped=punctuation),
        open={} if documents else {"document_length": why},
    )
    return card if documents is None else TokenCard(card.queries, card.documents.cut_at(documents), card.open)


def _of_modules(folder: Path) -> TokenCard:
    """The card of a folder in the layout of PyLate or of sentence-transformers."""
    library = read_object(folder / LIBRARY_CONFIG) if (folder / LIBRARY_CONFIG).is_file() else {}
    places = {each["type"]: below(folder, each["path"]) for each in listed_modules(folder)}
    names = {module.rpartition(".")[2]: place for module, place in places.items()}
    pylate = library.get("model_type") == "ColBERT" or any(key in library for key in OF_PYLATE)
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
        marker = library.get({"queries": "query_prefix", "documents": "document_prefix"}[kind]) or ""
        reading = Reading(
            steps,
            prompt=prompts[kind].removeprefix(str(marker)),
            marker=str(marker) or None,
            skipped=words if kind in skipping else (),
            skips_unknown=mask is None and kind in skipping,
        )
        readings[kind] = _with_lengths(folder, reading, kind, library, pylate)
    return TokenCard(readings["queries"], readings["documents"], open_prompts)


def _check_family(folder: Path, library: Mapping[str, Any], names: Mapping[str, str], pylate: bool) -> None:
    """Refuse a model of another family, and scores that are not known."""
    kind = str(library.get("model_type") or "")
    if kind not in ("", "ColBERT", "MultiVectorEncoder") and not (kind == "SentenceTransformer" and pylate):
        other = other_family(kind) or "; a system of family dense takes such models"
        raise ModelError(f"{folder / LIBRARY_CONFIG} says that this is a {kind}, no model of late interaction{other}")
    if POOLING in names or not (pylate or MASK in names):
        problem = f"{folder / MODULES} has {', '.join(names)}"
        raise ModelError(
            f"{problem}, which give one vector per text and none per token; a system of family dense takes such models"
        )
    similarity = str(library.get("similarity_fn_name") or "maxsim").lower()
    if similarity not in ("maxsim", "cosine", "dot"):  # PyLate wrote the last two, which it does not read
        raise ModelError(f"{folder / LIBRARY_CONFIG} wants the similarity {similarity!r}, and only maxsim is known")


def _steps(folder: Path, kind: Kind) -> tuple[Step, ...]:
    """The modules that change vectors."""
    steps: tuple[Step, ...] = ()
    for entry in listed_modules(folder):
        module, place = entry["type"], below(folder, entry["path"])
        name = module.rpartition(".")[2]
        path = folder / place / MODEL_CONFIG
        known = module.startswith(("sentence_transformers.", "pylate."))
        if known and name == "Transformer":
            steps += (transformer_step(folder, place, kind, LATE),)
        elif known and name in ("Dense", "Normalize"):
            config = read_object(path) if path.is_file() else {}
            names = {config.get(f"module_{end}_name") or TOKENS for end in ("input", "output")}
            if names != {TOKENS}:
                raise ModelError(f"{folder / place}: works on {', '.join(sorted(names))}; expected vectors of tokens, {TOKENS}")
            steps += (dense_step(place, config) if name == "Dense" else Step("normalize", place),)
        elif not (known and name in (MASK, "Dropout")):
            expected = f"known are Transformer, Dense, {MASK}, Normalize and Dropout"
            raise ModelError(f"{folder / MODULES} asks for {module}, which is not known here; {expected}")
    return steps


def _check_order(folder: Path, steps: tuple[Step, ...]) -> None:
    """A backbone that gives tokens, what changes their vectors, and at the end length 1."""
    kinds = [step.kind for step in steps]
    tokens = bool(steps) and steps[0].settings.get("output") == "tokens"
    if not tokens or kinds.count("transformer") != 1 or kinds[0] != "transformer" or kinds[-1] != "normalize":
        expected = "a Transformer that gives tokens, Dense, and Normalize at the end: only vectors of length 1 are searched"
        raise ModelError(f"{folder / MODULES}: the modules are {', '.join(kinds)}; expected {expected}")


def _skipped(folder: Path, mask: str | None, library: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Kind, ...]]:
    """Tokens whose vectors do not count, and of which kinds of text."""
    if mask is None:
        words = library.get("skiplist_words")
        return _words(folder / LIBRARY_CONFIG, PUNCTUATION if words is None else words), ("documents",)
    path = folder / mask / MODEL_CONFIG
    config = read_object(path) if path.is_file() else {}
    if config.get("keep_only_token_ids"):
        raise ModelError(f"{path} has keep_only_token_ids, which models of images have; only texts are read here")
    tasks = config.get("skiplist_tasks") or ["document"]
    tasks = [tasks] if isinstance(tasks, str) else tasks
    kinds: dict[Kind, str] = {"queries": "query", "documents": "document"}
    return _words(path, config.get("skiplist_words") or ()), tuple(kind for kind, task in kinds.items() if task in tasks)


def _words(path: Path, words: Any) -> tuple[str, ...]:
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise ModelError(f"{path}: skiplist_words are no list of tokens")
    return tuple(words)


def _with_lengths(folder: Path, reading: Reading, kind: Kind, library: Mapping[str, Any], pylate: bool) -> Reading:
    """Read the lengths of texts and the filling of queries: the backbone's own file wins over PyLate's."""
    path = folder / LIBRARY_CONFIG
    of_backbone = transformer_config(folder / reading.steps[0].folder)
    key = {"queries": "query_length", "documents": "document_length"}[kind]
    length = _number(path, of_backbone if key in of_backbone else library, key)
    if kind == "documents":
        return reading if length is None else reading.cut_at(length)
    wanted = of_backbone if "query_expansion" in of_backbone else library
    if "query_expansion" in wanted:
        expansion = _expansion(path, wanted["query_expansion"])
    elif pylate and library.get("do_query_expansion") is not False:
        attend = library.get("attend_to_expansion_tokens", library.get("attend_to_mask_tokens"))
        expansion = Expansion(length or QUERY_LENGTH, attend=bool(attend))
    else:
        expansion = None
    if expansion is None:
        return reading if length is None else reading.cut_at(length)
    longest = expansion.length if expansion.cut else length and max(length, expansion.length)
    return replace(reading if longest is None else reading.cut_at(longest), expansion=expansion)


def _expansion(path: Path, wanted: Any) -> Expansion | None:
    """Read sentence-transformers' ``query_expansion``."""
    if wanted is None:
        return None
    known = {"strategy", "attend", "token", "length"}
    if not isinstance(wanted, dict) or set(wanted) - known or wanted.get("strategy") not in ("fixed", "min"):
        raise ModelError(f"{path}: query_expansion is {wanted!r}; known are the strategies fixed and min, with {sorted(known)}")
    length = _number(path, wanted, "length")
    if length is None:
        raise ModelError(f"{path}: query_expansion has no length")
    return Expansion(length, bool(wanted.get("attend")), wanted.get("token"), wanted["strategy"] == "fixed")


def _number(path: Path, held: Mapping[str, Any], key: str) -> int | None:
    """A number of tokens; None where nothing says one."""
    value = held.get(key)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LONGEST_TEXT):
        raise ModelError(f"{path}: {key} is {value!r}, which is not a number of tokens")
    return value
