"""``beirflow estimate``: estimate the cost of a configuration before anything runs."""

from argparse import ArgumentParser, Namespace

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration

HELP = "estimate time, downloads and disk space of a configuration before anything runs"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    add_call_arguments(parser, "my.yaml", "a configuration", "Example: beirflow estimate my.yaml")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    return call_workflow(options, config_files=[configuration(options.words)], targets=["estimate"])
