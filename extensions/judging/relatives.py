"""Relatives of the judge among the ranked systems."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from beirflow.config.experiment import Experiment
from beirflow.core.addresses import shown
from beirflow.data.catalogue.schema import Problems

OF_MODELS = ("model", "query_model", "encoder", "generator")  # keys of settings that name a model

NO_FAMILY = {
    *("base", "large", "small", "mini", "tiny", "nano", "medium", "instruct", "chat", "turbo", "preview", "latest", "distil"),
    *("embed", "embedding", "embeddings", "reranker", "cross", "encoder", "model", "models", "text", "msmarco", "sentence"),
    *("transformers", "multilingual", "english", "https", "http", "gguf", "awq", "gptq", "fast", "pro", "flash", "the"),
}
"""Words in names of models that say nothing of their family."""


def check_judge(experiment: Experiment, problems: Problems) -> None:
    """Check that the judge has no secret, and that no ranked system is a relative of it, which it would favour."""
    judge = experiment.config["judge"]
    if not judge:
        return
    if shown(judge) != judge:
        allowed = "it is recorded; name the environment variable of the key in 'key_variable', or write ${NAME} in the address"
        problems.add("judge", judge, allowed)
    family = [word.lower() for word in judge.get("family") or family_words(judge["model"])]
    if not family:
        problems.add("judge.model", judge["model"], "no word of this name says its family; name that in judge.family")
    for name in experiment.needed_systems:
        named = [name, *_model_names(asdict(experiment.systems[name].settings))]
        for word in family:
            if related := next((each for each in named if word in each.lower()), None):
                problem = f"{name} ranks with {related}, of the family {word!r}, which this judge would favour"
                problems.add(
                    "judge.model", judge["model"], f"{problem}; choose another judge, or state judge.family if that is wrong"
                )
                break


def family_words(model: str) -> list[str]:
    """Return the words in the name of a model that it may share with related models only."""
    return [word for word in re.findall(r"[a-z]{3,}", model.lower()) if word not in NO_FAMILY]


def _model_names(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of models in settings, at whatever depth."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _model_names(value)
        elif isinstance(value, str) and key in OF_MODELS:
            yield value
