"""Tables of the systems: a row per system, then every setting with its origin."""

from collections.abc import Mapping

import pandas as pd

from beirflow.evaluation.systems import PROMPTS, RECORD, TRUNCATED
from beirflow.files.records import ASSUMED
from beirflow.report.pages import Table, framed

SAID_BY = {"configuration": "configuration", "model": "files of the model", "record": "record of the run"}

OF_ITS_OWN = (
    *("family", "model", "query_model", "revision", "query_revision", "offline", "weights", "weights_sha256", "model_sha256"),
    *("steps", "trained_on", *PROMPTS.values()),
)
"""Settings that have a column of their own, or are only in the table of all settings."""

FOUND = ("tuned_on", "lossy", ASSUMED)  # settings in records alone that decide over scores
SHOWN_OF_A_REVISION = 10  # digits; the table of all settings has them all


def systems_table(settings: pd.DataFrame) -> Table:
    """Return a row a system from ``systems.csv``: its kind, its settings, and the number of cut texts."""
    rows = [{"system": system} | _row(part) for system, part in settings.groupby("system", sort=False)]
    return framed("systems-table", pd.DataFrame(rows))


def _row(settings: pd.DataFrame) -> dict[str, str]:
    values = {str(name): part for name, part in settings.groupby("setting", sort=False)}
    shown = [name for name, part in values.items() if _is_shown(name.partition(" of ")[0], part, values)]
    return {
        **{name: _one(values, name) for name in ("family", "precision", "trained_on")},
        "model": _model(values),
        "settings": " · ".join(f"{name} {_one(values, name)}{_instead(values[name])}" for name in shown),
        **{name: _prompt(values, name) for name in PROMPTS.values()},
        "cut": _cut(values),
    }


def _is_shown(name: str, part: pd.DataFrame, values: Mapping[str, pd.DataFrame]) -> bool:
    """Test that a setting is shown in the column of settings: configured ones, and recorded ones that decide over scores."""
    if name == "weights":  # of a fused system; those of a model are the name of a file
        return "model" not in values
    return name in FOUND or (name not in OF_ITS_OWN and set(part["said_by"]) != {RECORD})


def _one(values: Mapping[str, pd.DataFrame], name: str) -> str:
    """Return the value of a setting; all values if datasets differ."""
    return " or ".join(dict.fromkeys(_texts(values[name]))) if name in values else ""


def _texts(part: pd.DataFrame) -> list[str]:
    return [str(value) for value in part["value"].fillna("")]


def _model(values: Mapping[str, pd.DataFrame]) -> str:
    """Return the model with its revision, and that of the queries if they have one."""
    models = []
    for model, revision in (("model", "revision"), ("query_model", "query_revision")):
        if name := _one(values, model):
            pinned = _one(values, revision)[:SHOWN_OF_A_REVISION]
            models.append(f"{name} at {pinned}" if pinned else name)
    return "; queries: ".join(models)


def _instead(part: pd.DataFrame) -> str:
    """Return the setting in the files of the model, where the configuration differs."""
    other = part["model_says"].notna() & (part["model_says"] != part["value"].fillna(""))
    return f" (its files say {', '.join(dict.fromkeys(part['model_says'][other]))})" if other.any() else ""


def _prompt(values: Mapping[str, pd.DataFrame], name: str) -> str:
    """Return a prompt in quotes, so that a space at its end is visible; the number of prompts if datasets have their own."""
    if name not in values:
        return ""
    prompts = list(dict.fromkeys(_texts(values[name])))
    if len(prompts) > 1:
        return f"{len(prompts)} prompts, by dataset: see all settings"
    return f"“{prompts[0]}”{_instead(values[name])}" if prompts[0] else "none"


def _cut(values: Mapping[str, pd.DataFrame]) -> str:
    """Return the total number of cut texts by kind."""
    counts = {name.removeprefix(TRUNCATED): part["value"].astype(int).sum() for name, part in values.items() if TRUNCATED in name}
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


def settings_table(settings: pd.DataFrame) -> Table:
    """Return every setting of every system from ``systems.csv``, with its origin."""
    datasets = settings["dataset"].fillna("").replace("", "all")
    return framed("settings-table", settings.assign(dataset=datasets, said_by=settings["said_by"].map(SAID_BY)))
