"""Keys of a configuration that are options of a command now: refused, with the command."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

import yaml

from beirflow.data.catalogue.schema import Problems

MOVED = {
    "audit_folder": ("audit", "folder", ""),
    "audit_sample": ("audit", "sample", "--sample"),
    "fact": ("audit", "fact", "--fact"),
    "manifest_sha256": ("audit", "manifest_sha256", "--manifest-sha256"),
    "manifest_signature": ("audit", "manifest_signature", "--signature"),
    "allowed_signers": ("audit", "allowed_signers", "--allowed-signers"),
    "compare_with": ("compare", "other", ""),
    "of": ("explain", "result", ""),
    "folders": ("leaderboard", "folders", ""),
}
"""By key: the command, the name below ``command`` in a configuration, and the option; without one, an argument."""


def without_moved_keys(config: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return a configuration without these keys, and note each, with the command that has the values of all of them."""
    given = {key: config[key] for key in MOVED if config.get(key)}  # without defaults
    if isinstance(folders := given.get("folders"), str):
        given["folders"] = folders.split(",")
    for key in (each for each in MOVED if each in config):
        instead = _instead(key, given, config.get("results", "results"))
        problems.add(key, config[key], f"it is an option of a command now{instead}")
    return {key: value for key, value in config.items() if key not in MOVED}


def _instead(moved: str, given: Mapping[str, Any], results: str) -> str:
    """Return what to do instead of a key: the command with its options, on its own line and on that of Snakemake."""
    command, _, option = MOVED[moved]
    words, options = [results] if command == "compare" else [], dict[str, Any]()
    for key, value in given.items():
        of, name, flag = MOVED[key]
        if of == command:
            options[name] = value
            words += [*([flag] if flag else []), *(value if isinstance(value, list) else [value])]
    if not options:
        return f", beirflow {command}{f' {option}' if option else ''}; remove it"
    # No option has the name, digest or signature of a folder.
    bare = all(not isinstance(word, Mapping) for word in words)
    own = f": beirflow {command} {shlex.join(map(str, words))}" if bare else ""
    plain = json.loads(json.dumps({command: options}, default=str))  # PyYAML does not write Snakemake's ordered mappings
    line = yaml.safe_dump(plain, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False).strip()
    return f"{own} (with plain snakemake: --config {shlex.quote(f'command={line}')})"
