"""``beirflow try``: try every system of a configuration on 24 documents, or show the tokens that its models read of a text."""

from argparse import ArgumentParser, Namespace

from beirflow.cli import tokens
from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration

HELP = "try every system of a configuration on 24 documents, before hours of work"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    tokens.add_arguments(parser)
    add_call_arguments(parser, "my.yaml", "a configuration", "Example: beirflow try my.yaml")


def main(options: Namespace) -> int:
    """Run the workflow, or print tokens; return the exit status."""
    file = configuration(options.words)
    if options.text is not None:
        return tokens.print_tokens([file, *options.configfile], options.text)
    return call_workflow(options, config_files=[file], targets=["try"])
