"""Keys of a configuration that are options of a command now: refused, with the command."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from beirflow.core.extensions import commands
from beirflow.data.catalogue.schema import Problems, typed_below

MOVED = {
    "audit_folder": ("audit", "folder", ""),
    "audit_sample": ("audit", "sample", "--sample"),
    "manifest_sha256": ("audit", "manifest_sha256", "--manifest-sha256"),
    "manifest_signature": ("audit", "manifest_signature", "--signature"),
    "allowed_signers": ("audit", "allowed_signers", "--allowed-signers"),
    "of": ("explain", "result", ""),
    **{key: (name, *moved) for name, command in commands().items() for key, moved in command.moved.items()},
}
"""By key: the command, the name below ``command`` in a configuration, and the option; without one, an argument."""

OF_RESULTS = {name for name, command in commands().items() if command.of_results}


def without_moved_keys(config: Mapping[str, Any], files: Sequence[str], problems: Problems) -> dict[str, Any]:
    """Return a configuration without these keys, and note each, with the command that has the values of all of them.

    ``files`` are the files that the configuration was read from.
    """
    # Without defaults; Snakemake's command line has words in place of lists.
    given = {key: typed_below(config[key], "config", "command", *MOVED[key][:2]) for key in MOVED if config.get(key)}
    for key in (each for each in MOVED if each in config):
        instead = _instead(key, given, files, config.get("results", "results"))
        problems.add(key, config[key], f"remove this key: it is an option of a command now, {instead}")
    return {key: value for key, value in config.items() if key not in MOVED}


def _instead(moved: str, given: Mapping[str, Any], files: Sequence[str], results: str) -> str:
    """Return what to do instead of a key: the command with its options, on its own line and on that of Snakemake."""
    command, *_, option = MOVED[moved]
    own = {key: value for key, value in given.items() if MOVED[key][0] == command}
    options = {MOVED[key][1]: value for key, value in own.items()}
    if not options:
        return f"beirflow {command} {option}".strip()
    words: list[Any] = [results] if command in OF_RESULTS else []
    if command == "audit" and "folder" not in options:
        words = [*files[:1]] or [results]
    further = [word for file in files if file not in words and command not in OF_RESULTS for word in ("--configfile", file)]
    for key, value in own.items():
        words += [*filter(None, [MOVED[key][2]]), *(value if isinstance(value, list) else [value])]
    # No option has the name, digest or signature of a folder.
    line = "" if any(isinstance(word, Mapping) for word in words) else f" {shlex.join(map(str, [*words, *further]))}"
    plain = json.loads(json.dumps({command: options}, default=str))  # PyYAML does not write Snakemake's ordered mappings
    snakemakes = yaml.safe_dump(plain, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False)
    return f"beirflow {command}{line} (with plain snakemake: --config {shlex.quote(f'command={snakemakes.strip()}')})"
