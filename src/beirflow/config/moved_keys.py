"""Keys of a configuration that are options of a command now: refused, with the command."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from beirflow.core.extensions import commands
from beirflow.data.catalogue.schema import Problems

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


def without_moved_keys(config: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    """Return a configuration without these keys, and note each, with the command that has its value."""
    for key in (each for each in MOVED if each in config):
        command, name, option = MOVED[key]
        instead = f"beirflow {command} {option}".strip()
        if config[key]:
            stated = shlex.quote(f"command={json.dumps({command: {name: config[key]}}, default=str)}")
            instead += f" (with plain snakemake: --config {stated})"
        problems.add(key, config[key], f"remove this key: it is an option of a command now, {instead}")
    return {key: value for key, value in config.items() if key not in MOVED}
