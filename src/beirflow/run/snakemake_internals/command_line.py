"""Snakemake's command line: parsed as by itself, its configuration read as by itself, and run in this process."""

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from typing import Any

CLUSTER = ("profile", "workflow_profile", "executor", "jobs")
"""Options that decide themselves how many jobs run at a time."""


def parse_options(words: Sequence[str]) -> tuple[Namespace, list[str]]:
    """Return the options of a command line by Snakemake's names, with ``targets``, and the words that it does not know.

    Raises SystemExit for a value that it does not allow, whose name it has printed.
    """
    from snakemake.cli import get_argument_parser

    parser = get_argument_parser()
    parser.print_usage = lambda *_: None  # a hundred lines
    return parser.parse_known_args(list(words))


def option_names() -> list[str]:
    """Return the names of Snakemake's options."""
    from snakemake.cli import get_argument_parser

    return [name for action in get_argument_parser()._actions for name in action.option_strings]


def configuration_of(files: Iterable[str], given: dict[str, Any], config: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the configuration of files, then of ``given``, then of ``--config``, and the keys of the last."""
    from snakemake.cli import parse_config
    from snakemake.common.configfile import load_configfile
    from snakemake.utils import update_config

    merged: dict[str, Any] = {}
    own = parse_config(config)
    for part in (*map(load_configfile, files), given, own):
        update_config(merged, part)
    return merged, list(own)


def run(arguments: Sequence[str]) -> int:
    """Run Snakemake in this process as its program does; return its exit status."""
    import snakemake.cli

    sys.argv = ["snakemake", *arguments]  # at which profile and rules look
    try:
        snakemake.cli.main()
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
