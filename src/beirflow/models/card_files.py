"""Read a model's settings from its folder: the layouts of sentence-transformers, versions 2 to 6, and of transformers.

Only JSON is read. Unknown settings that may change vectors are refused by name.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from beirflow.core.errors import ModelError
from beirflow.data.document_text import KINDS, Kind
from beirflow.models.card import Card, Step
from beirflow.models.card_modules import (
    DENSE,
    READERS,
    check_type,
    module_config,
    other_family,
    transformer_step,
)
from beirflow.models.model_json import COLBERT, LIBRARY_CONFIG, MODULES, Module, modules_of, read_number, read_optional

ROLES: Mapping[Kind, tuple[str, tuple[str, ...]]] = {
    "queries": ("query", ("query",)),
    "documents": ("document", ("document", "passage", "corpus")),
}
"""By kind of text, the name of the prompt that sentence-transformers writes, and words in the names of those that authors mean
for it, such as ``search_query`` and ``s2p_query``."""


def read_card(folder: Path) -> Card:
    """Read the card of a model folder.

    Without ``modules.json`` it is that of the bare model, with pooling and similarity left open for the configuration. Raises
    ModelError for files that cannot be read, or that ask for something that beirflow does not know.
    """
    if (folder / MODULES).is_file():
        return _of_modules(folder)
    check_type(folder, DENSE, None)
    if (folder / COLBERT).is_file():
        raise ModelError(f"{folder} has {COLBERT}, so it is a ColBERT, no dense encoder{other_family('ColBERT')}")
    step = transformer_step(folder, "", KINDS[0])
    reason = f"the folder has no {MODULES}, so its files do not define its use"
    open_keys = ["similarity"] if step.settings["output"] == "vector" else ["pooling", "similarity"]
    # Other files that sentence-transformers wrote, and that it reads only with that file.
    prompts, open_prompts = read_prompts(read_optional(folder / LIBRARY_CONFIG))
    open_keys += [f"{name}_prefix" for kind, (name, _) in ROLES.items() if prompts[kind] or f"{name}_prefix" in open_prompts]
    if step.settings["max_length"] is not None:
        open_keys.append("max_length")
    if step.settings["lower_case"]:
        todo = "set do_lower_case in tokenizer_config.json, or remove it"
        raise ModelError(f"{folder} has do_lower_case in the configuration of its Transformer, but no {MODULES}; {todo}")
    step = replace(step, settings={**step.settings, "max_length": None})
    return Card(dict.fromkeys(KINDS, (step,)), dict.fromkeys(KINDS, ""), open=dict.fromkeys(open_keys, reason))


def _of_modules(folder: Path) -> Card:
    """Read the card of a folder in the layout of sentence-transformers."""
    check_type(folder, DENSE, None)
    library = read_optional(folder / LIBRARY_CONFIG)
    steps: dict[Kind, tuple[Step, ...]] = dict.fromkeys(KINDS, ())
    for kind in KINDS:
        for module in modules_of(folder, kind):
            steps[kind] += step_of(folder, module, kind)
        _check_order(folder, steps[kind])
    prompts, open_prompts = read_prompts(library)
    # A model whose similarity is not named is compared by cosine: the default of the library that wrote the folder.
    similarity = library.get("similarity_fn_name") or "cosine"
    dimensions = read_number(folder / LIBRARY_CONFIG, library, "truncate_dim", "dimensions")
    if similarity not in ("dot", "cosine"):
        reason = f"{LIBRARY_CONFIG} wants the similarity {similarity!r}, and only dot and cosine are supported"
        open_prompts["similarity"] = reason
    return Card(steps, prompts, similarity, dimensions, open_prompts)


def read_prompts(library: Mapping[str, Any]) -> tuple[dict[Kind, str], dict[str, str]]:
    """Read the prompts of queries and documents, as ``encode_query`` and ``encode_document`` do it.

    The argument is the content of ``config_sentence_transformers.json``. Also returns, by setting, the reason why it is open:
    there is a prompt that sentence-transformers would leave out. Raises ModelError if the prompts are not texts by name.
    """
    prompts = library.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(text, str | None) for text in prompts.values()):
        raise ModelError(f"{LIBRARY_CONFIG}: prompts are not an object of texts")
    texts: dict[Kind, str] = {}
    open_keys: dict[str, str] = {}
    default = library.get("default_prompt_name")
    for kind, (name, words) in ROLES.items():
        texts[kind] = prompts.get(name) or ""
        meant = [other for other, text in prompts.items() if text and any(word in other for word in words)]
        # sentence-transformers 6 writes empty prompts by these names into every model that it saves.
        if default and prompts.get(default) and (name not in prompts or not any(prompts.get(role) for role, _ in ROLES.values())):
            meant.append(default)
        if not texts[kind] and meant:
            own = f"{'an empty one' if name in prompts else 'none'} called {name!r}"
            open_keys[f"{name}_prefix"] = (
                f"{LIBRARY_CONFIG} has the prompt {meant[0]!r} and {own}, and sentence-transformers 6 writes none"
                f" before {kind} then, which may not be meant"
            )
    return texts, open_keys


def step_of(folder: Path, module: Module, kind: Kind) -> tuple[Step, ...]:
    """Return the step of a module for one kind of text; empty if it changes nothing."""
    name = module.name
    if name == "Transformer":
        return (transformer_step(folder, module.place, kind),)
    if name == "Dropout":
        return ()  # does nothing when a model is used
    read = READERS.get(name)
    if read is None:
        other = other_family(module.type)
        raise ModelError(
            f"{folder / MODULES} asks for {module.type}, which beirflow does not know{other}; known are Transformer,"
            f" Router, Asym, Dropout, {', '.join(READERS)} of sentence-transformers. Or name a class of your own in 'encoder'"
        )
    return (read(module.place, module_config(folder / module.place, name)),)


def _check_order(folder: Path, steps: tuple[Step, ...]) -> None:
    """Check the order: a backbone, its pooling where it gives tokens, and modules that change the vector."""
    kinds = [step.kind for step in steps]
    backbones = [kind for kind in kinds if kind in ("transformer", "static")]
    gives_tokens = steps and steps[0].settings.get("output") == "tokens" and kinds[0] != "static"
    pooled = kinds.count("pooling") == (1 if gives_tokens else 0)
    if len(backbones) != 1 or kinds[0] not in backbones or not pooled or (kinds.count("pooling") and kinds[1] != "pooling"):
        raise ModelError(
            f"{folder / MODULES}: the modules are {', '.join(kinds)}; expected a backbone, one pooling where it gives vectors of"
            " tokens, and then Dense, LayerNorm or Normalize"
        )
