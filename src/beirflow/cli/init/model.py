"""The entry of a model of the user's own: its family by its files, and what they leave open."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from beirflow.cli.init.entry import SYSTEM, Entry, safe_name
from beirflow.cli.init.questions import Questions

HUB_PATIENCE = 5.0  # seconds in which the hub tells the revision of a model
COMMIT = re.compile(r"[0-9a-f]{40}")
ASSUMED: Mapping[str, str] = {"pooling": "mean", "similarity": "cosine", "query_prefix": "", "document_prefix": ""}
"""Settings that the files of a model may leave open, and what is written then, marked."""


def model_entry(text: str, family: str | None, ask: "Questions") -> Entry | None:
    """Return the entry of a model in a folder, a package or on the hub; None for an empty text."""
    from beirflow.config.systems import catalogue_systems
    from beirflow.core.errors import ConfigError
    from beirflow.models.model_places import HUB_ID, PACKAGE, absent, local_folder
    from beirflow.models.settings import ModelSettings

    if not text:
        return None
    model, _, revision = text.partition("@") if HUB_ID.fullmatch(text.partition("@")[0]) else (text, "", "")
    systems = catalogue_systems()
    if model in systems:
        return Entry(model, {})
    path = Path(model).expanduser()
    place = model if model.startswith(PACKAGE) or not path.exists() else str(path)
    # A reranker may name a system in place of a folder.
    place = f"./{place}" if path.exists() and "/" not in place and not model.startswith(PACKAGE) else place
    last = [part for part in model.rstrip("/").split("/") if part not in ("", "model", ".", "..")][-1:] or [path.resolve().name]
    name = safe_name(last[0].removeprefix(PACKAGE), systems)
    folder = local_folder(ModelSettings(name=name, model=place))
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"{text}: {absent(place, example='intfloat/e5-base-v2')}")
    if folder is not None:
        return _of_folder(name, place, folder, family, ask)
    of_models = {each: system.settings for each, system in systems.items() if isinstance(system.settings, ModelSettings)}
    same = next((each for each, settings in of_models.items() if settings.source == model), None)
    if same and not revision:
        return Entry(same, {}, (f"{model} is {same} of the catalogue, with its revision and settings",))
    return _of_hub(name, model, revision, family)


def _of_folder(name: str, place: str, folder: Path, family: str | None, ask: "Questions") -> Entry:
    """Return the entry of a model whose files are here: its family by them, and what they leave open."""
    from beirflow.config.families import DEFAULT
    from beirflow.core.outside_json import read_optional
    from beirflow.models.card_files import read_card
    from beirflow.models.card_modules import MODEL_CONFIG, family_of_class, transformer_config
    from beirflow.models.model_json import COLBERT, LIBRARY_CONFIG, MODULES, listed_modules

    classes = [str(read_optional(folder / LIBRARY_CONFIG).get("model_type") or "")]
    if (folder / MODULES).is_file():
        classes += [module.type for module in listed_modules(folder)]
    else:
        architectures = read_optional(folder / MODEL_CONFIG).get("architectures")
        classes += [*map(str, architectures or []), *(["ColBERT"] if (folder / COLBERT).is_file() else [])][::-1]
    found = next(filter(None, map(family_of_class, classes)), DEFAULT)
    entry = _of_family(family or found, place)
    if entry.get("family"):
        return Entry(name, entry, (f"{name} is a system of family {entry['family']}, by its files",) if not family else ())
    open_settings = read_card(folder).open
    assumed = list[str]()
    for key, why in open_settings.items():
        value: Any = ASSUMED.get(key)
        if key == "max_length":
            value = transformer_config(folder).get("max_seq_length")
        if ask.asks:
            value = ask.answer(None, f"{key} of this model, which its files do not say ({why})", str(value), str)
            value = int(value) if key == "max_length" and value.isdigit() else value
        else:
            assumed.append(f"{key} {value!r} of {name}: {why}; see its card or paper")
        entry[key] = value
    return Entry(name, entry, tuple(assumed))


def _of_family(family: str, place: str) -> dict[str, Any]:
    """Return the entry of a model of a family, which is left out where it is the usual one."""
    from beirflow.config.families import DEFAULT, FAMILIES
    from beirflow.core.errors import ConfigError
    from beirflow.data.catalogue.schema import choices
    from beirflow.families.rerank.kinds import CLASSIFIER
    from beirflow.models.card_modules import family_of_class
    from beirflow.models.settings import ModelSettings

    takes_model = [name for name, each in FAMILIES.items() if issubclass(each.settings, ModelSettings)]
    if family not in takes_model:
        raise ConfigError(f"family: found {family!r}; of a model, {choices(family, takes_model)}; docs/families.md has all")
    if family == DEFAULT:
        return {"model": place}
    reranks = family == family_of_class(CLASSIFIER)
    return {"family": family, **({"first": SYSTEM, "depth": 100} if reranks else {}), "model": place}


def _of_hub(name: str, model: str, revision: str, family: str | None) -> Entry:
    """Return the entry of a model on the hub, pinned to a revision, which the hub tells if it is not given."""
    from beirflow.config.families import DEFAULT
    from beirflow.core.errors import ConfigError
    from beirflow.models.card_modules import family_of_class
    from beirflow.models.model_places import unpinned

    assumed = list[str]()
    classes = list[str]()
    if not COMMIT.fullmatch(revision):
        from huggingface_hub import HfApi

        from beirflow.core.addresses import keep_secrets_of_hub

        keep_secrets_of_hub()
        try:
            info = HfApi().model_info(model, revision=revision or None, timeout=HUB_PATIENCE)
        except Exception as error:  # of the HTTP library, whichever it is
            todo = f"or write it behind the name: {model}@<40 digits>"
            problem = f"the hub did not return it ({type(error).__name__})"
            raise ConfigError(f"{model}: {unpinned(model)}; {problem}, {todo}") from error
        revision = str(info.sha)
        assumed.append(f"revision {revision} of {model}, the newest")
        classes = [*(info.tags or []), *map(str, (info.config or {}).get("architectures") or [])]
    of_tags = {"sparse-encoder": "SparseEncoder", "cross-encoder": "CrossEncoder", "ColBERT": "ColBERT"}
    if "sentence-transformers" in classes:
        classes = [of_tags[each] for each in classes if each in of_tags]
    found = next(filter(None, map(family_of_class, classes)), DEFAULT)
    entry = {**_of_family(family or found, model), "revision": revision}
    if not family:
        assumed.append(f"{name} is a system of family {found}; `beirflow try` says if its files are of another")
    return Entry(name, entry, tuple(assumed))
