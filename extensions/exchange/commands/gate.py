"""``beirflow gate``: compare the systems of a configuration with a baseline."""

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration, results_folder

HELP = "fail if a system of a configuration is worse than a baseline; the key `gate` has its policy"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    baseline = "a folder of results, or a configured system, in place of `gate.baseline` of the configuration"
    parser.add_argument("--baseline", metavar="FOLDER", help=baseline)
    add_call_arguments(parser, "my.yaml", "a configuration", "Example: beirflow gate my.yaml --baseline /main/results")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    config_file, given = configuration(options.words), dict[str, Any]()
    if options.baseline is not None:
        is_folder = os.sep in options.baseline or Path(options.baseline).exists()
        given["gate"] = {"baseline": results_folder(options.baseline) if is_folder else options.baseline}
    return call_workflow(options, config_files=[config_file], targets=["gate"], given=given)
