"""``beirflow compare``: compare two folders of results."""

from argparse import ArgumentParser, Namespace

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, results_folder
from beirflow.core.errors import ConfigError

HELP = "compare two folders of results: configuration, code, scores, rankings"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    add_call_arguments(parser, "Example: beirflow compare results /other/results")
    parser.add_argument("first", metavar="A", help="a folder of results, which gets comparison.html")
    parser.add_argument("second", metavar="B", help="another, which is only read")


def main(options: Namespace) -> int:
    """Run the comparison; return 1 if the results do not agree."""
    if options.behind:
        raise ConfigError(f"{options.behind[0]}: expected two folders, and nothing behind them")
    first, second = results_folder(options.first), results_folder(options.second)
    if first == second:
        raise ConfigError(f"{options.second}: the same folder twice; expected two folders of results")
    given = {"results": first, "command": {"compare": {"other": second}}}
    return call_workflow(options, config_files=[], targets=["compare"], given=given)
