"""``beirflow estimate``: estimate the cost of a configuration before anything runs."""

from argparse import ArgumentParser, Namespace

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, configuration

HELP = "estimate time, downloads and disk space of a configuration before anything runs"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--on", metavar="HARDWARE", help="estimate for other hardware than this machine: 4xH100, T4, cpu:16")
    add_call_arguments(parser, "my.yaml", "a configuration", "Example: beirflow estimate my.yaml --on 4xH100")


def main(options: Namespace) -> int:
    """Run the workflow; return its exit status."""
    given = None
    if options.on is not None:
        from beirflow.config.hours import machine_named

        machine_named(options.on)  # an unknown one is an error before Snakemake starts
        given = {"command": {"estimate": {"on": options.on}}}
    return call_workflow(options, config_files=[configuration(options.words)], targets=["estimate"], given=given)
