"""``beirflow try``: try every system of a configuration on 24 documents."""

from argparse import ArgumentParser, Namespace

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration

HELP = "try every system of a configuration on 24 documents, before hours of work"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    add_call_arguments(parser, "my.yaml", "a configuration", "Example: beirflow try my.yaml")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    return call_workflow(options, config_files=[configuration(options.words)], targets=["try"])
