"""``beirflow report``: write the report of a configuration."""

from argparse import ArgumentParser, Namespace

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration

HELP = "write the report of a configuration: tables, figures, significance, queries"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    add_call_arguments(parser, "my.yaml", "a configuration", "Example: beirflow report my.yaml")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    return call_workflow(options, config_files=[configuration(options.words)], targets=["report"])
