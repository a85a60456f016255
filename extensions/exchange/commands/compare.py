"""``beirflow compare``: compare two folders of results."""

from argparse import ArgumentParser, Namespace

from beirflow.cli.workflow_call import add_call_arguments, call_workflow, results_folder
from beirflow.core.errors import ConfigError

HELP = "compare two folders of results: configuration, code, scores, rankings"
PASSES_ON = True


def add_arguments(parser: ArgumentParser) -> None:
    """Add what the command takes."""
    what = "two folders of results; the first gets the page, the second is only read"
    add_call_arguments(parser, "A B", what, "Example: beirflow compare results /other/results")


def main(options: Namespace) -> int:
    """Run the comparison; return 1 if the results do not agree."""
    if len(options.words) != 2:
        raise ConfigError(f"found {' '.join(options.words) or 'nothing'}; expected two folders of results")
    first, second = map(results_folder, options.words)
    if first == second:
        raise ConfigError(f"{options.words[1]}: the same folder twice; expected two folders of results")
    given = {"results": first, "command": {"compare": {"other": second}}}
    return call_workflow(options, config_files=[], targets=["compare"], given=given)
