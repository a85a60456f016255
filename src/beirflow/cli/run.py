"""``beirflow run``: evaluate the systems of a configuration, or make some of its files."""

from argparse import ArgumentParser, Namespace

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration

HELP = "evaluate the systems of a configuration, or make the named files of it"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    what = "a configuration, then words (summary, by default; report, beir_paper …) or files below its results (docs/targets.md)"
    add_call_arguments(parser, "my.yaml [target …]", what, "Example: beirflow run my.yaml summary report")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    config_file = configuration(options.words[:1])
    return call_workflow(options, config_files=[config_file], targets=options.words[1:] or ["summary"])
