"""Settings that determine a run: its record has them, and everything that shows its scores compares them with the configuration.

Snakemake makes a run again if they change. It does not if it looks at times alone (``--rerun-triggers mtime``), if files were
marked as up to date (``--touch``), or if its own records are gone, as of copied results.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypedDict

from beirflow.core.errors import DataError
from beirflow.core.layout import RUN_RECORD
from beirflow.core.records import read_json

PLACES = ("model", "query_model", "offline", "path", "run")
"""Settings that say where a model or a file is, which may differ from machine to machine where it is no hub."""

OF_THE_CORPUS = (
    *("forum", "split", "part_of", "form", "drop_self_matches"),
    *("sample_queries", "sample_seed", "sample_documents", "documents_seed"),
)
"""Facts of a corpus that decide which documents a run finds; its texts are compared by their digests."""

SHOWN = 5  # runs whose settings a message names


class ConfiguredRun(TypedDict):
    """A run as the configuration has it."""

    system: str
    dataset: str  # name of the corpus
    settings: Mapping[str, Any]  # as ``Family.run_settings`` returns them
    rules: Sequence[str]  # those that depend on settings of the system, or of one that it reads


def without_places(value: Any) -> Any:
    """Return settings without places, but for those of what has a revision, also where a setting has settings of its own."""
    if not isinstance(value, Mapping):
        return value
    places = PLACES if value.get("revision") is None else ()
    return {key: without_places(each) for key, each in value.items() if key not in places}


def settings_in_record(settings: Any, corpus: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return settings of a system and facts of a corpus, and more settings of a run, as its record has them.

    The path of a run has the name of the system, the record of its model the digest of its weights.
    """
    own = {key: value for key, value in without_places(asdict(settings)).items() if key not in ("name", "weights_sha256")}
    facts = {key: corpus.get(key) for key in OF_THE_CORPUS}
    known: dict[str, Any] = json.loads(json.dumps({**own, **more, "dataset": facts}))
    return known


def check_run_settings(runs: Iterable[ConfiguredRun], results: Path, options: str) -> None:
    """Raise DataError if runs in a folder of results were made with other settings than the configuration has.

    A run that is not there is not compared. ``options`` are those of a command with the same configuration.
    """
    others = list[str]()
    for run in runs:
        path = results / RUN_RECORD(system=run["system"], dataset=run["dataset"])
        made = read_json(path).get("settings", {}) if path.is_file() else run["settings"]
        before, now = dict(_flat(made)), dict(_flat(run["settings"]))
        if before != now:
            corpus = made.get("dataset") != run["settings"]["dataset"]
            forced = " ".join([*(["prepare_corpus"] if corpus else []), *run["rules"]])
            command = f"snakemake --cores all{options} --forcerun {forced} -- {shlex.quote(str(path))}"
            keys = [key for key in {**now, **before} if before.get(key) != now.get(key)]
            changed = (f"{key} {json.dumps(before.get(key))}, and not {json.dumps(now.get(key))}" for key in keys)
            how = f"with {'; '.join(changed)}" if made else "by a version that did not record settings"
            others.append(f"the run of {run['system']} on {run['dataset']} was made {how}. To make it again:\n    {command}")
    if others:
        more = f"\n  … and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
        lines = "\n  ".join(others[:SHOWN])
        raise DataError(
            f"{results}: results of other settings than the configuration has, which Snakemake took as up to date (by --touch or"
            f" --rerun-triggers, or without its own records):\n  {lines}{more}\nOr set the configuration back"
        )


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield settings, also of settings, by their path, without those that have no value: an extension may not be known here."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        elif value is not None:
            yield f"{above}{key}", value
